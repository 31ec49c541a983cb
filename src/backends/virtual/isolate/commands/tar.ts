/** tar: create, list and extract, plain or with gzip. Archives are bounded like everything else here. */

import { type Command, command, complain, type Context, type ExecResult, pathIn, readBytes, say } from './io.ts'
import type { SnapshotEntry } from '../../snapshot.ts'
import { pack, toStream, unpack } from '../../../tar.ts'
import { bytesOut } from './text.ts'

const MAX_BYTES = 64 * 1024 * 1024

type Wanted = {
  verb: string
  file: string
  directory: string
  strip: number
  gzip: boolean
  verbose: boolean
  readonly exclude: string[]
  readonly names: string[]
}

const LONG: Readonly<Record<string, string>> = {
  create: 'c',
  extract: 'x',
  get: 'x',
  list: 't',
  file: 'f',
  gzip: 'z',
  verbose: 'v',
  directory: 'C',
}

function take(wanted: Wanted, letter: string, value: () => string): void {
  if ('cxtru'.includes(letter)) wanted.verb = letter
  else if (letter === 'f') wanted.file = value()
  else if (letter === 'C') wanted.directory = value()
  else if (letter === 'z') wanted.gzip = true
  else if (letter === 'v') wanted.verbose = true
}

/** Letters in one word: a value is what is left of it, or the next word. */
function takeLetters(wanted: Wanted, letters: string, next: () => string): void {
  const valued = /[fC]/.exec(letters)
  const flags = valued ? letters.slice(0, valued.index) : letters
  for (const letter of flags) take(wanted, letter, next)
  if (valued) take(wanted, valued[0], () => letters.slice(valued.index + 1) || next())
}

function takeLong(wanted: Wanted, arg: string, next: () => string): void {
  const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
  const value = (): string => inline ?? next()
  if (name === 'exclude') wanted.exclude.push(value())
  else if (name === 'strip-components') wanted.strip = Number(value())
  else take(wanted, LONG[name] ?? '', value)
}

function readArguments([first = '', ...others]: readonly string[]): Wanted {
  const wanted: Wanted = {
    verb: '',
    file: '-',
    directory: '.',
    strip: 0,
    gzip: false,
    verbose: false,
    exclude: [],
    names: [],
  }
  // The first word may be letters without a dash.
  const queue = [first.startsWith('-') ? first : `-${first}`, ...others]
  const next = (): string => queue.shift() ?? ''
  while (queue.length > 0) {
    const arg = next()
    if (arg.startsWith('--')) takeLong(wanted, arg, next)
    else if (arg.startsWith('-') && arg.length > 1) takeLetters(wanted, arg.slice(1), next)
    else wanted.names.push(arg)
  }
  return wanted
}

