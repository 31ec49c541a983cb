/** Implements realpath, mktemp, truncate, install and df. */

import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  parse,
  pathIn,
  textResult,
  withoutErrno,
} from './io.ts'

const realpath = command('realpath', async (args, context) => {
  const { rest, flags, values } = parse(args, '')
  const found: string[] = []
  const base = values.get('relative-to')
  for (const path of rest) {
    const whole = pathIn(context, path)
    if (flags.has('m') || flags.has('s')) found.push(whole)
    else if (await context.fs.exists(whole)) found.push(await context.fs.realpath(whole))
    else return errorResult('realpath', `${path}: No such file or directory`)
  }
  const from = base === undefined ? undefined : pathIn(context, base)
  return textResult(found.map((path) => `${from === undefined ? path : relative(from, path)}\n`).join(''))
})

function relative(from: string, to: string): string {
  const [start, end] = [from.split('/').filter(Boolean), to.split('/').filter(Boolean)]
  const same = start.findIndex((part, i) => part !== end[i])
  const common = same < 0 ? start.length : same
  return [...start.slice(common).map(() => '..'), ...end.slice(common)].join('/') || '.'
}

const mktemp = command('mktemp', async (args, context) => {
  const { flags, values, rest } = parse(args, 'p')
  const template = rest[0] ?? 'tmp.XXXXXXXXXX'
  const holes = /X{3,}(?=[^X]*$)/.exec(template)
  if (!holes) return errorResult('mktemp', `too few X's in template '${template}'`)
  const random = crypto.randomUUID().replaceAll('-', '').slice(0, holes[0].length)
  const name = template.replace(/X{3,}(?=[^X]*$)/, random)
  const inTmp = rest.length === 0 || flags.has('t') || values.has('p')
  const path = pathIn(context, inTmp ? `${values.get('p') ?? '/tmp'}/${name}` : name)
  if (!flags.has('u') && (flags.has('d') || flags.has('directory'))) await context.fs.mkdir(path, { recursive: true })
  else if (!flags.has('u')) await context.fs.writeFile(path, '')
  return textResult(`${path}\n`)
})

const unitBytes: Readonly<Record<string, number>> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, KB: 1000, MB: 1e6 }
/** Limit because the isolate has 128 MB of memory. */
const maxTruncateBytes = 30 * 1024 ** 2

async function truncateOne(
  context: CommandContext,
  path: string,
  size: { sign: string; bytes: number },
): Promise<void> {
  const whole = pathIn(context, path)
  const before = (await context.fs.exists(whole)) ? await context.fs.readFileBuffer(whole) : new Uint8Array()
  const change = size.sign === '-' ? -size.bytes : size.bytes
  const length = size.sign === '' ? size.bytes : Math.max(0, before.byteLength + change)
  const after = new Uint8Array(length)
  after.set(before.subarray(0, length))
  await context.fs.writeFile(whole, after)
}

const truncate = command('truncate', async (args, context) => {
  const { values, rest } = parse(args, 's')
  const size = /^([+-]?)(\d+)([KMG]B?)?$/.exec(values.get('s') ?? values.get('size') ?? '')
  if (!size) return errorResult('truncate', 'give a size: -s N')
  const bytes = Number(size[2]) * (unitBytes[size[3] ?? ''] ?? 1)
  if (bytes > maxTruncateBytes) return errorResult('truncate', 'size over the limit of 30 MiB')
  for (const path of rest) await truncateOne(context, path, { sign: size[1] ?? '', bytes })
  return textResult('')
})

const isDirectory = async ({ fs }: CommandContext, path: string): Promise<boolean> =>
  (await fs.exists(path)) && (await fs.stat(path)).isDirectory

type Installation = {
  readonly target: string
  readonly into: boolean
  readonly parents: boolean
  readonly mode: number
}

async function installOne(context: CommandContext, source: string, options: Installation): Promise<void> {
  const path = options.into ? `${options.target}/${source.slice(source.lastIndexOf('/') + 1)}` : options.target
  if (options.parents) await context.fs.mkdir(path.slice(0, path.lastIndexOf('/')) || '/', { recursive: true })
  await context.fs.writeFile(path, await context.fs.readFileBuffer(pathIn(context, source)))
  await context.fs.chmod(path, options.mode)
}

const install = command('install', async (args, context) => {
  const { flags, values, rest } = parse(args, 'mogt')
  if (flags.has('d')) {
    for (const path of rest) await context.fs.mkdir(pathIn(context, path), { recursive: true })
    return textResult('')
  }
  const sources = values.has('t') ? [...rest] : rest.slice(0, -1)
  if (sources.length === 0) return errorResult('install', 'missing file operand')
  const target = pathIn(context, values.get('t') ?? rest.at(-1) ?? '')
  const into = values.has('t') || (await isDirectory(context, target))
  const mode = Number.parseInt(values.get('m') ?? '755', 8)
  for (const source of sources) {
    const installing = installOne(context, source, { target, into, mode, parents: flags.has('D') })
    const failure = await installing.then(() => undefined, withoutErrno)
    if (failure !== undefined) return errorResult('install', `cannot install '${source}': ${failure}`)
  }
  return textResult('')
})

const df = command('df', async () =>
  textResult(
    'Filesystem     1K-blocks  Used Available Use% Mounted on\nworkspace         524288     0    524288   0% /\n',
  ),
)

export const fileCommands: readonly Command[] = [realpath, mktemp, truncate, install, df]
