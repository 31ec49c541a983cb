/**
 * A turn may take `limit` replies. When they are spent, the model gets one grace call to say what it
 * has; if it asks for tools again, one more request for a summary; if there is still no text, we say
 * ourselves what was done. People always end up with an answer. No warnings on the way: models that
 * are told that they are running out give up early.
 */

import { callsIn, notice, textIn, type AssistantMessage } from '../model/message.ts'
import { type Commit, noted, spend, timesUsed, type ToolCall, type Turn } from '../model/turn.ts'
import { done } from './ending.ts'
import type { Gate } from './policy.ts'

const words = {
  no: 'The steps allowed for this task are used up and tools are switched off. Give your final answer now, from what you have.',
  grace: 'Do not call tools: they are off. Write a summary in plain text: what was done, what was found, what is left.',
} as const

/** Steps that only ran code are free: a program that calls many tools is one thought, not many. */
const freeTool = 'execute_code'
/** But not for ever: every turn ends. */
const mostFree = 500

/** The guard's halt winds a turn up in the same way as an empty budget. */
export const isSpent = ({ budget, guard }: Turn) => budget.spent >= budget.limit || guard.halted !== undefined

export const budget: Gate = (turn) => {
  if (!isSpent(turn)) return undefined
  const { closing } = turn.budget
  if (closing === 'summary') return { do: 'finish', outcome: 'out-of-budget' }
  const why = turn.guard.halted && closing === 'no' ? `${turn.guard.halted} ${words.no}` : words[closing]
  return { do: 'call-model', tools: false, say: why }
}

/** The replies of a turn, after one that asked for these calls. */
export function pay(turn: Turn, calls: readonly ToolCall[]): Turn {
  const isFree = calls.length > 0 && calls.every(({ name, state }) => name === freeTool && state !== 'settled')
  if (isFree && timesUsed(turn, freeTool) < mostFree) return spend(turn, freeTool)
  return { ...turn, budget: { ...turn.budget, spent: turn.budget.spent + 1 } }
}

/** A reply that came after the budget was spent: its text is the answer, its calls never run. */
export function windUp(turn: Turn, reply: AssistantMessage, now: number): Commit {
  const { closing } = turn.budget
  const text = textIn(reply).trim()
  // Words around a tool call announce work; they are not an answer. Only the last resort takes them.
  if (!text || (callsIn(reply).length && closing === 'no')) {
    const next = closing === 'no' ? 'grace' : 'summary'
    const tried = noted(turn, now, next === 'grace' ? 'ask for a summary' : 'summarise ourselves', 'out of budget')
    return { turn: { ...tried, stage: { at: 'ready' }, budget: { ...turn.budget, closing: next } } }
  }
  const content = reply.content.filter((part) => part.type !== 'call')
  return { turn: done(turn, 'out-of-budget', now), append: [{ ...reply, content, stop: 'end' }] }
}

export function summaryOf(turn: Turn): AssistantMessage {
  const ran = Object.entries(turn.ran).map(([name, times]) => (times > 1 ? `${name} ×${times}` : name))
  const did = ran.length ? `These tools ran: ${ran.join(', ')}.` : 'No tool ran.'
  const why = turn.guard.halted ?? `I used up the ${turn.budget.limit} steps allowed for this task.`
  const orMore = turn.guard.halted === undefined ? ', or raise agent.max_turns' : ''
  return notice(
    `${why} There is no final answer. ${did} Everything up to here is kept: send a message to go on${orMore}.`,
  )
}
