/**
 * Notices a model that repeats a failing call word for word. It is told, in the result, from the second
 * time on; nothing is forbidden.
 */

import type { ToolMessage } from '../model/message.ts'
import type { ToolCall, Turn } from '../model/turn.ts'

const warnFrom = 2

/** Counts the result and, when it is a repeated failure, adds a line for the model. */
export function guard(
  turn: Turn,
  call: ToolCall | undefined,
  message: ToolMessage,
): { turn: Turn; message: ToolMessage } {
  const ran = { ...turn.ran, [message.name]: (turn.ran[message.name] ?? 0) + 1 }
  const key = `${message.name} ${JSON.stringify(call?.input ?? null)}`.slice(0, 2_000)
  if (!message.failed) return { turn: { ...turn, ran, guard: { key: '', failures: 0 } }, message }
  const failures = turn.guard.key === key ? turn.guard.failures + 1 : 1
  const counted = { ...turn, ran, guard: { key, failures } }
  if (failures < warnFrom) return { turn: counted, message }
  const warning = `[This exact call has now failed ${failures} times in a row. Change the input or take another way.]`
  return { turn: counted, message: { ...message, content: [...message.content, { type: 'text', text: warning }] } }
}
