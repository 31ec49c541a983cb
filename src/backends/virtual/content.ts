/** The bytes of files. What can refuse a write refuses it before a byte is stored. */

import { FileError } from './file-error.ts'
import { isSynthetic, parentOf } from './paths.ts'
import type { Row } from './rows.ts'
import { deleteUnusedBlobs, makeDirectory, requireRow, newRow, type Store } from './store.ts'

/** Above this a file goes to R2: a row may hold 2 MB, and large rows make every scan slow. */
const LARGE = 512 * 1024
/** Without R2 a file must fit into a row. */
const ROW_LIMIT = 1_900_000
/** With R2: a file is in memory while it is read or written, and goes to the shell in one message of at most 32 MiB. */
const FILE_LIMIT = 30 * 1024 * 1024

export async function read(store: Store, target: string): Promise<Uint8Array> {
  const row = requireRow(store, store.real(target), 'open')
  if (row.kind !== 'file') throw new FileError('EISDIR', 'read', target)
  if (row.ref === null) return store.rows.content(row.parent, row.name)
  const blob = await store.blobs?.get(row.ref)
  if (!blob) throw new FileError('EIO', 'read', target)
  return new Uint8Array(await blob.arrayBuffer())
}

/** What a file is given when it is not simply written now; a mode that is not given is kept. */
export type Attributes = { readonly mode?: number; readonly modified?: number }

/** Makes missing directories. True when the file is new. */
export async function write(store: Store, target: string, bytes: Uint8Array, as: Attributes = {}): Promise<boolean> {
  const path = store.real(target)
  const size = bytes.byteLength
  requireRoom(store, path, size)
  const ref = store.blobs && size > LARGE ? store.prefix + crypto.randomUUID() : null
  if (ref) await store.blobs?.put(ref, bytes)
  // Storing a blob takes time in which the tree may change: what decides is what is there now.
  const before = requireRoom(store, path, size)
  makeDirectory(store, parentOf(path), true)
  const fresh = newRow(store, path, 'file', as.mode ?? before?.mode ?? 0o644)
  const row = { ...fresh, modified: as.modified ?? fresh.modified, size, ref }
  store.rows.put(row, ref ? null : bytes)
  await deleteUnusedBlobs(store, [before])
  return before === undefined
}

export async function append(store: Store, target: string, bytes: Uint8Array): Promise<void> {
  const path = store.real(target)
  const row = store.at(path)
  const size = (row?.size ?? 0) + bytes.byteLength
  if (row?.kind === 'file' && row.ref === null && size <= LARGE) {
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

function requireRoom(store: Store, path: string, size: number): Row | undefined {
  if (isSynthetic(path)) throw new FileError('EROFS', 'open', path)
  const before = store.at(path)
  if (before?.kind === 'directory') throw new FileError('EISDIR', 'open', path)
  if (size > (store.blobs ? FILE_LIMIT : ROW_LIMIT)) throw new FileError('EFBIG', 'open', path)
  const after = store.rows.bytes() - (before?.size ?? 0) + size
  if (after > store.quotaBytes()) throw new FileError('ENOSPC', 'open', path)
  return before
}
