/** Extracts the text of a presentation: a heading per slide, a line per paragraph, table rows between bars, notes last. */

import { readDiagrams } from './diagram-text.ts'
import { renderDescription } from './picture-text.ts'
import { openMainPart, openPart, openRelated, type Part } from './package-parts.ts'
import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, listTags, parseXml, type Tag } from './xml-tokens.ts'

const maxSlides = 1_000

type ParserState = {
  readonly lines: string[]
  readonly diagrams: ReadonlyMap<string, readonly string[]>
  line: string
  cells: string[] | undefined
  isInText: boolean
  /** Within the number of the slide or its date. */
  isInField: boolean
  isTitle: boolean
  /** The address of the run that is read, or of the shape. */
  address: string
  /** Open tags that repeat their neighbour for old programs. */
  skipped: number
}

const openHandlers: Readonly<Record<string, (state: ParserState, tag: Tag, part: Part) => void>> = {
  t: (state, { empty }) => void (state.isInText = !empty),
  br: (state) => void (state.line += ' '),
  tr: (state) => void (state.cells = []),
  tc: (state) => void state.cells?.push(''),
  sp: (state) => void (state.isTitle = false),
  ph: (state, { attributes }) => void (state.isTitle = /title$/i.test(getAttribute(attributes, 'type') ?? '')),
  fld: (state, { attributes }) =>
    void (state.isInField = /^(?:slidenum|datetime)/.test(getAttribute(attributes, 'type') ?? '')),
  cNvPr: (state, { attributes }) => {
    const description = renderDescription(attributes)
    if (description !== '') state.lines.push(description)
  },
  relIds: (state, { attributes }) =>
    void state.lines.push(...(state.diagrams.get(getAttribute(attributes, 'dm') ?? '') ?? [])),
  hlinkClick: (state, { attributes }, { relations }) =>
    void (state.address = relations.get(getAttribute(attributes, 'id') ?? '')?.target ?? ''),
}

function handleCloseTag(state: ParserState, name: string): void {
  if (name === 't') state.isInText = false
  else if (name === 'fld') state.isInField = false
  else if (name === 'p') endParagraph(state)
  else if (name === 'r') endRun(state)
  else if (/^(?:sp|pic|graphicFrame)$/.test(name)) endShape(state)
  else if (name === 'tr' && state.cells) {
    state.lines.push(`| ${state.cells.join(' | ')} |`)
    state.cells = undefined
  }
}

function endRun(state: ParserState): void {
  if (/^(?:https?|mailto):/i.test(state.address) && !state.line.endsWith(state.address))
    state.line += ` (${state.address})`
  state.address = ''
}

/** A shape without text, such as a picture, can be a link. */
function endShape(state: ParserState): void {
  if (/^(?:https?|mailto):/i.test(state.address)) state.lines.push(`(${state.address})`)
  state.address = ''
}

function endParagraph(state: ParserState): void {
  const line = state.line.trim()
  const last = (state.cells?.length ?? 0) - 1
  if (state.cells && last >= 0) state.cells[last] = [state.cells[last], line].filter(Boolean).join(' ')
  else if (line !== '') state.lines.push(state.isTitle ? `### ${line}` : line)
  state.line = ''
}

const isShown = ({ isInText, isInField, skipped }: ParserState): boolean => isInText && !isInField && skipped === 0

function handleTag(state: ParserState, tag: Tag, part: Part): void {
  const isOpen = tag.kind === 'open'
  if (tag.name === 'Fallback' && !tag.empty) state.skipped += isOpen ? 1 : -1
  else if (state.skipped > 0) return
  else if (isOpen) openHandlers[tag.name]?.(state, tag, part)
  else handleCloseTag(state, tag.name)
}

/** Returns undefined when the output is full. */
async function readLines(archive: ZipArchive, part: Part, budget: WorkBudget): Promise<readonly string[] | undefined> {
  const state: ParserState = {
    lines: [],
    diagrams: await readDiagrams(archive, part, budget),
    line: '',
    cells: undefined,
    isInText: false,
    isInField: false,
    isTitle: false,
    address: '',
    skipped: 0,
  }
  for (const token of parseXml(part.xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') {
      if (!isShown(state)) continue
      if (!budget.print(token.text.length)) return undefined
      state.line += token.text
    } else handleTag(state, token, part)
  }
  return state.lines
}

/** Returns undefined when the archive is not a presentation. Slides are in the order in which they are shown. */
export async function extractPptxText(archive: ZipArchive, budget: WorkBudget): Promise<string | undefined> {
  const presentation = await openMainPart(archive, 'ppt/presentation.xml')
  if (presentation === undefined || listTags(presentation.xml, 'presentation').length === 0) return undefined
  const ids = listTags(presentation.xml, 'sldId').map(({ attributes }) => findRelation(attributes, presentation))
  const parts: string[] = []
  for (const [at, target] of ids.slice(0, maxSlides).entries()) {
    const slide = target === undefined ? undefined : await openPart(archive, target)
    const lines = slide ? await readSlide(archive, slide, budget) : []
    if (!lines) return [...parts, '[the text of this file is longer than is shown]'].join('\n\n')
    parts.push([`## Slide ${at + 1}`, ...lines].join('\n'))
  }
  if (ids.length > maxSlides) parts.push(`[${ids.length - maxSlides} more slides are not shown]`)
  return parts.join('\n\n')
}

/** Returns undefined when the output is full. */
async function readSlide(archive: ZipArchive, slide: Part, budget: WorkBudget): Promise<readonly string[] | undefined> {
  const lines = await readLines(archive, slide, budget)
  const notes = await openRelated(archive, slide, { type: 'notesSlide' })
  const noteLines = notes ? await readLines(archive, notes, budget) : []
  return lines && noteLines && [...lines, ...noteLines.map((line) => `Notes: ${line}`)]
}

/** A slide has an id of its own beside that of its relationship. */
function findRelation(attributes: string, { relations }: Part): string | undefined {
  const ids = [...attributes.matchAll(/(?<![\w.-])[\w.-]{1,40}:id\s{0,9}=\s{0,9}["']([^"']{0,200})["']/g)].map(
    ([, id = '']) => id,
  )
  return ids.map((id) => relations.get(id)?.target).find((target) => target !== undefined)
}
