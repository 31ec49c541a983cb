/** Implements xxd: hex dump, plain hex (-p) and reverse (-r -p). */

import { type Command, command, errorResult, parse, readBytes, textResult } from './io.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function row(bytes: Uint8Array, offset: number, columns: number): string {
  const pairs = hex(bytes).match(/.{1,4}/g) ?? []
  const width = Math.ceil(columns / 2) * 5 - 1 - (columns % 2) * 2
  const text = [...bytes].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
  return `${offset.toString(16).padStart(8, '0')}: ${pairs.join(' ').padEnd(width)}  ${text}\n`
}

/** A dump of more would exceed the output limit. */
const maxDumpedBytes = 2 * 1024 * 1024

export const xxd: Command = command('xxd', async (args, context) => {
  const { flags, values, rest } = parse(args, 'cls')
  const all = await readBytes(context, rest[0] ?? '-')
  const skipped = all.subarray(Number(values.get('s') ?? 0))
  const bytes = skipped.subarray(0, Number(values.get('l') ?? skipped.byteLength))
  if (flags.has('r')) {
    const decoded = Buffer.from(
      Buffer.from(bytes)
        .toString('latin1')
        .replace(/[^0-9a-fA-F]/g, ''),
      'hex',
    )
    return { stdout: decoded.toString('latin1'), stderr: '', exitCode: 0, stdoutKind: 'bytes' }
  }
  if (bytes.byteLength > maxDumpedBytes) return errorResult('xxd', 'more than 2 MiB: select a part with -s and -l')
  const columns = Number(values.get('c') ?? (flags.has('p') ? 30 : 16))
  const lines: string[] = []
  for (let i = 0; i < bytes.byteLength; i += columns) {
    const part = bytes.subarray(i, i + columns)
    lines.push(flags.has('p') ? `${hex(part)}\n` : row(part, i, columns))
  }
  return textResult(lines.join(''))
})
