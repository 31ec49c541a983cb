/**
 * Parses Markdown as models write it into text with styled spans, for platforms that accept little or no Markdown. Blocks
 * are recognised line by line; tables become aligned text. No words are lost.
 */

import { parseInline, type StyledText } from './parse-inline.ts'

const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/
const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$/
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/
const quote = /^ {0,3}> ?/
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/
const delimiterRow = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/

export function parseMarkdown(markdown: string): StyledText {
  const out: StyledText = { text: '', spans: [] }
  writeBlocks(markdown.replaceAll('\r\n', '\n').split('\n'), out, false)
  return out
}

function writeBlocks(lines: readonly string[], out: StyledText, isQuoted: boolean): void {
  let at = 0
  while (at < lines.length) {
    if (at > 0) out.text += '\n'
    at = writeBlock(lines, at, { out, isQuoted })
  }
}

type Target = { readonly out: StyledText; readonly isQuoted: boolean }

/** Writes the block that begins at a line. Returns the number of the line after it. */
function writeBlock(lines: readonly string[], at: number, target: Target): number {
  const { out, isQuoted } = target
  const line = lines[at] ?? ''
  const fenced = fence.exec(line)
  if (fenced) return writeCode(lines, at, out, fenced)
  if (quote.test(line)) return writeQuote(lines, at, out, isQuoted)
  if (isTable(lines, at)) return writeTable(lines, at, out)
  const title = heading.exec(line)
  if (title) withSpan(out, 'bold', () => parseInline(title[1] ?? '', out))
  else if (rule.test(line)) out.text += '———'
  else if (item.test(line)) writeListItem(line, out)
  else return writeParagraph(lines, at, out)
  return at + 1
}

/** Parses the lines of a paragraph together, because a style may span lines. */
function writeParagraph(lines: readonly string[], from: number, out: StyledText): number {
  let at = from + 1
  if ((lines[from] ?? '').trim()) while (at < lines.length && isPlain(lines, at)) at++
  parseInline(lines.slice(from, at).join('\n'), out)
  return at
}

function isPlain(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  return (
    line.trim() !== '' &&
    ![fence, heading, rule, quote, item].some((begins) => begins.test(line)) &&
    !isTable(lines, at)
  )
}

function writeCode(
  lines: readonly string[],
  from: number,
  out: StyledText,
  [, mark = '', language = '']: RegExpExecArray,
): number {
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`)
  let end = from + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end++
  // An opening fence on the last line: the answer was cut off there.
  if (end === from + 1 && end >= lines.length) out.text += lines[from]
  const body = lines.slice(from + 1, end).join('\n')
  withSpan(out, 'pre', () => (out.text += body), language ? { language } : {})
  return end + 1
}

function writeQuote(lines: readonly string[], from: number, out: StyledText, isQuoted: boolean): number {
  let at = from
  const inner: string[] = []
  while (at < lines.length && quote.test(lines[at] ?? '')) inner.push((lines[at++] ?? '').replace(quote, ''))
  // Platforms support one level of quotes.
  if (isQuoted) writeBlocks(inner, out, true)
  else withSpan(out, 'quote', () => writeBlocks(inner, out, true))
  return at
}

function writeListItem(line: string, out: StyledText): void {
  const [, indent = '', marker = '', rest = ''] = item.exec(line) ?? []
  const [, box, text = rest] = /^\[([ xX])\]\s+(.*)$/.exec(rest) ?? []
  const bullet = box === undefined ? (/\d/.test(marker) ? marker : '•') : box === ' ' ? '☐' : '☑'
  out.text += `${indent}${bullet} `
  parseInline(text, out)
}

const isTable = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? '').includes('|') &&
  (lines[at + 1] ?? '').includes('-') &&
  delimiterRow.test(lines[at + 1] ?? '') &&
  (lines[at + 1] ?? '').includes('|')

function writeTable(lines: readonly string[], from: number, out: StyledText): number {
  const rows = [cellsOf(lines[from] ?? '')]
  let at = from + 2
  while (at < lines.length && (lines[at] ?? '').includes('|')) rows.push(cellsOf(lines[at++] ?? ''))
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, n) => (widths[n] = Math.max(widths[n] ?? 0, cell.length)))
  const text = rows.map((row) =>
    row
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join(' | ')
      .trimEnd(),
  )
  text.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('-|-'))
  withSpan(out, 'pre', () => (out.text += text.join('\n')))
  return at
}

/** Parses the cells of a table row. Styles are dropped, because the table is preformatted text. */
function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
  return cells.map((cell) => {
    const plain: StyledText = { text: '', spans: [] }
    parseInline(cell.trim(), plain)
    return plain.text
  })
}

function withSpan(
  out: StyledText,
  type: 'bold' | 'pre' | 'quote',
  write: () => unknown,
  more: { language?: string } = {},
): void {
  const offset = out.text.length
  const before = out.spans.length
  write()
  const length = out.text.length - offset
  if (length) out.spans.splice(before, 0, { type, offset, length, ...more })
}
