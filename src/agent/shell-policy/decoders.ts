/** Programs whose output is known when their input is: what a pipe carries to a shell is judged in clear text. */

import { ANY, isLiteral, mayBeOption, type Field } from './marks.ts'
import { accept, flag, readOptions, reads, type Grammar } from './call.ts'
import { contentOf } from './simple.ts'
import { judgeSubscripts } from './word.ts'
import type { Call, Policy, Stream } from './shell.ts'

const MAX_TEXT = 20_000

/** What a filter reads: the files it is given, or its input. */
export function inputOf(call: Call, files: readonly Field[]): Stream {
  if (files.length === 0) return call.stdin === 'none' ? 'unknown' : call.stdin
  const [only = ''] = files
  if (files.length > 1) return 'unknown'
  return only === '-' ? (call.stdin === 'none' ? 'unknown' : call.stdin) : contentOf(call.shell, only)
}

const mapped = (input: Stream, change: (text: string) => string | undefined): Stream => {
  if (input === 'unknown') return 'unknown'
  const all = input.map((text) => (isLiteral(text) && text.length <= MAX_TEXT ? change(text) : undefined))
  return all.every((text) => text !== undefined) ? all : 'unknown'
}

/** A filter over one file or its input, with the options of its grammar. Known output only without options unless told. */
const filter =
  (
    grammar: Grammar | undefined,
    change: (text: string, call: Call, has: ReadonlySet<string>) => string | undefined,
  ): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar ?? {})
    if (grammar) accept(call, options)
    reads(call, options.operands)
    return mapped(inputOf(call, options.operands), (text) => change(text, call, options.has))
  }

export const cat: Policy = (call) => {
  const files = call.args.filter((arg) => !arg.startsWith('-') || arg === '-')
  reads(call, files)
  return files.length === call.args.length ? inputOf(call, files) : 'unknown'
}

export const echo: Policy = ({ args }) => {
  const at = args.findIndex((arg) => !/^-[neE]+$/.test(arg))
  const options = args.slice(0, at === -1 ? args.length : at).join('')
  const text = (at === -1 ? [] : args.slice(at)).join(' ') + (options.includes('n') ? '' : '\n')
  // Other shells than bash read escapes without being asked.
  if (options.includes('e')) return [unescape(text)]
  return text.includes('\\') ? [text, unescape(text)] : [text]
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\u001B',
  E: '\u001B',
  '\\': '\\',
  '"': '"',
  "'": "'",
}

const unescape = (text: string): string =>
  text.replace(
    /\\(?:0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c[\s\S]*|([\s\S]))/g,
    (all, octal?: string, hex?: string, short?: string, ...[long, plain]: (string | undefined)[]) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255)
      const code = hex ?? short ?? long
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xffff))
      return plain === undefined ? '' : (ESCAPES[plain] ?? all)
    },
  )

export const printf: Policy = (call) => {
  const [first = '', ...rest] = call.args
  if (first === '-v') return printedInto(call, rest[0] ?? '', rest.slice(1))
  if (first.startsWith('-v')) return printedInto(call, first.slice(2), rest)
  if (mayBeOption(first) && rest.length > 0 && !call.judge.around.sandboxed)
    call.ask('printf is given a word that may be an option')
  const text = formatted(first === '--' ? rest : call.args)
  return text === undefined ? 'unknown' : [text]
}

function printedInto(call: Call, name: Field, words: readonly Field[]): Stream {
  judgeSubscripts(call, name, 'printf -v')
  if (!/^\w+$/.test(name)) call.ask('printf -v evaluates a name that is more than a name')
  const value = formatted(words)
  call.shell.vars.set(name, { candidates: [value ?? ANY] })
  return ['']
}

/** `%%`, a directive, or an escape: what is escaped is no directive. */
const FORMAT =
  /%%|%-?\d*(?:\.\d+)?([a-zA-Z])|\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g
const DIRECTIVES: Readonly<Record<string, (value: string) => string>> = {
  s: (value) => value,
  b: (value) => unescape(value),
  d: (value) => (value === '' ? '0' : value),
  i: (value) => (value === '' ? '0' : value),
  c: (value) => value.slice(0, 1),
}

