/** Computes the output of programs with known input, so that encoded text in a pipe to a shell is judged decoded. */

import { anyText, isLiteral, mayBeOption, type Field } from './field.ts'
import { checkOptions, hasOption, readOptions, checkReads, type Grammar } from './call-checks.ts'
import { getFileContent } from './simple-command.ts'
import { judgeSubscripts } from './expand-word.ts'
import type { Call, Policy, Stream } from './shell-state.ts'

const maxTextChars = 20_000

/** Returns the input of a filter: a file argument or stdin. */
export function getInput(call: Call, files: readonly Field[]): Stream {
  if (files.length === 0) return call.stdin === 'none' ? 'unknown' : call.stdin
  const [only = ''] = files
  if (files.length > 1) return 'unknown'
  return only === '-' ? (call.stdin === 'none' ? 'unknown' : call.stdin) : getFileContent(call.shell, only)
}

const mapStream = (input: Stream, change: (text: string) => string | undefined): Stream => {
  if (input === 'unknown') return 'unknown'
  const all = input.map((text) => (isLiteral(text) && text.length <= maxTextChars ? change(text) : undefined))
  return all.every((text) => text !== undefined) ? all : 'unknown'
}

/** Creates the policy of a filter over one file or its input. */
const createFilter =
  (
    grammar: Grammar | undefined,
    change: (text: string, call: Call, has: ReadonlySet<string>) => string | undefined,
  ): Policy =>
  (call) => {
    const options = readOptions(call.args, grammar ?? {})
    if (grammar) checkOptions(call, options)
    checkReads(call, options.operands)
    return mapStream(getInput(call, options.operands), (text) => change(text, call, options.names))
  }

export const cat: Policy = (call) => {
  const files = call.args.filter((arg) => !arg.startsWith('-') || arg === '-')
  checkReads(call, files)
  return files.length === call.args.length ? getInput(call, files) : 'unknown'
}

export const echo: Policy = ({ args }) => {
  const at = args.findIndex((arg) => !/^-[neE]+$/.test(arg))
  const options = args.slice(0, at === -1 ? args.length : at).join('')
  const text = (at === -1 ? [] : args.slice(at)).join(' ') + (options.includes('n') ? '' : '\n')
  // Other shells than bash decode escapes without -e.
  if (options.includes('e')) return [decodeEscapes(text)]
  return text.includes('\\') ? [text, decodeEscapes(text)] : [text]
}

const escapeCharacters: Readonly<Record<string, string>> = {
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

const decodeEscapes = (text: string): string =>
  text.replace(
    /\\(?:0?([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c[\s\S]*|([\s\S]))/g,
    (all, octal?: string, hex?: string, short?: string, ...[long, plain]: (string | undefined)[]) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255)
      const code = hex ?? short ?? long
      if (code !== undefined) return String.fromCodePoint(Math.min(Number.parseInt(code, 16), 0xffff))
      return plain === undefined ? '' : (escapeCharacters[plain] ?? all)
    },
  )

export const printf: Policy = (call) => {
  const [first = '', ...rest] = call.args
  if (first === '-v') return printIntoVariable(call, rest[0] ?? '', rest.slice(1))
  if (first.startsWith('-v')) return printIntoVariable(call, first.slice(2), rest)
  if (mayBeOption(first) && rest.length > 0 && !call.judge.host.isSandboxed)
    call.ask('printf is given a word that may be an option')
  const text = applyFormat(first === '--' ? rest : call.args)
  return text === undefined ? 'unknown' : [text]
}

function printIntoVariable(call: Call, name: Field, words: readonly Field[]): Stream {
  judgeSubscripts(call, name, 'printf -v')
  if (!/^\w+$/.test(name)) call.ask('printf -v evaluates more than a name')
  const value = applyFormat(words)
  call.shell.vars.set(name, { candidates: [value ?? anyText] })
  return ['']
}

/** `%%`, a directive, or an escape. An escaped character is not a directive. */
const formatPattern =
  /%%|%-?\d*(?:\.\d+)?([a-zA-Z])|\\(?:[0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[\s\S])/g
const directives: Readonly<Record<string, (value: string) => string>> = {
  s: (value) => value,
  b: (value) => decodeEscapes(value),
  d: (value) => (value === '' ? '0' : value),
  i: (value) => (value === '' ? '0' : value),
  c: (value) => value.slice(0, 1),
}

function applyFormat([format, ...values]: readonly Field[]): string | undefined {
  if (format === undefined || !isLiteral(format) || /%[-0]*\d|%\(|%[^sbdic%]/.test(format.replaceAll('%%', '')))
    return undefined
  let usedValues = 0
  let output = ''
  const applyOnce = (): string =>
    format.replace(formatPattern, (all, kind?: string) => {
      if (all === '%%') return '%'
      return kind === undefined ? decodeEscapes(all) : (directives[kind]?.(values[usedValues++] ?? '') ?? '')
    })
  for (
    let before = -1;
    usedValues > before && (before === -1 || usedValues < values.length) && output.length < maxTextChars;
  ) {
    before = usedValues
    output += applyOnce()
  }
  return output
}

const decodeBase64 = (text: string): string | undefined => {
  try {
    return atob(text.replace(/\s+/g, ''))
  } catch (error) {
    if (error instanceof DOMException) return undefined
    throw error
  }
}

const encodeBase64 = (text: string): string | undefined =>
  [...text].every((char) => char <= '\u00FF') ? `${btoa(text)}\n` : undefined

/**
 * Marks output as decoded. Decoded text never runs without approval, because a person cannot read it in the command.
 */
const markDecoded =
  (policy: Policy): Policy =>
  (call) => {
    const output = policy(call)
    if (output !== 'unknown' && output !== undefined)
      for (const text of output) call.judge.decodedTexts.add(text.replace(/\n+$/, ''))
    return output
  }

export const base64: Policy = markDecoded(
  createFilter({ short: 'dDi', valued: 'wb', long: 'decode ignore-garbage wrap=' }, (text, _, has) =>
    has.has('d') || has.has('D') || has.has('decode') ? decodeBase64(text) : encodeBase64(text),
  ),
)

export const rev: Policy = markDecoded(
  createFilter(undefined, (text) =>
    text
      .split('\n')
      .map((line) => [...line].toReversed().join(''))
      .join('\n'),
  ),
)
export const tac: Policy = markDecoded(
  createFilter(undefined, (text) => `${text.replace(/\n$/, '').split('\n').toReversed().join('\n')}\n`),
)

export const xxd: Policy = markDecoded((call) => {
  const options = readOptions(call.args, { short: 'bCeEiprRuaP', valued: 'clgos', long: '' })
  checkOptions(call, options)
  checkReads(call, options.operands)
  if (options.operands.length > 1) call.ask('xxd would write a file')
  if (!hasOption(options, 'r') || !hasOption(options, 'p')) return 'unknown'
  return mapStream(getInput(call, options.operands), (text) => decodeHex(text))
})

const decodeHex = (text: string): string | undefined => {
  const digits = text.replace(/\s+/g, '')
  return /^([0-9a-fA-F]{2})*$/.test(digits)
    ? digits.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16)))
    : undefined
}

