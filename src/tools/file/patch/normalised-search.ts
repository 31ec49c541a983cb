/** Searches a normalised copy of a text and returns positions in the original. */

export type MatchSpan = { readonly start: number; readonly end: number }

/** Character `i` of the normalised text stands for `starts[i]` to `ends[i]` of the original. */
export type NormalisedText = {
  readonly text: string
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/** Finds every occurrence, without overlaps. */
export function findAll(text: string, passage: string): MatchSpan[] {
  const found: MatchSpan[] = []
  if (passage === '') return found
  for (let at = text.indexOf(passage); at >= 0; at = text.indexOf(passage, at + passage.length))
    found.push({ start: at, end: at + passage.length })
  return found
}

export function findNormalised(
  text: string,
  passage: string,
  normalise: (text: string) => NormalisedText,
): MatchSpan[] {
  const normalisedPassage = normalise(passage).text
  if (normalisedPassage.trim() === '') return []
  const { text: normalised, starts, ends } = normalise(text)
  return findAll(normalised, normalisedPassage).map(({ start, end }) => ({
    start: starts[start] ?? 0,
    end: ends[end - 1] ?? text.length,
  }))
}

function createNormaliser(pattern: RegExp, replacement: (match: string) => string) {
  return (text: string): NormalisedText => {
    let normalised = ''
    const starts: number[] = []
    const ends: number[] = []
    const append = (part: string, start: number, end: number): void => {
      for (let i = 0; i < part.length; i++) {
        starts.push(start + (part.length === end - start ? i : 0))
        ends.push(part.length === end - start ? start + i + 1 : end)
      }
      normalised += part
    }
    let position = 0
    for (const { 0: match, index } of text.matchAll(pattern)) {
      append(text.slice(position, index), position, index)
      position = index + match.length
      append(replacement(match), index, position)
    }
    append(text.slice(position), position, text.length)
    return { text: normalised, starts, ends }
  }
}

/** Replaces runs of spaces and tabs by one space. Newlines stay. */
export const collapseSpaces = createNormaliser(/[^\S\n]+/g, () => ' ')

const plainCharacters: Readonly<Record<string, string>> = {
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

const typography = String.raw`[\u2018\u2019\u201C\u201D\u2013\u2014\u2212\u2026\u00A0\u202F]`
/** A letter with its marks, and the parts of a Korean syllable: what Unicode can compose to one character. */
const decomposed = String.raw`\P{M}\p{M}+|[\u1100-\u1112][\u1161-\u1175][\u11A8-\u11C2]?`

const toPlain = (match: string): string => plainCharacters[match] ?? match.normalize('NFC')

/** Replaces typographic quotes, dashes, ellipses and spaces by their ASCII forms, and composes letters with their marks. */
export const replaceTypography = createNormaliser(new RegExp(`${typography}|${decomposed}`, 'gu'), toPlain)

/** Replaces typography and runs of spaces. */
export const normaliseForm = createNormaliser(
  new RegExp(String.raw`(?:[^\S\n]|[\u00A0\u202F])+|${typography}|${decomposed}`, 'gu'),
  (match) => (/^\s/.test(match) ? ' ' : toPlain(match)),
)
