/** Renders a text as numbered lines for a model, and removes such numbers from a text that a model writes. */

const maxLineChars = 2000
/** Of a line that is read alone. */
const maxSingleLineChars = 99_000

/** A newline at the end of the text does not start another line. */
export function splitLines(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

export type NumberedLines = {
  readonly content: string
  /** The first line after the rendered ones, 1-based. Absent when there is none. */
  readonly nextLine?: number
}

/** Renders at most `limit` lines from `offset` (1-based) and at most `maxChars`. Only whole lines are left out. */
export function renderNumberedLines(
  lines: readonly string[],
  offset: number,
  limit: number,
  maxChars: number,
): NumberedLines {
  const maxLine = limit === 1 ? maxSingleLineChars : maxLineChars
  const shown: string[] = []
  let chars = 0
  for (let i = offset - 1; i < Math.min(lines.length, offset - 1 + limit); i++) {
    const line = `${i + 1}|${truncateLine(lines[i] ?? '', maxLine)}`
    chars += line.length + 1
    if (chars > maxChars) break
    shown.push(line)
  }
  const next = offset + shown.length
  return { content: shown.join('\n'), ...(next <= lines.length && { nextLine: next }) }
}

const truncateLine = (line: string, max: number): string => {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  if (text.length <= max) return text
  const advice = max === maxLineChars ? '; limit 1 shows more' : ''
  return `${text.slice(0, max)}... [line cut, ${text.length} characters${advice}]`
}

/** The mark of a truncated line. */
export const cutLine = /\.\.\. \[line cut, \d+ characters/

const lineNumberPrefix = /^\s*(\d+)\|/

/** Whether at least 80 % of the lines begin with a number that is one more than the number before. */
export function hasLineNumbers(text: string): boolean {
  const numbers = splitLines(text).map((line) => Number(lineNumberPrefix.exec(line)?.[1] ?? Number.NaN))
  const counting = numbers.filter((number, i) => i > 0 && number === (numbers[i - 1] ?? 0) + 1).length
  return numbers.length >= 2 && counting >= (numbers.length - 1) * 0.8
}

/** Whether at least half of the lines, without their numbers, are lines of the file. */
export function isNumberedCopyOf(text: string, file: string): boolean {
  const fileLines = new Set(splitLines(file).map((line) => line.trimEnd()))
  const lines = splitLines(text)
    .map((line) => line.replace(lineNumberPrefix, '').trimEnd())
    .filter((line) => line !== '')
  return lines.length > 0 && lines.filter((line) => fileLines.has(line)).length >= lines.length / 2
}

/** Whether every line has a number, and the numbers count up. One line counts too: the caller has another sign. */
export const isNumbered = (text: string): boolean =>
  (hasLineNumbers(text) || splitLines(text).length === 1) &&
  splitLines(text).every((line) => lineNumberPrefix.test(line))

export const removeLineNumbers = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(lineNumberPrefix, ''))
    .join('\n')
