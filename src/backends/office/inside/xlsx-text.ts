/** Extracts the cells of a workbook: a heading per sheet, a line per row, tabs between cells. */

import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, listTags, type Tag, parseXml } from './xml-tokens.ts'
import { readComments, readPersons } from './cell-comments.ts'
import { listNumberKinds, type NumberKind, renderNumber } from './number-format.ts'
import { openMainPart, openPart, openRelated, type Part } from './package-parts.ts'

const maxRows = 5000
const maxColumns = 256
const maxSheets = 200

/** Returns the shared strings in order. Reading aids above East Asian words are no part of them. */
async function listSharedStrings(xml: string, budget: WorkBudget): Promise<string[]> {
  const found: string[] = []
  const state = { isInItem: false, isInText: false, isInReadingAid: false }
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') {
      if (state.isInItem && state.isInText && !state.isInReadingAid) found[found.length - 1] += token.text
      continue
    }
    const isOpen = token.kind === 'open' && !token.empty
    if (token.name === 'si') {
      state.isInItem = isOpen
      if (token.kind === 'open') found.push('')
    } else if (token.name === 't') state.isInText = isOpen
    else if (token.name === 'rPh') state.isInReadingAid = isOpen
  }
  return found
}

/** Returns the index of the column, `B7` is in column 1, or the next one for a cell without a reference. */
function parseColumn(reference: string | undefined, next: number): number {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0]
  if (letters === undefined) return next
  let column = 0
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64
  return column - 1
}

type SheetCell = {
  readonly column: number
  readonly type: string
  readonly style: number
  value: string
  formula: string
  /** A formula without a stored value. */
  isUncounted: boolean
}
type CellField = 'value' | 'formula'

type XlsxState = {
  readonly rows: string[]
  cells: string[]
  nextColumn: number
  cell: SheetCell | undefined
  field: CellField | undefined
  isInReadingAid: boolean
  /** Cells beyond the last column that is shown. */
  hidden: number
}

type Workbook = {
  readonly sharedStrings: readonly string[]
  readonly kinds: readonly NumberKind[]
  readonly isFrom1904: boolean
}

const fieldsByTag: Readonly<Record<string, CellField>> = { v: 'value', t: 'value', f: 'formula' }

function handleOpenTag(state: XlsxState, { name, attributes, empty }: Tag): void {
  const field = fieldsByTag[name]
  if (field !== undefined) openField(state, field, empty)
  else if (name === 'rPh') state.isInReadingAid = !empty
  else if (name === 'c') {
    const column = parseColumn(getAttribute(attributes, 'r'), state.nextColumn)
    state.nextColumn = column + 1
    if (empty) return
    const type = getAttribute(attributes, 't') ?? 'n'
    state.cell = {
      column,
      type,
      style: Number(getAttribute(attributes, 's') ?? 0),
      value: '',
      isUncounted: false,
      formula: '',
    }
  }
}

/** A formula whose stored value is an empty text has been counted. The value follows its formula. */
function openField(state: XlsxState, field: CellField, isEmpty: boolean): void {
  state.field = isEmpty ? undefined : field
  if (state.cell) state.cell.isUncounted = field === 'formula' || (state.cell.isUncounted && state.cell.type !== 'str')
}

function handleCloseTag(state: XlsxState, name: string, workbook: Workbook): void {
  if (fieldsByTag[name] !== undefined) state.field = undefined
  else if (name === 'rPh') state.isInReadingAid = false
  else if (name === 'row') {
    state.rows.push(Array.from(state.cells, (text) => text ?? '').join('\t'))
    state.cells = []
    state.nextColumn = 0
  } else if (name === 'c' && state.cell) {
    if (state.cell.column < maxColumns) state.cells[state.cell.column] = renderCell(state.cell, workbook)
    else state.hidden += 1
    state.cell = undefined
  }
}

function addText({ cell, field, isInReadingAid }: XlsxState, text: string): void {
  if (!cell || !field || isInReadingAid) return
  cell[field] += text
  if (field === 'value') cell.isUncounted = false
}

type XlsxRows = { readonly rows: readonly string[]; readonly hidden: number; readonly note?: string }

