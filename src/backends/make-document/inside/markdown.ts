/** Parses the Markdown of documents: blocks in order, and runs of text with their marks. */

export type StyledRun = {
  readonly text: string
  readonly bold?: true
  readonly italic?: true
  readonly code?: true
  readonly link?: string
}

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly runs: readonly StyledRun[] }
  | { readonly kind: 'paragraph'; readonly runs: readonly StyledRun[] }
  | { readonly kind: 'quote'; readonly runs: readonly StyledRun[] }
  /** `number`: of an ordered list. */
  | { readonly kind: 'item'; readonly depth: number; readonly number?: number; readonly runs: readonly StyledRun[] }
  | { readonly kind: 'code'; readonly lines: readonly string[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly (readonly StyledRun[])[])[] }
  | { readonly kind: 'rule' }

type LineReader = { readonly lines: readonly string[]; at: number }

const heading = /^(#{1,6})\s+(.*?)\s*#*$/
const item = /^(\s{0,20})(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/
const quote = /^\s{0,3}>\s?(.*)$/
const rule = /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/
const fence = /^\s{0,3}(`{3,}|~{3,})/
const tableLine = /^\s*\|.*\|\s*$/
const tableRule = /^\s*\|[\s:|-]+\|\s*$/

export function parseMarkdown(text: string): readonly Block[] {
  const reader: LineReader = { lines: text.replaceAll('\r\n', '\n').split('\n'), at: 0 }
  const blocks: Block[] = []
  while (reader.at < reader.lines.length) {
    const block = readBlock(reader)
    if (block) blocks.push(block)
  }
  return blocks
}

const lineAt = ({ lines, at }: LineReader): string => lines[at] ?? ''

function readBlock(reader: LineReader): Block | undefined {
  const line = lineAt(reader)
  const [, mark] = fence.exec(line) ?? []
  if (mark !== undefined) return readCode(reader, mark)
  if (tableLine.test(line) && tableRule.test(reader.lines[reader.at + 1] ?? '')) return readTable(reader)
  return readMarkedLine(reader, line) ?? readText(reader)
}

function readMarkedLine(reader: LineReader, line: string): Block | undefined {
  const [, marks, title = ''] = heading.exec(line) ?? []
  if (marks !== undefined) return oneLine(reader, { kind: 'heading', level: marks.length, runs: parseRuns(title) })
  if (rule.test(line)) return oneLine(reader, { kind: 'rule' })
  const [whole, indent = '', number, rest = ''] = item.exec(line) ?? []
  return whole === undefined ? undefined : readItem(reader, { indent, number, rest })
}

function oneLine(reader: LineReader, block: Block): Block {
  reader.at++
  return block
}

function readCode(reader: LineReader, mark: string): Block {
  const lines: string[] = []
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    if (lineAt(reader).trim().startsWith(mark)) break
    lines.push(lineAt(reader))
  }
  reader.at++
  return { kind: 'code', lines }
}

function readTable(reader: LineReader): Block {
  const rows: (readonly (readonly StyledRun[])[])[] = []
  for (; tableLine.test(lineAt(reader)); reader.at++)
    if (!tableRule.test(lineAt(reader))) rows.push(splitCells(lineAt(reader)).map(parseRuns))
  return { kind: 'table', rows }
}

/** `\|` is a bar in a cell. */
const splitCells = (line: string): readonly string[] =>
  line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

const spacesPerLevel = 2

type ItemParts = { readonly indent: string; readonly number: string | undefined; readonly rest: string }

function readItem(reader: LineReader, { indent, number, rest }: ItemParts): Block {
  const depth = Math.min(8, Math.floor(indent.replaceAll('\t', '  ').length / spacesPerLevel))
  const words = [rest]
  for (reader.at++; isContinued(lineAt(reader)) && lineAt(reader).startsWith(' '); reader.at++)
    words.push(lineAt(reader).trim())
  return {
    kind: 'item',
    depth,
    ...(number !== undefined && { number: Number(number) }),
    runs: parseRuns(words.join(' ')),
  }
}

/** Its first line is text whatever it looks like: no line is lost. */
function readText(reader: LineReader): Block | undefined {
  const first = lineAt(reader)
  reader.at++
  if (first.trim() === '') return undefined
  const isQuote = quote.test(first)
  const words = [withoutMark(first)]
  for (; isContinued(lineAt(reader)) && quote.test(lineAt(reader)) === isQuote; reader.at++)
    words.push(withoutMark(lineAt(reader)))
  return { kind: isQuote ? 'quote' : 'paragraph', runs: parseRuns(words.join(' ')) }
}

const withoutMark = (line: string): string => (quote.exec(line)?.[1] ?? line).trim()

/** Whether the line goes on with the text before it. */
const isContinued = (line: string): boolean =>
  line.trim() !== '' && ![heading, item, rule, fence, tableLine].some((start) => start.test(line))

const inline =
  /\\([\\`*_{}[\]()#+.!|>-])|`([^`]{1,2000})`|\*\*([^*]{1,2000})\*\*|__([^_]{1,2000})__|\*([^*\s][^*]{0,2000})\*|(?<!\w)_([^_\s][^_]{0,2000})_(?!\w)|!?\[([^\][]{0,500})\]\(([^()\s]{1,2000})\)/g

export function parseRuns(text: string): readonly StyledRun[] {
  const runs: StyledRun[] = []
  let at = 0
  for (const match of text.matchAll(inline)) {
    runs.push(...plain(text.slice(at, match.index)), markedRun(match))
    at = match.index + match[0].length
  }
  return joinPlain([...runs, ...plain(text.slice(at))])
}

/** An escaped character is a part of the text around it. */
function joinPlain(runs: readonly StyledRun[]): readonly StyledRun[] {
  const joined: StyledRun[] = []
  const isPlain = (run: StyledRun | undefined) => run !== undefined && Object.keys(run).length === 1
  for (const run of runs) {
    const last = joined.at(-1)
    if (last && isPlain(last) && isPlain(run)) joined[joined.length - 1] = { text: last.text + run.text }
    else joined.push(run)
  }
  return joined
}

const plain = (text: string): readonly StyledRun[] => (text ? [{ text }] : [])

/** Within other marks. */
const unescape = (text: string): string => text.replace(/\\([\\`*_{}[\]()#+.!|>-])/g, '$1')

function markedRun([, escaped, code, strong, strong2, emphasis, emphasis2, label, link]: RegExpExecArray): StyledRun {
  if (escaped !== undefined) return { text: escaped }
  if (code !== undefined) return { text: code, code: true }
  const bold = strong ?? strong2
  if (bold !== undefined) return { text: unescape(bold), bold: true }
  const italic = emphasis ?? emphasis2
  if (italic !== undefined) return { text: unescape(italic), italic: true }
  return { text: label || (link ?? ''), ...(link !== undefined && /^https?:/.test(link) && { link }) }
}

export const textOf = (runs: readonly StyledRun[]): string => runs.map(({ text }) => text).join('')
