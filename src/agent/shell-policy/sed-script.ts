/** Scripts of sed, read command by command: what is not known here is not harmless. */

import { bracketEnd } from './brackets.ts'
import { isKnown, NUM, type Field } from './marks.ts'

export function isHarmlessSed(script: Field): boolean {
  if (!isKnown(script)) return false
  let at = 0
  const text = script.replaceAll(NUM, '1')
  while (at < text.length) {
    const next = sedCommand(text, at)
    if (next === undefined) return false
    at = next
  }
  return true
}

const ADDRESS = /^(?:(?:\d+(?:~\d+)?|\$)|[+~]\d+)/

function sedCommand(text: string, from: number): number | undefined {
  let at = from
  while (at < text.length && /[\s;,!}]/.test(text[at] ?? '')) at++
  if (at >= text.length) return at
  const rest = text.slice(at, at + 16)
  const address = ADDRESS.exec(rest)
  if (address) return at + address[0].length
  const char = text[at] ?? ''
  if ('{pdDPnNgGhHx=l'.includes(char)) return at + 1
  return sedDelimited(text, at, char) ?? sedRest(text, at, char)
}

function sedDelimited(text: string, at: number, char: string): number | undefined {
  const next = text[at + 1] ?? ''
  if (char === '/') return delimited(text, at + 1, { delimiter: '/', parts: ['pattern'], flags: /[IM]/ })
  if (char === '\\') return delimited(text, at + 2, { delimiter: next, parts: ['pattern'], flags: /[IM]/ })
  if (char === 's') return delimited(text, at + 2, { delimiter: next, parts: ['pattern', 'text'], flags: /[gpiIM0-9]/ })
  if (char === 'y') return delimited(text, at + 2, { delimiter: next, parts: ['text', 'text'], flags: /(?!)/ })
  return undefined
}

function sedRest(text: string, at: number, char: string): number | undefined {
  if (char === 'q' || char === 'Q') return at + 1 + (/^\s*\d*/.exec(text.slice(at + 1, at + 8))?.[0].length ?? 0)
  if ('aic'.includes(char)) return textEnd(text, at)
  if (char === '#') return at + (/^[^\n]*/.exec(text.slice(at))?.[0].length ?? 0)
  if ('btT'.includes(char)) return labelEnd(text, at, /^[ \t]*[\w.-]*(?=[\s;}]|$)/)
  // Whether a label ends at a brace depends on the sed.
  if (char === ':') return labelEnd(text, at, /^[ \t]*[\w.-]+(?=[\s;]|$)/)
  return undefined
}

/** a, i and c go on over lines that end with a backslash; nothing else does. */
function textEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '\n') return at + 1
  }
  return text.length
}

function labelEnd(text: string, at: number, pattern: RegExp): number | undefined {
  const [label] = pattern.exec(text.slice(at + 1)) ?? []
  return label === undefined ? undefined : at + 1 + label.length
}

type Part = 'pattern' | 'text'
type Delimited = { readonly delimiter: string; readonly parts: readonly Part[]; readonly flags: RegExp }

function delimited(text: string, from: number, { delimiter, parts, flags }: Delimited): number | undefined {
  if (delimiter === '' || delimiter === '\n' || delimiter === '\\') return undefined
  let at = from
  for (const part of parts) {
    const end = behind(text, at, delimiter, part)
    if (end === undefined) return undefined
    at = end
  }
  while (flags.test(text[at] ?? ' ')) at++
  // What follows a flag decides what the command is: `s/a/b/w file`, `s/a/b/e`.
  return at >= text.length || /[\s;}!,{=$\d/a-zA-DF-VX-Z]/.test((text[at] ?? '').replace(/[weRrF]/, ''))
    ? at
    : undefined
}

/** Behind the next delimiter of this line. */
function behind(text: string, from: number, delimiter: string, part: Part): number | undefined {
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === delimiter) return at + 1
    if (char === '\n') return undefined
    if (char === '\\') at++
    else if (char === '[' && part === 'pattern') {
      const end = bracketEnd(text, at)
      if (end === undefined || differs(text, at, end, delimiter)) return undefined
      at = end - 1
    }
  }
  return undefined
}

/** Old seds end a pattern at a delimiter in brackets: what follows would be commands, and these are the dangerous ones. */
const differs = (text: string, from: number, end: number, delimiter: string): boolean =>
  text.slice(from, end).replace(/\\./g, '').includes(delimiter) && /[eFrRwW]/.test(text.slice(from))
