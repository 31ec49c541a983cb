/**
 * Detects regular expressions that can take exponential time in a backtracking engine: those with a repetition that can
 * match one text in several ways. A repetition is safe when each character determines the next state, or when each pass
 * begins or ends with a character that nothing else in it matches.
 */

// This file uses no regular expressions: in the isolate, their constructor calls this check.
import { allCharacters, parseCharacter, parseClass, parseEscape, foldCase, notNewline } from './character-sets.ts'

/** A part of an expression. Characters are numbered in order of appearance. */
type PatternPart = { readonly canBeEmpty: boolean; readonly first: readonly number[]; readonly last: readonly number[] }
type Repetition = { readonly min: number; readonly max: number; readonly end: number }

const emptyPart: PatternPart = { canBeEmpty: true, first: [], last: [] }
const maxDepth = 200
const maxCopiedCharacters = 10_000

export function hasCatastrophicBacktracking(pattern: string, insensitive = false): boolean {
  return new Analyzer(pattern, insensitive).analyze()
}

class Analyzer {
  readonly #source: string
  readonly #fold: (set: bigint) => bigint
  /** For each character: what it matches, what can follow it, and whether a follower is reachable in two ways. */
  readonly #sets: bigint[] = []
  readonly #next: bigint[] = []
  readonly #isAmbiguous: boolean[] = []
  readonly #isRepeated: boolean[] = []
  #at = 0
  #depth = 0
  #isExponential = false

  constructor(source: string, insensitive: boolean) {
    this.#source = source
    this.#fold = insensitive ? foldCase : (set) => set
  }

  analyze(): boolean {
    while (this.#at < this.#source.length && !this.#isExponential) {
      this.#alternatives()
      this.#at++
    }
    return this.#isExponential
  }

  /** Parses alternatives up to the closing parenthesis or the end. */
  #alternatives(): PatternPart {
    const [first, last]: [number[], number[]] = [[], []]
    let canBeEmpty = false
    for (;;) {
      const branch = this.#sequence()
      append(first, branch.first)
      append(last, branch.last)
      canBeEmpty ||= branch.canBeEmpty
      if (this.#source[this.#at] !== '|') return { canBeEmpty, first, last }
      this.#at++
    }
  }

