/** States the marks of Markdown, for platforms that show it. */

import { bareUrls, withoutPunctuation } from './bare-url.ts'
import { type MarkDialect, separateMarksAroundUrls, separateTicks } from './encode-marks.ts'

const escape = (text: string): string => text.replace(/[\\*_~`[\]<]/g, (mark) => `\\${mark}`)

function escapeText(text: string, before: string): string {
  let out = ''
  let at = 0
  for (const { 0: found, index } of text.matchAll(bareUrls)) {
    const url = withoutPunctuation(found)
    out += escape(text.slice(at, index)) + url
    at = index + url.length
  }
  out += escape(text.slice(at))
  // Headings, quotes and lists begin lines.
  return before === '' ? out.replace(/^(\s{0,200})([#>+-])/, '$1\\$2') : out
}

const encodeUrl = (url: string): string =>
  url.replace(/[()\s<>]/g, (char) => `%${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`)

/** Longer marks than any run of ticks inside. */
function encodeCode(code: string): string | undefined {
  if (!code.includes('`')) return `\`${code}\``
  return code.includes('``') ? undefined : `\`\` ${code} \`\``
}

const shared = {
  encodeCode,
  encodeLink: (url: string, label: string, text: string) =>
    text === url || !/^(?:https?|mailto|tel):/i.test(url) ? label : `[${label}](${encodeUrl(url)})`,
  encodePre: separateTicks,
  openPre: (language = '') => (/^[\w+#.-]{0,30}$/.test(language) ? `\`\`\`${language}` : '```'),
}

/** A backslash makes a mark an ordinary character. */
export const markdownMarks: MarkDialect = {
  ...shared,
  marks: { bold: '**', italic: '_', strikethrough: '~~' },
  needsBoundaries: true,
  escapeText,
}

const asWritten = (text: string): string => text

/** A backslash is an ordinary character: marks are separated by characters without width. */
export const unescapedMarks: MarkDialect = {
  ...shared,
  marks: { bold: '**', italic: '*', strikethrough: '~~' },
  needsBoundaries: true,
  escapeText: (text, before) => separateMarksAroundUrls(text, before, { encodeText: asWritten, encodeUrl: asWritten }),
}
