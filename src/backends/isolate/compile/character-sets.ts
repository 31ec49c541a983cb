/** Computes the set of characters that an atom of a regular expression matches, as bits: one per ASCII character, and some that all others share. */

const asciiCount = 128
const otherBits = 64

const bit = (code: number): bigint => 1n << BigInt(code < asciiCount ? code : asciiCount + (code % otherBits))
const range = (from: number, to: number): bigint => {
  const low = from < asciiCount ? (1n << BigInt(Math.min(to, asciiCount - 1) + 1)) - (1n << BigInt(from)) : 0n
  return to < asciiCount ? low : low | others
}

const others = ((1n << BigInt(otherBits)) - 1n) << BigInt(asciiCount)
export const allCharacters = (1n << BigInt(asciiCount + otherBits)) - 1n
const digits = range(48, 57)
const words = digits | range(65, 90) | range(97, 122) | bit(95)
const blanks = range(9, 13) | bit(32) | others
export const notNewline = allCharacters & ~(bit(10) | bit(13))

/** Both a class and its complement may match non-ASCII characters. */
const complement = (set: bigint): bigint => (allCharacters & ~set) | others

const classes: Readonly<Record<string, bigint>> = {
  d: digits,
  D: complement(digits),
  w: words,
  W: complement(words),
  s: blanks,
  S: complement(blanks),
}
const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, '0': 0, b: 8 }

export type CharacterSet = { readonly set: bigint; readonly end: number; readonly code?: number }

/** Parses an escape that matches one character; `at` is the index of its backslash. */
export function parseEscape(source: string, at: number): CharacterSet {
  const letter = source[at + 1] ?? ''
  const named = classes[letter]
  if (named !== undefined) return { set: named, end: at + 2 }
  if (letter === 'p' || letter === 'P') return { set: allCharacters, end: endOfGroup(source, at + 2, '{', '}') }
  if (letter === 'x') return parseCodePoint(source.slice(at + 2, at + 4), at + 4)
  if (letter === 'u' && source[at + 2] === '{') {
    const end = endOfGroup(source, at + 2, '{', '}')
    return parseCodePoint(source.slice(at + 3, end - 1), end)
  }
  if (letter === 'u') return parseCodePoint(source.slice(at + 2, at + 6), at + 6)
  if (letter === 'c') return { set: allCharacters, end: at + 3 }
  const code = controls[letter] ?? source.codePointAt(at + 1) ?? 92
  return { set: bit(code), code, end: at + 1 + String.fromCodePoint(code).length }
}

function parseCodePoint(digitsOfCode: string, end: number): CharacterSet {
  const code = Number.parseInt(digitsOfCode, 16)
  return Number.isNaN(code) ? { set: allCharacters, end } : { set: bit(code), code, end }
}

function endOfGroup(source: string, from: number, open: string, close: string): number {
  const end = source[from] === open ? source.indexOf(close, from) : -1
  return end < 0 ? from : end + 1
}

export function parseCharacter(source: string, at: number): CharacterSet {
  const code = source.codePointAt(at) ?? 0
  return { set: bit(code), code, end: at + (code > 0xffff ? 2 : 1) }
}

/** Parses a class in brackets; `at` is the index of the opening bracket. */
export function parseClass(source: string, at: number): CharacterSet {
  const isNegated = source[at + 1] === '^'
  let [set, i] = [0n, at + (isNegated ? 2 : 1)]
  while (i < source.length && source[i] !== ']') {
    const first = memberAt(source, i)
    const last = source[first.end] === '-' && source[first.end + 1] !== ']' ? memberAt(source, first.end + 1) : first
    const isRange = last !== first && first.code !== undefined && last.code !== undefined
    set |= isRange ? range(first.code, last.code) : first.set | last.set | (last === first ? 0n : bit(45))
    i = last.end
  }
  return { set: isNegated ? complement(set) : set, end: i + 1 }
}

const memberAt = (source: string, at: number): CharacterSet =>
  source[at] === '\\' ? parseEscape(source, at) : parseCharacter(source, at)

const capitals = range(65, 90)
const smalls = range(97, 122)
/** Adds the other case of all letters. */
export const foldCase = (set: bigint): bigint => set | ((set & capitals) << 32n) | ((set & smalls) >> 32n)
