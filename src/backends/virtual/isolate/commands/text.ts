/** Extends head, uniq, fmt, tr, cut and sed with options that just-bash lacks. */

import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  type ExecResult,
  isLongerThan,
  originalCommand,
  parse,
  pathIn,
  readBytes,
  readText,
  textResult,
} from './io.ts'

/** Limit of bytes read from an endless device. */
const maxDeviceBytes = 16 * 1024 * 1024
const unitBytes: Readonly<Record<string, number>> = { '': 1, k: 1024, K: 1024, M: 1024 ** 2, b: 512, kB: 1000, MB: 1e6 }

export function parseSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)([a-zA-Z]*)$/.exec(text) ?? []
  return Number(digits || Number.NaN) * (unitBytes[unit] ?? Number.NaN)
}

/** Whether a read of an endless device exceeds the limit. */
export const exceedsDeviceLimit = (path: string, count: number): boolean =>
  /^\/dev\/(zero|u?random)$/.test(path) && count > maxDeviceBytes

/** Reads /dev/zero or a random device; undefined for other paths. */
export function deviceBytes(path: string, count: number): Uint8Array | undefined {
  const bytes = new Uint8Array(/^\/dev\/(zero|u?random)$/.test(path) ? Math.min(count, maxDeviceBytes) : 0)
  if (path === '/dev/zero') return bytes
  if (!/^\/dev\/u?random$/.test(path)) return undefined
  for (let i = 0; i < bytes.byteLength; i += 65_536) crypto.getRandomValues(bytes.subarray(i, i + 65_536))
  return bytes
}

export const byteResult = (bytes: Uint8Array): ExecResult => ({
  stdout: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1'),
  stderr: '',
  exitCode: 0,
  stdoutKind: 'bytes',
})

async function allButLast(context: CommandContext, names: readonly string[], count: number): Promise<ExecResult> {
  const lines = (await readText(context, names[0] ?? '-')).split(/(?<=\n)/)
  return textResult(lines.slice(0, Math.max(0, lines.length - count)).join(''))
}

const head = command('head', async (args, context) => {
  const { values, rest } = parse(args, 'nc')
  const count = values.get('c') ?? values.get('bytes')
  const device = rest.length === 1 && count !== undefined ? deviceBytes(rest[0] ?? '', parseSize(count)) : undefined
  if (device) return byteResult(device)
  const lines = values.get('n') ?? values.get('lines') ?? ''
  if (lines.startsWith('-') && rest.length < 2) return allButLast(context, rest, Number(lines.slice(1)))
  return originalCommand(context)(args)
})

const uniq = command('uniq', async (args, context) => {
  const result = await originalCommand(context)(args)
  if (!args.some((arg) => /^-[a-zA-Z]*c/.test(arg) || arg === '--count')) return result
  return { ...result, stdout: result.stdout.replace(/^ *(\d+) /gm, (_, count: string) => `${count.padStart(7)} `) }
})

/** For each word, computes the end of a line that begins there, so that all lines but the last are near the goal width. */
function lineEnds(words: readonly string[], width: number): number[] {
  const targetWidth = Math.floor(width * 0.935)
  const costs: number[] = [...words.map(() => Number.POSITIVE_INFINITY), 0]
  const ends = words.map((_, i) => i + 1)
  for (let i = words.length - 1; i >= 0; i--) {
    let length = -1
    for (let j = i; j < words.length; j++) {
      length += (words[j]?.length ?? 0) + 1
      if (length >= width && j > i) break
      const cost = (j === words.length - 1 ? 0 : (targetWidth - length) ** 2) + (costs[j + 1] ?? 0)
      if (cost >= (costs[i] ?? 0)) continue
      costs[i] = cost
      ends[i] = j + 1
    }
  }
  return ends
}

function fill(words: readonly string[], width: number): string[] {
  const ends = lineEnds(words, width)
  const lines: string[] = []
  for (let i = 0; i < words.length; i = ends[i] ?? words.length) lines.push(words.slice(i, ends[i]).join(' '))
  return lines
}