async function through(bytes: Uint8Array, stream: TransformStream<Uint8Array, Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  const body = new Response(bytes as Uint8Array<ArrayBuffer>).body
  if (!body) return bytes
  for await (const part of body.pipeThrough(stream)) {
    size += part.byteLength
    if (size > MAX_BYTES) throw new Error(`archive is larger than ${MAX_BYTES / 1024 / 1024} MiB`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const streamFrom = (bytes: Uint8Array): ReadableStream<Uint8Array> =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body ?? new ReadableStream()

const gzip = (bytes: Uint8Array): Promise<Uint8Array> => through(bytes, new CompressionStream('gzip') as never)
const gunzip = (bytes: Uint8Array): Promise<Uint8Array> => through(bytes, new DecompressionStream('gzip') as never)

function excluded(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')
    return new RegExp(`(^|/)${source}/?$`).test(path)
  })
}

type Member = { readonly path: string; readonly name: string }

async function collect(context: Context, wanted: Wanted, member: Member, entries: SnapshotEntry[]): Promise<void> {
  const { path, name } = member
  if (excluded(name, wanted.exclude)) return
  const stat = await context.fs.lstat(path)
  const about = { path: name, mode: stat.mode & 0o7777, modified: stat.mtime.getTime() }
  if (stat.isSymbolicLink) entries.push({ ...about, kind: 'link', target: await context.fs.readlink(path) })
  else if (!stat.isDirectory) entries.push({ ...about, kind: 'file', bytes: await context.fs.readFileBuffer(path) })
  else {
    entries.push({ ...about, kind: 'directory' })
    for (const child of await context.fs.readdir(path))
      await collect(context, wanted, { path: context.fs.resolvePath(path, child), name: `${name}/${child}` }, entries)
  }
  if (entries.reduce((sum, entry) => sum + sizeOf(entry), 0) > MAX_BYTES)
    throw new Error('too much for one archive (64 MiB)')
}

/** Names in an archive never begin at the root or above where it is unpacked. */
const memberName = (name: string): string =>
  name
    .replace(/^.*\.\.(\/|$)/, '')
    .replace(/^\/+/, '')
    .replace(/\/+$/, '') || '.'

const sizeOf = (entry: SnapshotEntry): number => (entry.kind === 'file' ? entry.bytes.byteLength : 0)

const shown = ({ path, kind }: SnapshotEntry): string => `${path}${kind === 'directory' ? '/' : ''}\n`

async function create(context: Context, wanted: Wanted): Promise<ExecResult> {
  if (wanted.names.length === 0) return complain('tar', 'Cowardly refusing to create an empty archive', 2)
  const entries: SnapshotEntry[] = []
  const root = pathIn(context, wanted.directory)
  for (const name of wanted.names)
    await collect(context, wanted, { path: context.fs.resolvePath(root, name), name: memberName(name) }, entries)
  const plain = new Uint8Array(await new Response(toStream(pack(entries))).arrayBuffer())
  const compressed = wanted.gzip || /\.t?gz$/.test(wanted.file) ? await gzip(plain) : plain
  const listing = wanted.verbose ? entries.map(shown).join('') : ''
  if (wanted.file === '-') return { ...bytesOut(compressed), stderr: listing }
  await context.fs.writeFile(pathIn(context, wanted.file), compressed)
  return say(listing)
}

const ranked = (entry: SnapshotEntry): string => {
  const { kind, mode, modified } = entry
  const letters = [6, 3, 0].map((shift) =>
    ['r', 'w', 'x'].map((letter, i) => ((mode >> shift) & (4 >> i) ? letter : '-')).join(''),
  )
  const type = { directory: 'd', link: 'l', file: '-' }[kind]
  const date = new Date(modified).toISOString().slice(0, 16).replace('T', ' ')
  return `${type}${letters.join('')} user/user ${String(sizeOf(entry)).padStart(9)} ${date} ${shown(entry)}`
}

async function extractOne(context: Context, root: string, name: string, entry: SnapshotEntry): Promise<void> {
  const path = context.fs.resolvePath(root, name)
  // Neither an absolute name nor one with dots leads out of the directory.
  if (path !== root && !path.startsWith(root === '/' ? '/' : `${root}/`))
    throw new Error(`${entry.path}: leads out of the directory`)
  if (entry.kind === 'directory') return context.fs.mkdir(path, { recursive: true })
  await context.fs.mkdir(path.replace(/\/[^/]*$/, '') || '/', { recursive: true })
  if (entry.kind === 'link') {
    await context.fs.rm(path, { force: true })
    return context.fs.symlink(entry.target, path)
  }
  await context.fs.writeFile(path, entry.bytes)
  await context.fs.chmod(path, entry.mode)
}

async function read(context: Context, wanted: Wanted): Promise<ExecResult> {
  const stored = await readBytes(context, wanted.file)
  const bytes = stored[0] === 0x1f && stored[1] === 0x8b ? await gunzip(stored) : stored
  const named = (path: string): boolean =>
    wanted.names.length === 0 ||
    wanted.names.some((one) => path === one.replace(/\/$/, '') || path.startsWith(`${one.replace(/\/$/, '')}/`))
  const entries: SnapshotEntry[] = []
  for await (const entry of unpack(streamFrom(bytes), (path) => named(path) && !excluded(path, wanted.exclude)))
    entries.push(entry)
  if (wanted.verb === 't') return say(entries.map(wanted.verbose ? ranked : shown).join(''))
  const root = pathIn(context, wanted.directory)
  for (const entry of entries) {
    const name = entry.path.split('/').slice(wanted.strip).join('/')
    if (name !== '') await extractOne(context, root, name, entry)
  }
  return say(wanted.verbose ? entries.map(shown).join('') : '')
}

export const tar: Command = command('tar', async (args, context) => {
  const wanted = readArguments(args)
  try {
    if (wanted.verb === 'c') return await create(context, wanted)
    if (wanted.verb === 'x' || wanted.verb === 't') return await read(context, wanted)
    return complain('tar', 'one of -c, -x and -t is needed', 2)
  } catch (error) {
    return complain('tar', error instanceof Error ? error.message : String(error), 2)
  }
})
