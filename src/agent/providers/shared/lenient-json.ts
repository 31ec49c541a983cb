/**
 * Reads JSON as models write it when they are not careful: other quotes or none, quotes and line breaks inside of
 * text, Python's words, comments, commas too many or too few. One pass without a step back, because the text comes
 * from outside; what is cut off is never completed.
 */

import { mostNested } from './nesting.ts'

/** Undefined for what cannot be read. */
export function readUntidy(text: string): unknown {
  try {
    return new Reader(text).whole()
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

class Unreadable extends Error {}

const closing: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '‘': '’', '`': '`' }
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '\n': '\n' }
const words: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  null: null,
  None: null,
  undefined: null,
}

/** White space and comments of a line. */
const between = /(?:\s|\/\/[^\n]*(?:\n|$))+/y
const bareKey = /[\w$-]+/y
const bareValue = /(?:[^,:{}[\]"'\n/]|\/(?![/*]))+/y
const plainText = /[^\\"'“”‘’`]+/y
const unicode = /u[\da-fA-F]{4}/y
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

class Reader {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): unknown {
    const value = this.#value()
    // Brackets that close nothing are the commonest slip at the end.
    while (this.#next() === '}' || this.#next() === ']') this.#at++
    if (this.#at < this.#text.length) throw new Unreadable()
    return value
  }

  /** The character that comes behind white space and comments; empty at the end. */
  #next(): string {
    for (;;) {
      this.#take(between)
      if (!this.#text.startsWith('/*', this.#at)) return this.#text[this.#at] ?? ''
      const end = this.#text.indexOf('*/', this.#at + 2)
      if (end < 0) throw new Unreadable()
      this.#at = end + 2
    }
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [taken = ''] = pattern.exec(this.#text) ?? []
    this.#at += taken.length
    return taken
  }

  #value(): unknown {
    const first = this.#next()
    if (first === '{') return Object.fromEntries(this.#inside('}', () => this.#entry()))
    if (first === '[') return this.#inside(']', () => this.#value())
    if (closing[first]) return this.#string(first, isBehindValue)
    const bare = this.#take(bareValue).trimEnd()
    if (!bare) throw new Unreadable()
    if (Object.hasOwn(words, bare)) return words[bare]
    return number.test(bare) ? Number(bare) : bare
  }

  /** `one` reads an item, behind which there may be a comma. */
  #inside<T>(end: string, one: () => T): readonly T[] {
    if (++this.#depth > mostNested) throw new Unreadable()
    this.#at++
    const items: T[] = []
    for (let next = this.#next(); next !== end; next = this.#next())
      if (next === ',') this.#at++
      else items.push(one())
    this.#at++
    this.#depth--
    return items
  }

  #entry(): readonly [string, unknown] {
    const first = this.#next()
    const key = closing[first] ? this.#string(first, isBehindKey) : this.#take(bareKey)
    if (!key && !closing[first]) throw new Unreadable()
    if (this.#next() !== ':') throw new Unreadable()
    this.#at++
    return [key, this.#value()]
  }

  /** A quote ends the text where something follows that may stand behind it; any other is a part of the text. */
  #string(quote: string, isBehind: (next: string) => boolean): string {
    this.#at++
    const pieces: string[] = []
    for (;;) {
      pieces.push(this.#take(plainText))
      const char = this.#text[this.#at++]
      if (char === undefined) throw new Unreadable()
      if (char === '\\') pieces.push(this.#escaped())
      else if (char === closing[quote] && this.#endsHere(isBehind)) return pieces.join('')
      else pieces.push(char)
    }
  }

  #endsHere(isBehind: (next: string) => boolean): boolean {
    space.lastIndex = this.#at
    const [blank = ''] = space.exec(this.#text) ?? []
    return isBehind(this.#text[this.#at + blank.length] ?? '')
  }

  #escaped(): string {
    const code = this.#take(unicode)
    if (code) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
    const char = this.#text[this.#at++] ?? ''
    return escapes[char] ?? char
  }
}

const space = /\s*/y
const isBehindKey = (next: string): boolean => next === ':'
const isBehindValue = (next: string): boolean => [',', '}', ']', ''].includes(next)
