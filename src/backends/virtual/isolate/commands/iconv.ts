/** Implements iconv: text of one encoding in another, for all encodings of the Encoding standard. */

import { type Command, command, errorResult, parse, pathIn, readBytes, textResult } from './io.ts'
import { byteResult } from './text.ts'

/** Names of iconv that the Encoding standard does not know. */
const aliases: Readonly<Record<string, string>> = {
  utf8: 'utf-8',
  utf16: 'utf-16le',
  'utf-16': 'utf-16le',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  latin1: 'windows-1252',
  'latin-1': 'windows-1252',
  sjis: 'shift_jis',
  cp932: 'shift_jis',
  eucjp: 'euc-jp',
  euckr: 'euc-kr',
  cp949: 'euc-kr',
  cp936: 'gbk',
  cp950: 'big5',
  'big-5': 'big5',
}

/** `name` may end with `//TRANSLIT` or `//IGNORE`. */
function findLabel(name: string): string {
  const plain = name.replace(/\/\/.*$/s, '').toLowerCase()
  return aliases[plain] ?? plain.replace(/^cp(?=125\d$)/, 'windows-')
}

export const iconv: Command = command('iconv', async (args, context) => {
  const { flags, values, rest } = parse(args, 'fto')
  const from = values.get('f') ?? values.get('from-code') ?? 'utf-8'
  const to = values.get('t') ?? values.get('to-code') ?? 'utf-8'
  if (flags.has('l') || flags.has('list')) return textResult(`${Object.keys(aliases).join('\n')}\n`)
  try {
    const decoder = new TextDecoder(findLabel(from), { fatal: !flags.has('c'), ignoreBOM: false })
    const texts: string[] = []
    for (const name of rest.length ? rest : ['-']) texts.push(decoder.decode(await readBytes(context, name)))
    const bytes = encode(texts.join(''), to, flags.has('c'))
    const target = values.get('o') ?? values.get('output')
    if (target === undefined) return byteResult(bytes)
    await context.fs.writeFile(pathIn(context, target), bytes)
    return textResult('')
  } catch (error) {
    return errorResult('iconv', explain(error, from))
  }
})

function explain(error: unknown, from: string): string {
  if (error instanceof RangeError)
    return `${error.message.includes('convert') ? error.message : `conversion from ${from} is not supported`}`
  if (error instanceof TypeError) return `the input is not valid ${from}: -c leaves out what is not`
  return error instanceof Error ? error.message : String(error)
}

function encode(text: string, to: string, isLossy: boolean): Uint8Array {
  const label = findLabel(to)
  if (label === 'utf-8') return new TextEncoder().encode(text)
  if (label.startsWith('utf-16'))
    return encodeWide(text, { isBig: label.endsWith('be'), hasMark: /^utf-?16$/i.test(to) })
  const isAscii = ['ascii', 'us-ascii'].includes(label)
  const known = listCharacters(isAscii ? 'windows-1252' : label)
  const bytes: number[] = []
  for (const char of text) {
    const written = isAscii && char > '\u007f' ? undefined : known.get(char)
    if (written) bytes.push(...written)
    else if (/\/\/translit/i.test(to)) bytes.push(0x3f)
    else if (!isLossy && !/\/\/ignore/i.test(to)) throw new RangeError(`cannot convert ${char} to ${to}`)
  }
  return Uint8Array.from(bytes)
}

function encodeWide(
  text: string,
  { isBig, hasMark }: { readonly isBig: boolean; readonly hasMark: boolean },
): Uint8Array {
  const marked = hasMark ? `\uFEFF${text}` : text
  const view = new DataView(new ArrayBuffer(marked.length * 2))
  for (let at = 0; at < marked.length; at++) view.setUint16(at * 2, marked.charCodeAt(at), !isBig)
  return new Uint8Array(view.buffer)
}

const tables = new Map<string, ReadonlyMap<string, readonly number[]>>()

/** The platform encodes UTF-8 alone, so the characters of one and two bytes are found by decoding them. */
function listCharacters(label: string): ReadonlyMap<string, readonly number[]> {
  const known = tables.get(label)
  if (known) return known
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true })
  const found = new Map<string, readonly number[]>()
  const add = (bytes: readonly number[]) => {
    const char = tryDecode(decoder, bytes)
    if (char !== undefined && [...char].length === 1 && !found.has(char)) found.set(char, bytes)
    return char !== undefined
  }
  for (let first = 0; first < 256; first++)
    if (!add([first])) for (let second = 0x40; second < 0xff; second++) add([first, second])
  tables.set(label, found)
  return found
}

function tryDecode(decoder: TextDecoder, bytes: readonly number[]): string | undefined {
  try {
    return decoder.decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}
