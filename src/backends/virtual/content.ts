/** Reads and writes the contents of files. Limits are checked before any byte is stored. */

import { FileError } from './file-error.ts'
import { isSynthetic, getParent } from './paths.ts'
import type { WorkspaceRow } from './rows.ts'
import { deleteUnusedBlobs, makeDirectory, requireRow, newRow, type FileStore } from './store.ts'

/** Larger files are stored in R2: a row may have 2 MB, and large rows make every scan slow. */
const maxInlineBytes = 512 * 1024
/** Limit without R2, where a file must fit into a row. */
const maxRowBytes = 1_900_000
/** Limit with R2: a file is held in memory, and is sent to the shell in one message of at most 32 MiB. */
const maxFileBytes = 30 * 1024 * 1024

export async function read(store: FileStore, target: string): Promise<Uint8Array> {
  const row = requireRow(store, store.real(target), 'open')
  if (row.kind !== 'file') throw new FileError('EISDIR', 'read', target)
  if (row.ref === null) return store.rows.content(row.parent, row.name)
  const blob = await store.blobs?.get(row.ref)
  if (!blob) throw new FileError('EIO', 'read', target)
  return new Uint8Array(await blob.arrayBuffer())
}

/** Attributes of a written file; without a mode it keeps its mode. */
export type Attributes = { readonly mode?: number; readonly modified?: number }

/** Creates missing directories. Returns whether the file is new. */
export async function write(
  store: FileStore,
  target: string,
  bytes: Uint8Array,
  attributes: Attributes = {},
): Promise<boolean> {
  const path = store.real(target)
  const size = bytes.byteLength
  requireRoom(store, path, size)
  const ref = store.blobs && size > maxInlineBytes ? store.prefix + crypto.randomUUID() : null
  if (ref) await store.blobs?.put(ref, bytes)
  // The tree may have changed while the blob was stored: check again.
  const before = requireRoom(store, path, size)
  makeDirectory(store, getParent(path), true)
  const newFile = newRow(store, path, 'file', attributes.mode ?? before?.mode ?? 0o644)
  const row = { ...newFile, modified: attributes.modified ?? newFile.modified, size, ref }
  store.rows.put(row, ref ? null : bytes)
  await deleteUnusedBlobs(store, [before])
  return before === undefined
}

export async function append(store: FileStore, target: string, bytes: Uint8Array): Promise<void> {
  const path = store.real(target)
  const row = store.at(path)
  const size = (row?.size ?? 0) + bytes.byteLength
  if (row?.kind === 'file' && row.ref === null && size <= maxInlineBytes) {
    requireRoom(store, path, size)
    store.rows.append(row, bytes, store.now())
    return
  }
  const start = row ? await read(store, path) : new Uint8Array()
  const whole = new Uint8Array(start.byteLength + bytes.byteLength)
  whole.set(start)
  whole.set(bytes, start.byteLength)
  await write(store, path, whole)
}

function requireRoom(store: FileStore, path: string, size: number): WorkspaceRow | undefined {
  if (isSynthetic(path)) throw new FileError('EROFS', 'open', path)
  const before = store.at(path)
  if (before?.kind === 'directory') throw new FileError('EISDIR', 'open', path)
  if (size > (store.blobs ? maxFileBytes : maxRowBytes)) throw new FileError('EFBIG', 'open', path)
  const after = store.rows.bytes() - (before?.size ?? 0) + size
  if (after > store.quotaBytes()) throw new FileError('ENOSPC', 'open', path)
  return before
}
