/**
 * Splits styled text into chunks whose encoded form fits into one message. Marks and escapes make a text longer, so the
 * platform's limit is applied to what is sent, not to the text.
 */

import type { MessageChunk } from '#agent/core/delivery.ts'
import type { StyledText } from './parse-inline.ts'
import { chunkBetween, findChunkEnd } from './split-text.ts'

export type EncodedLimit = {
  readonly max: number
  /** The size of the chunk as it is sent, in the unit of the limit. At least one for each UTF-16 unit of its text. */
  readonly size: (chunk: MessageChunk) => number
}

export function splitEncoded({ text, spans }: Readonly<StyledText>, limit: EncodedLimit): readonly MessageChunk[] {
  const chunks: MessageChunk[] = []
  let from = 0
  while (from < text.length) {
    const last = from + limit.max
    const near = spans.filter(({ offset, length }) => offset < last && offset + length > from)
    const { chunk, end } = findFittingChunk({ text, spans: near }, from, limit)
    if (chunk.text) chunks.push(chunk)
    from = end
  }
  return chunks
}

function findFittingChunk(
  { text, spans }: Readonly<StyledText>,
  from: number,
  { max, size }: EncodedLimit,
): { readonly chunk: MessageChunk; readonly end: number } {
  let maxChars = max
  for (;;) {
    const end = findChunkEnd(text, from, { max: maxChars, unit: 'utf16', maxSpans: 0 })
    const chunk = chunkBetween(text, spans, from, end)
    const encoded = size(chunk)
    // Two units always hold a character. The marks around one are shorter than any limit.
    if (encoded <= max || end - from <= 2) return { chunk, end }
    maxChars = Math.max(2, Math.min(end - from - 1, Math.floor(((end - from) * max) / encoded)))
  }
}