function formatted([format, ...values]: readonly Field[]): string | undefined {
  if (format === undefined || !isLiteral(format) || /%[-0]*\d|%\(|%[^sbdic%]/.test(format.replaceAll('%%', '')))
    return undefined
  let used = 0
  let output = ''
  const once = (): string =>
    format.replace(FORMAT, (all, kind?: string) => {
      if (all === '%%') return '%'
      return kind === undefined ? unescape(all) : (DIRECTIVES[kind]?.(values[used++] ?? '') ?? '')
    })
  for (let before = -1; used > before && (before === -1 || used < values.length) && output.length < MAX_TEXT;) {
    before = used
    output += once()
  }
  return output
}

const binary = (text: string): string | undefined => {
  try {
    return atob(text.replace(/\s+/g, ''))
  } catch (error) {
    if (error instanceof DOMException) return undefined
    throw error
  }
}

const encoded = (text: string): string | undefined =>
  [...text].every((char) => char <= '\u00FF') ? `${btoa(text)}\n` : undefined

/** Decoded text is never run unasked, whatever it says: nobody can read it on the line. */
const decoding =
  (policy: Policy): Policy =>
  (call) => {
    const output = policy(call)
    if (output !== 'unknown' && output !== undefined)
      for (const text of output) call.judge.decoded.add(text.replace(/\n+$/, ''))
    return output
  }

export const base64: Policy = decoding(
  filter({ short: 'dDi', valued: 'wb', long: 'decode ignore-garbage wrap=' }, (text, _, has) =>
    has.has('d') || has.has('D') || has.has('decode') ? binary(text) : encoded(text),
  ),
)

export const rev: Policy = decoding(
  filter(undefined, (text) =>
    text
      .split('\n')
      .map((line) => [...line].toReversed().join(''))
      .join('\n'),
  ),
)
export const tac: Policy = decoding(
  filter(undefined, (text) => `${text.replace(/\n$/, '').split('\n').toReversed().join('\n')}\n`),
)

export const xxd: Policy = decoding((call) => {
  const options = readOptions(call.args, { short: 'bCeEiprRuaP', valued: 'clgos', long: '' })
  accept(call, options)
  reads(call, options.operands)
  if (options.operands.length > 1) call.ask('xxd would write a file')
  if (!flag(options, 'r') || !flag(options, 'p')) return 'unknown'
  return mapped(inputOf(call, options.operands), (text) => unhex(text))
})

const unhex = (text: string): string | undefined => {
  const digits = text.replace(/\s+/g, '')
  return /^([0-9a-fA-F]{2})*$/.test(digits)
    ? digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)))
    : undefined
}

export const tr: Policy = decoding((call) => {
  const options = readOptions(call.args, { short: 'cCdst', long: 'complement delete squeeze-repeats truncate-set1' })
  const [from = '', to = ''] = options.operands
  const input = inputOf(call, [])
  if (options.has.size > 1 || (options.has.size === 1 && !flag(options, 'd')) || !isLiteral(from) || !isLiteral(to))
    return 'unknown'
  const [first, second] = [spelled(unescape(from)), spelled(unescape(to))]
  if (!first || !second) return 'unknown'
  return mapped(input, (text) =>
    [...text].map((char) => translated(char, first, flag(options, 'd') ? undefined : second)).join(''),
  )
})

function translated(char: string, from: string, to: string | undefined): string {
  const at = from.lastIndexOf(char)
  if (at === -1) return char
  return to === undefined ? '' : (to[at] ?? to.at(-1) ?? char)
}

const CLASSES: Readonly<Record<string, string>> = {
  lower: 'a-z',
  upper: 'A-Z',
  digit: '0-9',
  alpha: 'A-Za-z',
  alnum: '0-9A-Za-z',
  space: ' \t\n\r\f\v',
}

/** Ranges and classes of `tr` written out. */
function spelled(set: string): string | undefined {
  const plain = set.replace(/\[:(\w+):\]/g, (all, name: string) => CLASSES[name] ?? all)
  if (plain.includes('[:') || plain.includes('[=') || plain.includes('*]')) return undefined
  return plain.replace(/([\s\S])-([\s\S])/g, (all, a: string, b: string) => {
    const [low, high] = [a.charCodeAt(0), b.charCodeAt(0)]
    return high < low || high - low > 300
      ? all
      : String.fromCharCode(...Array.from({ length: high - low + 1 }, (_, i) => low + i))
  })
}

export const openssl: Policy = decoding((call) => {
  const [command = ''] = call.args
  const given = call.args.slice(1)
  if (command === 'version' || command === 'dgst' || command === 'rand') {
    if (given.some((arg) => /^-(out|sign|engine|provider|rand|writerand)/.test(arg)))
      call.ask('openssl would write a file')
    reads(call, given)
    return 'unknown'
  }
  const simple = command === 'base64' || (command === 'enc' && given.some((arg) => arg === '-base64' || arg === '-a'))
  if (!simple || given.some((arg) => !['-d', '-A', '-a', '-base64'].includes(arg))) {
    call.ask(`openssl ${command} may read keys, write files or open connections`, `openssl ${command}`)
    return 'unknown'
  }
  return mapped(inputOf(call, []), (text) => (given.includes('-d') ? binary(text) : encoded(text)))
})

export const simpleSed = (script: Field, input: Stream): Stream => {
  const [, sign = '', from = '', to = '', flags = ''] =
    /^s([/|,#:@])((?:(?!\1)[^\\[\].*^$+?(){}])*)\1((?:(?!\1)[^\\&])*)\1(g?)$/.exec(script) ?? []
  if (sign === '' || from === '') return 'unknown'
  const swap = (line: string): string => (flags === 'g' ? line.split(from).join(to) : line.replace(from, () => to))
  return mapped(input, (text) =>
    text
      .split('\n')
      .map((line) => swap(line))
      .join('\n'),
  )
}
