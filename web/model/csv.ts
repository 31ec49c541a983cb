/** Reads rows and cells of CSV: quotes as in RFC 4180, and the separator that the first line uses. */

const separators = [',', ';', '\t', '|'] as const

export type Rows = readonly (readonly string[])[]

export function readCsv(text: string, maxRows: number): { readonly rows: Rows; readonly hasMore: boolean } {
  const source = text.replace(/^\uFEFF/, '')
  const separator = findSeparator(source)
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < source.length && rows.length < maxRows) {
    const cell = readCell(source, at, separator)
    row.push(cell.text)
    const end = source[cell.end]
    at = cell.end + (end === '\r' && source[cell.end + 1] === '\n' ? 2 : 1)
    if (end === separator && at < source.length) continue
    if (end === separator) row.push('')
    rows.push(row)
    row = []
  }
  return { rows, hasMore: at < source.length }
}

/** The one that the first line has most. Those between quotes are text. */
function findSeparator(source: string): string {
  const [line = ''] = source.replaceAll(/"(?:[^"]|"")*"/g, '').split(/[\r\n]/, 1)
  const counts = separators.map((one) => line.split(one).length)
  return separators[counts.indexOf(Math.max(...counts))] ?? ','
}

type Cell = { readonly text: string; readonly end: number }

function readCell(source: string, from: number, separator: string): Cell {
  if (source[from] === '"') return readQuoted(source, from + 1, separator)
  const end = findEnd(source, from, separator)
  return { text: source.slice(from, end), end }
}

/** Text behind the closing quote belongs to the cell, as programs read it. */
function readQuoted(source: string, from: number, separator: string): Cell {
  let text = ''
  let at = from
  for (;;) {
    const quote = source.indexOf('"', at)
    if (quote < 0) return { text: text + source.slice(at), end: source.length }
    text += source.slice(at, quote)
    if (source[quote + 1] !== '"') {
      const end = findEnd(source, quote + 1, separator)
      return { text: text + source.slice(quote + 1, end), end }
    }
    text += '"'
    at = quote + 2
  }
}

function findEnd(source: string, from: number, separator: string): number {
  let end = from
  while (end < source.length && source[end] !== separator && source[end] !== '\n' && source[end] !== '\r') end++
  return end
}

/** Splits the text of a workbook into its sheets: a heading for each, then tabs between cells. */
export function readSheets(text: string): readonly { readonly name: string; readonly rows: Rows }[] {
  return text
    .split(/^## Sheet: /m)
    .slice(1)
    .map((part) => {
      const [name = '', ...lines] = part.trimEnd().split('\n')
      return { name, rows: lines.map((line) => line.split('\t')) }
    })
}
