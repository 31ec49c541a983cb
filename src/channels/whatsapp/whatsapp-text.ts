/** Writes the marks of WhatsApp. It has no escapes and no links. */

import type { MessageChunk } from '#agent/core/delivery.ts'
import { encodeMarks, type MarkDialect, separateMarksAroundUrls, separateTicks } from '../text/encode-marks.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { writeLinkAddresses } from '../text/plain-links.ts'
import { splitEncoded } from '../text/split-encoded.ts'

/** WhatsApp accepts 4096 characters. The rest is room for a line in front. */
export const maxTextChars = 4_000

const asWritten = (text: string): string => text

const dialect: MarkDialect = {
  marks: { bold: '*', italic: '_', strikethrough: '~' },
  needsBoundaries: true,
  escapeText: (text, before) => separateMarksAroundUrls(text, before, { encodeText: asWritten, encodeUrl: asWritten }),
  encodeCode: (code) => (code.includes('`') ? undefined : `\`${code}\``),
  encodeLink: (_url, label) => label,
  encodePre: separateTicks,
  openPre: () => '```',
}

export const encodeWhatsapp = (chunk: MessageChunk): string => encodeMarks(chunk, dialect)

const sizeOf = ({ text, spans }: MessageChunk): number =>
  Math.max(encodeWhatsapp({ text, spans }).length, encodeWhatsapp({ text, spans: [] }).length)

export const renderWhatsapp = (source: string, format: 'markdown' | 'plain'): readonly MessageChunk[] => {
  const styled = format === 'plain' ? { text: source, spans: [] } : writeLinkAddresses(parseMarkdown(source))
  return splitEncoded(styled, { max: maxTextChars, size: sizeOf })
}
