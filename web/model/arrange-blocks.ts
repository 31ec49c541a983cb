/** Arranges blocks for the list: subagents stand in the card of their call, and a call that needs the person says so. */

import type { Block, Subagent, ToolBlock } from './blocks.ts'
import { listGoals } from './subagent-goals.ts'
import type { Approval, Question } from './types.ts'

type Pending = { readonly approvals: readonly Approval[]; readonly questions: readonly Question[] }

export const arrangeBlocks = (blocks: readonly Block[], pending: Pending): readonly Block[] =>
  markWaiting(nestSubagents(blocks), pending)

function markWaiting(blocks: readonly Block[], { approvals, questions }: Pending): readonly Block[] {
  if (!approvals.length && !questions.length) return blocks
  const waits = ({ runId, callId, tool }: ToolBlock) =>
    approvals.some((one) => one.run_id === runId && one.call_id === callId) ||
    (tool === 'clarify' && questions.some((one) => one.run_id === runId))
  return blocks.map((block) =>
    block.kind === 'tool' && block.state === 'running' && waits(block) ? { ...block, state: 'waiting' } : block,
  )
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
