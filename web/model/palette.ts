/** Finds entries by the beginnings of their words, then by letters in order. */

export function findMatches<T extends { readonly name: string }>(entries: readonly T[], text: string): readonly T[] {
  const wished = text.trim().toLocaleLowerCase()
  if (!wished) return entries
  return entries
    .map((entry) => ({ entry, rank: rankOf(entry.name.toLocaleLowerCase(), wished) }))
    .filter(({ rank }) => rank < noMatch)
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ entry }) => entry)
}

const noMatch = 4

/** The lower, the better. Sorting keeps the order of equal ones. */
function rankOf(name: string, wished: string): number {
  if (name.startsWith(wished)) return 0
  if (name.split(/\s/).some((word) => word.startsWith(wished))) return 1
  if (name.includes(wished)) return 2
  return hasLettersInOrder(name, wished) ? 3 : noMatch
}

function hasLettersInOrder(name: string, wished: string): boolean {
  let at = -1
  for (const letter of wished.replaceAll(' ', '')) {
    at = name.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return true
}
