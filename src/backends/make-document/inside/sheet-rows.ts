/** Reads the sheets of a workbook from JSON, Markdown tables or CSV. Text stays text, also what looks like a formula. */

import { cutText, removeIllegal } from '../legal-text.ts'
import { parseMarkdown, textOf } from './markdown.ts'

export type CellValue = string | number | boolean | null
export type SheetRows = { readonly name: string; readonly rows: readonly (readonly CellValue[])[] }

type RefusedSheet = { readonly refused: string }

/** Of Excel, which opens no workbook with more. */
const maxRows = 1_048_576
const maxColumns = 16_384
const maxNameChars = 31

export function parseSheets(content: string): readonly SheetRows[] | RefusedSheet {
  const sheets = readSheets(content)
  if ('refused' in sheets) return sheets
  const isTooLarge = sheets.some(({ rows }) => rows.length > maxRows || rows.some((cells) => cells.length > maxColumns))
  return isTooLarge ? { refused: `A sheet has at most ${maxRows} rows of ${maxColumns} cells.` } : nameSheets(sheets)
}

/** Excel compares names without case and refuses a workbook with equal ones. */
function nameSheets(sheets: readonly SheetRows[]): readonly SheetRows[] {
  const taken = new Set<string>()
  return sheets.map(({ name, rows }) => {
    const base = cleanName(name)
    let unique = base
    for (let n = 2; taken.has(unique.toLowerCase()); n++)
      unique = `${cutText(base, maxNameChars - ` (${n})`.length)} (${n})`
    taken.add(unique.toLowerCase())
    return { name: unique, rows }
  })
}

function readSheets(content: string): readonly SheetRows[] | RefusedSheet {
  const text = content.trim()
  if (/^[[{]/.test(text)) return parseJsonSheets(text)
  const tables = parseMarkdown(content).flatMap((block) => (block.kind === 'table' ? [block.rows] : []))
  if (tables.length)
    return tables.map((rows, at) => ({
      name: `Sheet${at + 1}`,
      rows: rows.map((cells) => cells.map((runs) => toValue(textOf(runs)))),
    }))
  return [{ name: 'Sheet1', rows: parseCsv(text).map((cells) => cells.map(toValue)) }]
}

const wrongForm =
  'Rows are a JSON list of lists or of objects, an object of such lists by sheet, a Markdown table, or CSV.'

function parseJsonSheets(text: string): readonly SheetRows[] | RefusedSheet {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { refused: `The content is not valid JSON: ${error instanceof Error ? error.message : ''}. ${wrongForm}` }
  }
  const sheets = Array.isArray(value) ? { Sheet1: value as unknown[] } : (value as Readonly<Record<string, unknown>>)
  const found = Object.entries(sheets).map(([name, rows]) => ({ name, rows: toRows(rows) }))
  const isRead = (sheet: (typeof found)[number]): sheet is (typeof found)[number] & SheetRows =>
    sheet.rows !== undefined
  return found.length && found.every(isRead) ? found : { refused: wrongForm }
}

/** Excel refuses longer names, these characters, and quotation marks around a name. */
const cleanName = (name: string): string =>
  cutText(removeIllegal(name).replace(/[\\/?*[\]:\t\n\r]/g, ' '), maxNameChars).replace(/^[\s']+|[\s']+$/g, '') ||
  'Sheet'

function toRows(value: unknown): SheetRows['rows'] | undefined {
  if (!Array.isArray(value)) return undefined
  const rows = value as readonly unknown[]
  if (rows.every(Array.isArray)) return rows.map((row) => (row as readonly unknown[]).map(toCell))
  if (!rows.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row))) return undefined
  const objects = rows as readonly Readonly<Record<string, unknown>>[]
  const columns = [...new Set(objects.flatMap((row) => Object.keys(row)))]
  return [columns.map(toCell), ...objects.map((row) => columns.map((column) => toCell(row[column])))]
}

function toCell(value: unknown): CellValue {
  if (value === undefined || value === null) return null
  // JSON escapes characters that the content itself cannot have.
  if (typeof value === 'string') return removeIllegal(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  return JSON.stringify(value)
}

/** A number as a person writes it. Leading zeros are part of a code, and more digits than a number has stay text. */
const toValue = (text: string): CellValue => {
  if (text === '') return null
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/.test(text) ? Number(text) : text
}

/** RFC 4180. Reads each character once. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]]
  for (let at = 0; at < text.length;) {
    const { cell, next } = text[at] === '"' ? readQuoted(text, at) : readBare(text, at)
    rows.at(-1)?.push(cell)
    if (text[next] === '\n' && next + 1 < text.length) rows.push([])
    at = next + 1
    // A comma at the end has an empty cell after it.
    if (text[next] === ',' && at === text.length) rows.at(-1)?.push('')
  }
  return rows
}

type ParsedCell = { readonly cell: string; readonly next: number }

const getEnd = (text: string, from: number): number => {
  let at = from
  while (at < text.length && text[at] !== ',' && text[at] !== '\n') at++
  return at
}

function readBare(text: string, from: number): ParsedCell {
  const next = getEnd(text, from)
  const cell = text.slice(from, next)
  return { cell: cell.endsWith('\r') ? cell.slice(0, -1) : cell, next }
}

/** Two quotation marks are one. What follows the last one up to the next cell is left out. */
function readQuoted(text: string, from: number): ParsedCell {
  let at = from + 1
  while (at < text.length && (text[at] !== '"' || text[at + 1] === '"')) at += text[at] === '"' ? 2 : 1
  return { cell: text.slice(from + 1, at).replaceAll('""', '"'), next: getEnd(text, at) }
}
