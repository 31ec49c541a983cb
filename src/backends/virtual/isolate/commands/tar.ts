/** Implements tar: create, list and extract, with or without gzip, up to a size limit. */

import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  type ExecResult,
  pathIn,
  readBytes,
  textResult,
} from './io.ts'
import type { SnapshotEntry } from '../../snapshot.ts'
import { pack, toStream, unpack } from '#backends/tar.ts'
import { byteResult } from './text.ts'

const maxArchiveBytes = 64 * 1024 * 1024

type TarOptions = {
  verb: string
  file: string
  directory: string
  strip: number
  gzip: boolean
  verbose: boolean
  readonly exclude: string[]
  readonly names: string[]
}

const longOptions: Readonly<Record<string, string>> = {
  create: 'c',
  extract: 'x',
  get: 'x',
  list: 't',
  file: 'f',
  gzip: 'z',
  verbose: 'v',
  directory: 'C',
}

function setOption(options: TarOptions, letter: string, value: () => string): void {
  if ('cxtru'.includes(letter)) options.verb = letter
  else if (letter === 'f') options.file = value()
  else if (letter === 'C') options.directory = value()
  else if (letter === 'z') options.gzip = true
  else if (letter === 'v') options.verbose = true
}

/** Parses letters of one argument: a value is the rest of it, or the next argument. */
function parseLetters(options: TarOptions, letters: string, next: () => string): void {
  const valued = /[fC]/.exec(letters)
  const flags = valued ? letters.slice(0, valued.index) : letters
  for (const letter of flags) setOption(options, letter, next)
  if (valued) setOption(options, valued[0], () => letters.slice(valued.index + 1) || next())
}

function parseLong(options: TarOptions, arg: string, next: () => string): void {
  const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
  const value = (): string => inline ?? next()
  if (name === 'exclude') options.exclude.push(value())
  else if (name === 'strip-components') options.strip = Number(value())
  else setOption(options, longOptions[name] ?? '', value)
}

function parseArguments([first = '', ...others]: readonly string[]): TarOptions {
  const options: TarOptions = {
    verb: '',
    file: '-',
    directory: '.',
    strip: 0,
    gzip: false,
    verbose: false,
    exclude: [],
    names: [],
  }
  // The first argument may have no dash.
  const queue = [first.startsWith('-') ? first : `-${first}`, ...others]
  const next = (): string => queue.shift() ?? ''
  while (queue.length > 0) {
    const arg = next()
    if (arg.startsWith('--')) parseLong(options, arg, next)
    else if (arg.startsWith('-') && arg.length > 1) parseLetters(options, arg.slice(1), next)
    else options.names.push(arg)
  }
  return options
}

