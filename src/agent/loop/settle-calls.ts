/** Stores the results of calls, and closes a batch once the last one is there. */

import { joinMarks } from '#agent/core/marks.ts'
import { marksOfMessage } from '#agent/untrusted/result-marks.ts'
import { type Message, textIn, type ToolMessage } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { type Commit, mapCalls, type Result, type ToolCall, type Turn } from '#agent/core/turn.ts'

/** Stores the result of a call. A call that is settled already stays as it is. */
export function settleCall(turn: Turn, message: ToolMessage, view: View): Commit {
  const settled = mapCalls(turn, (call) => {
    if (call.id !== message.callId || call.state === 'settled') return call
    const { id, name, input, effect } = call
    return { id, name, input, effect, state: 'settled', result: message }
  })
  return closeBatch({ turn: settled }, view)
}

/** Replaces a text in the result of a call whose batch is still open. */
export const shortenResult = (turn: Turn, { callId, part, text }: Extract<Result, { of: 'shortened' }>): Turn =>
  mapCalls(turn, (call) => {
    if (call.id !== callId || call.state !== 'settled') return call
    const content = call.result.content.map((one, i) => (i === part ? { type: 'text' as const, text } : one))
    return { ...call, result: { ...call.result, content } }
  })

/**
 * Appends all results of a batch to the transcript in the order of the calls, once the last call is settled. Messages
 * that steer the turn join the last result, marked as the user's.
 */
export function closeBatch(commit: Commit, view: View): Commit {
  const { stage } = commit.turn
  if (stage.at !== 'tools' || !stage.calls.every(isSettled)) return commit
  const steers = view.inbox.filter(({ mode }) => mode === 'steer')
  const results = stage.calls.map((call, i): Message => {
    if (i < stage.calls.length - 1 || !steers.length) return call.result
    const steered = steers.map(({ message }) => textIn(message)).join('\n')
    const text = `[The user said, while this ran: ${steered}]`
    const marks = joinMarks(marksOfMessage(call.result, call.input), ...steers.map(({ message }) => message.marks))
    return { ...call.result, content: [...call.result.content, { type: 'text', text }], marks }
  })
  return {
    ...commit,
    turn: { ...commit.turn, stage: { at: 'ready' } },
    append: [...(commit.append ?? []), ...results],
    ...(steers.length && { drain: [...(commit.drain ?? []), ...steers.map(({ id }) => id)] }),
  }
}

const isSettled = (call: ToolCall): call is Extract<ToolCall, { state: 'settled' }> => call.state === 'settled'
