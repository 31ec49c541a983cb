/**
 * Limits the replies of a turn. After the last one the model gets one call without tools for its answer, and one more
 * for a summary if it asks for tools again. Without any text the turn ends with a notice that lists the tools that ran.
 * The model gets no warning before: models that are told about the limit give up early.
 */

import { callsIn, notice, textIn, type AssistantMessage } from '#agent/core/message.ts'
import { endTurn, addNote, countUse, timesUsed, type Turn } from '#agent/core/turn.ts'
import type { BeforeModel, OnReply } from './policy.ts'

const instructions = {
  no: 'The steps allowed for this task are used up and tools are switched off. Give your final answer now, from what you have.',
  grace: 'Do not call tools: they are off. Write a summary in plain text: what was done, what was found, what is left.',
} as const

/** Replies that only run code are free, because one program replaces many calls. */
const freeTool = 'execute_code'
/** Bounds the free replies, so that every turn ends. */
const maxFreeReplies = 500

/** A halt of the tools winds the turn up in the same way as a spent budget. */
export const isSpent = ({ budget, guard }: Turn) => budget.spent >= budget.limit || guard.halted !== undefined

export const stopAtStepLimit: BeforeModel = (turn) => {
  if (!isSpent(turn)) return undefined
  const { closing } = turn.budget
  if (closing === 'summary') return { do: 'finish', outcome: 'out-of-budget', notice: noticeOfWork(turn) }
  const why = turn.guard.halted && closing === 'no' ? `${turn.guard.halted} ${instructions.no}` : instructions[closing]
  return { do: 'call-model', tools: false, instruction: why }
}

/** Counts a reply, unless all its calls run code. */
export const countStep: OnReply = ({ turn, calls }) => {
  const isFree = calls.length > 0 && calls.every(({ name, state }) => name === freeTool && state !== 'settled')
  if (isFree && timesUsed(turn, freeTool) < maxFreeReplies) return { turn: countUse(turn, freeTool) }
  return { turn: { ...turn, budget: { ...turn.budget, spent: turn.budget.spent + 1 } } }
}

/** Takes the text of a reply after the last step as the answer. Its calls never run. */
export const windUp: OnReply = ({ turn, reply }, { now }) => {
  if (!isSpent(turn)) return undefined
  const { closing } = turn.budget
  const text = textIn(reply).trim()
  // Text beside a tool call announces work and is no answer. Only the last attempt accepts it.
  if (!text || (callsIn(reply).length && closing === 'no')) {
    const next = closing === 'no' ? 'grace' : 'summary'
    const tried = addNote(turn, now, next === 'grace' ? 'ask for a summary' : 'summarise ourselves', 'out of budget')
    return { commit: { turn: { ...tried, stage: { at: 'ready' }, budget: { ...turn.budget, closing: next } } } }
  }
  const content = reply.content.filter((part) => part.type !== 'call')
  return { commit: { turn: endTurn(turn, 'out-of-budget', now), append: [{ ...reply, content, stop: 'end' }] } }
}

/** Creates the last message of a turn that ends without an answer. */
export function noticeOfWork(turn: Turn, halted = turn.guard.halted): AssistantMessage {
  const ran = Object.entries(turn.ran).map(([name, times]) => (times > 1 ? `${name} ×${times}` : name))
  const did = ran.length ? `These tools ran: ${ran.join(', ')}.` : 'No tool ran.'
  const why = halted ?? `I used up the ${turn.budget.limit} steps allowed for this task.`
  const orMore = halted === undefined ? ', or raise agent.max_turns' : ''
  return notice(
    `${why} There is no final answer. ${did} Everything up to here is kept: send a message to go on${orMore}.`,
  )
}
