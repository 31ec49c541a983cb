/** Implements dd, od and openssl (dgst, rand). */

import { type Command, command, errorResult, type CommandContext, parse, pathIn, readBytes, textResult } from './io.ts'
import { byteResult, deviceBytes, exceedsDeviceLimit, parseSize } from './text.ts'

async function input(context: CommandContext, name: string | undefined, maxBytes: number): Promise<Uint8Array> {
  const device = name === undefined ? undefined : deviceBytes(name, maxBytes)
  return device ?? readBytes(context, name ?? '-')
}

const reportOn = (bytes: Uint8Array, size: number): string => {
  const records = `${Math.floor(bytes.byteLength / size)}+${bytes.byteLength % size ? 1 : 0} records`
  return `${records} in\n${records} out\n${bytes.byteLength} bytes copied\n`
}

const dd = command('dd', async (args, context) => {
  const option = new Map(args.map((arg) => [arg.slice(0, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)]))
  const size = parseSize(option.get('bs') ?? option.get('ibs') ?? '512')
  const skip = Number(option.get('skip') ?? 0) * size
  const end = option.has('count') ? skip + Number(option.get('count')) * size : Number.POSITIVE_INFINITY
  if (exceedsDeviceLimit(option.get('if') ?? '', end)) return errorResult('dd', 'more than 16 MiB of a device')
  const bytes = (await input(context, option.get('if'), end)).subarray(skip, end)
  const report = option.get('status') === 'none' ? '' : reportOn(bytes, size)
  const target = option.get('of')
  if (target === undefined) return { ...byteResult(bytes), stderr: report }
  const at = Number(option.get('seek') ?? 0) * size
  await writeAt(context, { target, bytes, at, keeps: /notrunc/.test(option.get('conv') ?? '') })
  return textResult('', 0, report)
})

type WriteOptions = {
  readonly target: string
  readonly bytes: Uint8Array
  readonly at: number
  readonly keeps: boolean
}

async function writeAt(context: CommandContext, { target, bytes, at, keeps }: WriteOptions): Promise<void> {
  const path = pathIn(context, target)
  if (path === '/dev/null') return
  const exists = (at > 0 || keeps) && (await context.fs.exists(path))
  const before = exists ? await context.fs.readFileBuffer(path) : new Uint8Array()
  const whole = new Uint8Array(Math.max(keeps ? before.byteLength : 0, at + bytes.byteLength))
  whole.set(before.subarray(0, whole.byteLength))
  whole.set(bytes, at)
  await context.fs.writeFile(path, whole)
}

const escapeNames: Readonly<Record<number, string>> = {
  0: '\\0',
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
}
const octal = (value: number, width: number): string => value.toString(8).padStart(width, '0')

type NumberFormat = { readonly size: number; readonly show: (value: number) => string }

const printable = (value: number): string =>
  (value >= 32 && value < 127 ? String.fromCharCode(value) : (escapeNames[value] ?? octal(value, 3))).padStart(4)

const decimalWidths = [0, 3, 5, 8, 10]
const formatters: Readonly<Record<string, (width: number) => NumberFormat['show']>> = {
  a: () => printable,
  c: () => printable,
  x: (width) => (value) => ` ${value.toString(16).padStart(width * 2, '0')}`,
  o: (width) => (value) => ` ${octal(value, width * 3)}`,
  d: (width) => (value) => ` ${String(value).padStart(decimalWidths[width] ?? 10)}`,
  u: (width) => (value) => ` ${String(value).padStart(decimalWidths[width] ?? 10)}`,
}

function parseFormat(type: string): NumberFormat | undefined {
  const [, letter = '', size = ''] = /^([acdoux])(\d?)/.exec(type) ?? []
  const width = /[ac]/.test(letter) ? 1 : Number(size || 4)
  const show = formatters[letter]?.(width)
  return show && { size: width, show }
}

const shortTypes: readonly (readonly [string, string])[] = [
  ['c', 'c'],
  ['b', 'o1'],
  ['x', 'x2'],
]

