/** Lists the calls with effects among the messages that a summary replaces, so that the model does not repeat them. */

import type { Entry } from '#agent/core/history.ts'
import { callsIn, type ToolMessage } from '#agent/core/message.ts'
import { describeCall } from './describe-call.ts'

/** Whether a call changes something outside the conversation. */
export type HasEffect = (name: string, input: unknown) => boolean

/** Lines are dropped oldest first, because the next requests concern the newest work. */
const maxLines = 400
export const maxEffectsChars = 8_000

/** Returns one line for each call, after the lines of earlier compressions. Equal calls share a line. */
export function collectEffects(
  entries: readonly Entry[],
  earlier: readonly string[],
  hasEffect: HasEffect,
): readonly string[] {
  const results = new Map<string, ToolMessage>()
  for (const { message } of entries) if (message.role === 'tool') results.set(message.callId, message)
  const lines = entries.flatMap(({ message }) =>
    message.role === 'assistant'
      ? callsIn(message)
          .filter(({ name, input }) => hasEffect(name, input))
          .map(({ id, name, input }) => `${describeCall(name, input)} → ${describeOutcome(results.get(id))}`)
      : [],
  )
  // A repeated line moves to the end, where the newest are.
  const distinct = [...new Set([...earlier, ...lines].toReversed())].toReversed()
  return distinct.slice(-maxLines)
}

const describeOutcome = (result: ToolMessage | undefined): string =>
  result && !result.failed ? 'done' : 'failed, or its outcome is unknown'

/** Renders the newest lines that fit. Undefined when there are none. */
export function renderEffects(effects: readonly string[], maxChars = maxEffectsChars): string | undefined {
  if (!effects.length) return undefined
  let from = effects.length
  for (let chars = 0; from > 0; from--) {
    chars += (effects[from - 1] ?? '').length + 3
    if (chars > maxChars) break
  }
  const left = from ? [`- (${from} earlier calls are not listed)`] : []
  const lines = effects.slice(from).map((line) => `- ${line}`)
  return ['These calls ran before. Do not repeat those that are done:', ...left, ...lines].join('\n')
}
