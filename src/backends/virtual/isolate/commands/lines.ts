/** Implements yes and shuf, and adds NUL-terminated records and a limit to sort. */

import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  isLongerThan,
  originalCommand,
  parse,
  quote,
  readText,
  textResult,
  stdinBytes,
} from './io.ts'

/** Limit of `yes`, because no closed pipe would stop an endless output. */
const yesBytes = 1_048_576
const yes = command('yes', async (args) => {
  const line = `${args.join(' ') || 'y'}\n`
  return textResult(line.repeat(Math.ceil(yesBytes / line.length)))
})

function shuffle<T>(items: T[]): T[] {
  const random = new Uint32Array(items.length)
  // One call returns at most 64 KiB of random bytes.
  for (let i = 0; i < random.length; i += 16_384) crypto.getRandomValues(random.subarray(i, i + 16_384))
  for (let i = items.length - 1; i > 0; i--) {
    const j = (random[i] ?? 0) % (i + 1)
    const [a, b] = [items[i], items[j]]
    items[i] = b as T
    items[j] = a as T
  }
  return items
}

const maxRange = 100_000
async function candidates(args: ReturnType<typeof parse>, context: CommandContext): Promise<string[] | undefined> {
  const range = /^(\d+)-(\d+)$/.exec(args.values.get('i') ?? '')
  if (!range) return args.flags.has('e') ? [...args.rest] : toLines(await readText(context, args.rest[0] ?? '-'))
  const [low, high] = [Number(range[1]), Number(range[2])]
  return high - low > maxRange ? undefined : Array.from({ length: high - low + 1 }, (_, i) => String(low + i))
}

const toLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

const shuf = command('shuf', async (args, context) => {
  const parsed = parse(args, 'ni')
  const lines = await candidates(parsed, context)
  if (!lines) return errorResult('shuf', `range of more than ${maxRange} numbers`)
  const count = Number(parsed.values.get('n') ?? lines.length)
  return textResult(
    shuffle(lines)
      .slice(0, count)
      .map((line) => `${line}\n`)
      .join(''),
  )
})

const zeroOption = /^-[a-zA-Z]*z[a-zA-Z]*$/
/** Sorting more would block other sessions for seconds. */
const maxSortedLines = 250_000

/** just-bash compares numbers with exponents too, but not by this letter. */
const generalOption = /^-(?:[bcdfimnrsuMVhR]*g[bcdfimnrsuMVhR]*|k[\d.,]{1,20}[a-z]*g[a-z]*)$/
const withNumeric = (arg: string): string => {
  if (arg === '--general-numeric-sort') return '-n'
  return generalOption.test(arg) ? arg.replace('g', 'n') : arg
}

const sort = command('sort', async (given, context) => {
  const args = given.map(withNumeric)
  if (await isLongerThan(maxSortedLines, parse(args, 'ktoST').rest, context))
    return errorResult('sort', `more than ${maxSortedLines} lines`, 2)
  if (!args.some((arg) => zeroOption.test(arg) || arg === '--zero-terminated') || !context.exec)
    return originalCommand(context)(args)
  // A newline inside a record is replaced by a character that text does not contain.
  const rest = args.flatMap((arg) => (zeroOption.test(arg) ? [arg.replace('z', '')] : [arg]))
  const options = rest.filter((arg) => arg !== '-' && arg !== '--zero-terminated')
  const stdin = Buffer.from(stdinBytes(context)).toString('latin1')
  const swapped = stdin.replaceAll('\n', '\u0001').replaceAll('\0', '\n')
  const line = ['sort', ...options].map(quote).join(' ')
  const result = await context.exec(line, { cwd: context.cwd, stdin: swapped, stdinKind: 'bytes' })
  return { ...result, stdout: result.stdout.replaceAll('\n', '\0').replaceAll('\u0001', '\n') }
})

export const lineCommands: readonly Command[] = [yes, shuf, sort]