async function transform(bytes: Uint8Array, stream: TransformStream<Uint8Array, Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  const body = new Response(bytes as Uint8Array<ArrayBuffer>).body
  if (!body) return bytes
  for await (const part of body.pipeThrough(stream)) {
    size += part.byteLength
    if (size > maxArchiveBytes) throw new Error(`archive is larger than ${maxArchiveBytes / 1024 / 1024} MiB`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const streamFrom = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body ?? new ReadableStream()

const gzip = (bytes: Uint8Array): Promise<Uint8Array> => transform(bytes, new CompressionStream('gzip') as never)
const gunzip = (bytes: Uint8Array): Promise<Uint8Array> => transform(bytes, new DecompressionStream('gzip') as never)

function isExcluded(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')
    return new RegExp(`(^|/)${source}/?$`).test(path)
  })
}

type Member = { readonly path: string; readonly name: string }

async function collect(
  context: CommandContext,
  options: TarOptions,
  member: Member,
  entries: SnapshotEntry[],
): Promise<void> {
  const { path, name } = member
  if (isExcluded(name, options.exclude)) return
  const stat = await context.fs.lstat(path)
  const about = { path: name, mode: stat.mode & 0o7777, modified: stat.mtime.getTime() }
  if (stat.isSymbolicLink) entries.push({ ...about, kind: 'link', target: await context.fs.readlink(path) })
  else if (!stat.isDirectory) entries.push({ ...about, kind: 'file', bytes: await context.fs.readFileBuffer(path) })
  else {
    entries.push({ ...about, kind: 'directory' })
    for (const child of await context.fs.readdir(path))
      await collect(context, options, { path: context.fs.resolvePath(path, child), name: `${name}/${child}` }, entries)
  }
  if (entries.reduce((sum, entry) => sum + sizeOf(entry), 0) > maxArchiveBytes)
    throw new Error('too much for one archive (64 MiB)')
}

/** Makes a name relative, without `..`. */
const memberName = (name: string): string =>
  name
    .replace(/^.*\.\.(\/|$)/, '')
    .replace(/^\/+/, '')
    .replace(/\/+$/, '') || '.'

const sizeOf = (entry: SnapshotEntry): number => (entry.kind === 'file' ? entry.bytes.byteLength : 0)

const listName = ({ path, kind }: SnapshotEntry): string => `${path}${kind === 'directory' ? '/' : ''}\n`

async function create(context: CommandContext, options: TarOptions): Promise<ExecResult> {
  if (options.names.length === 0) return errorResult('tar', 'Cowardly refusing to create an empty archive', 2)
  const entries: SnapshotEntry[] = []
  const root = pathIn(context, options.directory)
  for (const name of options.names)
    await collect(context, options, { path: context.fs.resolvePath(root, name), name: memberName(name) }, entries)
  const plain = new Uint8Array(await new Response(toStream(pack(entries))).arrayBuffer())
  const compressed = options.gzip || /\.t?gz$/.test(options.file) ? await gzip(plain) : plain
  const listing = options.verbose ? entries.map(listName).join('') : ''
  if (options.file === '-') return { ...byteResult(compressed), stderr: listing }
  await context.fs.writeFile(pathIn(context, options.file), compressed)
  return textResult(listing)
}

const listVerbose = (entry: SnapshotEntry): string => {
  const { kind, mode, modified } = entry
  const letters = [6, 3, 0].map((shift) =>
    ['r', 'w', 'x'].map((letter, i) => ((mode >> shift) & (4 >> i) ? letter : '-')).join(''),
  )
  const type = { directory: 'd', link: 'l', file: '-' }[kind]
  const date = new Date(modified).toISOString().slice(0, 16).replace('T', ' ')
  return `${type}${letters.join('')} user/user ${String(sizeOf(entry)).padStart(9)} ${date} ${listName(entry)}`
}

async function extractOne(context: CommandContext, root: string, name: string, entry: SnapshotEntry): Promise<void> {
  const path = context.fs.resolvePath(root, name)
  // An entry must not be written outside of the directory, as with `..` in its name.
  if (path !== root && !path.startsWith(root === '/' ? '/' : `${root}/`))
    throw new Error(`${entry.path}: leads out of the directory`)
  if (entry.kind === 'directory') {
    await context.fs.mkdir(path, { recursive: true })
    return context.fs.chmod(path, entry.mode)
  }
  await context.fs.mkdir(path.replace(/\/[^/]*$/, '') || '/', { recursive: true })
  if (entry.kind === 'link') {
    await context.fs.rm(path, { force: true })
    return context.fs.symlink(entry.target, path)
  }
  await context.fs.writeFile(path, entry.bytes)
  await context.fs.chmod(path, entry.mode)
}

async function readArchive(context: CommandContext, options: TarOptions): Promise<ExecResult> {
  const stored = await readBytes(context, options.file)
  const bytes = stored[0] === 0x1f && stored[1] === 0x8b ? await gunzip(stored) : stored
  const named = (path: string): boolean =>
    options.names.length === 0 ||
    options.names.some((one) => path === one.replace(/\/$/, '') || path.startsWith(`${one.replace(/\/$/, '')}/`))
  const entries: SnapshotEntry[] = []
  for await (const entry of unpack(streamFrom(bytes), (path) => named(path) && !isExcluded(path, options.exclude)))
    entries.push(entry)
  if (options.verb === 't') return textResult(entries.map(options.verbose ? listVerbose : listName).join(''))
  const root = pathIn(context, options.directory)
  for (const entry of entries) {
    const name = entry.path.split('/').slice(options.strip).join('/')
    if (name !== '') await extractOne(context, root, name, entry)
  }
  return textResult(options.verbose ? entries.map(listName).join('') : '')
}

export const tar: Command = command('tar', async (args, context) => {
  const options = parseArguments(args)
  try {
    if (options.verb === 'c') return await create(context, options)
    if (options.verb === 'x' || options.verb === 't') return await readArchive(context, options)
    return errorResult('tar', 'one of -c, -x and -t is needed', 2)
  } catch (error) {
    return errorResult('tar', error instanceof Error ? error.message : String(error), 2)
  }
})
