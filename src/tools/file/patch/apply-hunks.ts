/** Applies the hunks of one file in order, each searched after the one before it. All of them or none. */

import { byteOrderMark, withoutMark } from './byte-order-mark.ts'
import { startsOf } from './hints.ts'
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
  const starts = startsOf(text, hunk.hints, from)
  if (typeof starts === 'string') return { error: starts }
  if (hunk.before.length === 0) return insert(text, hunk, starts)
  const places = starts.map((start) => findPlace(text, hunk, start))
  const found = new Map(places.flatMap((place) => ('error' in place ? [] : [[place.span.start, place]])))
  const [place = places[0], ...others] = found.values()
  if (!place) return { error: 'it has no place' }
  if (others.length > 0)
    return {
      error: ambiguous(
        text,
        [...found.values()].map(({ span }) => span),
      ),
    }
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

const ambiguous = (text: string, spans: readonly Pick<Span, 'start'>[]): string => {
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

/** Lines without anything to find them by: below the hinted line, or at the end. */
function insert(text: string, { hints, after }: Hunk, starts: readonly number[]): Step {
  if (starts.length > 1)
    return {
      error: ambiguous(
        text,
        starts.map((start) => ({ start })),
      ),
    }
  const lines = `${after.join('\n')}\n`
  const end = text.indexOf('\n', starts[0])
  if (hints.length === 0 || end < 0) {
    const whole = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines}`
    return { text: whole, next: whole.length }
  }
  return { text: text.slice(0, end + 1) + lines + text.slice(end + 1), next: end + 1 + lines.length }
}
