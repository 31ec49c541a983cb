/**
 * Parses Markdown as models write it into text with styled spans, for platforms that accept little or no Markdown. Blocks
 * are recognised line by line; narrow tables become aligned text, others lines of `header: value`. No words are lost.
 */

import { parseInline, type StyledText } from './parse-inline.ts'
import { writeLinkAddresses } from './plain-links.ts'

/** A fence of a nested list may be indented by more than three spaces. */
const fence = /^([ \t]*)(`{3,}|~{3,})(?=[^`]*$)[ \t]*([^\s`]*)/
const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$/
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/
const quote = /^ {0,3}> ?/
const item = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/
const delimiterRow = /^\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$/

/** `hasColumns`: the platform shows preformatted text, in which aligned columns stay aligned. */
export function parseMarkdown(markdown: string, { hasColumns = true } = {}): StyledText {
  const out: StyledText = { text: '', spans: [] }
  writeBlocks(markdown.replaceAll('\r\n', '\n').split('\n'), { out, quoteLevel: 0, hasColumns })
  return out
}

type MarkdownOutput = { readonly out: StyledText; readonly quoteLevel: number; readonly hasColumns: boolean }

/** Bounds the recursion. Deeper quotes stay as they are written. */
const maxQuoteLevel = 20

function writeBlocks(lines: readonly string[], target: MarkdownOutput): void {
  let at = 0
  while (at < lines.length) {
    if (at > 0) target.out.text += '\n'
    at = writeBlock(lines, at, target)
  }
}

/** Writes the block that begins at a line. Returns the number of the line after it. */
function writeBlock(lines: readonly string[], at: number, target: MarkdownOutput): number {
  const { out } = target
  const line = lines[at] ?? ''
  const fenced = parseFence(line)
  if (fenced) return writeCode(lines, at, out, fenced)
  if (quote.test(line) && target.quoteLevel < maxQuoteLevel) return writeQuote(lines, at, target)
  if (isTable(lines, at)) return writeTable(lines, at, target)
  const title = heading.exec(line)
  if (title) withSpan(out, 'bold', () => parseInline(title[1] ?? '', out))
  else if (rule.test(line)) out.text += '———'
  else if (item.test(line)) return writeListItem(lines, at, out)
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

type CodeFence = { readonly indentChars: number; readonly mark: string; readonly language: string }

function parseFence(line: string): CodeFence | undefined {
  const [whole, indent = '', mark = '', language = ''] = fence.exec(line) ?? []
  return whole === undefined ? undefined : { indentChars: indent.length, mark, language }
}

/** Writes the lines up to the closing fence, without the indentation of the opening one. */
function writeCode(lines: readonly string[], from: number, out: StyledText, fenced: CodeFence): number {
  const { indentChars, mark, language } = fenced
  const indentation = new RegExp(`^[ \\t]{0,${indentChars}}`)
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`)
  const body: string[] = []
  let at = from + 1
  for (; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(indentation, '')
    if (closing.test(line)) break
    body.push(line)
  }
  // An opening fence on the last line: the answer was cut off there.
  if (from + 1 >= lines.length) out.text += lines[from]
  withSpan(out, 'pre', () => (out.text += body.join('\n')), language ? { language } : {})
  return at + 1
}

function writeQuote(lines: readonly string[], from: number, target: MarkdownOutput): number {
  let at = from
  const inner: string[] = []
  while (at < lines.length && quote.test(lines[at] ?? '')) inner.push((lines[at++] ?? '').replace(quote, ''))
  const write = () => writeBlocks(inner, { ...target, quoteLevel: target.quoteLevel + 1 })
  // Platforms support one level of quotes.
  if (target.quoteLevel) write()
  else withSpan(target.out, 'quote', write)
  return at
}

function writeListItem(lines: readonly string[], at: number, out: StyledText): number {
  const line = lines[at] ?? ''
  const { bullet, text } = parseListItem(line)
  const fenced = at + 1 < lines.length ? parseFence(text) : undefined
  // Platforms show code on lines of its own.
  out.text += `${bullet}${fenced ? '\n' : ' '}`
  if (fenced) return writeCode(lines, at, out, { ...fenced, indentChars: line.length - text.length })
  parseInline(text, out)
  return at + 1
}

function parseListItem(line: string): { readonly bullet: string; readonly text: string } {
  const [, indent = '', marker = '', rest = ''] = item.exec(line) ?? []
  const [, box, text = rest] = /^\[([ xX])\]\s+(.*)$/.exec(rest) ?? []
  const bullet = box === undefined ? (/\d/.test(marker) ? marker : '•') : box === ' ' ? '☐' : '☑'
  return { bullet: indent + bullet, text }
}

const isTable = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? '').includes('|') &&
  (lines[at + 1] ?? '').includes('-') &&
  delimiterRow.test(lines[at + 1] ?? '') &&
  (lines[at + 1] ?? '').includes('|')

type TableCell = { readonly source: string; readonly text: string }

/** Every cell of a column is as wide as its longest one. A longer cell would fill the other rows with blanks. */
const maxColumnChars = 40

function writeTable(lines: readonly string[], from: number, { out, hasColumns }: MarkdownOutput): number {
  const header = parseCells(lines[from] ?? '')
  const rows: (readonly TableCell[])[] = []
  let at = from + 2
  while (at < lines.length && (lines[at] ?? '').includes('|')) rows.push(parseCells(lines[at++] ?? ''))
  const isNarrow = [header, ...rows].every((row) => row.every(({ text }) => text.length <= maxColumnChars))
  if (hasColumns && isNarrow) withSpan(out, 'pre', () => (out.text += alignColumns([header, ...rows])))
  else writeRecords(header, rows, out)
  return at
}

/** Styles are dropped, because the table is preformatted text. Links have their addresses behind them. */
function alignColumns(rows: readonly (readonly TableCell[])[]): string {
  const widths: number[] = []
  for (const row of rows) row.forEach(({ text }, n) => (widths[n] = Math.max(widths[n] ?? 0, text.length)))
  const lines = rows.map((row) =>
    row
      .map(({ text }, n) => text.padEnd(widths[n] ?? 0))
      .join(' | ')
      .trimEnd(),
  )
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('-|-'))
  return lines.join('\n')
}

/** Writes each row as lines of `header: value`. The first row names all columns; empty cells of others are left out. */
function writeRecords(header: readonly TableCell[], rows: readonly (readonly TableCell[])[], out: StyledText): void {
  for (const [n, row] of (rows.length ? rows : [[]]).entries()) {
    if (n > 0) out.text += '\n\n'
    const columns: readonly LabelledField[] = Array.from(
      { length: Math.max(header.length, row.length) },
      (_, column) => ({
        label: header[column]?.source,
        value: row[column]?.source,
      }),
    )
    const shown = columns.filter(({ label, value }) => value || (n === 0 && label))
    for (const [line, field] of shown.entries()) {
      if (line > 0) out.text += '\n'
      writeField(field, out)
    }
  }
}

type LabelledField = { readonly label: string | undefined; readonly value: string | undefined }

function writeField({ label, value }: LabelledField, out: StyledText): void {
  if (label) withSpan(out, 'bold', () => parseInline(label, out))
  if (label && value) out.text += ': '
  if (value) parseInline(value, out)
}

function parseCells(line: string): readonly TableCell[] {
  const cells = line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
  return cells.map((cell) => {
    const source = cell.trim()
    const plain: StyledText = { text: '', spans: [] }
    parseInline(source, plain)
    return { source, text: writeLinkAddresses(plain).text }
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
