/** Restores the rule that each call is followed by its results, after messages between them were replaced. */

import { callsIn, errorResult, type Message, type ToolMessage } from '#agent/core/message.ts'

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
