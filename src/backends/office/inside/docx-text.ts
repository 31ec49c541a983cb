/**
 * Extracts the text of a Word document: paragraphs as lines, headings with `#`, table rows between bars, addresses of
 * links behind their words. Footnotes and comments follow the text, under their numbers.
 */

import { readDiagrams } from './diagram-text.ts'
import { renderDescription } from './picture-text.ts'
import { openMainPart, openRelated, type Part } from './package-parts.ts'
import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, parseXml, type Tag } from './xml-tokens.ts'

/** A paragraph that is read. A text box interrupts the paragraph that it belongs to. */
type Paragraph = { line: string; prefix: string; isDropCap?: true; readonly after: string[] }
type OpenTable = { readonly rows: string[]; cells: string[] | undefined }
/** A field: its instruction, and then its result. */
type ComplexField = { instruction: string; isResult: boolean }
/** A field of a form, whose value is not among the text. */
type FormField = { result: number; readonly entries: string[] }
/** A part of a formula whose children are written between signs. */
type FormulaGroup = {
  readonly depth: number
  readonly child: string
  begin: string
  separator: string
  end: string
  /** The operator before it, or the accent above it. */
  sign: string
}

type DocxState = {
  readonly part: Part
  readonly headings: ReadonlyMap<string, string>
  readonly lines: string[]
  readonly diagrams: ReadonlyMap<string, readonly string[]>
  /** The large first letter of the next paragraph. */
  dropCap: string
  readonly paragraphs: Paragraph[]
  readonly tables: OpenTable[]
  readonly fields: ComplexField[]
  readonly links: string[]
  /** The tag whose text is read. */
  textTag: 't' | 'instrText' | undefined
  /** Open tags whose content is no text. */
  skipped: number
  /** Open properties of paragraphs, where `tab` is a tab stop. */
  properties: number
  /** Within a run that Word does not show. */
  isHidden: boolean
  form: FormField | undefined
  /** Open tags. */
  depth: number
  readonly formulas: FormulaGroup[]
  /** The part of notes: marks and numbers stand before each of them. */
  mark: string
}

type TagHandler = (state: DocxState, tag: Tag) => void

/**
 * Both forms of a drawing are in the file: the second one is for old programs. Moved text stands at its new place too.
 * Reading aids (`rt`) are no part of their words.
 */
const skippedTags = new Set(['Fallback', 'moveFrom', 'del', 'rt'])

const append = (state: DocxState, text: string): void => {
  const paragraph = state.paragraphs.at(-1)
  if (paragraph) paragraph.line += text
}
const appends =
  (text: string): TagHandler =>
  (state) =>
    append(state, text)

/** Removes what has stayed empty. */
const closes =
  (begin: string, end: string): TagHandler =>
  (state) => {
    const paragraph = state.paragraphs.at(-1)
    if (paragraph?.line.endsWith(begin)) paragraph.line = paragraph.line.slice(0, -begin.length)
    else append(state, end)
  }
const opens =
  (text: string): TagHandler =>
  (state, { empty }) => {
    if (!empty) append(state, text)
  }

const isOn = (value: string | undefined): boolean => !/^(?:0|false|off)$/.test(value ?? '')

/** Characters of fonts of symbols, by their codes. */
const symbols: Readonly<Record<string, string>> = {
  F0A8: '☐',
  F06F: '☐',
  F0FE: '☒',
  F0FD: '☒',
  F0FC: '✓',
  F0FB: '✗',
  F0B7: '•',
  F0A7: '▪',
  F0E0: '→',
  F0DF: '←',
}

function appendSymbol(state: DocxState, { attributes }: Tag): void {
  const code = (getAttribute(attributes, 'char') ?? '').toUpperCase()
  const number = /^[\dA-F]{1,4}$/.test(code) ? Number.parseInt(code, 16) : 0xe000
  append(state, number < 0xe000 ? String.fromCodePoint(number) : (symbols[code] ?? '�'))
}

/** The children of these are written as `(a|b)`, `a, b; c, d`, `√(x)`, `∑x`, and a letter before its accent. */
const formulaGroups: Readonly<Record<string, Omit<FormulaGroup, 'depth'>>> = {
  d: { child: 'e', begin: '(', separator: '|', end: ')', sign: '' },
  rad: { child: 'e', begin: '(', separator: '', end: ')', sign: '' },
  m: { child: 'mr', begin: '', separator: '; ', end: '', sign: '' },
  mr: { child: 'e', begin: '', separator: ', ', end: '', sign: '' },
  eqArr: { child: 'e', begin: '', separator: '; ', end: '', sign: '' },
  nary: { child: '', begin: '', separator: '', end: '', sign: '∫' },
  acc: { child: '', begin: '', separator: '', end: '', sign: '\u0302' },
}

