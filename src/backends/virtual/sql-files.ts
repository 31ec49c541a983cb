/**
 * Implements a POSIX-like file system on SQLite rows: symbolic links, modes, recursive removal, errno. Files over
 * 512 KiB are in R2. Everything but R2 access is synchronous, so that no operation is visible half done.
 */

import type { FileLink } from '#agent/core/backend.ts'
import { append, type Attributes, read, write } from './content.ts'
import { FileError } from './file-error.ts'
import { builtInFolders, join } from './paths.ts'
import type { FileKind, WorkspaceRow } from './rows.ts'
import { builtIn, makeDirectory, requireRow, openStore, type FileStore, type FileStoreOptions } from './store.ts'
import { change, copy, move, readlink, remove, type RemoveOptions, symlink } from './tree.ts'

export type FileEntry = {
  readonly path: string
  readonly kind: FileKind
  readonly mode: number
  readonly modified: number
  readonly size: number
}

export type SqlFiles = {
  readonly stat: (path: string) => FileEntry | undefined
  /** Does not resolve a link in the last name. */
  readonly lstat: (path: string) => FileEntry | undefined
  readonly list: (path: string) => readonly FileEntry[]
  /** Lists the entries below a directory, or the file itself, sorted by path. */
  readonly walk: (path: string) => readonly FileEntry[]
  readonly read: (path: string) => Promise<Uint8Array>
  readonly write: (path: string, bytes: Uint8Array, attributes?: Attributes) => Promise<boolean>
  readonly append: (path: string, bytes: Uint8Array) => Promise<void>
  readonly mkdir: (path: string, recursive: boolean) => void
  readonly remove: (path: string, options: RemoveOptions) => Promise<boolean>
  readonly copy: (from: string, to: string, recursive: boolean) => Promise<void>
  readonly move: (from: string, to: string) => Promise<void>
  readonly symlink: (target: string, path: string) => void
  readonly readlink: (path: string) => string
  /** Lists all links with their targets. */
  readonly links: () => readonly FileLink[]
  readonly realpath: (path: string) => string
  readonly change: (path: string, to: Attributes) => void
  readonly usedBytes: () => number
}

export function openSqlFiles(options: FileStoreOptions): SqlFiles {
  const store = openStore(options)
  return {
    stat: (path) => entryOrNone(store.at(store.real(path))),
    lstat: (path) => entryOrNone(store.at(store.resolveParent(path))),
    list: (path) => list(store, path),
    walk: (path) => walk(store, path),
    read: (path) => read(store, path),
    write: (path, bytes, attributes) => write(store, path, bytes, attributes),
    append: (path, bytes) => append(store, path, bytes),
    mkdir(path, recursive) {
      const resolved = store.real(path)
      if (!recursive && store.at(resolved)) throw new FileError('EEXIST', 'mkdir', path)
      makeDirectory(store, resolved, recursive)
    },
    remove: (path, removeOptions) => remove(store, path, removeOptions),
    copy: (from, to, recursive) => copy(store, from, to, recursive),
    move: (from, to) => move(store, from, to),
    symlink: (target, path) => symlink(store, target, path),
    readlink: (path) => readlink(store, path),
    links: () =>
      store.rows.hasLinks()
        ? store.rows.links().map(({ parent, name, ref }) => ({ path: join(parent, name), target: ref ?? '' }))
        : [],
    realpath(path) {
      const found = store.real(path)
      requireRow(store, found, 'realpath')
      return found
    },
    change: (path, to) => change(store, path, to),
    usedBytes: () => store.rows.bytes(),
  }
}

function list(store: FileStore, target: string): FileEntry[] {
  const path = store.real(target)
  if (requireRow(store, path, 'scandir').kind !== 'directory') throw new FileError('ENOTDIR', 'scandir', target)
  const children = store.rows.children(path)
  if (path !== '/') return children.map(entry)
  const missing = builtInFolders.filter((name) => !children.some((child) => child.name === name))
  return sorted([...children, ...missing.map((name) => builtIn('/', name))].map(entry))
}

function walk(store: FileStore, target: string): FileEntry[] {
  const path = store.real(target)
  const row = requireRow(store, path, 'scandir')
  return sorted((row.kind === 'directory' ? store.rows.below(path) : [row]).map(entry))
}

const sorted = (entries: readonly FileEntry[]): FileEntry[] => entries.toSorted((a, b) => (a.path < b.path ? -1 : 1))

const entry = ({ parent, name, kind, mode, modified, size }: WorkspaceRow): FileEntry => ({
  path: join(parent, name),
  kind,
  mode,
  modified,
  size,
})

const entryOrNone = (row: WorkspaceRow | undefined): FileEntry | undefined => row && entry(row)