  #sequence(): PatternPart {
    let whole = emptyPart
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '') && !this.#isExponential) {
      const begin = this.#sets.length
      whole = this.#concatenate(whole, this.#repeat(this.#atom(), begin))
    }
    return whole
  }

  #concatenate(left: PatternPart, right: PatternPart): PatternPart {
    this.#follow(left.last, right.first)
    return {
      canBeEmpty: left.canBeEmpty && right.canBeEmpty,
      first: left.canBeEmpty ? [...left.first, ...right.first] : left.first,
      last: right.canBeEmpty ? [...left.last, ...right.last] : right.last,
    }
  }

  #follow(from: readonly number[], to: readonly number[]): void {
    let [set, overlaps] = [0n, false]
    for (const one of to) {
      overlaps ||= (set & this.#set(one)) !== 0n
      set |= this.#set(one)
    }
    for (const one of from) {
      const known = this.#next[one] ?? 0n
      if (overlaps || (known & set) !== 0n) this.#isAmbiguous[one] = true
      this.#next[one] = known | set
    }
  }

  #set(position: number): bigint {
    return this.#sets[position] ?? 0n
  }

  /** Applies a repetition to a part whose first character has the number `begin`. */
  #repeat(part: PatternPart, begin: number): PatternPart {
    const times = parseRepetition(this.#source, this.#at)
    if (!times) return part
    this.#at = times.end + (this.#source[times.end] === '?' ? 1 : 0)
    const { min, max } = times
    const canBeEmpty = part.canBeEmpty || min === 0
    if (max <= 1) return { ...part, canBeEmpty }
    // A fixed count is a concatenation, and two copies reveal the same ambiguities as many.
    if (min === max) return this.#concatenate(part, this.#copy(part, begin))
    this.#follow(part.last, part.first)
    const end = this.#sets.length
    if (this.#isAmbiguous.slice(begin, end).includes(true) && !this.#isSeparated(part, begin, end))
      this.#isExponential = true
    this.#isRepeated.fill(true, begin, end)
    return { ...part, canBeEmpty }
  }

  #isSeparated({ canBeEmpty, first, last }: PatternPart, begin: number, end: number): boolean {
    const isAlone = (position: number | undefined) => {
      if (position === undefined) return false
      const others = this.#sets.slice(begin, end).filter((_, i) => begin + i !== position)
      return others.every((set) => (set & this.#set(position)) === 0n) && !this.#isRepeated[position]
    }
    if (canBeEmpty) return false
    return (first.length === 1 && isAlone(first[0])) || (last.length === 1 && isAlone(last[0]))
  }

  #copy(part: PatternPart, begin: number): PatternPart {
    const end = this.#sets.length
    const count = end - begin
    if (end + count > maxCopiedCharacters) return emptyPart
    for (let i = begin; i < end; i++) {
      const copy = this.#addSet(this.#set(i))
      this.#next[copy] = this.#next[i] ?? 0n
      this.#isAmbiguous[copy] = this.#isAmbiguous[i] ?? false
      this.#isRepeated[copy] = this.#isRepeated[i] ?? false
    }
    const moved = (positions: readonly number[]) => positions.map((position) => position + count)
    return { ...part, first: moved(part.first), last: moved(part.last) }
  }

  /** Adds a character and returns its number. */
  #addSet(set: bigint): number {
    this.#next.push(0n)
    this.#isAmbiguous.push(false)
    this.#isRepeated.push(false)
    return this.#sets.push(set) - 1
  }

  #atom(): PatternPart {
    const sign = this.#source[this.#at]
    if (sign === '(') return this.#group()
    if (sign === '^' || sign === '$') return this.#skip(1)
    if (sign === '.') return this.#addCharacter({ set: notNewline, end: this.#at + 1 })
    if (sign === '[') return this.#addCharacter(parseClass(this.#source, this.#at))
    if (sign === '\\') return this.#escape()
    return this.#addCharacter(parseCharacter(this.#source, this.#at))
  }

  #addCharacter({ set, end }: { readonly set: bigint; readonly end: number }): PatternPart {
    this.#at = end
    const position = this.#addSet(this.#fold(set))
    return { canBeEmpty: false, first: [position], last: [position] }
  }

  #skip(characters: number): PatternPart {
    this.#at += characters
    return emptyPart
  }

  #escape(): PatternPart {
    const letter = this.#source[this.#at + 1] ?? ''
    if (letter === 'b' || letter === 'B') return this.#skip(2)
    const isName = letter === 'k' && this.#source[this.#at + 2] === '<'
    if (!isName && !(letter >= '1' && letter <= '9')) return this.#addCharacter(parseEscape(this.#source, this.#at))
    // A back reference matches any text of any length.
    const close = isName ? this.#source.indexOf('>', this.#at) : -1
    const any = this.#addCharacter({ set: allCharacters, end: close < 0 ? this.#at + 2 : close + 1 })
    this.#follow(any.last, any.first)
    return { ...any, canBeEmpty: true }
  }

  #group(): PatternPart {
    const begin = this.#sets.length
    const isLook = this.#enterGroup()
    this.#depth++
    if (this.#depth > maxDepth) this.#isExponential = true
    const part = this.#alternatives()
    this.#depth--
    this.#at++
    if (!isLook) return part
    // A look-around consumes no text.
    for (const list of [this.#sets, this.#next, this.#isAmbiguous, this.#isRepeated]) list.length = begin
    return emptyPart
  }

  /** Skips `(`, `(?:`, `(?<name>` and the like. Returns whether it is a look-around. */
  #enterGroup(): boolean {
    const source = this.#source
    this.#at++
    if (source[this.#at] !== '?') return false
    const isBehind = source[this.#at + 1] === '<' && '=!'.includes(source[this.#at + 2] ?? ' ')
    const isLook = isBehind || '=!'.includes(source[this.#at + 1] ?? ' ')
    const isNamed = source[this.#at + 1] === '<' && !isBehind
    const end = isLook ? this.#at + (isBehind ? 2 : 1) : source.indexOf(isNamed ? '>' : ':', this.#at)
    this.#at = (end < 0 ? this.#at : end) + 1
    return isLook
  }
}

const append = (list: number[], more: readonly number[]): void => more.forEach((one) => list.push(one))

const unbounded = Number.POSITIVE_INFINITY

function parseRepetition(source: string, at: number): Repetition | undefined {
  const sign = source[at]
  if (sign === '*') return { min: 0, max: unbounded, end: at + 1 }
  if (sign === '+') return { min: 1, max: unbounded, end: at + 1 }
  if (sign === '?') return { min: 0, max: 1, end: at + 1 }
  const close = sign === '{' ? source.indexOf('}', at) : -1
  return close < 0 ? undefined : parseCounts(source.slice(at + 1, close).split(','), close + 1)
}

function parseCounts([low = '', high, ...more]: readonly string[], end: number): Repetition | undefined {
  const isClosed = high !== undefined && high !== ''
  if (!isNumber(low) || (isClosed && !isNumber(high)) || more.length > 0) return undefined
  return { min: Number(low), max: isClosed ? Number(high) : high === undefined ? Number(low) : unbounded, end }
}

const isNumber = (text: string): boolean => text !== '' && [...text].every((digit) => digit >= '0' && digit <= '9')
