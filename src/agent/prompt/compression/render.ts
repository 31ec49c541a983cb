/** Renders messages as text, for a model that summarises them or answers beside the conversation. */

import { callsIn, type Message, textIn } from '#agent/core/message.ts'
import { estimateTokens } from '../estimate-tokens.ts'
import { truncateMiddle } from './truncate.ts'

/** More input does not improve a summary, even where the window has room. */
export const maxInputChars = 160_000

/** Renders the messages, truncated to `maxTokens` and `maxChars`. `mask` removes secrets before anything is cut. */
export function renderTranscript(
  messages: readonly Message[],
  maxTokens: number = Infinity,
  { maxChars: most = maxInputChars, mask = (text: string) => text } = {},
): string {
  const full = mask(messages.map(renderMessage).join('\n'))
  let maxChars = Math.min(full.length, most)
  let text = truncateMiddle(full, maxChars)
  // The remaining text may have more tokens per character than the removed part, so this repeats.
  for (let tokens = estimateTokens(text); tokens > maxTokens && maxChars > 0; tokens = estimateTokens(text)) {
    maxChars = Math.floor(maxChars * Math.min(0.98, Math.max(0, maxTokens) / tokens))
    text = truncateMiddle(full, maxChars)
  }
  return text
}

export function renderMessage(message: Message): string {
  const text = textIn(message)
  if (message.role === 'tool') return `[${message.name} returned] ${truncateMiddle(text, 1_000)}`
  if (message.role === 'user') return `[${message.source ?? 'user'}] ${text}`
  const calls = callsIn(message).map(({ name, input }) => `${name}(${truncateMiddle(JSON.stringify(input), 300)})`)
  return `[assistant] ${text}${calls.length ? ` → ${calls.join(', ')}` : ''}`
}
