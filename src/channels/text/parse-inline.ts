/**
 * Parses Markdown inside a paragraph into text with styled spans. Unknown syntax stays as it was written: only characters
 * that mark a style are removed.
 */

import type { TextSpan } from '../../agent/model/delivery.ts'

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

type State = { readonly out: StyledText; readonly depth: number; readonly unclosed: Set<string> }

/** Parses the construct that begins at `at`. Returns the position behind it, or `at` when none begins there. */
function parseAt(source: string, at: number, state: State): number {
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

function parseCode(source: string, at: number, { out, unclosed }: State): number {
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

/** Bounds the search for the end of a label or URL, so that parsing stays linear. */
const maxLinkPartChars = 500

/** `[label](address)` and `![label](address)`. */
function parseLink(source: string, at: number, { out, depth }: State): number {
  const open = source[at] === '!' ? at + 1 : at
  if (source[open] !== '[') return at
  const labelEnd = findClosingBracket(source, open)
  if (labelEnd < 0 || source[labelEnd + 1] !== '(') return at
  const target = bracketed(source, labelEnd + 1)
  const match = /^\(\s*<?([^\s<>]*?)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)$/.exec(target)
  if (!match) return at
  const label = source.slice(open + 1, labelEnd)
  const url = match[1] ?? ''
  const write = () => (depth < maxDepth ? parseInline(label || url, out, depth + 1) : void (out.text += label || url))
  if (linkable.test(url)) addSpans(out, ['link'], write, { url })
  else {
    write()
    if (url && label) out.text += ` (${url})`
  }
  return labelEnd + 1 + match[0].length
}

function findClosingBracket(source: string, open: number): number {
  let level = 0
  const last = Math.min(source.length, open + maxLinkPartChars)
  for (let at = open; at < last; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '[') level++
    else if (source[at] === ']' && --level === 0) return at
  }
  return -1
}

/** Returns the text from a round bracket to the matching one: a URL may contain brackets. */
function bracketed(source: string, open: number): string {
  let level = 0
  const last = Math.min(source.length, open + maxLinkPartChars)
  for (let at = open; at < last; at++) {
    if (source[at] === '(') level++
    else if (source[at] === ')' && --level === 0) return source.slice(open, at + 1)
  }
  return ''
}

function parseAutolink(source: string, at: number, out: StyledText): number {
  const [whole, url] = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(source.slice(at, at + maxLinkPartChars)) ?? []
  if (whole === undefined || url === undefined) return at
  out.text += url
  return at + whole.length
}

/** A bare URL: its characters never count as marks. */
function parseUrl(source: string, at: number, out: StyledText): number {
  if (/\w/.test(source[at - 1] ?? '')) return at
  const url = /^https?:\/\/[^\s<>*`)\]]+/i.exec(source.slice(at, at + maxLinkPartChars))?.[0]
  if (url === undefined) return at
  out.text += url
  return at + url.length
}

function parseMarked(source: string, at: number, state: State): number {
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

/** Finds the closing mark, which follows a character that is not blank. Skips code and escapes. */
function findClosingMark(source: string, from: number, mark: string): number {
  for (let at = from; at < source.length; at++) {
    const char = source[at] ?? ''
    if (char === '\\') at++
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
