/**
 * Encodes styled text in a dialect that marks styles with characters, as Slack, Discord and WhatsApp do. Every line and
 * every chunk is complete by itself: no dialect continues a style in the next message, and some not in the next line.
 */

import type { MessageChunk, TextSpan } from '#agent/core/delivery.ts'
import { bareUrls, withoutPunctuation } from './bare-url.ts'
import { nestSpans, type SpanNode } from './nest-spans.ts'

export type MarkDialect = {
  /** The marks around inline styles. A style without marks is dropped, and its text stays. */
  readonly marks: Readonly<Partial<Record<TextSpan['type'], string>>>
  /** Marks inside a word are ordinary characters, unless an invisible character separates them. */
  readonly needsBoundaries: boolean
  /** Makes characters literal that would have a meaning. `before`: the character in front; empty at a line start. */
  readonly escapeText: (text: string, before: string) => string
  /** Undefined: this text cannot be written as code. */
  readonly encodeCode: (code: string) => string | undefined
  /** `label`: with escapes and marks; `text`: as it is. */
  readonly encodeLink: (url: string, label: string, text: string) => string
  /** Content of a preformatted block, which has no escapes. */
  readonly encodePre: (line: string) => string
  /** The line that opens a preformatted block. */
  readonly openPre: (language: string | undefined) => string
}

/** Separates characters that would act together. It has no width. */
const separator = '\u200b'

const quoteMark = '> '
const fence = '```'

export function encodeMarks({ text, spans }: MessageChunk, dialect: MarkDialect): string {
  const out: string[] = []
  const blocks = spans.filter(({ type }) => type === 'pre')
  const quotes = spans.filter(({ type }) => type === 'quote')
  const inline = spans.filter(({ type }) => type !== 'pre' && type !== 'quote')
  let open: { readonly block: TextSpan; readonly prefix: string } | undefined
  let at = 0
  for (const line of text.split('\n')) {
    const end = at + line.length
    const block = blocks.find((one) => one.offset <= end && one.offset + one.length > at)
    if (open && open.block !== block) out.push(open.prefix + fence)
    const prefix = quotes.some((one) => one.offset <= end && one.offset + one.length > at) ? quoteMark : ''
    if (block && open?.block !== block) out.push(prefix + dialect.openPre(block.language))
    open = block && { block, prefix }
    out.push(prefix + (block ? dialect.encodePre(line) : encodeLine(text, inline, { from: at, to: end, dialect })))
    at = end + 1
  }
  if (open) out.push(open.prefix + fence)
  return out.join('\n')
}

type MarkToken = { readonly kind: 'text' | 'open' | 'close'; readonly value: string }

type MarkRange = { readonly from: number; readonly to: number; readonly dialect: MarkDialect }

function encodeLine(text: string, spans: readonly TextSpan[], { from, to, dialect }: MarkRange): string {
  const near = spans.filter(({ offset, length }) => offset < to && offset + length > from)
  const tokens: MarkToken[] = []
  const nodes = nestSpans(near, from, to)
  addTokens({ text, dialect, tokens, active: new Set() }, nodes, from, to)
  return joinTokens(tokens, dialect)
}

type MarkWriter = {
  readonly text: string
  readonly dialect: MarkDialect
  readonly tokens: MarkToken[]
  /** Marks that are open. A mark inside itself would end it. */
  readonly active: ReadonlySet<string>
}

function addTokens(writer: MarkWriter, nodes: readonly SpanNode[], from: number, to: number): void {
  let at = from
  for (const node of nodes) {
    addText(writer, at, node.from)
    addNode(writer, node)
    at = node.to
  }
  addText(writer, at, to)
}

function addText({ text, dialect, tokens }: MarkWriter, from: number, to: number): void {
  if (to <= from) return
  const before = from > 0 && text[from - 1] !== '\n' ? (text[from - 1] ?? '') : ''
  tokens.push({ kind: 'text', value: dialect.escapeText(text.slice(from, to), before) })
}

