/** Makes numeric escapes of printf and echo -e produce bytes, also when the result is not UTF-8. */

import { type Command, command, type CommandContext, type ExecResult, originalCommand } from './io.ts'
import { byteResult } from './text.ts'

/** Unassigned characters, one for each byte above 127, which pass through just-bash unchanged. */
const firstPlaceholder = 0x10fe00
const placeholderPattern = /[\u{10FE80}-\u{10FEFF}]/u

const toPlaceholder = (escape: string, code: number): string =>
  code > 127 && code < 256 ? String.fromCodePoint(firstPlaceholder + code) : escape

/** `octal` matches the digits of an octal escape. */
function escapesToPlaceholders(text: string, octal: RegExp): string {
  return text.replace(/\\(?:x[0-9a-fA-F]{1,2}|[0-7]{1,4}|[\s\S])/g, (escape) => {
    if (escape[1] === 'x' && escape.length > 2) return toPlaceholder(escape, Number.parseInt(escape.slice(2), 16))
    const [, digits = '', rest = ''] = octal.exec(escape) ?? []
    return digits === ''
      ? escape
      : toPlaceholder(escape.slice(0, escape.length - rest.length), Number.parseInt(digits, 8)) + rest
  })
}

const inFormat = /^\\([0-7]{1,3})([0-7]*)$/
const inEcho = /^\\0([0-7]{1,3})$/

/** Returns text when the bytes are UTF-8, else bytes. */
function placeholdersToBytes(result: ExecResult): ExecResult {
  if (!placeholderPattern.test(result.stdout)) return result
  const parts = [...result.stdout].map((sign) =>
    placeholderPattern.test(sign)
      ? Buffer.from([(sign.codePointAt(0) ?? firstPlaceholder) - firstPlaceholder])
      : Buffer.from(sign),
  )
  const bytes = new Uint8Array(Buffer.concat(parts))
  try {
    return { ...result, stdout: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    return { ...result, ...byteResult(bytes), stderr: result.stderr, exitCode: result.exitCode }
  }
}

const run = async (context: CommandContext, args: string[]): Promise<ExecResult> =>
  placeholdersToBytes(await originalCommand(context)(args))

const printf = command('printf', async (args, context) => {
  const at = args[0] === '--' ? 1 : 0
  const [format = '', ...values] = args.slice(at)
  // `-v` prints into a variable.
  if (at === 0 && format.startsWith('-')) return originalCommand(context)(args)
  const conversions = format.match(/%[^a-zA-Z%]*[a-zA-Z%]/g)?.filter((one) => !one.endsWith('%')) ?? []
  const readsEscapes = conversions.length > 0 && conversions.every((one) => one.endsWith('b'))
  const read = readsEscapes ? values.map((value) => escapesToPlaceholders(value, inEcho)) : values
  return run(context, [...args.slice(0, at), escapesToPlaceholders(format, inFormat), ...read])
})

const echoOption = /^-(?:n|e|E|ne|en)$/

const echo = command('echo', async (args, context) => {
  const words = args.findIndex((arg) => !echoOption.test(arg))
  const options = words < 0 ? args : args.slice(0, words)
  const last = options.findLast((option) => /e/i.test(option)) ?? ''
  if (!last.includes('e')) return originalCommand(context)(args)
  return run(context, [...options, ...args.slice(options.length).map((arg) => escapesToPlaceholders(arg, inEcho))])
})

export const printCommands: readonly Command[] = [printf, echo]
