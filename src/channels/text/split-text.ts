/**
 * Text with styles in pieces that a platform takes as one message. It is cut between paragraphs where that is possible,
 * else between lines, words, and at worst between characters; a style that goes over a cut is there on both sides.
 */

import type { MessageChunk, TextSpan } from '../../agent/model/delivery.ts'

export type ChunkLimits = {
  /** UTF-16 units of one message. */
  readonly maxChars: number
  /** Styles of one message. */
  readonly maxSpans: number
}

export function splitText(text: string, spans: readonly TextSpan[], bounds: ChunkLimits): readonly MessageChunk[] {
  const chunks: MessageChunk[] = []
  let from = 0
  while (from < text.length) {
    const end = endOf(text, from, bounds.maxChars)
    const chunk = piece(text, spans, from, end)
    if (chunk.text) chunks.push({ ...chunk, spans: chunk.spans.slice(0, bounds.maxSpans) })
    from = end
  }
  return chunks
}

function endOf(text: string, from: number, length: number): number {
  if (text.length - from <= length) return text.length
  const last = from + length
  // Rather a message that is a little short than one that ends in the middle of a thought.
  for (const [mark, least] of [
    ['\n\n', 0.5],
    ['\n', 0.5],
    [' ', 0.8],
  ] as const) {
    const at = text.lastIndexOf(mark, last - mark.length)
    if (at >= from + length * least) return at + mark.length
  }
  return isInsideCharacter(text, last) ? last - 1 : last
}

const isInsideCharacter = (text: string, at: number) =>
  /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '')

/** Without what platforms trim: they would count the styles from another place. */
function piece(text: string, spans: readonly TextSpan[], from: number, end: number): MessageChunk {
  const whole = text.slice(from, end)
  const start = from + (/^\s*\n/.exec(whole)?.[0].length ?? 0)
  const words = text.slice(start, end).trimEnd()
  const stop = start + words.length
  return {
    text: words,
    spans: spans.flatMap((span) => {
      const offset = Math.max(span.offset, start)
      const length = Math.min(span.offset + span.length, stop) - offset
      return length > 0 ? [{ ...span, offset: offset - start, length }] : []
    }),
  }
}

/** The same behind some words. */
export const withPrefix = ({ spans, text, ...rest }: MessageChunk, words: string): MessageChunk => ({
  ...rest,
  text: words + text,
  spans: spans.map((span) => ({ ...span, offset: span.offset + words.length })),
})