export const tr: Policy = markDecoded((call) => {
  const options = readOptions(call.args, { short: 'cCdst', long: 'complement delete squeeze-repeats truncate-set1' })
  const [from = '', to = ''] = options.operands
  const input = getInput(call, [])
  if (
    options.names.size > 1 ||
    (options.names.size === 1 && !hasOption(options, 'd')) ||
    !isLiteral(from) ||
    !isLiteral(to)
  )
    return 'unknown'
  const [first, second] = [expandCharacterSet(decodeEscapes(from)), expandCharacterSet(decodeEscapes(to))]
  if (!first || !second) return 'unknown'
  return mapStream(input, (text) =>
    [...text].map((char) => translateCharacter(char, first, hasOption(options, 'd') ? undefined : second)).join(''),
  )
})

function translateCharacter(char: string, from: string, to: string | undefined): string {
  const at = from.lastIndexOf(char)
  if (at === -1) return char
  return to === undefined ? '' : (to[at] ?? to.at(-1) ?? char)
}

const characterClasses: Readonly<Record<string, string>> = {
  lower: 'a-z',
  upper: 'A-Z',
  digit: '0-9',
  alpha: 'A-Za-z',
  alnum: '0-9A-Za-z',
  space: ' \t\n\r\f\v',
}

/** Expands ranges and classes of `tr`. */
function expandCharacterSet(set: string): string | undefined {
  const plain = set.replace(/\[:(\w+):\]/g, (all, name: string) => characterClasses[name] ?? all)
  if (plain.includes('[:') || plain.includes('[=') || plain.includes('*]')) return undefined
  return plain.replace(/([\s\S])-([\s\S])/g, (all, a: string, b: string) => {
    const [low, high] = [a.charCodeAt(0), b.charCodeAt(0)]
    return high < low || high - low > 300
      ? all
      : String.fromCharCode(...Array.from({ length: high - low + 1 }, (_, i) => low + i))
  })
}

export const openssl: Policy = markDecoded((call) => {
  const [command = ''] = call.args
  const rest = call.args.slice(1)
  if (command === 'version' || command === 'dgst' || command === 'rand') {
    if (rest.some((arg) => /^-(out|sign|engine|provider|rand|writerand)/.test(arg)))
      call.ask('openssl would write a file')
    checkReads(call, rest)
    return 'unknown'
  }
  const simple = command === 'base64' || (command === 'enc' && rest.some((arg) => arg === '-base64' || arg === '-a'))
  if (!simple || rest.some((arg) => !['-d', '-A', '-a', '-base64'].includes(arg))) {
    call.ask(`openssl ${command} may read keys, write files or open connections`, `openssl ${command}`)
    return 'unknown'
  }
  return mapStream(getInput(call, []), (text) => (rest.includes('-d') ? decodeBase64(text) : encodeBase64(text)))
})

export const applySubstitution = (script: Field, input: Stream): Stream => {
  const [, sign = '', from = '', to = '', flags = ''] =
    /^s([/|,#:@])((?:(?!\1)[^\\[\].*^$+?(){}])*)\1((?:(?!\1)[^\\&])*)\1(g?)$/.exec(script) ?? []
  if (sign === '' || from === '') return 'unknown'
  const swap = (line: string): string => (flags === 'g' ? line.split(from).join(to) : line.replace(from, () => to))
  return mapStream(input, (text) =>
    text
      .split('\n')
      .map((line) => swap(line))
      .join('\n'),
  )
}
