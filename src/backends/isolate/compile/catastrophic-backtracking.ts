/**
 * Regular expressions that can take exponential time in an engine that backtracks and cannot be interrupted: those
 * with a repetition that can match one text in several ways. A repetition is taken when after each of its characters
 * the next one says where to go on (then there is one way only), or when a character that nothing else in it matches
 * begins or ends each pass.
 */

// No regular expression in here: in the isolate their constructor has this very check in front of it.
import { allCharacters, parseCharacter, parseClass, parseEscape, foldCase, notNewline } from './character-sets.ts'

/** A part of an expression: characters are numbered as they come. */
type Part = { readonly canBeEmpty: boolean; readonly first: readonly number[]; readonly last: readonly number[] }
type Repetition = { readonly least: number; readonly most: number; readonly end: number }

const nothing: Part = { canBeEmpty: true, first: [], last: [] }
const mostDeep = 200
const mostCopied = 10_000

export function hasCatastrophicBacktracking(pattern: string, insensitive = false): boolean {
  return new Reader(pattern, insensitive).canExplode()
}

class Reader {
  readonly #source: string
  readonly #fold: (set: bigint) => bigint
  /** Of each character: what it matches, what can come next to it, and whether that can be reached in two ways. */
  readonly #sets: bigint[] = []
  readonly #next: bigint[] = []
  readonly #isUnsure: boolean[] = []
  readonly #isRepeated: boolean[] = []
  #at = 0
  #depth = 0
  #explodes = false

  constructor(source: string, insensitive: boolean) {
    this.#source = source
    this.#fold = insensitive ? foldCase : (set) => set
  }

  canExplode(): boolean {
    while (this.#at < this.#source.length && !this.#explodes) {
      this.#choice()
      this.#at++
    }
    return this.#explodes
  }

  /** Up to the closing bracket, or the end. */
  #choice(): Part {
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

  #sequence(): Part {
    let whole = nothing
    while (this.#at < this.#source.length && !'|)'.includes(this.#source[this.#at] ?? '') && !this.#explodes) {
      const begin = this.#sets.length
      whole = this.#joined(whole, this.#repeated(this.#atom(), begin))
    }
    return whole
  }

  #joined(left: Part, right: Part): Part {
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
      if (overlaps || (known & set) !== 0n) this.#isUnsure[one] = true
      this.#next[one] = known | set
    }
  }

  #set(position: number): bigint {
    return this.#sets[position] ?? 0n
  }

  /** `begin`: the number of the first character of the part. */
  #repeated(part: Part, begin: number): Part {
    const times = repetitionAt(this.#source, this.#at)
    if (!times) return part
    this.#at = times.end + (this.#source[times.end] === '?' ? 1 : 0)
    const { least, most } = times
    const canBeEmpty = part.canBeEmpty || least === 0
    if (most <= 1) return { ...part, canBeEmpty }
    // So often and no other number: one after the other, and two tell as much as many.
    if (least === most) return this.#joined(part, this.#copied(part, begin))
    this.#follow(part.last, part.first)
    const end = this.#sets.length
    if (this.#isUnsure.slice(begin, end).includes(true) && !this.#isKeptApart(part, begin, end)) this.#explodes = true
    this.#isRepeated.fill(true, begin, end)
    return { ...part, canBeEmpty }
  }

  #isKeptApart({ canBeEmpty, first, last }: Part, begin: number, end: number): boolean {
    const isAlone = (position: number | undefined) => {
      if (position === undefined) return false
      const others = this.#sets.slice(begin, end).filter((_, i) => begin + i !== position)
      return others.every((set) => (set & this.#set(position)) === 0n) && !this.#isRepeated[position]
    }
    if (canBeEmpty) return false
    return (first.length === 1 && isAlone(first[0])) || (last.length === 1 && isAlone(last[0]))
  }

  #copied(part: Part, begin: number): Part {
    const end = this.#sets.length
    const count = end - begin
    if (end + count > mostCopied) return nothing
    for (let i = begin; i < end; i++) {
      const copy = this.#character(this.#set(i))
      this.#next[copy] = this.#next[i] ?? 0n
      this.#isUnsure[copy] = this.#isUnsure[i] ?? false
      this.#isRepeated[copy] = this.#isRepeated[i] ?? false
    }
    const moved = (positions: readonly number[]) => positions.map((position) => position + count)
    return { ...part, first: moved(part.first), last: moved(part.last) }
  }

  /** The number of a new one. */
  #character(set: bigint): number {
    this.#next.push(0n)
    this.#isUnsure.push(false)
    this.#isRepeated.push(false)
    return this.#sets.push(set) - 1
  }

  #atom(): Part {
    const sign = this.#source[this.#at]
    if (sign === '(') return this.#group()
    if (sign === '^' || sign === '$') return this.#passed(1)
    if (sign === '.') return this.#one({ set: notNewline, end: this.#at + 1 })
    if (sign === '[') return this.#one(parseClass(this.#source, this.#at))
    if (sign === '\\') return this.#escape()
    return this.#one(parseCharacter(this.#source, this.#at))
  }

  #one({ set, end }: { readonly set: bigint; readonly end: number }): Part {
    this.#at = end
    const position = this.#character(this.#fold(set))
    return { canBeEmpty: false, first: [position], last: [position] }
  }

  #passed(characters: number): Part {
    this.#at += characters
    return nothing
  }

  #escape(): Part {
    const letter = this.#source[this.#at + 1] ?? ''
    if (letter === 'b' || letter === 'B') return this.#passed(2)
    const isName = letter === 'k' && this.#source[this.#at + 2] === '<'
    if (!isName && !(letter >= '1' && letter <= '9')) return this.#one(parseEscape(this.#source, this.#at))
    // What a group matched: any text, of any length.
    const close = isName ? this.#source.indexOf('>', this.#at) : -1
    const any = this.#one({ set: allCharacters, end: close < 0 ? this.#at + 2 : close + 1 })
    this.#follow(any.last, any.first)
    return { ...any, canBeEmpty: true }
  }

  #group(): Part {
    const begin = this.#sets.length
    const isLook = this.#open()
    this.#depth++
    if (this.#depth > mostDeep) this.#explodes = true
    const part = this.#choice()
    this.#depth--
    this.#at++
    if (!isLook) return part
    // It takes nothing of the text.
    for (const list of [this.#sets, this.#next, this.#isUnsure, this.#isRepeated]) list.length = begin
    return nothing
  }

  /** Goes behind `(`, `(?:`, `(?<name>` and their like. */
  #open(): boolean {
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

function repetitionAt(source: string, at: number): Repetition | undefined {
  const sign = source[at]
  if (sign === '*') return { least: 0, most: unbounded, end: at + 1 }
  if (sign === '+') return { least: 1, most: unbounded, end: at + 1 }
  if (sign === '?') return { least: 0, most: 1, end: at + 1 }
  const close = sign === '{' ? source.indexOf('}', at) : -1
  return close < 0 ? undefined : counted(source.slice(at + 1, close).split(','), close + 1)
}

function counted([low = '', high, ...more]: readonly string[], end: number): Repetition | undefined {
  const isClosed = high !== undefined && high !== ''
  if (!isNumber(low) || (isClosed && !isNumber(high)) || more.length > 0) return undefined
  return { least: Number(low), most: isClosed ? Number(high) : high === undefined ? Number(low) : unbounded, end }
}

const isNumber = (text: string): boolean => text !== '' && [...text].every((digit) => digit >= '0' && digit <= '9')
