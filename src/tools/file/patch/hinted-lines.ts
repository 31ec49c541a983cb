/** Finds the lines that the hints of a hunk name. */

type LinePredicate = (line: string, hint: string) => boolean

const isNameCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_$]/u.test(character)

/** Whether no identifier spans this position, so that `def run` does not match `def run_all`. */
const isNameBoundary = (line: string, at: number): boolean =>
  !(isNameCharacter(line[at - 1]) && isNameCharacter(line[at]))

const hasWords: LinePredicate = (line, hint) => {
  for (let at = line.indexOf(hint); at >= 0; at = line.indexOf(hint, at + 1))
    if (isNameBoundary(line, at) && isNameBoundary(line, at + hint.length)) return true
  return false
}

/** From strict to loose. The first predicate that any line satisfies decides. */
const linePredicates: readonly LinePredicate[] = [
  (line, hint) => line === hint,
  (line, hint) => line.startsWith(hint) && isNameBoundary(line, hint.length),
  hasWords,
  (line, hint) => line.includes(hint),
]

/** Returns the starts of the lines that match best; when some of them are at or after `from`, only those. */
function findMatchingLines(text: string, hint: string, from: number): readonly number[] {
  const lines: { readonly start: number; readonly line: string }[] = []
  for (let start = 0; start <= text.length; start = endOfLine(text, start) + 1)
    lines.push({ start, line: text.slice(start, endOfLine(text, start)).trim() })
  for (const fit of linePredicates) {
    const found = lines.filter(({ line }) => fit(line, hint)).map(({ start }) => start)
    const following = found.filter((start) => start >= from)
    if (found.length > 0) return following.length > 0 ? following : found
  }
  return []
}

const endOfLine = (text: string, from: number): number => {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/**
 * Returns the positions where the search for a hunk may start, or an error text. The first hint may match several
 * lines. Each further hint selects the next matching line below.
 */
export function findHintedStarts(text: string, hints: readonly string[], from: number): readonly number[] | string {
  let starts: readonly number[] = [from]
  for (const [i, hint] of hints.entries()) {
    const found = starts.map((start) => findMatchingLines(text, hint, start))
    starts = [...new Set(i === 0 ? found.flat() : found.flatMap((lines) => lines.slice(0, 1)))]
    if (starts.length === 0) return `no line contains "${hint.slice(0, 120)}"`
  }
  return starts
}
