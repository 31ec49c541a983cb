/** Begins a turn with calls that the system makes: they run like those of a model, before it is asked. */

import type { AssistantMessage, ToolCallPart } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import type { Commit, Turn } from '#agent/core/turn.ts'
import { closeBatch } from '#agent/loop/settle-calls.ts'
import { planAll } from '#agent/policy/plan-calls.ts'

/** The turn must be ready, with its message appended. */
export function openingCalls(turn: Turn, parts: readonly ToolCallPart[], view: View): Commit {
  const message: AssistantMessage = { role: 'assistant', content: parts, stop: 'tools', source: 'notice' }
  const calls = planAll(turn, parts, view)
  return closeBatch({ turn: { ...turn, stage: { at: 'tools', calls } }, append: [message] }, view)
}
