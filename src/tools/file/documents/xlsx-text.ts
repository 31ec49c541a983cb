/** The cells of a workbook: a heading per sheet, a line per row, tabs between cells. */

import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, type Tag, parseXml } from './xml-tokens.ts'

const MAX_ROWS = 5000
const MAX_COLUMNS = 256

/** Text of every `tag` in its order. */
function texts(xml: string, tag: string): string[] {
  const found: string[] = []
  let inside = false
  let text = false
  for (const token of parseXml(xml)) {
    if (token.is === 'text') {
      if (inside && text) found[found.length - 1] += token.text
    } else if (token.name === tag) {
      inside = token.is === 'open'
      if (inside) found.push('')
    } else if (token.name === 't') text = token.is === 'open' && !token.empty
  }
  return found
}

/** `B7` is column 1. */
function columnOf(reference: string): number {
  let column = 0
  for (const letter of /^[A-Z]+/.exec(reference)?.[0] ?? 'A') column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

type Cell = { column: number; type: string; value: string }

type Row = { readonly rows: string[]; cells: string[]; cell: Cell | undefined; reads: boolean }

function opened(state: Row, { name, attributes, empty }: Tag): void {
  if (name === 'v' || name === 't') state.reads = !empty
  if (name !== 'c' || empty) return
  const type = getAttribute(attributes, 't') ?? 'n'
  state.cell = { column: columnOf(getAttribute(attributes, 'r') ?? ''), type, value: '' }
}

function closed(state: Row, name: string, shared: readonly string[]): void {
  if (name === 'v' || name === 't') state.reads = false
  else if (name === 'row') {
    state.rows.push(Array.from(state.cells, (text) => text ?? '').join('\t'))
    state.cells = []
  } else if (name === 'c' && state.cell) {
    if (state.cell.column < MAX_COLUMNS) state.cells[state.cell.column] = shown(state.cell, shared)
    state.cell = undefined
  }
}

function rowsOf(xml: string, shared: readonly string[]): string[] {
  const state: Row = { rows: [], cells: [], cell: undefined, reads: false }
  for (const token of parseXml(xml)) {
    if (token.is === 'open') opened(state, token)
    else if (token.is === 'close') closed(state, token.name, shared)
    else if (token.is === 'text' && state.cell && state.reads) state.cell.value += token.text
    if (state.rows.length === MAX_ROWS) break
  }
  return state.rows
}

function shown({ type, value }: Cell, shared: readonly string[]): string {
  if (type === 's') return (shared[Number(value)] ?? '').replaceAll(/[\t\n]/g, ' ')
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  return value.replaceAll(/[\t\n]/g, ' ')
}

type Sheet = { readonly name: string; readonly path: string }

function opens(xml: string, name: string): Tag[] {
  return [...parseXml(xml)].flatMap((token) => (token.is === 'open' && token.name === name ? [token] : []))
}

async function sheetsOf(archive: ZipArchive, workbook: string): Promise<Sheet[]> {
  const value = ({ attributes }: Tag, name: string): string => getAttribute(attributes, name) ?? ''
  const relations = opens((await archive.readText('xl/_rels/workbook.xml.rels')) ?? '', 'Relationship')
  const targets = new Map(relations.map((tag) => [value(tag, 'Id'), value(tag, 'Target')]))
  return opens(workbook, 'sheet').map((tag) => {
    const target = targets.get(value(tag, 'r:id')) ?? ''
    return { name: value(tag, 'name'), path: target.startsWith('/') ? target.slice(1) : `xl/${target}` }
  })
}

/** `undefined` when the archive is no workbook. */
export async function extractXlsxText(archive: ZipArchive): Promise<string | undefined> {
  const workbook = await archive.readText('xl/workbook.xml')
  if (workbook === undefined) return undefined
  const shared = texts((await archive.readText('xl/sharedStrings.xml')) ?? '', 'si')
  const parts: string[] = []
  for (const { name, path } of await sheetsOf(archive, workbook)) {
    const rows = rowsOf((await archive.readText(path)) ?? '', shared)
    const cut = rows.length === MAX_ROWS ? [`[more rows than ${MAX_ROWS} are not shown]`] : []
    parts.push([`## Sheet: ${name}`, ...rows, ...cut].join('\n'))
  }
  return parts.join('\n\n')
}
