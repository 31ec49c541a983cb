/** States the marks of WhatsApp, which has no escapes and no links. */

import { type MarkDialect, separateMarksAroundUrls, separateTicks } from '../text/encode-marks.ts'

const asWritten = (text: string): string => text

export const whatsappMarks: MarkDialect = {
  marks: { bold: '*', italic: '_', strikethrough: '~' },
  needsBoundaries: true,
  escapeText: (text, before) => separateMarksAroundUrls(text, before, { encodeText: asWritten, encodeUrl: asWritten }),
  encodeCode: (code) => (code.includes('`') ? undefined : `\`${code}\``),
  encodeLink: (_url, label) => label,
  encodePre: separateTicks,
  openPre: () => '```',
}
