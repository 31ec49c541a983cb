/** Replaces a remembered piece of text, or says why it will not and where to look. */

import { similarity } from '../similarity.ts'
import { byteOrderMark, withoutMark } from './byte-order-mark.ts'
import type { Span } from './mapped.ts'
import { strategies, type Strategy, unescape } from './strategies.ts'

export type Replaced =
  | { readonly text: string; readonly strategy: string; readonly count: number }
  | { readonly error: string; readonly locations?: readonly string[] }

export type Replacement = { readonly from: string; readonly to: string; readonly all: boolean }

const SHOWN = 10

export function replace(text: string, wanted: Replacement): Replaced {
  if (!text.startsWith(byteOrderMark)) return replaceLines(text, wanted)
  const { from, to, all } = wanted
  const result = replaceLines(withoutMark(text), { from: withoutMark(from), to: withoutMark(to), all })
  return 'error' in result ? result : { ...result, text: byteOrderMark + result.text }
}

function replaceLines(text: string, wanted: Replacement): Replaced {
  // A file written on Windows is edited with plain newlines and gets its own back.
  if (!text.includes('\r\n') || wanted.from.includes('\r')) return replaceIn(text, wanted)
  if (/[^\r]\n/.test(text)) return replaceIn(text, wanted)
  const result = replaceIn(text.replaceAll('\r\n', '\n'), { ...wanted, to: wanted.to.replaceAll('\r\n', '\n') })
  return 'error' in result ? result : { ...result, text: result.text.replaceAll('\n', '\r\n') }
}

function replaceIn(text: string, { from, to, all }: Replacement): Replaced {
  const match = locate(text, from)
  if (!match) return { error: `old_string was not found. ${closest(text, from)}` }
  const { strategy, spans } = match
  if (all && strategy.approximate)
    return { error: `old_string fits only approximately (${strategy.name}); replace_all needs the exact text.` }
  if (spans.length > 1 && !all) {
    const error = `old_string fits ${spans.length} places. Add lines around it to name one, or set replace_all.`
    return { error, locations: spans.slice(0, SHOWN).map(({ start }) => located(text, start)) }
  }
  let out = ''
  let done = 0
  for (const { start, end } of spans) {
    out += text.slice(done, start) + fit(strategy, text.slice(start, end), { from, to })
    done = end
  }
  return { text: out + text.slice(done), strategy: strategy.name, count: spans.length }
}

type Match = { readonly strategy: Strategy; readonly spans: readonly Span[] }

function locate(text: string, wanted: string): Match | undefined {
  for (const strategy of strategies) {
    const spans = strategy.locate(text, wanted)
    if (spans.length > 0) return { strategy, spans }
  }
  return undefined
}

/** The new text as it belongs here: unescaped like the old one, indented like what it replaces. */
export function fit({ name }: Strategy, found: string, { from, to }: Pick<Replacement, 'from' | 'to'>): string {
  if (name === 'exact') return to
  return name === 'escape-normalised' ? unescape(to) : reindent(to, indentOf(from), indentOf(found))
}

const indentOf = (text: string): string =>
  /^[^\S\n]*/.exec(text.split('\n').find((line) => line.trim() !== '') ?? '')?.[0] ?? ''

function reindent(text: string, from: string, to: string): string {
  if (from === to) return text
  const lines = text.split('\n')
  return lines
    .map((line) => (line.trim() !== '' && line.startsWith(from) ? to + line.slice(from.length) : line))
    .join('\n')
}

export function located(text: string, at: number): string {
  const line = text.slice(0, at).split('\n').length
  const end = text.indexOf('\n', at)
  return `${line}|${text.slice(text.lastIndexOf('\n', at - 1) + 1, end < 0 ? text.length : end).slice(0, 200)}`
}

const MIN_ALIKE = 0.5
const MAX_LINES = 5000

/** The line most like the first one wanted: usually the model remembers an older version of it. */
export function closest(text: string, wanted: string): string {
  const first =
    wanted
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ?? ''
  let best = { score: MIN_ALIKE, line: '' }
  for (const [i, line] of text.split('\n').slice(0, MAX_LINES).entries()) {
    const score = similarity(line.trim(), first)
    if (score > best.score) best = { score, line: `${i + 1}|${line.slice(0, 200)}` }
  }
  return best.line ? `The closest line is: ${best.line}` : 'Read the file again: it may have changed.'
}
