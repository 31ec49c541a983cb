/** Extracts the cells of a workbook: a heading per sheet, a line per row, tabs between cells. */

import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, type Tag, parseXml } from './xml-tokens.ts'

const maxRows = 5000
const maxColumns = 256
const maxSheets = 200

/** Returns the text of every element with this tag, in order. */
async function listTexts(xml: string, tag: string, budget: WorkBudget): Promise<string[]> {
  const found: string[] = []
  let inside = false
  let text = false
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') {
      if (inside && text) found[found.length - 1] += token.text
    } else if (token.name === tag) {
      inside = token.kind === 'open'
      if (inside) found.push('')
    } else if (token.name === 't') text = token.kind === 'open' && !token.empty
  }
  return found
}

/** Returns the index of the column: `B7` is in column 1. */
function parseColumn(reference: string): number {
  let column = 0
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? 'A') column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

type Cell = { column: number; type: string; value: string }

type ParserState = { readonly rows: string[]; cells: string[]; cell: Cell | undefined; isInValue: boolean }

function handleOpenTag(state: ParserState, { name, attributes, empty }: Tag): void {
  if (name === 'v' || name === 't') state.isInValue = !empty
  if (name !== 'c' || empty) return
  const type = getAttribute(attributes, 't') ?? 'n'
  state.cell = { column: parseColumn(getAttribute(attributes, 'r') ?? ''), type, value: '' }
}

function handleCloseTag(state: ParserState, name: string, sharedStrings: readonly string[]): void {
  if (name === 'v' || name === 't') state.isInValue = false
  else if (name === 'row') {
    state.rows.push(Array.from(state.cells, (text) => text ?? '').join('\t'))
    state.cells = []
  } else if (name === 'c' && state.cell) {
    if (state.cell.column < maxColumns) state.cells[state.cell.column] = renderCell(state.cell, sharedStrings)
    state.cell = undefined
  }
}

type Rows = { readonly rows: readonly string[]; readonly note?: string }

async function listRows(xml: string, sharedStrings: readonly string[], budget: WorkBudget): Promise<Rows> {
  const state: ParserState = { rows: [], cells: [], cell: undefined, isInValue: false }
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    const before = state.rows.length
    if (token.kind === 'open') handleOpenTag(state, token)
    else if (token.kind !== 'text') handleCloseTag(state, token.name, sharedStrings)
    else if (state.cell && state.isInValue) state.cell.value += token.text
    if (state.rows.length === before) continue
    if (!budget.print((state.rows.at(-1)?.length ?? 0) + 1)) {
      state.rows.pop()
      return { rows: state.rows, note: '[the text of this file is longer than is shown]' }
    }
    if (state.rows.length === maxRows) return { rows: state.rows, note: `[more rows than ${maxRows} are not shown]` }
  }
  return { rows: state.rows }
}

function renderCell({ type, value }: Cell, sharedStrings: readonly string[]): string {
  if (type === 's') return (sharedStrings[Number(value)] ?? '').replaceAll(/[\t\n]/g, ' ')
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  return value.replaceAll(/[\t\n]/g, ' ')
}

type Sheet = { readonly name: string; readonly path: string }

const listTags = (xml: string, name: string): Tag[] =>
  [...parseXml(xml)].flatMap((token) => (token.kind === 'open' && token.name === name ? [token] : []))

async function listSheets(archive: ZipArchive, workbook: string): Promise<Sheet[]> {
  const value = ({ attributes }: Tag, name: string): string => getAttribute(attributes, name) ?? ''
  const relations = listTags((await archive.readText('xl/_rels/workbook.xml.rels')) ?? '', 'Relationship')
  const targets = new Map(relations.map((tag) => [value(tag, 'Id'), value(tag, 'Target')]))
  return listTags(workbook, 'sheet').map((tag) => {
    const target = targets.get(value(tag, 'r:id')) ?? ''
    return { name: value(tag, 'name'), path: target.startsWith('/') ? target.slice(1) : `xl/${target}` }
  })
}

/** Returns undefined when the archive is not a workbook. Each part is read once, however often it is named. */
export async function extractXlsxText(archive: ZipArchive, budget: WorkBudget): Promise<string | undefined> {
  const workbook = await archive.readText('xl/workbook.xml')
  if (workbook === undefined) return undefined
  const sheets = await listSheets(archive, workbook)
  const sharedStrings = await listTexts((await archive.readText('xl/sharedStrings.xml')) ?? '', 'si', budget)
  const shownAs = new Map<string, string>()
  const parts: string[] = []
  for (const { name, path } of sheets.slice(0, maxSheets)) {
    const heading = `## Sheet: ${name.slice(0, 200)}`
    const earlier = shownAs.get(path)
    if (!budget.print(heading.length + (earlier?.length ?? 0) + 50)) break
    if (earlier !== undefined) {
      parts.push(`${heading}\n[the same as sheet ${earlier}]`)
      continue
    }
    shownAs.set(path, name.slice(0, 200))
    const { rows, note } = await listRows((await archive.readText(path)) ?? '', sharedStrings, budget)
    parts.push([heading, ...rows, ...(note === undefined ? [] : [note])].join('\n'))
  }
  if (sheets.length > parts.length) parts.push(`[${sheets.length - parts.length} more sheets are not shown]`)
  return parts.join('\n\n')
}
