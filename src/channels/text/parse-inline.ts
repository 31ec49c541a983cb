/**
 * Parses Markdown inside a paragraph into text with styled spans. Unknown syntax stays as it was written: only characters
 * that mark a style are removed.
 */

import type { TextSpan } from '#agent/core/delivery.ts'
import { matchBareUrl, withoutMarks } from './bare-url.ts'

export type StyledText = { text: string; readonly spans: TextSpan[] }

const marks = [
  ['***', ['bold', 'italic']],
  ['**', ['bold']],
  ['__', ['bold']],
  ['~~', ['strikethrough']],
  ['||', ['spoiler']],
  ['*', ['italic']],
  ['_', ['italic']],
] as const

const maxDepth = 6
const escapable = /[!-/:-@[-`{-~]/
const linkable = /^(?:https?:\/\/|mailto:|tel:|tg:)\S+$/i

export function parseInline(source: string, out: StyledText, depth = 0): void {
  /** Marks without a closing mark in the rest of the source, so that each is searched once. */
  const unclosed = new Set<string>()
  let at = 0
  while (at < source.length) {
    const next = parseAt(source, at, { out, depth, unclosed })
    if (next > at) {
      at = next
      continue
    }
    out.text += source[at]
    at++
  }
}

type InlineState = { readonly out: StyledText; readonly depth: number; readonly unclosed: Set<string> }

/** Parses the construct that begins at `at`. Returns the position behind it, or `at` when none begins there. */
function parseAt(source: string, at: number, state: InlineState): number {
  switch (source[at]) {
    case '\\':
      return parseEscape(source, at, state.out)
    case '`':
      return parseCode(source, at, state)
    case '!':
    case '[':
      return parseLink(source, at, state)
    case '<':
      return parseAutolink(source, at, state.out)
    case 'h':
      return parseUrl(source, at, state.out)
    case '*':
    case '_':
    case '~':
    case '|':
      return parseMarked(source, at, state)
    default:
      return at
  }
}

function parseEscape(source: string, at: number, out: StyledText): number {
  const next = source[at + 1]
  if (next === undefined || !escapable.test(next)) return at
  out.text += next
  return at + 2
}

function parseCode(source: string, at: number, { out, unclosed }: InlineState): number {
  const length = runLength(source, at, '`')
  const fence = '`'.repeat(length)
  const end = unclosed.has(fence) ? -1 : findCodeEnd(source, at + length, length)
  if (end < 0) {
    unclosed.add(fence)
    out.text += fence
    return at + length
  }
  const code = source.slice(at + length, end)
  const isPadded = code.startsWith(' ') && code.endsWith(' ') && /[^ ]/.test(code)
  addSpans(out, ['code'], () => (out.text += isPadded ? code.slice(1, -1) : code))
  return end + length
}

function findCodeEnd(source: string, from: number, length: number): number {
  for (let at = source.indexOf('`', from); at >= 0; at = source.indexOf('`', at)) {
    const run = runLength(source, at, '`')
    if (run === length) return at
    at += run
  }
  return -1
}

/** Bound the search for the end of a label and of an address, so that parsing stays linear. */
const maxLabelChars = 500
const maxUrlChars = 4_000
const maxUrlLevels = 32

/** `[label](address)` and `![label](address)`. */
function parseLink(source: string, at: number, { out, depth }: InlineState): number {
  const open = source[at] === '!' ? at + 1 : at
  if (source[open] !== '[') return at
  const labelEnd = findClosingBracket(source, open)
  const target = labelEnd < 0 ? undefined : parseTarget(source, labelEnd + 1)
  if (!target) return at
  const label = source.slice(open + 1, labelEnd)
  const { url, end } = target
  const write = () => (depth < maxDepth ? parseInline(label || url, out, depth + 1) : void (out.text += label || url))
  if (linkable.test(url)) addSpans(out, ['link'], write, { url })
  else {
    write()
    if (url && label) out.text += ` (${url})`
  }
  return end
}

function findClosingBracket(source: string, open: number): number {
  let level = 0
  const last = Math.min(source.length, open + maxLabelChars)
  for (let at = open; at < last; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '[') level++
    else if (source[at] === ']' && --level === 0) return at
  }
  return -1
}

