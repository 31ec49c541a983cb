/** yes, shuf, and sort with records that end in NUL. */

import {
  type Command,
  command,
  complain,
  type Context,
  isLongerThan,
  original,
  parse,
  quote,
  readText,
  say,
  stdinBytes,
} from './io.ts'

/** Enough for every `yes | head`, and more than is shown; there is no closed pipe that would stop an endless one. */
const YES_BYTES = 1_048_576
const yes = command('yes', async (args) => {
  const line = `${args.join(' ') || 'y'}\n`
  return say(line.repeat(Math.ceil(YES_BYTES / line.length)))
})

function shuffle<T>(items: T[]): T[] {
  const random = new Uint32Array(items.length)
  // At most 64 KiB of randomness come at a time.
  for (let i = 0; i < random.length; i += 16_384) crypto.getRandomValues(random.subarray(i, i + 16_384))
  for (let i = items.length - 1; i > 0; i--) {
    const j = (random[i] ?? 0) % (i + 1)
    const [a, b] = [items[i], items[j]]
    items[i] = b as T
    items[j] = a as T
  }
  return items
}

const MAX_RANGE = 100_000
async function candidates(args: ReturnType<typeof parse>, context: Context): Promise<string[] | undefined> {
  const range = /^(\d+)-(\d+)$/.exec(args.values.get('i') ?? '')
  if (!range) return args.flags.has('e') ? [...args.rest] : toLines(await readText(context, args.rest[0] ?? '-'))
  const [low, high] = [Number(range[1]), Number(range[2])]
  return high - low > MAX_RANGE ? undefined : Array.from({ length: high - low + 1 }, (_, i) => String(low + i))
}

const toLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

const shuf = command('shuf', async (args, context) => {
  const parsed = parse(args, 'ni')
  const lines = await candidates(parsed, context)
  if (!lines) return complain('shuf', `range of more than ${MAX_RANGE} numbers`)
  const count = Number(parsed.values.get('n') ?? lines.length)
  return say(
    shuffle(lines)
      .slice(0, count)
      .map((line) => `${line}\n`)
      .join(''),
  )
})

const ZERO = /^-[a-zA-Z]*z[a-zA-Z]*$/
/** Sorting more at once would keep everybody else waiting for seconds. */
const MAX_SORTED = 250_000

const sort = command('sort', async (args, context) => {
  if (await isLongerThan(MAX_SORTED, parse(args, 'ktoST').rest, context))
    return complain('sort', `more than ${MAX_SORTED} lines`, 2)
  if (!args.some((arg) => ZERO.test(arg) || arg === '--zero-terminated') || !context.exec)
    return original(context)(args)
  // A newline inside a record has to survive the detour: it travels as a character no text contains.
  const rest = args.flatMap((arg) => (ZERO.test(arg) ? [arg.replace('z', '')] : [arg]))
  const options = rest.filter((arg) => arg !== '-' && arg !== '--zero-terminated')
  const stdin = Buffer.from(stdinBytes(context)).toString('latin1')
  const swapped = stdin.replaceAll('\n', '\u0001').replaceAll('\0', '\n')
  const line = ['sort', ...options].map(quote).join(' ')
  const result = await context.exec(line, { cwd: context.cwd, stdin: swapped, stdinKind: 'bytes' })
  return { ...result, stdout: result.stdout.replaceAll('\n', '\0').replaceAll('\u0001', '\n') }
})

export const lines: readonly Command[] = [yes, shuf, sort]
