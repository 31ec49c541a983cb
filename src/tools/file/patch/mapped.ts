/** Search in a simplified copy of a text with the way back to the original. */

export type Span = { readonly start: number; readonly end: number }

/** A simplified text; `starts[i]` and `ends[i]` say which part of the original its i-th character stands for. */
export type Mapped = { readonly text: string; readonly starts: readonly number[]; readonly ends: readonly number[] }

/** Every place of `wanted`, without overlaps. */
export function find(text: string, wanted: string): Span[] {
  const found: Span[] = []
  if (wanted === '') return found
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    found.push({ start: at, end: at + wanted.length })
  return found
}

export function locateMapped(text: string, wanted: string, simplify: (text: string) => Mapped): Span[] {
  const goal = simplify(wanted).text
  if (goal.trim() === '') return []
  const { text: simple, starts, ends } = simplify(text)
  return find(simple, goal).map(({ start, end }) => ({ start: starts[start] ?? 0, end: ends[end - 1] ?? text.length }))
}

function simplifier(pattern: RegExp, replacement: (match: string) => string) {
  return (text: string): Mapped => {
    let simple = ''
    const starts: number[] = []
    const ends: number[] = []
    const add = (part: string, start: number, end: number): void => {
      for (let i = 0; i < part.length; i++) {
        starts.push(start + (part.length === end - start ? i : 0))
        ends.push(part.length === end - start ? start + i + 1 : end)
      }
      simple += part
    }
    let done = 0
    for (const { 0: match, index } of text.matchAll(pattern)) {
      add(text.slice(done, index), done, index)
      done = index + match.length
      add(replacement(match), index, done)
    }
    add(text.slice(done), done, text.length)
    return { text: simple, starts, ends }
  }
}

/** Runs of blanks are one blank; line breaks stay. */
export const collapseSpaces = simplifier(/[^\S\n]+/g, () => ' ')

const PLAIN: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201C': '"',
  '\u201D': '"',
  '\u2013': '-',
  '\u2014': '-',
  '\u2212': '-',
  '\u2026': '...',
  '\u00A0': ' ',
  '\u202F': ' ',
}

/** Typographic quotes, dashes, ellipses and blanks as a keyboard has them. */
export const plainCharacters = simplifier(/[\u2018\u2019\u201C\u201D\u2013\u2014\u2212\u2026\u00A0\u202F]/g, (match) =>
  (PLAIN[match] ?? match).normalize(),
)
