/** Implements unzip: list, test, print and extract, up to a size limit. */

import { crc32 } from '#agent/core/crc32.ts'
import { openZipArchive, type ZipArchive } from '#backends/office/inside/zip-archive.ts'
import { BudgetError, createBudget } from '#backends/office/inside/work-budget.ts'
import {
  type Command,
  command,
  type CommandContext,
  errorResult,
  type ExecResult,
  pathIn,
  readBytes,
  textResult,
} from './io.ts'
import { byteResult } from './text.ts'

const maxUnpackedBytes = 64 * 1024 * 1024
const maxEntries = 10_000

type UnzipOptions = {
  readonly verb: 'list' | 'test' | 'print' | 'extract'
  readonly file: string
  readonly directory: string
  readonly flags: ReadonlySet<string>
  readonly wanted: readonly string[]
  readonly excluded: readonly string[]
}

/** The entries of an archive, and what went wrong on the way. */
type Report = { readonly lines: string[]; readonly parts: Uint8Array[]; readonly problems: string[] }

export const unzip: Command = command('unzip', async (args, context) => {
  const options = parseArguments(args)
  if (options.flags.has('P')) return errorResult('unzip', 'archives with a password cannot be opened here', 82)
  if (!options.file) return errorResult('unzip', 'which archive? unzip [-l] [-o] [-d DIR] FILE.zip [NAME…]', 10)
  try {
    const bytes = await readBytes(context, await findArchive(context, options.file))
    const limits = { unpackedBytes: maxUnpackedBytes, characters: Infinity, steps: Infinity }
    const archive = openZipArchive(
      bytes,
      createBudget(limits, () => Promise.resolve()),
    )
    if (!archive) return errorResult('unzip', `${options.file} is not a zip archive, or only a part of one`, 9)
    if (archive.total > maxEntries) return errorResult('unzip', `more than ${maxEntries} entries`, 5)
    const unpacked = archive.names.reduce((sum, name) => sum + (archive.describe(name)?.bytes ?? 0), 0)
    if (unpacked > maxUnpackedBytes && options.verb !== 'list') throw new BudgetError('The entries are too large.')
    return await useArchive(context, archive, options)
  } catch (error) {
    if (error instanceof BudgetError) return errorResult('unzip', 'the archive unpacks to more than 64 MiB', 5)
    return errorResult('unzip', error instanceof Error ? error.message : String(error), 9)
  }
})

const verbs: readonly (readonly [flag: string, verb: UnzipOptions['verb']])[] = [
  ['l', 'list'],
  ['v', 'list'],
  ['Z', 'list'],
  ['t', 'test'],
  ['p', 'print'],
  ['c', 'print'],
]

function parseArguments(args: readonly string[]): UnzipOptions {
  const flags = new Set<string>()
  const names: string[] = []
  const excluded: string[] = []
  let directory = '.'
  let given = names
  const queue = [...args]
  for (let arg = queue.shift(); arg !== undefined; arg = queue.shift()) {
    if (arg.length < 2 || !arg.startsWith('-')) given.push(arg)
    else if (arg === '-x') given = excluded
    else {
      const folder = parseLetters(arg.slice(1), flags)
      if (folder !== undefined) given = names
      if (folder !== undefined) directory = folder || (queue.shift() ?? '.')
    }
  }
  const verb = verbs.find(([flag]) => flags.has(flag))?.[1] ?? 'extract'
  const [file = '', ...wanted] = names
  return { verb, file, directory, flags, wanted, excluded }
}

/** Returns the folder behind `d`: empty when it is the next argument. Behind `P` is a password. */
function parseLetters(letters: string, flags: Set<string>): string | undefined {
  const [, plain = '', valued, value] = /^([^dP]*)(?:([dP])(.*))?$/s.exec(letters) ?? []
  for (const letter of plain) flags.add(letter)
  if (valued === 'P') flags.add('P')
  return valued === 'd' ? value : undefined
}

/** As Info-ZIP, a name without its ending is tried with it. */
async function findArchive(context: CommandContext, name: string): Promise<string> {
  if (name === '-') return name
  for (const one of [name, `${name}.zip`]) if (await context.fs.exists(pathIn(context, one))) return one
  throw new Error(`cannot find or open ${name}, ${name}.zip`)
}