/** Writes the signs around the parts of a formula. */
function handleFormula(state: DocxState, { kind, name, empty }: Tag): void {
  const group = state.formulas.at(-1)
  if (kind === 'close') {
    if (group?.depth !== state.depth || !formulaGroups[name]) return
    append(state, group.end + group.sign)
    state.formulas.pop()
  } else {
    if (group && name === group.child && state.depth === group.depth + 1) {
      append(state, group.begin)
      group.begin = group.separator
    }
    const begun = formulaGroups[name]
    if (begun && !empty) state.formulas.push({ ...begun, depth: state.depth })
  }
}

const setSign =
  (sign: 'begin' | 'separator' | 'end'): TagHandler =>
  (state, { attributes }) => {
    const group = state.formulas.at(-1)
    if (group) group[sign] = getAttribute(attributes, 'val') ?? ''
  }

const readsText: TagHandler = (state, { name, empty }) => {
  if (!empty) state.textTag = name === 't' ? 't' : 'instrText'
}

const startParagraph = (state: DocxState): void => void state.paragraphs.push({ line: '', prefix: '', after: [] })

const setPrefix =
  (render: (value: string, state: DocxState) => string): TagHandler =>
  (state, { attributes }) => {
    const paragraph = state.paragraphs.at(-1)
    if (paragraph) paragraph.prefix ||= render(getAttribute(attributes, 'val') ?? '', state)
  }

const refersTo =
  (letter: string): TagHandler =>
  (state, { attributes }) =>
    append(state, `[^${letter}${getAttribute(attributes, 'id') ?? ''}]`)

/** The number 0 takes the paragraph out of the list of its style. */
const endList: TagHandler = (state, { attributes }) => {
  const paragraph = state.paragraphs.at(-1)
  if (paragraph?.prefix === '- ' && getAttribute(attributes, 'val') === '0') paragraph.prefix = ''
}

const openHandlers: Readonly<Record<string, TagHandler>> = {
  t: readsText,
  instrText: readsText,
  p: (state, { empty }) => {
    startParagraph(state)
    if (empty) endParagraph(state)
  },
  pPr: (state, { empty }) => void (state.properties += empty ? 0 : 1),
  pStyle: setPrefix((value, { headings }) => headings.get(value) ?? headingPrefix(value)),
  numPr: setPrefix(() => '- '),
  numId: endList,
  tab: (state) => {
    if (state.properties === 0) append(state, '\t')
  },
  br: appends('\n'),
  cr: appends('\n'),
  noBreakHyphen: appends('-'),
  tbl: (state) => void state.tables.push({ rows: [], cells: undefined }),
  tr: (state) => {
    const table = state.tables.at(-1)
    if (table) table.cells = []
  },
  tc: (state) => void state.tables.at(-1)?.cells?.push(''),
  hyperlink: (state, { attributes, empty }) => {
    if (!empty) state.links.push(state.part.relations.get(getAttribute(attributes, 'id') ?? '')?.target ?? '')
  },
  fldChar: (state, { attributes }) => changeField(state, getAttribute(attributes, 'fldCharType')),
  fldSimple: (state, { attributes, empty }) => {
    if (!empty) state.fields.push({ instruction: getAttribute(attributes, 'instr') ?? '', isResult: true })
  },
  footnoteReference: refersTo(''),
  endnoteReference: refersTo('e'),
  commentReference: refersTo('c'),
  framePr: (state, { attributes }) => {
    const paragraph = state.paragraphs.at(-1)
    if (paragraph && /^(?:drop|margin)$/.test(getAttribute(attributes, 'dropCap') ?? '')) paragraph.isDropCap = true
  },
  docPr: (state, { attributes }) => append(state, renderDescription(attributes)),
  relIds: (state, { attributes }) =>
    void state.paragraphs.at(-1)?.after.push(...(state.diagrams.get(getAttribute(attributes, 'dm') ?? '') ?? [])),
  sym: appendSymbol,
  vanish: (state, { attributes }) => {
    if (state.properties === 0) state.isHidden = isOn(getAttribute(attributes, 'val'))
  },
  altChunk: (state, { attributes }) => {
    const { target } = state.part.relations.get(getAttribute(attributes, 'id') ?? '') ?? {}
    state.lines.push(`[the document ${target ?? ''} within this one is not shown]`)
  },
  checkBox: (state) => void (state.form = { result: 0, entries: ['☐', '☒'] }),
  default: setFormResult,
  checked: setFormResult,
  ddList: (state) => void (state.form = { result: 0, entries: [] }),
  result: setFormResult,
  listEntry: (state, { attributes }) => void state.form?.entries.push(getAttribute(attributes, 'val') ?? ''),
  // Formulas: fractions, exponents, indexes and roots.
  num: opens('('),
  den: opens('/('),
  sup: opens('^('),
  sub: opens('_('),
  lim: opens('_('),
  rad: opens('√'),
  deg: opens('['),
  begChr: setSign('begin'),
  sepChr: setSign('separator'),
  endChr: setSign('end'),
  naryPr: (state, { empty }) => {
    if (empty) appendOperator(state)
  },
  chr: (state, { attributes }) => {
    const sign = getAttribute(attributes, 'val') ?? ''
    const group = state.formulas.at(-1)
    if (group?.depth === state.depth - 2) group.sign = sign
    else append(state, sign)
  },
}

