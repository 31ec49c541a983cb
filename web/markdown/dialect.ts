/**
 * Adds to Markdown the forms that models write beside it: math, folded parts, footnotes and marks of sources. Each
 * token is complete, or the text stays as it is, so that a growing text is read like a whole one.
 */

import { Marked, type Token, type TokenizerExtension, type TokenizerThis } from 'marked'

export type MathToken = {
  readonly type: 'math'
  readonly raw: string
  readonly text: string
  readonly isBlock: boolean
}
export type FoldToken = {
  readonly type: 'fold'
  readonly raw: string
  readonly isOpen: boolean
  readonly summary: readonly Token[]
  readonly tokens: readonly Token[]
}
export type NoteToken = {
  readonly type: 'note'
  readonly raw: string
  readonly label: string
  readonly tokens: Token[]
}
export type NoteRefToken = { readonly type: 'noteRef'; readonly raw: string; readonly label: string }
export type CiteToken = { readonly type: 'cite'; readonly raw: string; readonly text: string }

const maxMathChars = 4_000

/** Math on lines of its own has no empty line, as in TeX. While it has no end either, it is math that is being written. */
const mathBlock: TokenizerExtension = {
  name: 'math',
  level: 'block',
  start: (source) => startOf(/(?<=\n) {0,3}(?:\$\$|\\\[)/, source),
  tokenizer(source) {
    const open = /^ {0,3}(\$\$|\\\[)/.exec(source)
    if (!open) return undefined
    const close = open[1] === '$$' ? '$$' : '\\]'
    const gap = /\n[ \t]*\n/.exec(source)
    const paragraph = gap ? source.slice(0, gap.index) : source
    const end = paragraph.indexOf(close, open[0].length)
    if (end < 0) return gap ? undefined : unfinished(source)
    const text = source.slice(open[0].length, end).trim()
    const rest = /^[ \t]*(?:\n+|$)/.exec(source.slice(end + 2))
    if (!rest || !text || text.length > maxMathChars) return undefined
    return { type: 'math', raw: source.slice(0, end + 2 + rest[0].length), text, isBlock: true }
  },
}

const unfinished = (raw: string) => ({ type: 'paragraph', raw, text: raw, tokens: [{ type: 'text', raw, text: raw }] })

/** One dollar begins math only where no price or variable of a shell does. */
const mathStart = /\\\(|\\\[|\$\$|(?<![\w$\\])\$(?=[^\s$])/
const mathForms: readonly (readonly [RegExp, boolean])[] = [
  [/^\\\(([^\n]{1,2000}?)\\\)/, false],
  [/^\\\[([^\n]{1,2000}?)\\\]/, true],
  [/^\$\$([^\n$]{1,2000}?)\$\$/, true],
  [/^\$([^\s$](?:[^\n$]{0,300}?[^\s\\$])?)\$(?![\w$])/, false],
]

const mathInline: TokenizerExtension = {
  name: 'mathInline',
  level: 'inline',
  start: (source) => startOf(mathStart, source),
  tokenizer(source) {
    if (source[0] !== '$' && source[0] !== '\\') return undefined
    for (const [form, isBlock] of mathForms) {
      const [raw, text = ''] = form.exec(source) ?? []
      if (raw !== undefined && text.trim()) return { type: 'math', raw, text: text.trim(), isBlock }
    }
    return undefined
  },
}

const foldTag = /^ {0,3}<details(\s+open(?:=(?:""|"open"))?)?\s*>/i

/** Until its end is written, everything belongs to it. */
const fold: TokenizerExtension = {
  name: 'fold',
  level: 'block',
  start: (source) => startOf(/(?<=\n) {0,3}<details[\s>]/i, source),
  tokenizer(this: TokenizerThis, source) {
    const open = foldTag.exec(source)
    if (!open) return undefined
    const [end, after] = findFoldEnd(source, open[0].length)
    const inner = source.slice(open[0].length, end)
    const [head = '', summary = ''] = /^\s*<summary>([\s\S]{0,500}?)<\/summary>/i.exec(inner) ?? []
    return {
      type: 'fold',
      raw: source.slice(0, after),
      isOpen: open[1] !== undefined,
      summary: this.lexer.inlineTokens(summary.trim(), []),
      tokens: this.lexer.blockTokens(inner.slice(head.length).replace(/^\s*\n|\s+$/g, ''), []),
    }
  },
}

function findFoldEnd(source: string, from: number): readonly [end: number, after: number] {
  const tags = /<(\/?)details(?:\s[^>]{0,100})?>[ \t]*\n*/gi
  tags.lastIndex = from
  let depth = 1
  for (let found = tags.exec(source); found; found = tags.exec(source)) {
    depth += found[1] ? -1 : 1
    if (depth === 0) return [found.index, tags.lastIndex]
  }
  return [source.length, source.length]
}

const note: TokenizerExtension = {
  name: 'note',
  level: 'block',
  start: (source) => startOf(/(?<=\n)\[\^[\w-]{1,30}\]:/, source),
  tokenizer(this: TokenizerThis, source) {
    const found = /^\[\^([\w-]{1,30})\]:[ \t]*([^\n]*(?:\n(?![ \t]*\n|\[\^)[^\n]+)*(?:\n\n {2,}[^\n]+)*)\n*/.exec(
      source,
    )
    if (!found) return undefined
    const [raw, label = '', text = ''] = found
    return { type: 'note', raw, label, tokens: this.lexer.blockTokens(text.replace(/^ {2,4}/gm, ''), []) }
  },
}

const noteRef: TokenizerExtension = {
  name: 'noteRef',
  level: 'inline',
  start: (source) => startOf(/\[\^/, source),
  tokenizer(source) {
    const [raw, label] = /^\[\^([\w-]{1,30})\]/.exec(source) ?? []
    return raw === undefined ? undefined : { type: 'noteRef', raw, label }
  },
}

const cite: TokenizerExtension = {
  name: 'cite',
  level: 'inline',
  start: (source) => startOf(/【/, source),
  tokenizer(source) {
    const [raw, text] = /^【([^【】\n]{1,300})】/.exec(source) ?? []
    return raw === undefined ? undefined : { type: 'cite', raw, text }
  },
}

function startOf(pattern: RegExp, source: string): number | undefined {
  const at = source.search(pattern)
  return at < 0 ? undefined : at
}

const dialect = new Marked({ extensions: [mathBlock, mathInline, fold, note, noteRef, cite] })

export const lexer = (text: string): readonly Token[] => dialect.lexer(text)
/** Reads a text without blocks. */
export const lexInline = (text: string): readonly Token[] => dialect.Lexer.lexInline(text, dialect.defaults)
