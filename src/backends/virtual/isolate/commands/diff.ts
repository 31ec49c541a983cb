/** Implements diff and cmp for files and folders. */

import { compare, type Comparison, linesOf, plainHunks, unifiedHunks } from './compare.ts'
import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  type ExecResult,
  parse,
  type Parsed,
  pathIn,
  readBytes,
  textResult,
} from './io.ts'

/** For larger inputs only whether they differ is reported. */
const maxComparedBytes = 8 * 1024 * 1024

type DiffOutcome = { readonly out: string; readonly differs: boolean }

function lineNormalizer({ flags }: Parsed): (line: string) => string {
  const has = (short: string, long: string): boolean => flags.has(short) || flags.has(long)
  return (line) => {
    let text = line
    if (has('w', 'ignore-all-space')) text = text.replace(/\s+/g, '')
    else if (has('b', 'ignore-space-change')) text = text.replace(/\s+/g, ' ').trimEnd()
    return has('i', 'ignore-case') ? text.toLowerCase() : text
  }
}

/** Drops changes that consist only of blank lines (-B). */
function withoutBlankChanges({ a, b, changes }: Comparison): Comparison {
  const blank = (lines: readonly string[]): boolean => lines.every((line) => line.trim() === '')
  const remaining = changes.filter(
    ({ fromA, toA, fromB, toB }) => !blank(a.slice(fromA, toA)) || !blank(b.slice(fromB, toB)),
  )
  return { a, b, changes: remaining }
}

const isUnified = ({ flags, values }: Parsed): boolean =>
  flags.has('u') || flags.has('unified') || values.has('U') || values.has('unified')

type FilePair = { readonly one: string; readonly other: string; readonly heading: string }

function differences(
  options: Parsed,
  { one, other, heading }: FilePair,
  texts: readonly [string, string],
): DiffOutcome {
  const normal = lineNormalizer(options)
  const [a, b] = [linesOf(texts[0]), linesOf(texts[1])]
  const whole = compare(a, b, (x, y) => x === y || normal(x) === normal(y))
  const found = options.flags.has('B') ? withoutBlankChanges(whole) : whole
  if (found.changes.length === 0) return { out: '', differs: false }
  if (!isUnified(options)) return { out: heading + plainHunks(found), differs: true }
  const context = Number(options.values.get('U') ?? options.values.get('unified') ?? 3)
  return { out: `${heading}--- ${one}\n+++ ${other}\n${unifiedHunks(found, context)}`, differs: true }
}

const isBinary = (bytes: Uint8Array): boolean => bytes.subarray(0, 8192).includes(0)
const equal = (a: Uint8Array, b: Uint8Array): boolean => a.byteLength === b.byteLength && Buffer.compare(a, b) === 0

async function diffFiles(context: CommandContext, options: Parsed, pair: FilePair): Promise<DiffOutcome> {
  const { one, other } = pair
  const absent = options.flags.has('N') || options.flags.has('new-file')
  const bytes = async (name: string): Promise<Uint8Array> => {
    const missing = absent && name !== '-' && !(await context.fs.exists(pathIn(context, name)))
    return missing ? new Uint8Array() : readBytes(context, name)
  }
  const [left, right] = [await bytes(one), await bytes(other)]
  if (equal(left, right)) {
    const message = options.flags.has('s') || options.flags.has('report-identical-files')
    return { out: message ? `Files ${one} and ${other} are identical\n` : '', differs: false }
  }
  if (isBinary(left) || isBinary(right)) return { out: `Binary files ${one} and ${other} differ\n`, differs: true }
  const large = left.byteLength + right.byteLength > maxComparedBytes
  const decoder = new TextDecoder()
  const result = large ? undefined : differences(options, pair, [decoder.decode(left), decoder.decode(right)])
  const brief = options.flags.has('q') || options.flags.has('brief')
  if (result && !(brief && result.differs)) return result
  return { out: `Files ${one} and ${other} differ\n`, differs: true }
}

