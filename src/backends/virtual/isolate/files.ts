/**
 * Implements the file system of just-bash: /bin, /dev and /proc are in memory, everything else is requested from the
 * session. Runs in the shell's isolate or, without one, in the session's Durable Object.
 */

import { type BufferEncoding, type IFileSystem, InMemoryFs } from 'just-bash/browser'
import { resolvePath, isSynthetic } from '../paths.ts'
import type { ShellHost } from '../protocol.ts'
import type { FileEntry } from '../sql-files.ts'

type Encoding = Parameters<IFileSystem['readFile']>[1]
type ShellStat = Awaited<ReturnType<IFileSystem['stat']>>

const encodingOf = (options: Encoding): string => (typeof options === 'string' ? options : options?.encoding) ?? 'utf8'

const decode = (bytes: Uint8Array, encoding: string): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding as BufferEncoding)

const encode = (content: string | Uint8Array, options: Encoding): Uint8Array =>
  typeof content === 'string' ? new Uint8Array(Buffer.from(content, encodingOf(options) as BufferEncoding)) : content

const renderStat = ({ path, kind, mode, size, modified }: FileEntry): ShellStat => ({
  isFile: kind === 'file',
  isDirectory: kind === 'directory',
  isSymbolicLink: kind === 'link',
  mode,
  size,
  mtime: new Date(modified),
  identity: `workspace:${path}`,
})

type Dirent = { name: string; isFile: boolean; isDirectory: boolean; isSymbolicLink: boolean }

const getDirent = ({ path, kind }: FileEntry): Dirent => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  isFile: kind === 'file',
  isDirectory: kind === 'directory',
  isSymbolicLink: kind === 'link',
})

const directory = (name: string): Dirent => ({ name, isFile: false, isDirectory: true, isSymbolicLink: false })

/** Folders in memory, which the session does not list. */
const unlistedFolders: Readonly<Record<string, readonly string[]>> = { '/': ['bin', 'dev', 'proc'], '/usr': ['bin'] }

/** just-bash uses the two synchronous methods to create stubs of its commands in /bin. */
type SyncFileSystem = IFileSystem & {
  readonly mkdirSync: (path: string, options?: { recursive?: boolean }) => void
  readonly writeFileSync: (path: string, content: string | Uint8Array) => void
}

export function shellFiles(host: ShellHost): SyncFileSystem {
  const memory = new InMemoryFs()
  const ask = async <T>(operation: string, ...args: unknown[]): Promise<T> => {
    const answer = await host.call(operation, args)
    if ('error' in answer) throw new Error(answer.error)
    return answer.ok as T
  }
  return { ...contentFiles(memory, ask), ...treeFiles(memory, ask) }
}

type Ask = <T>(operation: string, ...args: unknown[]) => Promise<T>

type ContentMethods = 'readFile' | 'readFileBytes' | 'readFileBuffer' | 'writeFile' | 'appendFile' | 'cp' | 'link'
type ByteText = Awaited<ReturnType<NonNullable<IFileSystem['readFileBytes']>>>

function contentFiles(memory: InMemoryFs, ask: Ask): Required<Pick<IFileSystem, ContentMethods>> {
  const buffer = (path: string): Promise<Uint8Array> =>
    isSynthetic(path) ? memory.readFileBuffer(path) : ask<Uint8Array>('read', path)
  const write = (path: string, bytes: Uint8Array): Promise<void> =>
    isSynthetic(path) ? memory.writeFile(path, bytes) : ask('write', path, bytes)
  return {
    readFileBuffer: buffer,
    readFile: async (path, options) => decode(await buffer(path), encodingOf(options)),
    readFileBytes: async (path) => decode(await buffer(path), 'latin1') as unknown as ByteText,
    writeFile: (path, content, options) => write(path, encode(content, options)),
    appendFile: (path, content, options) =>
      isSynthetic(path) ? memory.appendFile(path, content, options) : ask('append', path, encode(content, options)),
    async cp(from, to, options) {
      if (isSynthetic(from) || isSynthetic(to)) await write(to, await buffer(from))
      else await ask('copy', from, to, options?.recursive ?? false)
    },
    // Files have only one name, so a hard link is a copy.
    link: async (from, to) => write(to, await buffer(from)),
  }
}

function treeFiles(memory: InMemoryFs, ask: Ask): Omit<SyncFileSystem, ContentMethods> {
  const dirents = async (path: string): Promise<Dirent[]> => {
    if (isSynthetic(path)) return memory.readdirWithFileTypes(path)
    const entries = (await ask<FileEntry[]>('list', path)).map(getDirent)
    const hidden = unlistedFolders[resolvePath(path, '/')] ?? []
    return [...entries, ...hidden.map(directory)].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }
  return {
    mkdirSync: (path, options) => (isSynthetic(path) ? memory.mkdirSync(path, options) : undefined),
    writeFileSync: (path, content) => (isSynthetic(path) ? memory.writeFileSync(path, content) : undefined),
    exists: (path) => (isSynthetic(path) ? memory.exists(path) : ask('exists', path)),
    stat: async (path) => (isSynthetic(path) ? memory.stat(path) : renderStat(await ask<FileEntry>('stat', path))),
    lstat: async (path) => (isSynthetic(path) ? memory.lstat(path) : renderStat(await ask<FileEntry>('lstat', path))),
    mkdir: (path, options) =>
      isSynthetic(path) ? memory.mkdir(path, options) : ask('mkdir', path, options?.recursive ?? false),
    readdir: async (path) => (await dirents(path)).map(({ name }) => name),
    readdirWithFileTypes: dirents,
    async rm(path, options) {
      if (isSynthetic(path)) return memory.rm(path, options)
      await ask('remove', path, { recursive: options?.recursive ?? false, force: options?.force ?? false })
    },
    mv: (from, to) => ask('move', from, to),
    resolvePath: (base, path) => resolvePath(path.startsWith('~') ? `./${path}` : path, base),
    // Only used by a failed glob of `ls`; the paths of the session are not needed.
    getAllPaths: () => memory.getAllPaths(),
    chmod: (path, mode) => (isSynthetic(path) ? memory.chmod(path, mode) : ask('chmod', path, mode)),
    symlink: (target, link) => ask('symlink', target, link),
    readlink: (path) => (isSynthetic(path) ? memory.readlink(path) : ask('readlink', path)),
    realpath: (path) => (isSynthetic(path) ? memory.realpath(path) : ask('realpath', path)),
    utimes: (path, accessed, modified) =>
      isSynthetic(path) ? memory.utimes(path, accessed, modified) : ask('touch', path, modified.getTime()),
  }
}
