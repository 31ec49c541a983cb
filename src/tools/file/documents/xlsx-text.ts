/** Extracts the cells of a workbook: a heading per sheet, a line per row, tabs between cells. */

import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, type Tag, parseXml } from './xml-tokens.ts'

const maxRows = 5000
const maxColumns = 256

/** Returns the text of every element with this tag, in order. */
function listTexts(xml: string, tag: string): string[] {
  const found: string[] = []
  let inside = false
  let text = false
  for (const token of parseXml(xml)) {
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
  for (const letter of /^[A-Z]+/.exec(reference)?.[0] ?? 'A') column = column * 26 + letter.charCodeAt(0) - 64
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

function listRows(xml: string, sharedStrings: readonly string[]): string[] {
  const state: ParserState = { rows: [], cells: [], cell: undefined, isInValue: false }
  for (const token of parseXml(xml)) {
    if (token.kind === 'open') handleOpenTag(state, token)
    else if (token.kind === 'close') handleCloseTag(state, token.name, sharedStrings)
    else if (token.kind === 'text' && state.cell && state.isInValue) state.cell.value += token.text
    if (state.rows.length === maxRows) break
  }
  return state.rows
}

function renderCell({ type, value }: Cell, sharedStrings: readonly string[]): string {
  if (type === 's') return (sharedStrings[Number(value)] ?? '').replaceAll(/[\t\n]/g, ' ')
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  return value.replaceAll(/[\t\n]/g, ' ')
}

type Sheet = { readonly name: string; readonly path: string }

function listTags(xml: string, name: string): Tag[] {
  return [...parseXml(xml)].flatMap((token) => (token.kind === 'open' && token.name === name ? [token] : []))
}

async function listSheets(archive: ZipArchive, workbook: string): Promise<Sheet[]> {
  const value = ({ attributes }: Tag, name: string): string => getAttribute(attributes, name) ?? ''
  const relations = listTags((await archive.readText('xl/_rels/workbook.xml.rels')) ?? '', 'Relationship')
  const targets = new Map(relations.map((tag) => [value(tag, 'Id'), value(tag, 'Target')]))
  return listTags(workbook, 'sheet').map((tag) => {
    const target = targets.get(value(tag, 'r:id')) ?? ''
    return { name: value(tag, 'name'), path: target.startsWith('/') ? target.slice(1) : `xl/${target}` }
  })
}

/** Returns undefined when the archive is not a workbook. */
export async function extractXlsxText(archive: ZipArchive): Promise<string | undefined> {
  const workbook = await archive.readText('xl/workbook.xml')
  if (workbook === undefined) return undefined
  const sharedStrings = listTexts((await archive.readText('xl/sharedStrings.xml')) ?? '', 'si')
  const parts: string[] = []
  for (const { name, path } of await listSheets(archive, workbook)) {
    const rows = listRows((await archive.readText(path)) ?? '', sharedStrings)
    const note = rows.length === maxRows ? [`[more rows than ${maxRows} are not shown]`] : []
    parts.push([`## Sheet: ${name}`, ...rows, ...note].join('\n'))
  }
  return parts.join('\n\n')
}