const addressFormats: Readonly<Record<string, (at: number) => string>> = {
  n: () => '',
  x: (at) => at.toString(16).padStart(6, '0'),
  d: (at) => String(at).padStart(7, '0'),
}

const dumpType = (flags: ReadonlySet<string>): string => shortTypes.find(([flag]) => flags.has(flag))?.[1] ?? 'o2'

/** Renders sixteen bytes as little-endian numbers. */
function row(bytes: Uint8Array, { size, show }: NumberFormat): string {
  let line = ''
  for (let i = 0; i < bytes.byteLength; i += size) {
    let value = 0
    for (let byte = size - 1; byte >= 0; byte--) value = value * 256 + (bytes[i + byte] ?? 0)
    line += show(value)
  }
  return line
}

/** A dump of more would exceed the output limit. */
const maxDumpedBytes = 2 * 1024 * 1024
const dumpTooLong = 'more than 2 MiB: select a part with -j and -N'

const od = command('od', async (args, context) => {
  const { flags, values, rest } = parse(args, 'AtNjw')
  const type = values.get('t') ?? dumpType(flags)
  const format = parseFormat(type)
  if (!format) return errorResult('od', `invalid type string '${type}'`)
  const skip = Number(values.get('j') ?? 0)
  const end = skip + Number(values.get('N') ?? Number.POSITIVE_INFINITY)
  const bytes = (await readBytes(context, rest[0] ?? '-')).subarray(skip, end)
  if (bytes.byteLength > maxDumpedBytes) return errorResult('od', dumpTooLong)
  const address = addressFormats[values.get('A') ?? 'o'] ?? ((at: number) => octal(at, 7))
  const lines: string[] = []
  for (let at = 0; at < bytes.byteLength; at += 16)
    lines.push(`${address(at + skip)}${row(bytes.subarray(at, at + 16), format)}\n`)
  const last = address(bytes.byteLength + skip)
  return textResult(lines.join('') + (last === '' ? '' : `${last}\n`))
})

const hashNames: Readonly<Record<string, string>> = {
  md5: 'MD5',
  sha1: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
}

async function digest(context: CommandContext, args: readonly string[]): Promise<ReturnType<typeof textResult>> {
  const algorithm = args.map((arg) => arg.replace(/^-+/, '')).find((name) => hashNames[name]) ?? 'sha256'
  const names = args.filter((arg) => !arg.startsWith('-') && !hashNames[arg])
  const bare = args.includes('-r')
  const lines: string[] = []
  for (const name of names.length > 0 ? names : ['-']) {
    const hash = await crypto.subtle.digest(hashNames[algorithm] ?? '', new Uint8Array(await readBytes(context, name)))
    const hex = Buffer.from(hash).toString('hex')
    lines.push(
      bare
        ? `${hex} *${name === '-' ? 'stdin' : name}\n`
        : `${algorithm.toUpperCase().replace('SHA', 'SHA2-').replace('SHA2-1', 'SHA1')}(${name === '-' ? 'stdin' : name})= ${hex}\n`,
    )
  }
  return textResult(lines.join(''))
}

const openssl = command('openssl', async ([verb = '', ...args], context) => {
  if (verb === 'dgst' || hashNames[verb]) return digest(context, verb === 'dgst' ? args : [`-${verb}`, ...args])
  const count = Number(args.at(-1))
  if (verb === 'rand' && count > 0) {
    const bytes = deviceBytes('/dev/urandom', count) ?? new Uint8Array()
    if (args.includes('-hex')) return textResult(`${Buffer.from(bytes).toString('hex')}\n`)
    return args.includes('-base64') ? textResult(`${Buffer.from(bytes).toString('base64')}\n`) : byteResult(bytes)
  }
  return errorResult('openssl', `'${verb}' is not available here; dgst and rand are`)
})

export const byteCommands: readonly Command[] = [dd, od, openssl]