const closeHandlers: Readonly<Record<string, TagHandler>> = {
  t: (state) => void (state.textTag = undefined),
  instrText: (state) => void (state.textTag = undefined),
  p: (state) => endParagraph(state),
  pPr: (state) => void state.properties--,
  tr: (state) => endRow(state),
  tbl: (state) => endTable(state),
  hyperlink: (state) => appendAddress(state, state.links.pop() ?? ''),
  fldSimple: (state) => changeField(state, 'end'),
  r: (state) => void (state.isHidden = false),
  checkBox: appendForm,
  ddList: appendForm,
  num: closes('(', ')'),
  den: closes('/(', ')'),
  sup: closes('^(', ')'),
  sub: closes('_(', ')'),
  lim: closes('_(', ')'),
  deg: closes('[', ']'),
  fName: appends(' '),
  naryPr: appendOperator,
}

/** An operator is read before its limits. */
function appendOperator(state: DocxState): void {
  const group = state.formulas.at(-1)
  append(state, group?.sign ?? '')
  if (group) group.sign = ''
}

function setFormResult({ form }: DocxState, { attributes }: Tag): void {
  const value = getAttribute(attributes, 'val')
  if (form) form.result = /^\d{1,3}$/.test(value ?? '') ? Number(value) : Number(isOn(value))
}

function appendForm(state: DocxState): void {
  append(state, state.form?.entries[state.form.result] ?? '')
  state.form = undefined
}

const headingPrefix = (style: string): string => {
  const level = /^(?:heading|berschrift|titre)\s?(\d)/i.exec(style)?.[1]
  if (level !== undefined) return `${'#'.repeat(Number(level))} `
  return /^title$/i.test(style) ? '# ' : ''
}

/** Styles have ids in the language of the program, and English names. */
async function readHeadings(archive: ZipArchive, part: Part): Promise<ReadonlyMap<string, string>> {
  const styles = await openRelated(archive, part, { type: 'styles' })
  const found = new Map<string, string>()
  let id = ''
  for (const token of parseXml(styles?.xml ?? '')) {
    if (token.kind !== 'open') continue
    if (token.name === 'style') id = getAttribute(token.attributes, 'styleId') ?? ''
    else if (token.name === 'name' && id) {
      const prefix = headingPrefix(getAttribute(token.attributes, 'val') ?? '')
      if (prefix) found.set(id, prefix)
    }
  }
  return found
}

/** A link is a field too in some programs: `HYPERLINK "address"`. */
function changeField(state: DocxState, type: string | undefined): void {
  const field = state.fields.at(-1)
  if (type === 'begin') state.fields.push({ instruction: '', isResult: false })
  else if (type === 'separate' && field) field.isResult = true
  else if (type === 'end') {
    const address = /^\s*HYPERLINK\s+"([^"]+)"/.exec(state.fields.pop()?.instruction ?? '')?.[1]
    appendAddress(state, address ?? '')
  }
}

function appendAddress(state: DocxState, address: string): void {
  const line = state.paragraphs.at(-1)?.line ?? ''
  const shown = address.replace(/^mailto:/, '')
  if (/^(?:https?|mailto|ftp):/i.test(address) && !line.endsWith(shown)) append(state, ` (${shown})`)
}

function endParagraph(state: DocxState): void {
  const { line: own, prefix, after, isDropCap } = state.paragraphs.pop() ?? { line: '', prefix: '', after: [] }
  if (isDropCap) {
    state.dropCap += own
    return
  }
  const line = state.dropCap + own
  state.dropCap = ''
  const text = line === '' ? '' : state.mark + prefix + line
  if (line !== '') state.mark = ''
  const outer = state.paragraphs.at(-1)
  // The lines of a text box follow the paragraph to which it belongs.
  if (outer) outer.after.push(text, ...after)
  else for (const one of [text, ...after]) endLine(state, one)
}

