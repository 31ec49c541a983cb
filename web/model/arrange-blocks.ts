/**
 * Arranges blocks for the list: calls that follow each other are one block, subagents stand in the card of their call,
 * and a call that needs the person is left to its card.
 */

import {
  type Block,
  type CallsBlock,
  parse,
  type ResultsBlock,
  type TextBlock,
  type Subagent,
  type ToolBlock,
} from './blocks.ts'
import { findPath, nameOf } from './workspace-files.ts'
import { listGoals } from './subagent-goals.ts'
import type { Approval, Question } from './types.ts'

type Pending = { readonly approvals: readonly Approval[]; readonly questions: readonly Question[] }

/** By run, the first ones and the number of all. */
export type ChangedFiles = Readonly<Record<string, { readonly files: readonly string[]; readonly count: number }>>

export const arrangeBlocks = (
  blocks: readonly Block[],
  pending: Pending,
  changed: ChangedFiles = {},
): readonly Block[] => groupCalls(addResults(dropWaiting(nestSubagents(blocks), pending), changed))

/** The block that shows a block, which may be in a group. */
export const shows = (block: Block, key: string): boolean =>
  block.key === key || (block.kind === 'calls' && block.items.some((item) => item.key === key))

/** Thoughts between calls belong to them. Those before the first and after the last one stand alone. */
function groupCalls(blocks: readonly Block[]): readonly Block[] {
  const grouped: Block[] = []
  let thoughts: TextBlock[] = []
  for (const block of blocks) {
    const last = grouped.at(-1)
    const isSame = last?.kind === 'calls' && last.runId === block.runId
    if (block.kind === 'thinking' && isSame) {
      thoughts.push(block as TextBlock)
      continue
    }
    if (block.kind === 'tool' && isSame)
      grouped[grouped.length - 1] = { ...last, items: [...last.items, ...thoughts, block] }
    else {
      grouped.push(...thoughts)
      grouped.push(block.kind === 'tool' ? groupOf(block) : block)
    }
    thoughts = []
  }
  return [...grouped, ...thoughts].map(keepIdentity)
}

const groups = new WeakMap<object, CallsBlock>()

/** A group of the same calls is the same group, so that its element is not drawn again. */
function keepIdentity(block: Block): Block {
  const [first] = block.kind === 'calls' ? block.items : []
  if (block.kind !== 'calls' || !first) return block
  const before = groups.get(first)
  const isSame = before?.items.length === block.items.length && before.items.every((one, at) => one === block.items[at])
  if (before && isSame) return before
  groups.set(first, block)
  return block
}

const groupOf = (block: ToolBlock): CallsBlock => ({
  kind: 'calls',
  key: `${block.key}.calls`,
  runId: block.runId,
  ...(block.at !== undefined && { at: block.at }),
  items: [block],
})

/** Inserts behind the last block of each run the files that it has made and changed. */
function addResults(blocks: readonly Block[], changed: ChangedFiles): readonly Block[] {
  const runs = new Map<string, Block[]>()
  for (const block of blocks) {
    const known = runs.get(block.runId)
    if (known) known.push(block)
    else runs.set(block.runId, [block])
  }
  return blocks.flatMap((block): readonly Block[] => {
    const run = runs.get(block.runId) ?? []
    const results = run.at(-1) === block ? resultsOf(run, changed[block.runId]) : undefined
    return results ? [block, results] : [block]
  })
}

/** Only a run with a call has any. The answer may show a file itself. */
function resultsOf(
  run: readonly Block[],
  changed = { files: [] as readonly string[], count: 0 },
): ResultsBlock | undefined {
  if (!run.some(({ kind }) => kind === 'tool')) return undefined
  const texts = run.flatMap((block) => (block.kind === 'text' ? [block.text] : []))
  const isNamed = (path: string) =>
    texts.some((text) => text.includes(path) || text.includes(encodeURI(path)) || text.includes(nameOf(path)))
  const all = run.flatMap((block) => (block.kind === 'tool' ? madeBy(block) : []))
  const made = all.filter(({ path }) => !isNamed(path))
  if (!made.length && !changed.count) return undefined
  const runId = run[0]?.runId ?? ''
  return { kind: 'results', key: `${runId}.results`, runId, made, changed: changed.files, count: changed.count }
}

/** The result of a tool that makes pictures, sound or film has the path and the type of its file. */
function madeBy({ result, input, state }: ToolBlock): ResultsBlock['made'] {
  if (state !== 'done' || !result?.includes('"mime"')) return []
  const { path, mime } = Object(parse(result)) as { readonly path?: unknown; readonly mime?: unknown }
  const found = typeof path === 'string' && typeof mime === 'string' ? findPath(path) : undefined
  if (found === undefined) return []
  const { prompt, text } = Object(input) as { readonly prompt?: unknown; readonly text?: unknown }
  const words = [prompt, text].find((one) => typeof one === 'string')
  return [{ path: found, text: typeof words === 'string' ? words.slice(0, 200) : '' }]
}

/** The card of an approval or a question shows the call, once. */
function dropWaiting(blocks: readonly Block[], { approvals, questions }: Pending): readonly Block[] {
  if (!approvals.length && !questions.length) return blocks
  const waits = ({ runId, callId, tool }: ToolBlock) =>
    approvals.some((one) => one.run_id === runId && one.call_id === callId) ||
    (tool === 'clarify' && questions.some((one) => one.run_id === runId))
  return blocks.filter((block) => block.kind !== 'tool' || block.state !== 'running' || !waits(block))
}

/** One without a card, because its call is older than what is shown, stays a block of its own. */
function nestSubagents(blocks: readonly Block[]): readonly Block[] {
  if (!blocks.some(({ kind }) => kind === 'subagent')) return blocks
  const nested = new Map<string, Subagent[]>()
  const rest = blocks.filter((block, at) => {
    if (block.kind !== 'subagent') return true
    const card = findCard(blocks.slice(0, at), block)
    if (card) nested.set(card.key, [...(nested.get(card.key) ?? []), block])
    return !card
  })
  return rest.map((block) => {
    const subagents = block.kind === 'tool' && !block.subagents?.length ? nested.get(block.key) : undefined
    return subagents ? ({ ...block, subagents } as ToolBlock) : block
  })
}

/** Of several calls of a reply, the one that has its goal. */
function findCard(before: readonly Block[], { runId, goal }: Extract<Block, { readonly kind: 'subagent' }>) {
  const cards = before.filter(
    (block) => block.kind === 'tool' && block.runId === runId && block.tool === 'delegate_task',
  )
  return cards.findLast((block) => block.kind === 'tool' && listGoals(block.input).includes(goal)) ?? cards.at(-1)
}
