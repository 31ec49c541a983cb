/** Computes what simple programs print, so that code made of literals can be judged: echo, printf, tr, base64, rev, xxd. */

import { isLiteral, type Field } from '#agent/path-policy/field.ts'
import type { CommandOutput } from './shell-state.ts'

const maxTextChars = 20_000

const namedEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  v: '\v',
  b: '\b',
  '\\': '\\',
}

/** Decodes the escapes of `echo -e`, `printf` and `tr`. */
export const decodeEscapes = (text: string): string =>
  text.replace(/\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g, (all, code: string) => {
    if (/^[0-7]/.test(code)) return String.fromCharCode(Number.parseInt(code, 8) & 255)
    if (code.length === 1) return namedEscapes[code] ?? all
    const point = Number.parseInt(code.slice(1), 16)
    return point > 0x10ffff ? all : String.fromCodePoint(point)
  })

export function printEcho(args: readonly Field[]): CommandOutput {
  let at = 0
  while (/^-[neE]+$/.test(args[at] ?? '')) at++
  const flags = args.slice(0, at).join('')
  const text = args.slice(at).join(' ')
  // `echo -e` writes octal escapes with a leading zero.
  const decoded = flags.includes('e') ? decodeEscapes(text.replace(/\\0([0-7]{1,3})/g, String.raw`\$1`)) : text
  return flags.includes('n') ? decoded : `${decoded}\n`
}

/** `%%`, a directive, or an escape. An escaped character is not a directive. */
const formatPattern =
  /%%|%-?\d*(?:\.\d+)?([a-zA-Z])|\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g
const directives: Readonly<Record<string, (value: string) => string>> = {
  s: (value) => value,
  b: (value) => decodeEscapes(value.replace(/\\0([0-7]{1,3})/g, String.raw`\$1`)),
  d: (value) => (value === '' ? '0' : value),
  i: (value) => (value === '' ? '0' : value),
  c: (value) => value.slice(0, 1),
}

export function printFormat([format, ...values]: readonly Field[]): CommandOutput {
  if (format === undefined || !isLiteral(format) || /%[-0]*\d|%\(|%[^sbdic%]/.test(format.replaceAll('%%', '')))
    return undefined
  let used = 0
  let output = ''
  const applyOnce = (): string =>
    format.replace(formatPattern, (all, kind?: string) => {
      if (all === '%%') return '%'
      return kind === undefined ? decodeEscapes(all) : (directives[kind]?.(values[used++] ?? '') ?? '')
    })
  for (let before = -1; used > before && (before === -1 || used < values.length) && output.length < maxTextChars;) {
    before = used
    output += applyOnce()
  }
  return output
}

export function decodeBase64(text: string): CommandOutput {
  try {
    return atob(text.replace(/\s+/g, ''))
  } catch (error) {
    if (error instanceof DOMException) return undefined
    throw error
  }
}

const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function decodeBase32(text: string): CommandOutput {
  const digits = text.replace(/[\s=]+/g, '')
  if (digits.length > maxTextChars || !/^[A-Z2-7]+$/i.test(digits)) return undefined
  let [bits, value, output] = [0, 0, '']
  for (const digit of digits.toUpperCase()) {
    value = ((value << 5) | base32Digits.indexOf(digit)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    output += String.fromCharCode((value >> bits) & 255)
  }
  return output
}

export function decodeHex(text: string): CommandOutput {
  const digits = text.replace(/\s+/g, '')
  if (digits === '' || !/^[0-9a-fA-F]*$/.test(digits) || digits.length % 2 === 1) return undefined
  return digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)))
}

export const reverseLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => [...line].toReversed().join(''))
    .join('\n')

const characterClasses: Readonly<Record<string, string>> = {
  lower: 'a-z',
  upper: 'A-Z',
  digit: '0-9',
  alpha: 'A-Za-z',
  alnum: '0-9A-Za-z',
  space: ' \t\n\r\f\v',
}

/** Expands ranges and classes of `tr`. */
function expandSet(set: string): string | undefined {
  const plain = decodeEscapes(set).replace(/\[:(\w+):\]/g, (all, name: string) => characterClasses[name] ?? all)
  if (/\[[:=]|\*\]/.test(plain)) return undefined
  return plain.replace(/([\s\S])-([\s\S])/g, (all, a: string, b: string) => {
    const [low, high] = [a.charCodeAt(0), b.charCodeAt(0)]
    if (high < low || high - low > 300) return all
    return String.fromCharCode(...Array.from({ length: high - low + 1 }, (_, i) => low + i))
  })
}

/** Returns the change that `tr` makes, or undefined when it is not known. */
export function createTranslation(args: readonly Field[]): ((text: string) => CommandOutput) | undefined {
  const options = args.filter((arg) => /^-./.test(arg))
  const [from = '', to = ''] = args.filter((arg) => !/^-./.test(arg))
  const deletes = options.length === 1 && /^(-d|--delete)$/.test(options[0] ?? '')
  const [first, second] = [expandSet(from), expandSet(to)]
  if ((options.length > 0 && !deletes) || !first || second === undefined || !isLiteral(from + to)) return undefined
  const translate = (char: string): string => {
    const at = first.lastIndexOf(char)
    if (at === -1) return char
    return deletes ? '' : (second[at] ?? second.at(-1) ?? char)
  }
  return (text) => (text.length > maxTextChars ? undefined : [...text].map(translate).join(''))
}

/** Returns the change of a `sed` script of one literal substitution. */
export function createSubstitution(script: Field): ((text: string) => CommandOutput) | undefined {
  const [, sign = '', from = '', to = '', flags = ''] =
    /^s([/|,#:@])((?:(?!\1)[^\\[\].*^$+?(){}])*)\1((?:(?!\1)[^\\&])*)\1(g?)$/.exec(script) ?? []
  if (sign === '' || from === '') return undefined
  const swap = (line: string): string => (flags === 'g' ? line.split(from).join(to) : line.replace(from, () => to))
  return (text) => text.split('\n').map(swap).join('\n')
}
