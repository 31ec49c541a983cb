/**
 * Separates thinking that a model writes into its text, between tags such as `<think>` and `</think>`. Thinking begins
 * a reply. Templates that open it for the model leave only the closing tag. A tag elsewhere, or in code, is text.
 */

import type { Delta } from '#agent/core/dialect.ts'

/** The text that was passed on as text is thinking: its reader must drop it. It follows again, as thinking. */
type Discarded = { readonly of: 'discarded' }

export type ThinkingPiece = Delta | Discarded

const names = ['think', 'thinking', 'thought', 'reasoning', 'mm:think', 'seed:think']
const angleClosings = names.map((name) => `</${name}>`)
/** Opening tags and what closes them. Magistral, Kimi-VL and gpt-oss have tags of their own. */
const closingsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ...names.map((name) => [`<${name}>`, angleClosings] as const),
  ['[think]', ['[/think]']],
  ['◁think▷', ['◁/think▷']],
  ['<|channel|>analysis<|message|>', ['<|end|>']],
])
const openingTags = [...closingsOf.keys()]
/** Marks before the answer that are neither: a tag that closes twice, and those of gpt-oss. */
const strayTags = [...angleClosings, '<|start|>assistant', '<|channel|>final<|message|>']
const maxTagChars = 30
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
  /** The tags that end thinking. Templates that open it for the model use angle brackets. */
  #closings: readonly string[] = angleClosings

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
    const beginning = trimmed.slice(0, maxTagChars).toLowerCase()
    const tags = [...openingTags, ...strayTags]
    const tag = tags.find((one) => beginning.startsWith(one))
    if (tag !== undefined) {
      this.#held = trimmed.slice(tag.length).trimStart()
      this.#passed = undefined
      const closings = closingsOf.get(tag)
      if (closings) [this.#closings, this.#state] = [closings, 'thinking']
      return true
    }
    const canBecomeTag = tags.some((one) => one.startsWith(beginning))
    if (!isEnd && canBecomeTag && this.#held.length < maxHeldSpace) return false
    if (this.#held === '') return false
    this.#state = 'text'
    return true
  }

  #readThinking(): boolean {
    const found = findTag(this.#held, this.#closings)
    if (!found) {
      const end = findTagBeginning(this.#held, this.#closings)
      this.#emitUpTo('thinking', this.#held.slice(0, end).trimEnd().length)
      return false
    }
    this.#emit('thinking', this.#held.slice(0, found.start).trimEnd())
    this.#held = this.#held.slice(found.end)
    this.#state = 'start'
    return true
  }

  #readText(isEnd: boolean): boolean {
    const found = this.#passed === undefined ? undefined : findTag(this.#held, angleClosings)
    if (!found) {
      const { length } = this.#held
      this.#emitUpTo('text', this.#passed === undefined ? length : findTagBeginning(this.#held, angleClosings))
      return false
    }
    const { start, end } = found
    const [before, after] = [this.#passed + this.#held.slice(0, start), this.#held.slice(end)]
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

/** Finds the first of the tags. All of them begin with the same character. */
function findTag(text: string, tags: readonly string[]): { readonly start: number; readonly end: number } | undefined {
  const first = tags[0]?.[0] ?? ''
  for (let start = text.indexOf(first); start >= 0; start = text.indexOf(first, start + 1)) {
    const rest = text.slice(start, start + maxTagChars).toLowerCase()
    const tag = tags.find((one) => rest.startsWith(one))
    if (tag !== undefined) return { start, end: start + tag.length }
  }
  return undefined
}

/** Returns where a closing tag may begin at the end of the text, else the length of the text. */
function findTagBeginning(text: string, tags: readonly string[]): number {
  const at = text.lastIndexOf(tags[0]?.[0] ?? '', text.length)
  const rest = text.slice(at).toLowerCase()
  return at >= 0 && tags.some((tag) => tag.startsWith(rest)) ? at : text.length
}

/**
 * A closing tag without an opening one ends thinking when it stands on its own line, or directly after the last word of
 * a line. In a sentence, in code and in data it is text.
 */
function closesThinking(before: string, after: string): boolean {
  const lower = before.toLowerCase()
  if (openingTags.some((tag) => lower.includes(tag))) return false
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
