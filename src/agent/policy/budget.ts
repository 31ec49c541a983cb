/**
 * A turn may take `limit` replies. When they are spent, the model gets one grace call to say what it
 * has; if it asks for tools again, one more request for a summary; if there is still no text, we say
 * ourselves what was done. People always end up with an answer. No warnings on the way: models that
 * are told that they are running out give up early.
 */

import { callsIn, notice, textIn, type AssistantMessage } from '../model/message.ts'
import type { Commit, Turn } from '../model/turn.ts'
import type { Gate } from './policy.ts'

const words = {
  no: 'The steps allowed for this task are used up and tools are switched off. Give your final answer now, from what you have.',
  grace: 'Do not call tools: they are off. Write a summary in plain text: what was done, what was found, what is left.',
} as const

export const isSpent = ({ budget }: Turn) => budget.spent >= budget.limit

export const budget: Gate = (turn) => {
  if (!isSpent(turn)) return undefined
  const { closing } = turn.budget
  return closing === 'summary'
    ? { do: 'finish', outcome: 'out-of-budget' }
    : { do: 'call-model', tools: false, say: words[closing] }
}

/** A reply that came after the budget was spent: its text is the answer, its calls never run. */
export function windUp(turn: Turn, reply: AssistantMessage, now: number): Commit {
  if (!textIn(reply).trim()) {
    const closing = turn.budget.closing === 'no' ? 'grace' : 'summary'
    return { turn: { ...turn, stage: { at: 'ready' }, budget: { ...turn.budget, closing } } }
  }
  // Words around a tool call announce work; they are not an answer. Only the last resort takes them.
  if (callsIn(reply).length && turn.budget.closing === 'no')
    return { turn: { ...turn, stage: { at: 'ready' }, budget: { ...turn.budget, closing: 'grace' } } }
  const answer: AssistantMessage = {
    ...reply,
    content: reply.content.filter((part) => part.type !== 'call'),
    stop: 'end',
  }
  return { turn: { ...turn, stage: { at: 'done', outcome: 'out-of-budget', endedAt: now } }, append: [answer] }
}

export function summaryOf(turn: Turn): AssistantMessage {
  const ran = Object.entries(turn.ran).map(([name, times]) => (times > 1 ? `${name} ×${times}` : name))
  const done = ran.length ? `These tools ran: ${ran.join(', ')}.` : 'No tool ran.'
  return notice(
    `I used up the ${turn.budget.limit} steps allowed for this task without coming to an answer. ${done} ` +
      'Everything up to here is kept: send a message to go on, or raise agent.max_turns.',
  )
}
