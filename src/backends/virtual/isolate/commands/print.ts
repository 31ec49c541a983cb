/** printf and echo -e: a byte that is named by its number is that byte, whether it is text with the others or not. */

import { type Command, command, type Context, type ExecResult, original } from './io.ts'
import { bytesOut } from './text.ts'

/** Characters that nobody has given a meaning, one for each byte over 127: they pass through just-bash unchanged. */
const FIRST = 0x10fe00
const MARK = /[\u{10FE80}-\u{10FEFF}]/u

const marked = (escape: string, code: number): string =>
  code > 127 && code < 256 ? String.fromCodePoint(FIRST + code) : escape

/** `octal`: the digits of an octal number behind a backslash. */
function withMarks(text: string, octal: RegExp): string {
  return text.replace(/\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,4}|[\s\S])/g, (escape) => {
    if (escape[1] === 'x' && escape.length > 2) return marked(escape, Number.parseInt(escape.slice(2), 16))
    const [, digits = '', rest = ''] = octal.exec(escape) ?? []
    return digits === ''
      ? escape
      : marked(escape.slice(0, escape.length - rest.length), Number.parseInt(digits, 8)) + rest
  })
}

const inFormat = /^\\([0-7]{1,3})([0-7]*)$/
const inEcho = /^\\0([0-7]{1,3})$/

/** Text if they are text, else themselves. */
function unmarked(result: ExecResult): ExecResult {
  if (!MARK.test(result.stdout)) return result
  const parts = [...result.stdout].map((sign) =>
    MARK.test(sign) ? Buffer.from([(sign.codePointAt(0) ?? FIRST) - FIRST]) : Buffer.from(sign),
  )
  const bytes = new Uint8Array(Buffer.concat(parts))
  try {
    return { ...result, stdout: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { ...result, ...bytesOut(bytes), stderr: result.stderr, exitCode: result.exitCode }
  }
}

const run = async (context: Context, args: string[]): Promise<ExecResult> => unmarked(await original(context)(args))

const printf = command('printf', async (args, context) => {
  const at = args[0] === '--' ? 1 : 0
  const [format = '', ...values] = args.slice(at)
  // Into a variable, or no format at all.
  if (at === 0 && format.startsWith('-')) return original(context)(args)
  const conversions = format.match(/%[^a-zA-Z%]*[a-zA-Z%]/g)?.filter((one) => !one.endsWith('%')) ?? []
  const readsEscapes = conversions.length > 0 && conversions.every((one) => one.endsWith('b'))
  const read = readsEscapes ? values.map((value) => withMarks(value, inEcho)) : values
  return run(context, [...args.slice(0, at), withMarks(format, inFormat), ...read])
})

const OPTION = /^-(?:n|e|E|ne|en)$/

const echo = command('echo', async (args, context) => {
  const words = args.findIndex((arg) => !OPTION.test(arg))
  const options = words < 0 ? args : args.slice(0, words)
  const last = options.findLast((option) => /e/i.test(option)) ?? ''
  if (!last.includes('e')) return original(context)(args)
  return run(context, [...options, ...args.slice(options.length).map((arg) => withMarks(arg, inEcho))])
})

export const print: readonly Command[] = [printf, echo]