async function useArchive(context: CommandContext, archive: ZipArchive, options: UnzipOptions): Promise<ExecResult> {
  const names = archive.names.filter(
    (name) => (!options.wanted.length || matches(name, options.wanted)) && !matches(name, options.excluded),
  )
  const missing = options.wanted.filter((pattern) => !archive.names.some((name) => matches(name, [pattern])))
  const report: Report = { lines: [], parts: [], problems: missing.map((name) => `filename not matched:  ${name}`) }
  if (options.verb === 'list') return textResult(renderList(archive, names, options.file), missing.length ? 11 : 0)
  for (const name of names) await useEntry(context, { archive, name, options, report })
  const code = exitCodeOf(report, missing.length > 0)
  const stderr = report.problems.map((text) => `unzip: ${text}\n`).join('')
  if (options.verb === 'print') return { ...byteResult(Buffer.concat(report.parts)), stderr, exitCode: code }
  const quiet = options.flags.has('q') && options.verb === 'extract'
  const head = `Archive:  ${options.file}\n`
  const end = options.verb === 'test' && !code ? `No errors detected in compressed data of ${options.file}.\n` : ''
  return { ...textResult(quiet ? '' : head + report.lines.join('') + end, code), stderr }
}

/** The codes of Info-ZIP. */
function exitCodeOf({ problems }: Report, isMissing: boolean): number {
  if (problems.some((text) => text.includes('password'))) return 82
  if (isMissing) return 11
  return problems.length ? 1 : 0
}

/** `*` also matches a slash, as in Info-ZIP. */
const matches = (name: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')
    return new RegExp(`^${source}$`, 's').test(name)
  })

const showTime = (modified: number): string =>
  Number.isNaN(modified) ? '1980-01-01 00:00' : new Date(modified).toISOString().slice(0, 16).replace('T', ' ')

function renderList(archive: ZipArchive, names: readonly string[], file: string): string {
  const rows = names.map((name) => ({ name, bytes: 0, modified: 0, ...archive.describe(name) }))
  const sum = rows.reduce((bytes, row) => bytes + row.bytes, 0)
  const lines = rows.map(({ name, bytes, modified }) => `${String(bytes).padStart(9)}  ${showTime(modified)}   ${name}`)
  const count = `${rows.length} file${rows.length === 1 ? '' : 's'}`
  return [
    `Archive:  ${file}`,
    '  Length      Date    Time    Name',
    '---------  ---------- -----   ----',
    ...lines,
    '---------                     -------',
    `${String(sum).padStart(9)}                     ${count}`,
    '',
  ].join('\n')
}

type EntryUse = {
  readonly archive: ZipArchive
  readonly name: string
  readonly options: UnzipOptions
  readonly report: Report
}

async function useEntry(context: CommandContext, use: EntryUse): Promise<void> {
  const { archive, name, options, report } = use
  const isFolder = /[/\\]$/.test(name)
  if (isFolder && options.verb !== 'extract') return
  if (archive.isLink(name)) return void report.problems.push(`${name} is a link, and was left out`)
  if (archive.describe(name)?.isEncrypted)
    return void report.problems.push(`skipping: ${name}  it needs a password, which cannot be given here`)
  const bytes = isFolder ? new Uint8Array() : await readChecked(archive, name)
  if (!bytes) return void report.problems.push(`${name}  is damaged (bad CRC)`)
  if (options.verb === 'print') report.parts.push(bytes)
  else if (options.verb === 'test') report.lines.push(`    testing: ${name}   OK\n`)
  else await extract(context, use, isFolder ? undefined : bytes)
}

async function readChecked(archive: ZipArchive, name: string): Promise<Uint8Array | undefined> {
  try {
    const bytes = await archive.readBytes(name)
    return bytes && crc32(bytes) === archive.describe(name)?.checksum ? bytes : undefined
  } catch (error) {
    if (error instanceof BudgetError) throw error
    return undefined
  }
}

/** `bytes`: undefined for a folder. */
async function extract(
  context: CommandContext,
  { archive, name, options, report }: EntryUse,
  bytes: Uint8Array | undefined,
): Promise<void> {
  const isFlat = options.flags.has('j')
  const inside = isFlat ? name.replace(/^.*[/\\]/s, '') : name.replaceAll('\\', '/')
  const root = pathIn(context, options.directory)
  const path = context.fs.resolvePath(root, `./${inside}`)
  // An entry must not be written outside of the directory, as with `..` in its name.
  if (!isInside(path, root)) return void report.problems.push(`${name} leads out of the directory, and was left out`)
  if (!bytes) return isFlat ? undefined : context.fs.mkdir(path, { recursive: true })
  if (!(await mayWrite(context, path, options))) {
    if (!options.flags.has('n')) report.problems.push(`${name} exists already: -o replaces it, -n keeps it`)
    return
  }
  await context.fs.mkdir(path.replace(/\/[^/]*$/, '') || '/', { recursive: true })
  await context.fs.writeFile(path, bytes)
  const mode = archive.describe(name)?.mode
  if (mode) await context.fs.chmod(path, mode)
  const folder = options.directory === '.' ? '' : `${options.directory.replace(/\/$/, '')}/`
  report.lines.push(`  inflating: ${folder}${inside}\n`)
}

const isInside = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === '/' ? '/' : `${root}/`)

const mayWrite = async ({ fs }: CommandContext, path: string, { flags }: UnzipOptions): Promise<boolean> =>
  flags.has('o') || !(await fs.exists(path))
