/** Extracts the text of a Word document: paragraphs as lines, headings with `#`, table cells between bars. */

import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, type Tag, parseXml } from './xml-tokens.ts'

type ParserState = {
  line: string
  isInText: boolean
  prefix: string
  cells: string[] | undefined
  readonly lines: string[]
}

const headingPrefix = (style: string): string => {
  const level = /^(?:heading|berschrift|titre)\s?(\d)/i.exec(style)?.[1]
  if (level !== undefined) return `${'#'.repeat(Number(level))} `
  return /^title$/i.test(style) ? '# ' : ''
}

function handleOpenTag(state: ParserState, { name, attributes, empty }: Tag): void {
  if (name === 'w:t') state.isInText = !empty
  else if (name === 'w:tab') state.line += '\t'
  else if (name === 'w:br' || name === 'w:cr') state.line += '\n'
  else if (name === 'w:pStyle') state.prefix = headingPrefix(getAttribute(attributes, 'w:val') ?? '')
  else if (name === 'w:numPr') state.prefix ||= '- '
  else if (name === 'w:tr') state.cells = []
  else if (name === 'w:tc') state.cells?.push('')
}

function endParagraph(state: ParserState): void {
  const line = state.line === '' ? '' : state.prefix + state.line
  const last = (state.cells?.length ?? 0) - 1
  if (state.cells && last >= 0) state.cells[last] = [state.cells[last], line].filter(Boolean).join(' ')
  else state.lines.push(line)
  state.line = ''
  state.prefix = ''
}

function handleCloseTag(state: ParserState, name: string): void {
  if (name === 'w:t') state.isInText = false
  else if (name === 'w:p') endParagraph(state)
  else if (name === 'w:tr') {
    state.lines.push(`| ${(state.cells ?? []).join(' | ')} |`)
    state.cells = undefined
  }
}

/** Returns undefined when the archive is not a Word document. */
export async function extractDocxText(archive: ZipArchive, budget: WorkBudget): Promise<string | undefined> {
  const xml = await archive.readText('word/document.xml')
  if (xml === undefined) return undefined
  const state: ParserState = { line: '', isInText: false, prefix: '', cells: undefined, lines: [] }
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'open') handleOpenTag(state, token)
    else if (token.kind !== 'text') handleCloseTag(state, token.name)
    else if (state.isInText) {
      if (!budget.print(token.text.length)) {
        state.lines.push('[the text of this file is longer than is shown]')
        break
      }
      state.line += token.text
    }
  }
  return state.lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
