/** What every file operation stands on: rows, where large content goes, the quota and the clock. */

import type { CheckpointRows, ChangeRecorder } from './checkpoint-rows.ts'
import { FileError } from './file-error.ts'
import { linkResolver } from './links.ts'
import { workspaceRoot, isBuiltIn, isSynthetic, join, nameOf, parentOf } from './paths.ts'
import { type Kind, openRows, type Row, type Rows } from './rows.ts'
import { openTable, type Table } from './table.ts'

export type StoreOptions = {
  readonly sql: SqlStorage
  readonly blobs?: R2Bucket | undefined
  /** Where this session's blobs live, with a trailing slash. */
  readonly prefix: string
  /** May change. */
  readonly quotaBytes: () => number
  readonly now: () => number
  /** Several of these on one storage share it. */
  readonly table?: Table | undefined
  /** Old versions, which need their contents too. */
  readonly checkpoints?: Pick<CheckpointRows, 'held' | 'takeDoomed'> | undefined
  readonly recorder?: ChangeRecorder | undefined
}

export type Store = Omit<StoreOptions, 'sql' | 'table' | 'keeper'> & {
  readonly rows: Rows
  readonly at: (path: string) => Row | undefined
  /** Every link followed, the last one too. */
  readonly real: (path: string) => string
  /** Links of the directory followed, the last name kept. */
  readonly place: (path: string) => string
}

export function openStore({ sql, table = openTable(sql), recorder: keeper, ...options }: StoreOptions): Store {
  const rows = openRows(table, keeper)
  const at = (path: string): Row | undefined => {
    const [parent, name] = [parentOf(path), nameOf(path)]
    return rows.get(parent, name) ?? (isBuiltIn(path) ? builtIn(parent, name) : undefined)
  }
  return { ...options, rows, at, ...linkResolver(rows, at) }
}

/** A directory that exists without a row, as a row. */
export const builtIn = (parent: string, name: string): Row => ({
  parent,
  name,
  kind: 'directory',
  mode: join(parent, name) === workspaceRoot ? 0o755 : 0o777,
  modified: 0,
  size: 0,
  ref: null,
})

export const newRow = (store: Store, path: string, kind: Kind, mode: number): Row => ({
  parent: parentOf(path),
  name: nameOf(path),
  kind,
  mode,
  modified: store.now(),
  size: 0,
  ref: null,
})

export function requireRow(store: Store, path: string, operation: string): Row {
  const row = store.at(path)
  if (!row) throw new FileError('ENOENT', operation, path)
  return row
}

export function makeDirectory(store: Store, path: string, recursive: boolean): void {
  const row = store.at(path)
  if (row?.kind === 'directory') return
  if (row) throw new FileError('ENOTDIR', 'mkdir', path)
  if (isSynthetic(path)) throw new FileError('EROFS', 'mkdir', path)
  const parent = parentOf(path)
  if (recursive) makeDirectory(store, parent, true)
  else if (requireRow(store, parent, 'mkdir').kind !== 'directory') throw new FileError('ENOTDIR', 'mkdir', path)
  store.rows.put(newRow(store, path, 'directory', 0o755), null)
}

/** Removes content that no row names any more. */
export async function deleteUnusedBlobs(store: Store, rows: readonly (Row | undefined)[]): Promise<void> {
  const named = rows.flatMap((row) => (row?.kind === 'file' && row.ref ? [row.ref] : []))
  const held = store.checkpoints?.findUsed(named)
  const keys = [...named.filter((key) => !held?.has(key)), ...(store.checkpoints?.takeUnused() ?? [])]
  // R2 takes at most 1000 keys at a time.
  for (let i = 0; i < keys.length; i += 1000) await store.blobs?.delete(keys.slice(i, i + 1000))
}
