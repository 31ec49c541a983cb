/**
 * Parses JSON that a model wrote carelessly: other quotes or none, unescaped quotes and line breaks in strings, Python
 * literals, comments, missing or extra commas. It reads the text once and never goes back, because the text is
 * untrusted. It never completes truncated JSON.
 */

import { maxNesting } from './nesting.ts'

/** Returns undefined for text that it cannot parse. */
export function parseLenientJson(text: string): unknown {
  try {
    return new LenientParser(text).parse()
  } catch (error) {
    if (error instanceof UnparseableError) return undefined
    throw error
  }
}

class UnparseableError extends Error {}

const closingQuotes: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’', '`': '`' }
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '\n': '\n' }
const literals: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  null: null,
  None: null,
  undefined: null,
}

/** White space and line comments. */
const whiteSpace = /(?:\s|\/\/[^\n]*(?:\n|$))+/y
const bareKey = /[\w$-]+/y
const bareValue = /(?:[^,:{}[\]"'\n/]|\/(?![/*]))+/y
const plainText = /[^\\"'“”‘’`]+/y
const unicode = /u[\da-fA-F]{4}/y
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

class LenientParser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  parse(): unknown {
    const value = this.#parseValue()
    // Extra closing brackets are the most common mistake at the end.
    while (this.#peek() === '}' || this.#peek() === ']') this.#at++
    if (this.#at < this.#text.length) throw new UnparseableError()
    return value
  }

  /** Skips white space and comments and returns the next character, or an empty string at the end. */
  #peek(): string {
    for (;;) {
      this.#match(whiteSpace)
      if (!this.#text.startsWith('/*', this.#at)) return this.#text[this.#at] ?? ''
      const end = this.#text.indexOf('*/', this.#at + 2)
      if (end < 0) throw new UnparseableError()
      this.#at = end + 2
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [matched = ''] = pattern.exec(this.#text) ?? []
    this.#at += matched.length
    return matched
  }

  #parseValue(): unknown {
    const first = this.#peek()
    if (first === '{') return Object.fromEntries(this.#parseItems('}', () => this.#parseEntry()))
    if (first === '[') return this.#parseItems(']', () => this.#parseValue())
    if (closingQuotes[first]) return this.#parseString(first, canFollowValue)
    const bare = this.#match(bareValue).trimEnd()
    if (!bare) throw new UnparseableError()
    if (Object.hasOwn(literals, bare)) return literals[bare]
    return number.test(bare) ? Number(bare) : bare
  }

  /** `parseItem` parses one item of the list. Commas are optional. */
  #parseItems<T>(end: string, parseItem: () => T): readonly T[] {
    if (++this.#depth > maxNesting) throw new UnparseableError()
    this.#at++
    const items: T[] = []
    for (let next = this.#peek(); next !== end; next = this.#peek())
      if (next === ',') this.#at++
      else items.push(parseItem())
    this.#at++
    this.#depth--
    return items
  }

  #parseEntry(): readonly [string, unknown] {
    const first = this.#peek()
    const key = closingQuotes[first] ? this.#parseString(first, canFollowKey) : this.#match(bareKey)
    if (!key && !closingQuotes[first]) throw new UnparseableError()
    if (this.#peek() !== ':') throw new UnparseableError()
    this.#at++
    return [key, this.#parseValue()]
  }

  /** A quote ends the string if the next character may follow a string. Any other quote is part of the string. */
  #parseString(quote: string, canFollow: (next: string) => boolean): string {
    this.#at++
    const pieces: string[] = []
    for (;;) {
      pieces.push(this.#match(plainText))
      const char = this.#text[this.#at++]
      if (char === undefined) throw new UnparseableError()
      if (char === '\\') pieces.push(this.#parseEscape())
      else if (char === closingQuotes[quote] && this.#isEndQuote(canFollow)) return pieces.join('')
      else pieces.push(char)
    }
  }

  #isEndQuote(canFollow: (next: string) => boolean): boolean {
    optionalSpace.lastIndex = this.#at
    const [blank = ''] = optionalSpace.exec(this.#text) ?? []
    return canFollow(this.#text[this.#at + blank.length] ?? '')
  }

  #parseEscape(): string {
    const code = this.#match(unicode)
    if (code) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
    const char = this.#text[this.#at++] ?? ''
    // `\d` of a regular expression and `C:\Users` are no escapes of JSON: the backslash is meant.
    return escapes[char] ?? (escapable.test(char) ? char : `\\${char}`)
  }
}

const escapable = /[\\/"'“”‘’`]/
const optionalSpace = /\s*/y
const canFollowKey = (next: string): boolean => next === ':'
const canFollowValue = (next: string): boolean => [',', '}', ']', ''].includes(next)