function endLine({ tables, lines }: DocxState, line: string): void {
  const cells = tables.at(-1)?.cells
  const last = (cells?.length ?? 0) - 1
  if (cells && last >= 0) cells[last] = [cells[last], line.replaceAll('\n', ' ')].filter(Boolean).join(' ')
  else lines.push(line)
}

function endRow({ tables, lines }: DocxState): void {
  const table = tables.at(-1)
  if (!table?.cells) return
  if (tables.length > 1) table.rows.push(table.cells.join(', '))
  else lines.push(`| ${table.cells.join(' | ')} |`)
  table.cells = undefined
}

/** A table within a cell becomes a part of its text. */
function endTable(state: DocxState): void {
  const table = state.tables.pop()
  if (state.tables.length > 0 && table && table.rows.length > 0) endLine(state, table.rows.join('; '))
}

const createState = (part: Part, { headings, diagrams }: Pick<DocxState, 'headings' | 'diagrams'>): DocxState => ({
  part,
  headings,
  diagrams,
  dropCap: '',
  lines: [],
  paragraphs: [],
  tables: [],
  fields: [],
  isHidden: false,
  form: undefined,
  depth: 0,
  formulas: [],
  links: [],
  textTag: undefined,
  skipped: 0,
  properties: 0,
  mark: '',
})

function handleTag(state: DocxState, tag: Tag): void {
  const isOpen = tag.kind === 'open'
  if (!isOpen) state.depth--
  readTag(state, tag)
  if (isOpen && !tag.empty) state.depth++
}

function readTag(state: DocxState, tag: Tag): void {
  if (skippedTags.has(tag.name) && !tag.empty) state.skipped += tag.kind === 'open' ? 1 : -1
  else if (state.skipped === 0) {
    handleFormula(state, tag)
    ;(tag.kind === 'open' ? openHandlers : closeHandlers)[tag.name]?.(state, tag)
  }
}

function addText(state: DocxState, text: string): void {
  if (state.skipped > 0 || state.isHidden || state.textTag === undefined) return
  const field = state.fields.at(-1)
  if (state.textTag === 't') append(state, text)
  else if (field) field.instruction += text
}

/** Returns false when the output is full. `begin` sees each tag first. */
async function readPart(state: DocxState, budget: WorkBudget, begin?: TagHandler): Promise<boolean> {
  for (const token of parseXml(state.part.xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') {
      if (state.textTag === 't' && !budget.print(token.text.length)) return false
      addText(state, token.text)
    } else {
      if (token.kind === 'open') begin?.(state, token)
      handleTag(state, token)
    }
  }
  return true
}

type Notes = { readonly type: string; readonly tag: string; readonly letter: string }

const notes: readonly Notes[] = [
  { type: 'footnotes', tag: 'footnote', letter: '' },
  { type: 'endnotes', tag: 'endnote', letter: 'e' },
  { type: 'comments', tag: 'comment', letter: 'c' },
]

/** Returns the lines of notes of one kind. Separators are notes with a type. */
async function readNotes(archive: ZipArchive, document: DocxState, { notes: kind, budget }: NotesToRead) {
  const part = await openRelated(archive, document.part, { type: kind.type })
  if (!part) return []
  const state = createState(part, document)
  await readPart(state, budget, (current, { name, attributes }) => {
    if (name !== kind.tag) return
    const author = getAttribute(attributes, 'author')
    const isSeparator = /separator|continuation/i.test(getAttribute(attributes, 'type') ?? '')
    const number = getAttribute(attributes, 'id') ?? ''
    current.mark = isSeparator ? '' : `[^${kind.letter}${number}]: ${author === undefined ? '' : `${author}: `}`
  })
  return state.lines.map((line) => line.trim()).filter(Boolean)
}
type NotesToRead = { readonly notes: Notes; readonly budget: WorkBudget }

/** Returns undefined when the archive is not a Word document. */
export async function extractDocxText(archive: ZipArchive, budget: WorkBudget): Promise<string | undefined> {
  const part = await openMainPart(archive, 'word/document.xml')
  if (part === undefined) return undefined
  const state = createState(part, {
    headings: await readHeadings(archive, part),
    diagrams: await readDiagrams(archive, part, budget),
  })
  const isWhole = await readPart(state, budget)
  while (state.paragraphs.length > 0) endParagraph(state)
  if (state.dropCap !== '') state.lines.push(state.dropCap)
  if (!isWhole) state.lines.push('[the text of this file is longer than is shown]')
  const noteLines: string[] = []
  if (isWhole) for (const kind of notes) noteLines.push(...(await readNotes(archive, state, { notes: kind, budget })))
  const text = state.lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return [text, ...(noteLines.length > 0 ? ['', ...noteLines] : [])].join('\n')
}
