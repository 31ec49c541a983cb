/** Where the lines are that the hints of a hunk name. */

type Fits = (line: string, hint: string) => boolean

const isPart = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_$]/u.test(character)

/** Whether no name goes on at this place: `def run` is not in `def run_all`. */
const parts = (line: string, at: number): boolean => !(isPart(line[at - 1]) && isPart(line[at]))

const hasWords: Fits = (line, hint) => {
  for (let at = line.indexOf(hint); at >= 0; at = line.indexOf(hint, at + 1))
    if (parts(line, at) && parts(line, at + hint.length)) return true
  return false
}

/** From sure to vague: the first that any line satisfies decides. */
const fits: readonly Fits[] = [
  (line, hint) => line === hint,
  (line, hint) => line.startsWith(hint) && parts(line, hint.length),
  hasWords,
  (line, hint) => line.includes(hint),
]

/** Beginnings of the lines that fit best, those from `from` on if there are any. */
function linesLike(text: string, hint: string, from: number): readonly number[] {
  const lines: { readonly start: number; readonly line: string }[] = []
  for (let start = 0; start <= text.length; start = endOf(text, start) + 1)
    lines.push({ start, line: text.slice(start, endOf(text, start)).trim() })
  for (const fit of fits) {
    const found = lines.filter(({ line }) => fit(line, hint)).map(({ start }) => start)
    const ahead = found.filter((start) => start >= from)
    if (found.length > 0) return ahead.length > 0 ? ahead : found
  }
  return []
}

const endOf = (text: string, from: number): number => {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/**
 * Where the search for a hunk may begin: at every line that the first hint names; each further hint is the next such
 * line below. Or what is wrong.
 */
export function startsOf(text: string, hints: readonly string[], from: number): readonly number[] | string {
  let starts: readonly number[] = [from]
  for (const [i, hint] of hints.entries()) {
    const found = starts.map((start) => linesLike(text, hint, start))
    starts = [...new Set(i === 0 ? found.flat() : found.flatMap((lines) => lines.slice(0, 1)))]
    if (starts.length === 0) return `no line contains "${hint.slice(0, 120)}"`
  }
  return starts
}