const isDirectory = async (context: CommandContext, name: string): Promise<boolean> => {
  const path = pathIn(context, name)
  return name !== '-' && (await context.fs.exists(path)) && (await context.fs.stat(path)).isDirectory
}

async function diffTrees(context: CommandContext, options: Parsed, one: string, other: string): Promise<DiffOutcome> {
  const read = async (name: string): Promise<ReadonlySet<string>> =>
    new Set(await context.fs.readdir(pathIn(context, name)))
  const [left, right] = [await read(one), await read(other)]
  const results: DiffOutcome[] = []
  for (const name of [...new Set([...left, ...right])].toSorted())
    if ((left.has(name) && right.has(name)) || options.flags.has('N'))
      results.push(await diffPair(context, options, `${one}/${name}`, `${other}/${name}`))
    else results.push({ out: `Only in ${left.has(name) ? one : other}: ${name}\n`, differs: true })
  return { out: results.map(({ out }) => out).join(''), differs: results.some(({ differs }) => differs) }
}

async function diffPair(context: CommandContext, options: Parsed, one: string, other: string): Promise<DiffOutcome> {
  if (!(await isDirectory(context, one)) || !(await isDirectory(context, other)))
    return diffFiles(context, options, { one, other, heading: headingOf(options, one, other) })
  if (options.flags.has('r') || options.flags.has('recursive')) return diffTrees(context, options, one, other)
  return { out: `Common subdirectories: ${one} and ${other}\n`, differs: false }
}

const headingOf = ({ flags }: Parsed, one: string, other: string): string =>
  `diff ${[...flags].map((flag) => (flag.length > 1 ? `--${flag} ` : `-${flag} `)).join('')}${one} ${other}\n`

async function run(args: string[], context: CommandContext): Promise<ExecResult> {
  const options = parse(args, 'UxI')
  const [one, other] = options.rest
  if (one === undefined || other === undefined) return errorResult('diff', 'missing operand', 2)
  try {
    const [left, right] = [await isDirectory(context, one), await isDirectory(context, other)]
    const trees = left && right
    const inside = (name: string, file: string): string => `${name}/${file.replace(/^.*\//, '')}`
    const pair = { one: left ? inside(one, other) : one, other: right ? inside(other, one) : other, heading: '' }
    const { out, differs } = trees
      ? await diffTrees(context, options, one, other)
      : await diffFiles(context, options, pair)
    return textResult(out, differs ? 1 : 0)
  } catch (error) {
    const path = /'([^']*)'$/.exec(error instanceof Error ? error.message : '')?.[1] ?? one
    return errorResult('diff', `${path}: No such file or directory`, 2)
  }
}

/** Returns the message of cmp about the first difference, or ''. */
function firstDifference(one: string, other: string, [a, b]: readonly [Uint8Array, Uint8Array]): string {
  const shorter = Math.min(a.byteLength, b.byteLength)
  let at = 0
  while (at < shorter && a[at] === b[at]) at++
  if (at === shorter && a.byteLength === b.byteLength) return ''
  if (at === shorter) return `cmp: EOF on ${a.byteLength < b.byteLength ? one : other} after byte ${shorter}\n`
  const line = a.subarray(0, at).reduce((count, byte) => count + Number(byte === 10), 1)
  return `${one} ${other} differ: byte ${at + 1}, line ${line}\n`
}

const cmp = command('cmp', async (args, context) => {
  const { flags, rest } = parse(args, 'in')
  const [one = '-', other = '-'] = rest
  for (const name of [one, other])
    if (name !== '-' && !(await context.fs.exists(pathIn(context, name))))
      return errorResult('cmp', `${name}: No such file or directory`, 2)
  const message = firstDifference(one, other, [await readBytes(context, one), await readBytes(context, other)])
  const silent = flags.has('s') || flags.has('silent') || flags.has('quiet')
  if (message === '' || silent) return textResult('', message === '' ? 0 : 1)
  return message.startsWith('cmp:') ? textResult('', 1, message) : textResult(message, 1)
})

export const diffCommands: readonly Command[] = [command('diff', run), cmp]
