/**
 * Separates thinking that a model writes into its text, between tags such as `<think>` and `</think>`. Thinking begins
 * a reply. Templates that open it for the model leave only the closing tag. A tag elsewhere, or in code, is text.
 */

import type { Delta } from '#agent/core/dialect.ts'

/** The text that was passed on as text is thinking: its reader must drop it. It follows again, as thinking. */
type Discarded = { readonly of: 'discarded' }

export type ThinkingPiece = Delta | Discarded

const names = ['think', 'thinking', 'thought', 'reasoning', 'mm:think', 'seed:think']
const openingTags = names.map((name) => `<${name}>`)
const closingTags = names.map((name) => `</${name}>`)
const closingTag = new RegExp(closingTags.join('|'), 'i')
/** A text with more closing tags is about tags. Each is compared with all of the text before it. */
const maxTextTags = 20
/** Longer white space is passed on, so that little is kept back. */
const maxHeldSpace = 1_000

export class InlineThinkingReader {
  readonly #pass: (piece: ThinkingPiece) => void
  #state: 'start' | 'thinking' | 'text' = 'start'
  /** Text that is not passed on yet, because a tag may begin in it. */
  #held = ''
  /** The text that was passed on, while a closing tag may still turn it into thinking. */
  #passed: string | undefined = ''
  #textTags = 0

  constructor(pass: (piece: ThinkingPiece) => void) {
    this.#pass = pass
  }

  push(text: string): void {
    this.#held += text
    while (this.#readOne(false));
  }

  /** Passes on what was kept back. */
  end(): void {
    while (this.#readOne(true));
    this.#emit(this.#state === 'thinking' ? 'thinking' : 'text', this.#held)
    this.#held = ''
  }

  /** Returns whether the state has changed, so that the rest of the text must be read. */
  #readOne(isEnd: boolean): boolean {
    if (this.#state === 'start') return this.#readStart(isEnd)
    return this.#state === 'thinking' ? this.#readThinking() : this.#readText(isEnd)
  }

  #readStart(isEnd: boolean): boolean {
    const isAfterThinking = this.#passed === undefined
    const trimmed = this.#held.trimStart()
    if (isAfterThinking) this.#held = trimmed
    const beginning = trimmed.slice(0, 16).toLowerCase()
    const tag = openingTags.find((opening) => beginning.startsWith(opening))
    if (tag !== undefined) {
      this.#held = trimmed.slice(tag.length).trimStart()
      this.#passed = undefined
      this.#state = 'thinking'
      return true
    }
    const canBecomeTag = openingTags.some((opening) => opening.startsWith(beginning))
    if (!isEnd && canBecomeTag && this.#held.length < maxHeldSpace) return false
    if (this.#held === '') return false
    this.#state = 'text'
    return true
  }

  #readThinking(): boolean {
    const found = closingTag.exec(this.#held)
    if (!found) {
      this.#emitUpTo('thinking', this.#held.slice(0, findTagBeginning(this.#held)).trimEnd().length)
      return false
    }
    this.#emit('thinking', this.#held.slice(0, found.index).trimEnd())
    this.#held = this.#held.slice(found.index + found[0].length)
    this.#state = 'start'
    return true
  }

  #readText(isEnd: boolean): boolean {
    const found = this.#passed === undefined ? null : closingTag.exec(this.#held)
    if (!found) {
      this.#emitUpTo('text', this.#passed === undefined ? this.#held.length : findTagBeginning(this.#held))
      return false
    }
    const end = found.index + found[0].length
    const [before, after] = [this.#passed + this.#held.slice(0, found.index), this.#held.slice(end)]
    // The character after the tag belongs to the decision.
    if (after === '' && !isEnd) return false
    if (!closesThinking(before, after)) {
      this.#emitUpTo('text', end)
      if (++this.#textTags === maxTextTags) this.#passed = undefined
      return true
    }
    if (this.#passed) this.#pass({ of: 'discarded' })
    this.#passed = undefined
    this.#emit('thinking', before.trim())
    this.#held = after
    this.#state = 'start'
    return true
  }

  /** Passes on the beginning of what is held. More white space than the limit is never held. */
  #emitUpTo(of: Delta['of'], length: number): void {
    const end = Math.max(length, this.#held.length - maxHeldSpace)
    this.#emit(of, this.#held.slice(0, end))
    this.#held = this.#held.slice(end)
  }

  #emit(of: Delta['of'], text: string): void {
    if (text === '') return
    if (of === 'text' && this.#passed !== undefined) this.#passed += text
    this.#pass({ of, text })
  }
}

/** Returns where a closing tag may begin at the end of the text, else the length of the text. */
function findTagBeginning(text: string): number {
  const at = text.lastIndexOf('<', text.length)
  const rest = text.slice(at).toLowerCase()
  return at >= 0 && closingTags.some((tag) => tag.startsWith(rest)) ? at : text.length
}

/**
 * A closing tag without an opening one ends thinking when it stands on its own line, or directly after the last word of
 * a line. In a sentence, in code and in data it is text.
 */
function closesThinking(before: string, after: string): boolean {
  if (openingTags.some((tag) => before.toLowerCase().includes(tag))) return false
  if (/^\s*[{[<]/.test(before) || isInCode(before)) return false
  const line = before.slice(before.lastIndexOf('\n') + 1)
  if (line.trim() === '') return true
  return /[^\s"'“‘([]$/.test(line) && /^[ \t\r]*(?:\n|$)/.test(after)
}

/** An odd number of fences, or of backticks in the last line, is open. */
function isInCode(text: string): boolean {
  const fences = text.match(/^[ \t]*(?:```|~~~)/gm)?.length ?? 0
  const line = text.slice(text.lastIndexOf('\n') + 1)
  return fences % 2 === 1 || line.split('`').length % 2 === 0
}
