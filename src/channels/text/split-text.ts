/**
 * Splits styled text into chunks that a platform accepts as messages. It cuts between paragraphs if possible, else
 * between lines, words or characters. A style that spans a cut continues in the next chunk.
 */

import type { MessageChunk, TextSpan } from '../../agent/model/delivery.ts'

export type ChunkLimits = {
  /** UTF-16 units of one message. */
  readonly maxChars: number
  /** Styled spans of one message. */
  readonly maxSpans: number
}

export function splitText(text: string, spans: readonly TextSpan[], limits: ChunkLimits): readonly MessageChunk[] {
  const chunks: MessageChunk[] = []
  let from = 0
  while (from < text.length) {
    const end = findChunkEnd(text, from, limits.maxChars)
    const chunk = chunkBetween(text, spans, from, end)
    if (chunk.text) chunks.push({ ...chunk, spans: chunk.spans.slice(0, limits.maxSpans) })
    from = end
  }
  return chunks
}

function findChunkEnd(text: string, from: number, maxChars: number): number {
  if (text.length - from <= maxChars) return text.length
  const last = from + maxChars
  // A shorter chunk that ends at a paragraph reads better than a full one that ends in a sentence.
  for (const [separator, minFill] of [
    ['\n\n', 0.5],
    ['\n', 0.5],
    [' ', 0.8],
  ] as const) {
    const at = text.lastIndexOf(separator, last - separator.length)
    if (at >= from + maxChars * minFill) return at + separator.length
  }
  return isInsideSurrogatePair(text, last) ? last - 1 : last
}

const isInsideSurrogatePair = (text: string, at: number) =>
  /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '')

/** Trims as platforms do: otherwise their offsets of the styles would differ from ours. */
function chunkBetween(text: string, spans: readonly TextSpan[], from: number, end: number): MessageChunk {
  const whole = text.slice(from, end)
  const start = from + (/^\s*\n/.exec(whole)?.[0].length ?? 0)
  const trimmed = text.slice(start, end).trimEnd()
  const stop = start + trimmed.length
  return {
    text: trimmed,
    spans: spans.flatMap((span) => {
      const offset = Math.max(span.offset, start)
      const length = Math.min(span.offset + span.length, stop) - offset
      return length > 0 ? [{ ...span, offset: offset - start, length }] : []
    }),
  }
}

/** Puts a text in front of a chunk. */
export const withPrefix = ({ spans, text, ...rest }: MessageChunk, prefix: string): MessageChunk => ({
  ...rest,
  text: prefix + text,
  spans: spans.map((span) => ({ ...span, offset: span.offset + prefix.length })),
})
