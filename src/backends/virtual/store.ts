/** Opens what all file operations share: rows, storage for large contents, quota and clock. */

import type { ChangeRecorder, CheckpointRows } from './checkpoint-rows.ts'
import { FileError } from './file-error.ts'
import { isBuiltIn, isSynthetic, join, nameOf, normalize, getParent, workspaceRoot } from './paths.ts'
import { type FileKind, openRows, type WorkspaceRow, type FileRows } from './rows.ts'
import { openTable, type Table } from './table.ts'

export type FileStoreOptions = {
  readonly sql: SqlStorage
  readonly blobs?: R2Bucket | undefined
  /** R2 prefix of this session's blobs, with a trailing slash. */
  readonly prefix: string
  /** May change over time. */
  readonly quotaBytes: () => number
  readonly now: () => number
  /** Shared by all stores on one storage. */
  readonly table?: Table | undefined
  /** Old versions, whose blobs must not be deleted. */
  readonly checkpoints?: Pick<CheckpointRows, 'findUsed' | 'takeUnused'> | undefined
  readonly recorder?: ChangeRecorder | undefined
}

export type FileStore = Omit<FileStoreOptions, 'sql' | 'table' | 'keeper'> & {
  readonly rows: FileRows
  readonly at: (path: string) => WorkspaceRow | undefined
  /** Resolves all links, including the last name. */
  readonly real: (path: string) => string
  /** Resolves the links of the directory, but not the last name. */
  readonly resolveParent: (path: string) => string
}

export function openStore({ sql, table = openTable(sql), recorder: keeper, ...options }: FileStoreOptions): FileStore {
  const rows = openRows(table, keeper)
  const at = (path: string): WorkspaceRow | undefined => {
    const [parent, name] = [getParent(path), nameOf(path)]
    return rows.get(parent, name) ?? (isBuiltIn(path) ? builtIn(parent, name) : undefined)
  }
  return { ...options, rows, at, ...linkResolver(rows, at) }
}

/** The row of a directory that exists without being stored. */
export const builtIn = (parent: string, name: string): WorkspaceRow => ({
  parent,
  name,
  kind: 'directory',
  mode: join(parent, name) === workspaceRoot ? 0o755 : 0o777,
  modified: 0,
  size: 0,
  ref: null,
})

export const newRow = (store: FileStore, path: string, kind: FileKind, mode: number): WorkspaceRow => ({
  parent: getParent(path),
  name: nameOf(path),
  kind,
  mode,
  modified: store.now(),
  size: 0,
  ref: null,
})

export function requireRow(store: FileStore, path: string, operation: string): WorkspaceRow {
  const row = store.at(path)
  if (!row) throw new FileError('ENOENT', operation, path)
  return row
}

export function makeDirectory(store: FileStore, path: string, recursive: boolean): void {
  const row = store.at(path)
  if (row?.kind === 'directory') return
  if (row) throw new FileError('ENOTDIR', 'mkdir', path)
  if (isSynthetic(path)) throw new FileError('EROFS', 'mkdir', path)
  const parent = getParent(path)
  if (recursive) makeDirectory(store, parent, true)
  else if (requireRow(store, parent, 'mkdir').kind !== 'directory') throw new FileError('ENOTDIR', 'mkdir', path)
  store.rows.put(newRow(store, path, 'directory', 0o755), null)
}

/** Deletes contents that no row references any more. */
export async function deleteUnusedBlobs(store: FileStore, rows: readonly (WorkspaceRow | undefined)[]): Promise<void> {
  const candidates = rows.flatMap((row) => (row?.kind === 'file' && row.ref ? [row.ref] : []))
  const used = store.checkpoints?.findUsed(candidates)
  const keys = [...candidates.filter((key) => !used?.has(key)), ...(store.checkpoints?.takeUnused() ?? [])]
  // R2 takes at most 1000 keys at a time.
  for (let i = 0; i < keys.length; i += 1000) await store.blobs?.delete(keys.slice(i, i + 1000))
}

const maxHops = 40

type LinkResolver = {
  /** Resolves all links, including the last name. */
  readonly real: (path: string) => string
  /** Resolves the links of the directory, but not the last name, which may be a link itself. */
  readonly resolveParent: (path: string) => string
}

/** Resolves symbolic links in paths. A loop is ELOOP. Without links in the workspace, paths are only normalized. */
function linkResolver(rows: Pick<FileRows, 'hasLinks'>, at: (path: string) => WorkspaceRow | undefined): LinkResolver {
  function real(path: string): string {
    const whole = normalize(path)
    if (!rows.hasLinks()) return whole
    let rest = whole.split('/').filter(Boolean)
    let reached = '/'
    let hops = 0
    while (rest.length > 0) {
      const [name = '', ...after] = rest
      const next = join(reached, name)
      const row = at(next)
      if (row?.kind !== 'link') {
        reached = next
        rest = after
        continue
      }
      if (++hops > maxHops) throw new FileError('ELOOP', 'open', path)
      const target = row.ref ?? ''
      const turned = normalize(target.startsWith('/') ? target : `${reached}/${target}`)
      rest = [...turned.split('/').filter(Boolean), ...after]
      reached = '/'
    }
    return reached
  }
  function resolveParent(path: string): string {
    const whole = normalize(path)
    return whole === '/' ? whole : join(real(getParent(whole)), nameOf(whole))
  }
  return { real, resolveParent }
}