/** Blanks at the edges stay outside of the marks: inside they would make them ordinary characters. */
function addNode(writer: MarkWriter, { span, from, to, children }: SpanNode): void {
  const { text, dialect, tokens, active } = writer
  const content = text.slice(from, to)
  const start = from + content.length - content.trimStart().length
  const stop = start + content.trim().length
  if (stop <= start) return addText(writer, from, to)
  addText(writer, from, start)
  const code = span.type === 'code' ? dialect.encodeCode(content.trim()) : undefined
  const mark = dialect.marks[span.type]
  const inner = clipNodes(children, start, stop)
  if (code !== undefined) tokens.push({ kind: 'open', value: code }, { kind: 'close', value: '' })
  else if (span.type === 'link') {
    const label: MarkToken[] = []
    addTokens({ ...writer, tokens: label }, inner, start, stop)
    const value = dialect.encodeLink(span.url ?? '', joinTokens(label, dialect), content.trim())
    tokens.push({ kind: 'text', value })
  } else if (mark !== undefined && !active.has(mark)) {
    tokens.push({ kind: 'open', value: mark })
    addTokens({ ...writer, active: new Set([...active, mark]) }, inner, start, stop)
    tokens.push({ kind: 'close', value: mark })
  } else addTokens(writer, inner, start, stop)
  addText(writer, stop, to)
}

const clipNodes = (nodes: readonly SpanNode[], from: number, to: number): readonly SpanNode[] =>
  nodes.flatMap((node) => {
    const clipped = { ...node, from: Math.max(node.from, from), to: Math.min(node.to, to) }
    return clipped.to > clipped.from ? [clipped] : []
  })

const isWord = (char: string) => /[\p{L}\p{N}_]/u.test(char)
/** The first or last character, which may be a surrogate pair. */
const firstOf = (text: string) => String.fromCodePoint(text.codePointAt(0) ?? 0)
const lastOf = (text: string) => Array.from(text.slice(-2)).at(-1) ?? ''

function joinTokens(tokens: readonly MarkToken[], { needsBoundaries }: MarkDialect): string {
  let out = ''
  let previous: MarkToken | undefined
  for (const token of tokens) {
    if (!token.value) {
      previous = token
      continue
    }
    if (previous && out && needsSeparator(out, previous, token, needsBoundaries)) out += separator
    out += token.value
    previous = token
  }
  return out
}

function needsSeparator(out: string, previous: MarkToken, token: MarkToken, needsBoundaries: boolean): boolean {
  const [before, after] = [lastOf(out), firstOf(token.value)]
  // One style ends where another begins: their marks would be read as one.
  if (previous.kind === 'close' && token.kind === 'open') return needsBoundaries || before === after
  if (!needsBoundaries) return false
  if (token.kind === 'open' && previous.kind === 'text') return isWord(before) || before === after
  return previous.kind === 'close' && token.kind === 'text' && isWord(after)
}

/**
 * Separates characters that would begin a style, in dialects without escapes. A mark begins a style where a word could
 * begin, in front of a character that is not blank.
 */
function separateMarks(text: string, before: string): string {
  const guarded = text.replace(/[*_~`]/g, (mark, at: number) => {
    const previous = at > 0 ? (text[at - 1] ?? '') : before
    const next = text[at + 1]
    return isWord(previous) || next === undefined || /\s/.test(next) ? mark : mark + separator
  })
  return before === '' && guarded.startsWith('>') ? separator + guarded : guarded
}

type Encoders = {
  readonly encodeText: (text: string) => string
  readonly encodeUrl: (url: string) => string
}

/** Separates marks in the text around bare addresses, whose characters are never marks. */
export function separateMarksAroundUrls(text: string, before: string, { encodeText, encodeUrl }: Encoders): string {
  let out = ''
  let at = 0
  let previous = before
  for (const { 0: found, index } of text.matchAll(bareUrls)) {
    const url = withoutPunctuation(found)
    out += encodeText(separateMarks(text.slice(at, index), previous)) + encodeUrl(url)
    at = index + url.length
    previous = url.at(-1) ?? ''
  }
  return out + encodeText(separateMarks(text.slice(at), previous))
}

/** Separates the ticks that would end a preformatted block. */
export const separateTicks = (line: string): string => line.replaceAll('``', `\`${separator}\``)
