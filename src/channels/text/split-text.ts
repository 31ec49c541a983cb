/**
 * Splits styled text into chunks that a platform accepts as messages. It cuts between paragraphs if possible, else
 * between lines, words or characters. A style that spans a cut continues in the next chunk.
 */

import type { MessageChunk, TextSpan } from '#agent/core/delivery.ts'

export type ChunkLimits = {
  /** The size of one message, in `unit`. */
  readonly max: number
  readonly unit: 'utf16' | 'utf8' | 'codepoint'
  /** Styled spans of one message. */
  readonly maxSpans: number
}

export function splitText(text: string, spans: readonly TextSpan[], limits: ChunkLimits): readonly MessageChunk[] {
  const chunks: MessageChunk[] = []
  let from = 0
  while (from < text.length) {
    const end = findStyledEnd(text, spans, from, limits)
    const chunk = chunkBetween(text, spans, from, end)
    if (chunk.text) chunks.push({ ...chunk, spans: chunk.spans.slice(0, limits.maxSpans) })
    from = end
  }
  return chunks
}

/** The end of a chunk that fits and has no more spans than a message may have. */
function findStyledEnd(text: string, spans: readonly TextSpan[], from: number, limits: ChunkLimits): number {
  const end = findChunkEnd(text, from, limits)
  const shown = spans.filter(({ offset, length }) => offset < end && offset + length > from)
  const next = shown[limits.maxSpans]?.offset ?? end
  // More spans than that around one character cannot be separated.
  return next > from && next < end ? findChunkEnd(text, from, { ...limits, max: next - from, unit: 'utf16' }) : end
}

export function findChunkEnd(text: string, from: number, limits: ChunkLimits): number {
  const last = findLastFit(text, from, limits)
  if (last === text.length) return last
  // A shorter chunk that ends at a paragraph reads better than a full one that ends in a sentence.
  for (const [separator, minFill] of [
    ['\n\n', 0.5],
    ['\n', 0.5],
    // A cut within an address would break it.
    [' ', 0.3],
  ] as const) {
    const at = text.lastIndexOf(separator, last - separator.length)
    if (at >= from + (last - from) * minFill) return at + separator.length
  }
  return last
}

/** The largest end of a chunk that begins at `from`. It never splits a code point. */
function findLastFit(text: string, from: number, { max, unit }: ChunkLimits): number {
  if (unit === 'utf16') {
    const last = Math.min(from + max, text.length)
    return isInsideSurrogatePair(text, last) ? last - 1 : last
  }
  let [at, size] = [from, 0]
  while (at < text.length) {
    const code = text.codePointAt(at) ?? 0
    size += unit === 'utf8' ? utf8Bytes(code) : 1
    if (size > max) return at
    at += code > 0xff_ff ? 2 : 1
  }
  return at
}

const utf8Bytes = (code: number): number => (code < 0x80 ? 1 : code < 0x8_00 ? 2 : code < 0x1_00_00 ? 3 : 4)

const isInsideSurrogatePair = (text: string, at: number) =>
  /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '')

/** Trims as platforms do: otherwise their offsets of the styles would differ from ours. */
export function chunkBetween(text: string, spans: readonly TextSpan[], from: number, end: number): MessageChunk {
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

/** Prepends a text to a chunk. */
export const withPrefix = ({ spans, text, ...rest }: MessageChunk, prefix: string): MessageChunk => ({
  ...rest,
  text: prefix + text,
  spans: spans.map((span) => ({ ...span, offset: span.offset + prefix.length })),
})
