/**
 * Assembles the context after a compression: head, summary, open requests, tail. The summary takes the role that keeps
 * the roles alternating. Where neither does, it becomes the beginning of the user's message after it.
 */

import type { Entry } from '#agent/core/history.ts'
import { joinMarks } from '#agent/core/marks.ts'
import {
  type AssistantMessage,
  callsIn,
  errorResult,
  type Message,
  type ToolMessage,
  type UserMessage,
} from '#agent/core/message.ts'
import { pruneMessages } from './prune.ts'

/** Arranges the entries of a conversation in the order in which they are sent, without the replaced ones. */
export function arrangeEntries(entries: readonly Entry[]): readonly Entry[] {
  const summary = entries.findLast(({ covers }) => covers !== undefined)
  if (!summary) return entries
  const { covers = 0, keeps } = summary
  const [head, requests] = [new Set(keeps?.head), new Set(keeps?.requests)]
  const others = entries.filter((entry) => entry.covers === undefined)
  return [
    ...others.filter(({ seq }) => head.has(seq)),
    summary,
    ...others.filter(({ seq }) => requests.has(seq) && !head.has(seq)),
    ...others.filter(({ seq }) => seq > covers),
  ]
}

/** Converts arranged entries to the messages that models get. */
export function assembleContext(entries: readonly Entry[]): readonly Message[] {
  const at = entries.findLastIndex(({ covers }) => covers !== undefined)
  const messages = entries.map(({ message }) => message)
  if (at < 0) return messages
  const summary = messages[at] as UserMessage
  const head = pruneMessages(messages.slice(0, at))
  const rest = mergeRequests(messages.slice(at + 1))
  return repairPairs([...head, ...placeSummary(summary, head.at(-1)?.role, rest)])
}

function placeSummary(
  summary: UserMessage,
  before: Message['role'] | undefined,
  rest: readonly Message[],
): readonly Message[] {
  const [next, ...others] = rest
  if (next?.role !== 'user') return [summary, ...rest]
  return before === 'user' ? [asAssistant(summary), ...rest] : [mergeUsers(summary, next), ...others]
}

const asAssistant = ({ content, marks }: UserMessage): AssistantMessage => ({
  role: 'assistant',
  content: content.filter((part) => part.type === 'text'),
  stop: 'end',
  source: 'notice',
  ...(marks && { marks }),
})

/** Requests that are kept from different places may follow each other. */
function mergeRequests(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = []
  for (const message of messages) {
    const last = merged.at(-1)
    if (message.role === 'user' && last?.role === 'user') merged[merged.length - 1] = mergeUsers(last, message)
    else merged.push(message)
  }
  return merged
}

const mergeUsers = (a: UserMessage, b: UserMessage): UserMessage => ({
  role: 'user',
  content: [...a.content, { type: 'text', text: '\n\n' }, ...b.content],
  ...(b.source && { source: b.source }),
  ...((a.marks ?? b.marks) && { marks: joinMarks(a.marks, b.marks) }),
})

const missing = 'The result of this call is no longer available.'

/**
 * Drops results without their call. Adds a result for each call without one, except in the last group, whose results may
 * still be to come.
 */
export function repairPairs(messages: readonly Message[]): readonly Message[] {
  const repaired: Message[] = []
  let isChanged = false
  for (let i = 0; i < messages.length;) {
    const message = messages[i] as Message
    i++
    if (message.role === 'tool') {
      isChanged = true
      continue
    }
    repaired.push(message)
    if (message.role === 'user') continue
    const results: ToolMessage[] = []
    for (let next = messages[i]; next?.role === 'tool'; next = messages[++i]) results.push(next)
    const paired = pairResults(message, results, i === messages.length)
    isChanged ||= paired.length !== results.length || paired.some((result, n) => result !== results[n])
    repaired.push(...paired)
  }
  return isChanged ? repaired : messages
}

function pairResults(
  message: Extract<Message, { role: 'assistant' }>,
  results: readonly ToolMessage[],
  isLast: boolean,
): readonly ToolMessage[] {
  const calls = callsIn(message)
  const ids = new Set(calls.map(({ id }) => id))
  const known = results.filter(({ callId }) => ids.has(callId))
  const answered = new Set(known.map(({ callId }) => callId))
  const lost = isLast ? [] : calls.filter(({ id }) => !answered.has(id))
  return [...known, ...lost.map((call) => errorResult(call, missing))]
}