async function listRows(xml: string, workbook: Workbook, budget: WorkBudget): Promise<XlsxRows> {
  const state: XlsxState = {
    rows: [],
    cells: [],
    nextColumn: 0,
    cell: undefined,
    field: undefined,
    isInReadingAid: false,
    hidden: 0,
  }
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    const before = state.rows.length
    if (token.kind === 'open') handleOpenTag(state, token)
    else if (token.kind !== 'text') handleCloseTag(state, token.name, workbook)
    else addText(state, token.text)
    if (state.rows.length === before) continue
    if (!budget.print((state.rows.at(-1)?.length ?? 0) + 1)) {
      state.rows.pop()
      return { ...state, note: '[the text of this file is longer than is shown]' }
    }
    if (state.rows.length === maxRows) return { ...state, note: `[more rows than ${maxRows} are not shown]` }
  }
  return state
}

function renderCell(
  { type, style, value, isUncounted, formula }: SheetCell,
  { sharedStrings, kinds, isFrom1904 }: Workbook,
): string {
  if (isUncounted && formula !== '') return `=${toOneLine(formula)}`
  if (type === 's') return toOneLine(sharedStrings[Number(value)] ?? '')
  if (type === 'b') return value === '1' || value === 'true' ? 'TRUE' : 'FALSE'
  if (type === 'd') return value.replace(/T00:00(?::00(?:\.0+)?)?Z?$/, '').replace('T', ' ')
  return type === 'n' ? renderNumber(value, kinds[style] ?? 'plain', isFrom1904) : toOneLine(value)
}

/** `_x000D_` stands for a character that XML does not allow. */
const toOneLine = (text: string): string =>
  text
    .replaceAll(/_x([\dA-F]{4})_/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/[\t\r\n]+/g, ' ')

type Sheet = { readonly name: string; readonly path: string }

const listSheets = ({ xml, relations }: Part): Sheet[] =>
  listTags(xml, 'sheet').map(({ attributes }) => ({
    name: getAttribute(attributes, 'name') ?? '',
    path: relations.get(getAttribute(attributes, 'id') ?? '')?.target ?? '',
  }))

async function openWorkbook(archive: ZipArchive, part: Part, budget: WorkBudget): Promise<Workbook> {
  const strings = await openRelated(archive, part, { type: 'sharedStrings', usualName: 'xl/sharedStrings.xml' })
  const styles = await openRelated(archive, part, { type: 'styles', usualName: 'xl/styles.xml' })
  const epoch = listTags(part.xml, 'workbookPr').map(({ attributes }) => getAttribute(attributes, 'date1904'))
  return {
    sharedStrings: await listSharedStrings(strings?.xml ?? '', budget),
    kinds: listNumberKinds(styles?.xml ?? ''),
    isFrom1904: epoch.some((value) => value === '1' || value === 'true'),
  }
}

/** Returns undefined when the archive is not a workbook. Each part is read once, however often it is named. */
export async function extractXlsxText(archive: ZipArchive, budget: WorkBudget): Promise<string | undefined> {
  const part = await openMainPart(archive, 'xl/workbook.xml')
  if (part === undefined || listTags(part.xml, 'workbook').length === 0) return undefined
  const sheets = listSheets(part)
  const workbook = await openWorkbook(archive, part, budget)
  const persons = await readPersons(archive, part)
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
    const sheet = await openPart(archive, path)
    const lines = sheet ? await listLines(archive, sheet, { workbook, persons, budget }) : []
    parts.push([heading, ...lines].join('\n'))
  }
  if (sheets.length > parts.length) parts.push(`[${sheets.length - parts.length} more sheets are not shown]`)
  return parts.join('\n\n')
}

type SheetContext = {
  readonly workbook: Workbook
  readonly persons: ReadonlyMap<string, string>
  readonly budget: WorkBudget
}

async function listLines(
  archive: ZipArchive,
  sheet: Part,
  { workbook, persons, budget }: SheetContext,
): Promise<readonly string[]> {
  const { rows, note, hidden } = await listRows(sheet.xml, workbook, budget)
  const wide = hidden ? [`[${hidden} cells right of column ${maxColumns} are not shown]`] : []
  const more = note === undefined ? await readComments(archive, sheet, { persons, budget }) : [note]
  return [...rows, ...wide, ...more]
}
