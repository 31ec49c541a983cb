/** Renders Markdown for a platform from a literal: its marks, or plain text, and the size of one message. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import { encodeMarks, type MarkDialect } from '../text/encode-marks.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { writeLinkAddresses } from '../text/plain-links.ts'
import { splitEncoded } from '../text/split-encoded.ts'

export type Dialect = {
  /** The size that the platform accepts, less room for a line in front. */
  readonly max: number
  readonly unit: 'utf16' | 'utf8'
  /** Absent: plain text. */
  readonly marks?: MarkDialect
  /** Longer addresses of links follow their label. Absent: all. */
  readonly maxLinkedChars?: number
}

type Render = (source: string, format: 'markdown' | 'plain') => readonly MessageChunk[]

export function defineDialect({ max, unit, marks, maxLinkedChars }: Dialect) {
  const encode = (chunk: MessageChunk): string => (marks ? encodeMarks(chunk, marks) : chunk.text)
  const measure = (text: string) => (unit === 'utf8' ? new TextEncoder().encode(text).length : text.length)
  /** Counts the form that is longer: with styles, or without, which is sent when the platform rejects the styles. */
  const size = ({ text, spans }: MessageChunk) =>
    Math.max(measure(encode({ text, spans })), measure(encode({ text, spans: [] })))
  const render: Render = (source, format) => {
    const styled =
      format === 'plain' ? { text: source, spans: [] } : writeLinkAddresses(parseMarkdown(source), maxLinkedChars)
    return splitEncoded(styled, { max, size })
  }
  return { encode, render, size, textLimit: { max, unit } } as const
}
