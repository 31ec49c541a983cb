/** Splits a message that the platform rejected as too long. Its own limit is lower than the one that the channel knows. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import { splitText } from '#channels/text/split-text.ts'
import type { OutboxRow } from './outbox.ts'

/** A shorter text is rejected for another reason than its length. */
const minSplitChars = 64
/** Styled spans of one half. The whole had no more than the platform allows. */
const maxSpans = 10_000

/** Returns the halves of the row's text. Undefined: there is nothing to split. */
export function splitRow({ chunk, file, kind, source }: OutboxRow): readonly MessageChunk[] | undefined {
  const { text, spans, buttons } = chunk
  if (file !== undefined || source || kind === 'preview' || text.length < minSplitChars) return undefined
  const halves = splitText(text, spans, { max: Math.ceil(text.length / 2), unit: 'utf16', maxSpans })
  return halves.map((half, at) => (buttons && at === halves.length - 1 ? { ...half, buttons } : half))
}
