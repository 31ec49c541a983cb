/** Changes the blocks of a run that is not stored yet. */

import type { SessionEvent } from './types.ts'
import { type Block, keyOf, type TextBlock, type ToolBlock } from './blocks.ts'

type Delta = Extract<SessionEvent, { readonly delta: string; readonly type: 'message.delta' | 'reasoning.delta' }>

/** Continues the block of this kind and reply, also behind a message that came meanwhile, or begins one. */
export function appendDelta(
  live: readonly Block[],
  kind: 'text' | 'thinking',
  { run_id: runId, seq, delta, step, at: now }: Delta,
): readonly Block[] {
  const isSame = (block: Block) => block.kind === kind && block.runId === runId && block.step === step
  const at = step === undefined ? live.length - 1 : live.findLastIndex(isSame)
  const last = live[at]
  if (last && isSame(last) && 'marks' in last) {
    const text = last.text + delta
    const ms = Date.parse(now) - Date.parse(last.startedAt ?? now)
    return live.with(at, { ...last, text, ms, marks: [...last.marks, [seq, text.length]] })
  }
  const block: TextBlock = {
    kind,
    key: step === undefined ? `${runId}-${seq}` : keyOf(runId, step, kind),
    runId,
    step,
    text: delta,
    startedAt: now,
    marks: [[seq, delta.length]],
  }
  return [...live, block]
}

/** Removes the deltas after an event: another answer follows. */
export const dropAfter = (live: readonly Block[], runId: string, from: number): readonly Block[] =>
  live.flatMap((block): readonly Block[] => {
    if ((block.kind !== 'text' && block.kind !== 'thinking') || block.runId !== runId) return [block]
    const marks = block.marks.filter(([seq]) => seq <= from)
    const length = marks.at(-1)?.[1] ?? 0
    return length ? [{ ...block, marks, text: block.text.slice(0, length) }] : []
  })

type Call = {
  readonly call_id: string
  readonly tool: string
  readonly run_id: string
  readonly seq: number
  readonly step?: number
}

/** Changes the card of a call, which an approval may show before the call begins. */
export function updateTool(
  live: readonly Block[],
  call: Call,
  change: (block: ToolBlock) => ToolBlock,
): readonly Block[] {
  const at = live.findLastIndex(
    (block) =>
      block.kind === 'tool' && block.callId === call.call_id && block.runId === call.run_id && isSameStep(block, call),
  )
  const found = live[at]
  if (found?.kind === 'tool') return live.with(at, change(found))
  return [
    ...live,
    change({
      kind: 'tool',
      key: keyOf(call.run_id, call.step ?? -call.seq, call.call_id),
      runId: call.run_id,
      step: call.step,
      callId: call.call_id,
      tool: call.tool,
      input: undefined,
      state: 'running',
      progress: '',
    }),
  ]
}

/** A model may use the id of a call again in a later step. */
const isSameStep = ({ step }: ToolBlock, call: Call): boolean =>
  step === undefined || call.step === undefined || step === call.step
