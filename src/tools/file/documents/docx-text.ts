/** The text of a Word document: paragraphs as lines, headings marked, tables with cells between bars. */

import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, type Tag, parseXml } from './xml-tokens.ts'

type State = { line: string; text: boolean; prefix: string; cells: string[] | undefined; readonly lines: string[] }

const headingOf = (style: string): string => {
  const level = /^(?:heading|berschrift|titre)\s?(\d)/i.exec(style)?.[1]
  if (level !== undefined) return `${'#'.repeat(Number(level))} `
  return /^title$/i.test(style) ? '# ' : ''
}

function opened(state: State, { name, attributes, empty }: Tag): void {
  if (name === 'w:t') state.text = !empty
  else if (name === 'w:tab') state.line += '\t'
  else if (name === 'w:br' || name === 'w:cr') state.line += '\n'
  else if (name === 'w:pStyle') state.prefix = headingOf(getAttribute(attributes, 'w:val') ?? '')
  else if (name === 'w:numPr') state.prefix ||= '- '
  else if (name === 'w:tr') state.cells = []
  else if (name === 'w:tc') state.cells?.push('')
}

function paragraph(state: State): void {
  const line = state.line === '' ? '' : state.prefix + state.line
  const last = (state.cells?.length ?? 0) - 1
  if (state.cells && last >= 0) state.cells[last] = [state.cells[last], line].filter(Boolean).join(' ')
  else state.lines.push(line)
  state.line = ''
  state.prefix = ''
}

function closed(state: State, name: string): void {
  if (name === 'w:t') state.text = false
  else if (name === 'w:p') paragraph(state)
  else if (name === 'w:tr') {
    state.lines.push(`| ${(state.cells ?? []).join(' | ')} |`)
    state.cells = undefined
  }
}

/** `undefined` when the archive is no Word document. */
export async function extractDocxText(archive: ZipArchive): Promise<string | undefined> {
  const xml = await archive.readText('word/document.xml')
  if (xml === undefined) return undefined
  const state: State = { line: '', text: false, prefix: '', cells: undefined, lines: [] }
  for (const token of parseXml(xml))
    if (token.is === 'text') state.line += state.text ? token.text : ''
    else if (token.is === 'open') opened(state, token)
    else closed(state, token.name)
  return state.lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
