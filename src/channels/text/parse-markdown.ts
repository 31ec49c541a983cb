/**
 * Markdown as models write it, made into text with styled stretches: for platforms that take no markdown, or too little
 * of it. Blocks are told by their lines; tables become aligned text. Everything that is said stays.
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
  blocks(markdown.replaceAll('\r\n', '\n').split('\n'), out, false)
  return out
}

function blocks(lines: readonly string[], out: StyledText, isQuoted: boolean): void {
  let at = 0
  while (at < lines.length) {
    if (at > 0) out.text += '\n'
    at = block(lines, at, { out, isQuoted })
  }
}

type Writing = { readonly out: StyledText; readonly isQuoted: boolean }

/** Writes the block that begins at this line. Gives the line after it. */
function block(lines: readonly string[], at: number, writing: Writing): number {
  const { out, isQuoted } = writing
  const line = lines[at] ?? ''
  const fenced = fence.exec(line)
  if (fenced) return code(lines, at, out, fenced)
  if (quote.test(line)) return quoted(lines, at, out, isQuoted)
  if (isTable(lines, at)) return table(lines, at, out)
  const title = heading.exec(line)
  if (title) spanned(out, 'bold', () => parseInline(title[1] ?? '', out))
  else if (rule.test(line)) out.text += '———'
  else if (item.test(line)) listed(line, out)
  else return paragraph(lines, at, out)
  return at + 1
}

/** Lines that belong together, so that a style may go on into the next one. */
function paragraph(lines: readonly string[], from: number, out: StyledText): number {
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

function code(
  lines: readonly string[],
  from: number,
  out: StyledText,
  [, mark = '', language = '']: RegExpExecArray,
): number {
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`)
  let end = from + 1
  while (end < lines.length && !closing.test(lines[end] ?? '')) end++
  // A fence around nothing, at the end of an answer that was cut off.
  if (end === from + 1 && end >= lines.length) out.text += lines[from]
  const body = lines.slice(from + 1, end).join('\n')
  spanned(out, 'pre', () => (out.text += body), language ? { language } : {})
  return end + 1
}

function quoted(lines: readonly string[], from: number, out: StyledText, isQuoted: boolean): number {
  let at = from
  const inner: string[] = []
  while (at < lines.length && quote.test(lines[at] ?? '')) inner.push((lines[at++] ?? '').replace(quote, ''))
  // Platforms know one level of quotes.
  if (isQuoted) blocks(inner, out, true)
  else spanned(out, 'quote', () => blocks(inner, out, true))
  return at
}

function listed(line: string, out: StyledText): void {
  const [, indent = '', bullet = '', rest = ''] = item.exec(line) ?? []
  const [, box, words = rest] = /^\[([ xX])\]\s+(.*)$/.exec(rest) ?? []
  const sign = box === undefined ? (/\d/.test(bullet) ? bullet : '•') : box === ' ' ? '☐' : '☑'
  out.text += `${indent}${sign} `
  parseInline(words, out)
}

const isTable = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? '').includes('|') &&
  (lines[at + 1] ?? '').includes('-') &&
  delimiterRow.test(lines[at + 1] ?? '') &&
  (lines[at + 1] ?? '').includes('|')

function table(lines: readonly string[], from: number, out: StyledText): number {
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
  spanned(out, 'pre', () => (out.text += text.join('\n')))
  return at
}

/** Inside a table nothing is styled: the marks go, the words stay. */
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

function spanned(
  out: StyledText,
  type: 'bold' | 'pre' | 'quote',
  say: () => unknown,
  more: { language?: string } = {},
): void {
  const offset = out.text.length
  const before = out.spans.length
  say()
  const length = out.text.length - offset
  if (length) out.spans.splice(before, 0, { type, offset, length, ...more })
}
