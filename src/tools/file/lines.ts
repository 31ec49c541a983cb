/** Text as lines with numbers: how a model sees a file, and how to tell that it sends that view back. */

const MAX_LINE = 2000

/** Lines of a text; a newline at the end does not begin another one. */
export function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

export type View = {
  readonly content: string
  /** The first line that is not shown, 1-based; absent when everything after `offset` is. */
  readonly next?: number
}

/** At most `limit` lines from `offset` (1-based) and at most `maxChars`, cut between lines. */
export function view(lines: readonly string[], offset: number, limit: number, maxChars: number): View {
  const shown: string[] = []
  let chars = 0
  for (let i = offset - 1; i < Math.min(lines.length, offset - 1 + limit); i++) {
    const line = `${i + 1}|${clamp(lines[i] ?? '')}`
    chars += line.length + 1
    if (chars > maxChars) break
    shown.push(line)
  }
  const next = offset + shown.length
  return { content: shown.join('\n'), ...(next <= lines.length && { next }) }
}

const clamp = (line: string): string => {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line
  return text.length <= MAX_LINE ? text : `${text.slice(0, MAX_LINE)}... [line cut, ${text.length} characters]`
}

const numbered = /^\s*(\d+)\|/

/** Whether a text could be what `view` produced: line numbers, counting up, on (nearly) every line. */
export function looksNumbered(text: string): boolean {
  const numbers = linesOf(text).map((line) => Number(numbered.exec(line)?.[1] ?? Number.NaN))
  const counting = numbers.filter((number, i) => i > 0 && number === (numbers[i - 1] ?? 0) + 1).length
  return numbers.length >= 2 && counting >= (numbers.length - 1) * 0.8
}

/** Whether a numbered text is a view of this file, perhaps with changes: without the numbers, half of its lines are there. */
export function isViewOf(text: string, file: string): boolean {
  const known = new Set(linesOf(file).map((line) => line.trimEnd()))
  const lines = linesOf(text)
    .map((line) => line.replace(numbered, '').trimEnd())
    .filter((line) => line !== '')
  return lines.length > 0 && lines.filter((line) => known.has(line)).length >= lines.length / 2
}
