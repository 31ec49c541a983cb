/** Applies the hunks of one file in order, each searched after the one before it. All of them or none. */

import { byteOrderMark, withoutMark } from './byte-order-mark.ts'
import type { Span } from './mapped.ts'
import { closest, fit, located } from './replace.ts'
import { strategies, type Strategy } from './strategies.ts'
import type { Hunk } from './v4a.ts'

export type Applied = { readonly text: string } | { readonly error: string }

export function applyHunks(text: string, hunks: readonly Hunk[]): Applied {
  if (!text.startsWith(byteOrderMark)) return applyAll(text, hunks)
  const plain = hunks.map((hunk) => ({
    ...hunk,
    before: hunk.before.map(withoutMark),
    after: hunk.after.map(withoutMark),
  }))
  const result = applyAll(withoutMark(text), plain)
  return 'error' in result ? result : { text: byteOrderMark + result.text }
}

function applyAll(text: string, hunks: readonly Hunk[]): Applied {
  // A file with Windows line ends is patched with plain ones and gets its own back.
  const windows = text.includes('\r\n') && !/[^\r]\n/.test(text)
  let current = windows ? text.replaceAll('\r\n', '\n') : text
  let from = 0
  for (const [i, hunk] of hunks.entries()) {
    const result = applyOne(current, hunk, from)
    if ('error' in result) return { error: `hunk ${i + 1} does not fit: ${result.error}` }
    current = result.text
    from = result.next
  }
  return { text: windows ? current.replaceAll('\n', '\r\n') : current }
}

type Step = { readonly text: string; readonly next: number } | { readonly error: string }

function applyOne(text: string, hunk: Hunk, from: number): Step {
  const start = afterHints(text, hunk.hints, from)
  if (typeof start === 'string') return { error: start }
  if (hunk.before.length === 0) return insert(text, hunk, start)
  const place = findPlace(text, hunk, start)
  return 'error' in place ? place : put(text, hunk, place)
}

type Place = { readonly strategy: Strategy; readonly span: Span }

function findPlace(text: string, hunk: Hunk, start: number): Place | { readonly error: string } {
  const before = hunk.before.join('\n')
  // A hunk out of order is still found, when nothing says where it belongs.
  const match = locateLines(text, before, start) ?? (hunk.hints.length === 0 ? locateLines(text, before, 0) : undefined)
  const [span, ...others] = match?.spans ?? []
  if (!match || !span) return { error: `its lines were not found. ${closest(text, before)}` }
  if (others.length > 0 && hunk.hints.length === 0) return { error: ambiguous(text, [span, ...others]) }
  return { strategy: match.strategy, span }
}

type Match = { readonly strategy: Strategy; readonly spans: readonly Span[] }

/** Whole lines only: a hunk never changes a part of one. */
function locateLines(text: string, wanted: string, from: number): Match | undefined {
  const tail = text.slice(from)
  const whole = ({ start, end }: Span): boolean =>
    (start === 0 || tail[start - 1] === '\n') && (end === tail.length || tail[end] === '\n')
  for (const strategy of strategies) {
    const spans = strategy.locate(tail, wanted).filter(whole)
    if (spans.length > 0)
      return { strategy, spans: spans.map(({ start, end }) => ({ start: start + from, end: end + from })) }
  }
  return undefined
}

const ambiguous = (text: string, spans: readonly Span[]): string => {
  const places = spans.slice(0, 5).map(({ start }) => located(text, start))
  return `it fits ${spans.length} places; name one by "@@ a line above it" or more context: ${places.join('; ')}`
}

function put(text: string, hunk: Hunk, { strategy, span }: Place): Step {
  const [from, to] = [hunk.before.join('\n'), hunk.after.join('\n')]
  const lines = fit(strategy, text.slice(span.start, span.end), { from, to })
  // Lines that go take their newline with them.
  const end = hunk.after.length === 0 && text[span.end] === '\n' ? span.end + 1 : span.end
  return { text: text.slice(0, span.start) + lines + text.slice(end), next: span.start + lines.length }
}

/** Where the search begins: at the line the last hint names. */
function afterHints(text: string, hints: readonly string[], from: number): number | string {
  let at = from
  for (const hint of hints) {
    const ahead = text.indexOf(hint, at)
    const line = ahead >= 0 ? ahead : text.indexOf(hint)
    if (line < 0) return `no line contains "${hint.slice(0, 120)}"`
    at = text.lastIndexOf('\n', line) + 1
  }
  return at
}

/** Lines without anything to find them by: below the hinted line, or at the end. */
function insert(text: string, { hints, after }: Hunk, at: number): Step {
  const lines = `${after.join('\n')}\n`
  const end = text.indexOf('\n', at)
  if (hints.length === 0 || end < 0) {
    const whole = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines}`
    return { text: whole, next: whole.length }
  }
  return { text: text.slice(0, end + 1) + lines + text.slice(end + 1), next: end + 1 + lines.length }
}