const targetStart = /\(\s{0,100}<?/y
const targetEnd = />?(?:\s{1,100}(?:"[^"]{0,500}"|'[^']{0,500}'))?\s{0,100}\)/y

/** Parses the address in brackets behind a label, with its title. */
function parseTarget(source: string, at: number): { readonly url: string; readonly end: number } | undefined {
  targetStart.lastIndex = at
  if (!targetStart.test(source)) return undefined
  const from = targetStart.lastIndex
  const to = findUrlEnd(source, from)
  targetEnd.lastIndex = to
  return targetEnd.test(source) ? { url: source.slice(from, to), end: targetEnd.lastIndex } : undefined
}

/** An address ends at a blank, or at a bracket that it did not open. */
function findUrlEnd(source: string, from: number): number {
  let level = 0
  const last = Math.min(source.length, from + maxUrlChars)
  for (let at = from; at < last; at++) {
    const char = source[at] ?? ''
    if (char === '(' && ++level > maxUrlLevels) return at
    if ((char === ')' && --level < 0) || char === '<' || char === '>' || isBlank(char)) return at
  }
  return last
}

const autolink = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy

function parseAutolink(source: string, at: number, out: StyledText): number {
  autolink.lastIndex = at
  const url = autolink.exec(source)?.[1]
  if (url === undefined) return at
  out.text += url
  return autolink.lastIndex
}

function parseUrl(source: string, at: number, out: StyledText): number {
  const url = matchBareUrl(source, at) ?? ''
  out.text += url
  return at + url.length
}

function parseMarked(source: string, at: number, state: InlineState): number {
  const { out, depth, unclosed } = state
  for (const [mark, types] of marks) {
    if (!source.startsWith(mark, at) || unclosed.has(mark) || depth >= maxDepth) continue
    if (!canOpen(source, at, mark)) continue
    const end = findClosingMark(source, at + mark.length, mark)
    if (end < 0) unclosed.add(mark)
    else {
      addSpans(out, types, () => parseInline(source.slice(at + mark.length, end), out, depth + 1))
      return end + mark.length
    }
  }
  const run = runLength(source, at, source[at] ?? '')
  out.text += source.slice(at, at + run)
  return at + run
}

const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char)
const isBlank = (char: string | undefined) => char === undefined || /\s/.test(char)

function canOpen(source: string, at: number, mark: string): boolean {
  const next = source[at + mark.length]
  if (isBlank(next) || next === mark[0]) return false
  return mark[0] !== '_' || !isWord(source[at - 1])
}

/** Finds the closing mark, which follows a character that is not blank. Skips code, escapes and addresses. */
function findClosingMark(source: string, from: number, mark: string): number {
  for (let at = from; at < source.length; at++) {
    const char = source[at] ?? ''
    if (char === '\\') at++
    else if (char === 'h') at += Math.max(0, withoutMarks(matchBareUrl(source, at) ?? '').length - 1)
    else if (char === '`') {
      const length = runLength(source, at, '`')
      const end = findCodeEnd(source, at + length, length)
      at = (end < 0 ? at : end) + length - 1
    } else if (char === mark[0]) {
      const run = runLength(source, at, char)
      if (canClose(source, at, { run, mark, from })) return at + run - mark.length
      at += run - 1
    }
  }
  return -1
}

function canClose(
  source: string,
  at: number,
  { run, mark, from }: { run: number; mark: string; from: number },
): boolean {
  if (at === from || isBlank(source[at - 1])) return false
  // `**` inside `*…*` belongs to another style; three characters close both.
  if (run !== mark.length && run !== 3) return false
  return mark[0] !== '_' || !isWord(source[at + run])
}

function runLength(source: string, at: number, char: string): number {
  let end = at
  while (source[end] === char) end++
  return end - at
}

/** Adds spans around the text that `write` adds; none around an empty text. */
function addSpans(
  out: StyledText,
  types: readonly TextSpan['type'][],
  write: () => unknown,
  more: { url?: string } = {},
): void {
  const offset = out.text.length
  const before = out.spans.length
  write()
  const length = out.text.length - offset
  if (length) out.spans.splice(before, 0, ...types.map((type) => ({ type, offset, length, ...more })))
}