const fmt = command('fmt', async (args, context) => {
  const { values, rest } = parse(
    args.map((arg) => arg.replace(/^-(\d+)$/, '-w$1')),
    'w',
  )
  const width = Number(values.get('w') ?? values.get('width') ?? 75)
  const text = (await Promise.all((rest.length > 0 ? rest : ['-']).map((name) => readText(context, name)))).join('')
  const paragraphs = text.replace(/\n+$/, '').split(/(\n{2,})/)
  const filled = paragraphs.map((part, i) => (i % 2 ? part : fill(part.split(/\s+/).filter(Boolean), width).join('\n')))
  return textResult(text === '' ? '' : `${filled.join('')}\n`)
})

/** Replaces octal escapes, which just-bash does not support, by their characters. */
const tr = command('tr', async (args, context) =>
  originalCommand(context)(
    args.map((arg) =>
      arg.replace(/\\([0-7]{1,3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    ),
  ),
)

const fieldsIn = (list: string): ((field: number) => boolean) => {
  const ranges = list.split(',').map((part) => {
    const [from = '', to] = part.split('-')
    return [Number(from || 1), to === undefined ? Number(from) : Number(to || Number.POSITIVE_INFINITY)] as const
  })
  return (field) => ranges.some(([from, to]) => field >= from && field <= to)
}

const cut = command('cut', async (args, context) => {
  if (!args.includes('--complement')) return originalCommand(context)(args)
  const { values, rest } = parse(args, 'dfcb')
  const named = fieldsIn(values.get('f') ?? values.get('c') ?? values.get('b') ?? '')
  const between = values.has('f') ? (values.get('d') ?? '\t') : ''
  const text = await readText(context, rest[0] ?? '-')
  const lines = text.replace(/\n$/, '').split('\n')
  const fieldsByLine = lines.map((line) => line.split(between).filter((_, i) => !named(i + 1)))
  return textResult(text === '' ? '' : `${fieldsByLine.map((fields) => fields.join(between)).join('\n')}\n`)
})

/** More lines would block other sessions for seconds; grep and awk have the same limit. */
const maxEditedLines = 100_000

const longOptionsOfSed: Readonly<Record<string, string>> = {
  '--expression': '-e',
  '--file': '-f',
  '--in-place': '-i',
  '--quiet': '-n',
  '--silent': '-n',
}

/** Writes `--expression=text` as two arguments. */
const toShortOption = (arg: string): string[] => {
  const [, name = '', value] = /^(--(?:expression|file))=([^]*)$/.exec(arg) ?? []
  return value === undefined ? [longOptionsOfSed[arg] ?? arg] : [longOptionsOfSed[name] ?? name, value]
}

/** Adds `-i.bak`, which makes a backup, and long options. */
const sed = command('sed', async (given, context) => {
  const args = given.flatMap(toShortOption)
  const operands = parse(args, 'ef').rest
  const files = args.some((arg) => /^-[ef]/.test(arg)) ? operands : operands.slice(1)
  if (await isLongerThan(maxEditedLines, files, context))
    return errorResult('sed', `more than ${maxEditedLines} lines`, 4)
  const suffix = args.map((arg) => /^(?:-[nErsz]*i|--in-place=)(.+)$/.exec(arg)?.[1]).find(Boolean)
  const ready = args.map((arg) => arg.replace(/^(-[nErsz]*i).+$/, '$1').replace(/^--in-place=.+$/, '-i'))
  if (suffix === undefined) return originalCommand(context)(ready)
  for (const name of ready.filter((arg) => !arg.startsWith('-'))) {
    const path = pathIn(context, name)
    if (await context.fs.exists(path)) await context.fs.writeFile(path + suffix, await readBytes(context, name))
  }
  return originalCommand(context)(ready)
})

export const textCommands: readonly Command[] = [head, uniq, fmt, tr, cut, sed]
