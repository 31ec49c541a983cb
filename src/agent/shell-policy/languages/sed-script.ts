/** Recognises harmless sed scripts, command by command. An unknown command is not harmless. */

import { findBracketEnd } from './bracket-end.ts'
import { isKnown, anyNumber, type Field } from '#agent/path-policy/field.ts'

export function isHarmlessSedScript(script: Field): boolean {
  if (!isKnown(script)) return false
  let at = 0
  const text = script.replaceAll(anyNumber, '1')
  while (at < text.length) {
    const next = readCommand(text, at)
    if (next === undefined) return false
    at = next
  }
  return true
}

const addressPattern = /^(?:(?:\d+(?:~\d+)?|\$)|[+~]\d+)/

function readCommand(text: string, from: number): number | undefined {
  let at = from
  while (at < text.length && /[\s;,!}]/.test(text[at] ?? '')) at++
  if (at >= text.length) return at
  const rest = text.slice(at, at + 16)
  const address = addressPattern.exec(rest)
  if (address) return at + address[0].length
  const char = text[at] ?? ''
  if ('{pdDPnNgGhHx=l'.includes(char)) return at + 1
  return readDelimited(text, at, char) ?? readOther(text, at, char)
}

function readDelimited(text: string, at: number, char: string): number | undefined {
  const next = text[at + 1] ?? ''
  if (char === '/') return readParts(text, at + 1, { delimiter: '/', parts: ['pattern'], flags: /[IM]/ })
  if (char === '\\') return readParts(text, at + 2, { delimiter: next, parts: ['pattern'], flags: /[IM]/ })
  if (char === 's') return readParts(text, at + 2, { delimiter: next, parts: ['pattern', 'text'], flags: /[gpiIM0-9]/ })
  if (char === 'y') return readParts(text, at + 2, { delimiter: next, parts: ['text', 'text'], flags: /(?!)/ })
  return undefined
}

function readOther(text: string, at: number, char: string): number | undefined {
  if (char === 'q' || char === 'Q') return at + 1 + (/^\s*\d*/.exec(text.slice(at + 1, at + 8))?.[0].length ?? 0)
  if ('aic'.includes(char)) return findTextEnd(text, at)
  if (char === '#') return at + (/^[^\n]*/.exec(text.slice(at))?.[0].length ?? 0)
  if ('btT'.includes(char)) return findLabelEnd(text, at, /^[ \t]*[\w.-]*(?=[\s;}]|$)/)
  // Implementations of sed disagree about whether a brace ends a label.
  if (char === ':') return findLabelEnd(text, at, /^[ \t]*[\w.-]+(?=[\s;]|$)/)
  return undefined
}

/** Only a, i and c continue over lines that end with a backslash. */
function findTextEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n') return at + 1
  }
  return text.length
}

function findLabelEnd(text: string, at: number, pattern: RegExp): number | undefined {
  const [label] = pattern.exec(text.slice(at + 1)) ?? []
  return label === undefined ? undefined : at + 1 + label.length
}

type SedPart = 'pattern' | 'text'
type Delimited = { readonly delimiter: string; readonly parts: readonly SedPart[]; readonly flags: RegExp }

function readParts(text: string, from: number, { delimiter, parts, flags }: Delimited): number | undefined {
  if (delimiter === '' || delimiter === '\n' || delimiter === '\\') return undefined
  let at = from
  for (const part of parts) {
    const end = findDelimiterEnd(text, at, delimiter, part)
    if (end === undefined) return undefined
    at = end
  }
  while (flags.test(text[at] ?? ' ')) at++
  // A following `w`, `e` or `r` writes a file or runs a command: `s/a/b/w file`, `s/a/b/e`.
  return at >= text.length || /[\s;}!,{=$\d/a-zA-DF-VX-Z]/.test((text[at] ?? '').replace(/[weRrF]/, ''))
    ? at
    : undefined
}

/** Returns the position after the next delimiter of this line. */
function findDelimiterEnd(text: string, from: number, delimiter: string, part: SedPart): number | undefined {
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === delimiter) return at + 1
    if (char === '\n') return undefined
    if (char === '\\') at++
    else if (char === '[' && part === 'pattern') {
      const end = findBracketEnd(text, at)
      if (end === undefined || isAmbiguous(text, at, end, delimiter)) return undefined
      at = end - 1
    }
  }
  return undefined
}

/**
 * Old versions of sed end a pattern at a delimiter in brackets. Then the rest would be commands, possibly dangerous
 * ones.
 */
const isAmbiguous = (text: string, from: number, end: number, delimiter: string): boolean =>
  text.slice(from, end).replace(/\\./g, '').includes(delimiter) && /[eFrRwW]/.test(text.slice(from))
