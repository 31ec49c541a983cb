/**
 * Markdown inside a paragraph, as text with styled stretches. What is not understood stays as it was written: no
 * character is lost but those that mark a style.
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

const deepest = 6
const escapable = /[!-/:-@[-`{-~]/
const address = /^(?:https?:\/\/|mailto:|tel:|tg:)\S+$/i

export function parseInline(source: string, out: StyledText, depth = 0): void {
  /** Marks that have no end from here on: looked for once. */
  const hopeless = new Set<string>()
  let at = 0
  while (at < source.length) {
    const next = readAt(source, at, { out, depth, hopeless })
    if (next > at) {
      at = next
      continue
    }
    out.text += source[at]
    at++
  }
}

type Reading = { readonly out: StyledText; readonly depth: number; readonly hopeless: Set<string> }

/** Where to go on; `at` itself when nothing begins here. */
function readAt(source: string, at: number, reading: Reading): number {
  switch (source[at]) {
    case '\\':
      return readEscape(source, at, reading.out)
    case '`':
      return readCode(source, at, reading)
    case '!':
    case '[':
      return readLink(source, at, reading)
    case '<':
      return readAutolink(source, at, reading.out)
    case 'h':
      return readAddress(source, at, reading.out)
    case '*':
    case '_':
    case '~':
    case '|':
      return readMarked(source, at, reading)
    default:
      return at
  }
}

function readEscape(source: string, at: number, out: StyledText): number {
  const next = source[at + 1]
  if (next === undefined || !escapable.test(next)) return at
  out.text += next
  return at + 2
}

function readCode(source: string, at: number, { out, hopeless }: Reading): number {
  const length = runOf(source, at, '`')
  const fence = '`'.repeat(length)
  const end = hopeless.has(fence) ? -1 : endOfCode(source, at + length, length)
  if (end < 0) {
    hopeless.add(fence)
    out.text += fence
    return at + length
  }
  const code = source.slice(at + length, end)
  const isPadded = code.startsWith(' ') && code.endsWith(' ') && /[^ ]/.test(code)
  put(out, ['code'], () => (out.text += isPadded ? code.slice(1, -1) : code))
  return end + length
}

function endOfCode(source: string, from: number, length: number): number {
  for (let at = source.indexOf('`', from); at >= 0; at = source.indexOf('`', at)) {
    const run = runOf(source, at, '`')
    if (run === length) return at
    at += run
  }
  return -1
}

/** Of an address with its title; it is looked at many times. */
const longestTarget = 2_000

/** `[label](address)` and `![label](address)`. */
function readLink(source: string, at: number, { out, depth }: Reading): number {
  const open = source[at] === '!' ? at + 1 : at
  if (source[open] !== '[') return at
  const middle = closingBracket(source, open)
  if (middle < 0 || source[middle + 1] !== '(') return at
  const behind = balanced(source, middle + 1)
  const target = behind.length <= longestTarget && /^\(\s*<?([^\s<>]*?)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)$/.exec(behind)
  if (!target) return at
  const label = source.slice(open + 1, middle)
  const url = target[1] ?? ''
  const say = () => (depth < deepest ? parseInline(label || url, out, depth + 1) : void (out.text += label || url))
  if (address.test(url)) put(out, ['link'], say, { url })
  else {
    say()
    if (url && label) out.text += ` (${url})`
  }
  return middle + 1 + target[0].length
}

const longestLabel = 500

function closingBracket(source: string, open: number): number {
  let level = 0
  const last = Math.min(source.length, open + longestLabel)
  for (let at = open; at < last; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '[') level++
    else if (source[at] === ']' && --level === 0) return at
  }
  return -1
}

/** From a round bracket to the one that closes it, so that an address may have some of its own. */
function balanced(source: string, open: number): string {
  let level = 0
  const last = Math.min(source.length, open + longestLabel)
  for (let at = open; at < last; at++) {
    if (source[at] === '(') level++
    else if (source[at] === ')' && --level === 0) return source.slice(open, at + 1)
  }
  return ''
}

function readAutolink(source: string, at: number, out: StyledText): number {
  const [whole, url] = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(source.slice(at, at + longestLabel)) ?? []
  if (whole === undefined || url === undefined) return at
  out.text += url
  return at + whole.length
}

/** An address in the middle of words: what looks like a mark in it is none. */
function readAddress(source: string, at: number, out: StyledText): number {
  if (/\w/.test(source[at - 1] ?? '')) return at
  const url = /^https?:\/\/[^\s<>*`)\]]+/i.exec(source.slice(at, at + longestLabel))?.[0]
  if (url === undefined) return at
  out.text += url
  return at + url.length
}

function readMarked(source: string, at: number, reading: Reading): number {
  const { out, depth, hopeless } = reading
  for (const [mark, types] of marks) {
    if (!source.startsWith(mark, at) || hopeless.has(mark) || depth >= deepest) continue
    if (!opens(source, at, mark)) continue
    const end = endOf(source, at + mark.length, mark)
    if (end < 0) hopeless.add(mark)
    else {
      put(out, types, () => parseInline(source.slice(at + mark.length, end), out, depth + 1))
      return end + mark.length
    }
  }
  const run = runOf(source, at, source[at] ?? '')
  out.text += source.slice(at, at + run)
  return at + run
}

const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char)
const isBlank = (char: string | undefined) => char === undefined || /\s/.test(char)

function opens(source: string, at: number, mark: string): boolean {
  const next = source[at + mark.length]
  if (isBlank(next) || next === mark[0]) return false
  return mark[0] !== '_' || !isWord(source[at - 1])
}

/** The same mark behind something that is not blank; code and escapes are passed over. */
function endOf(source: string, from: number, mark: string): number {
  for (let at = from; at < source.length; at++) {
    const char = source[at] ?? ''
    if (char === '\\') at++
    else if (char === '`') {
      const length = runOf(source, at, '`')
      const end = endOfCode(source, at + length, length)
      at = (end < 0 ? at : end) + length - 1
    } else if (char === mark[0]) {
      const run = runOf(source, at, char)
      if (closes(source, at, { run, mark, from })) return at + run - mark.length
      at += run - 1
    }
  }
  return -1
}

function closes(source: string, at: number, { run, mark, from }: { run: number; mark: string; from: number }): boolean {
  if (at === from || isBlank(source[at - 1])) return false
  // `**` inside of `*…*` belongs to another style; three close both.
  if (run !== mark.length && run !== 3) return false
  return mark[0] !== '_' || !isWord(source[at + run])
}

function runOf(source: string, at: number, char: string): number {
  let end = at
  while (source[end] === char) end++
  return end - at
}

/** Puts down a span around whatever `say` says; none around nothing. */
function put(
  out: StyledText,
  types: readonly TextSpan['type'][],
  say: () => unknown,
  more: { url?: string } = {},
): void {
  const offset = out.text.length
  const before = out.spans.length
  say()
  const length = out.text.length - offset
  if (length) out.spans.splice(before, 0, ...types.map((type) => ({ type, offset, length, ...more })))
}
