/** Removes, copies, moves and links files and directories. */

import { type Attributes, read, write } from './content.ts'
import { FileError } from './file-error.ts'
import { isBuiltIn, isSynthetic, isUnder, join, nameOf, getParent } from './paths.ts'
import type { WorkspaceRow } from './rows.ts'
import { deleteUnusedBlobs, makeDirectory, requireRow, newRow, type FileStore } from './store.ts'

export type RemoveOptions = { readonly recursive: boolean; readonly force: boolean }

/** Returns whether anything was removed. */
export async function remove(store: FileStore, target: string, options: RemoveOptions): Promise<boolean> {
  const path = store.resolveParent(target)
  const row = store.at(path)
  if (!row) {
    if (options.force) return false
    throw new FileError('ENOENT', 'rm', target)
  }
  const below = row.kind === 'directory' ? store.rows.below(path) : []
  if (below.length > 0 && !options.recursive) throw new FileError('ENOTEMPTY', 'rm', target)
  if (below.length > 0) store.rows.removeBelow(path)
  if (!isBuiltIn(path)) store.rows.remove(row.parent, row.name)
  await deleteUnusedBlobs(store, [row, ...below])
  return true
}

/** Entries after which other tasks of the Durable Object may run. */
const yieldEveryEntries = 200

/** Links below a directory are copied as links, so that they cannot form a loop. */
export async function copy(store: FileStore, from: string, to: string, recursive: boolean): Promise<void> {
  const source = store.real(from)
  const row = requireRow(store, source, 'cp')
  if (row.kind !== 'directory') return copyFile(store, row, to)
  const target = store.real(to)
  if (!recursive) throw new FileError('EISDIR', 'cp', from)
  if (target === source || isUnder(target, source)) throw new FileError('EINVAL', 'cp', to)
  makeDirectory(store, target, true)
  const waiting = [{ source, goal: target }]
  let count = 0
  for (let at = waiting.pop(); at; at = waiting.pop()) {
    for (const child of store.rows.children(at.source)) {
      if (++count % yieldEveryEntries === 0) await scheduler.wait(0)
      const childTarget = join(at.goal, child.name)
      if (child.kind === 'file') await copyFile(store, child, childTarget)
      else if (child.kind === 'link') await copyLink(store, child, childTarget)
      else {
        makeDirectory(store, childTarget, false)
        waiting.push({ source: join(at.source, child.name), goal: childTarget })
      }
    }
  }
}

async function copyFile(store: FileStore, row: WorkspaceRow, to: string): Promise<void> {
  await write(store, to, await read(store, join(row.parent, row.name)), { mode: row.mode })
}

async function copyLink(store: FileStore, { ref }: WorkspaceRow, to: string): Promise<void> {
  if (store.at(to)) await remove(store, to, { recursive: false, force: true })
  symlink(store, ref ?? '', to)
}

export async function move(store: FileStore, from: string, to: string): Promise<void> {
  const [source, target] = [store.resolveParent(from), store.resolveParent(to)]
  const row = requireRow(store, source, 'mv')
  if (source === target) return
  if (isUnder(target, source) || isBuiltIn(source)) throw new FileError('EINVAL', 'mv', from)
  if (isSynthetic(target)) throw new FileError('EROFS', 'mv', to)
  if (requireRow(store, getParent(target), 'mv').kind !== 'directory') throw new FileError('ENOTDIR', 'mv', to)
  const existing = store.at(target)
  if (existing) clearTarget(store, existing, row)
  store.rows.rename(row, getParent(target), nameOf(target))
  await deleteUnusedBlobs(store, [existing])
}

/** Clears the target of a move: a file may replace a file, a directory an empty directory. */
function clearTarget(store: FileStore, existing: WorkspaceRow, row: WorkspaceRow): void {
  const path = join(existing.parent, existing.name)
  if (existing.kind === 'directory' && row.kind !== 'directory') throw new FileError('EISDIR', 'mv', path)
  if (existing.kind !== 'directory' && row.kind === 'directory') throw new FileError('ENOTDIR', 'mv', path)
  const full = existing.kind === 'directory' && store.rows.children(path).length > 0
  if (full || isBuiltIn(path)) throw new FileError('ENOTEMPTY', 'mv', path)
  store.rows.remove(existing.parent, existing.name)
}

export function symlink(store: FileStore, target: string, link: string): void {
  const path = store.resolveParent(link)
  if (store.at(path)) throw new FileError('EEXIST', 'symlink', link)
  if (isSynthetic(path)) throw new FileError('EROFS', 'symlink', link)
  makeDirectory(store, getParent(path), true)
  store.rows.put({ ...newRow(store, path, 'link', 0o777), size: target.length, ref: target }, null)
}

export function readlink(store: FileStore, target: string): string {
  const row = requireRow(store, store.resolveParent(target), 'readlink')
  if (row.kind !== 'link' || row.ref === null) throw new FileError('EINVAL', 'readlink', target)
  return row.ref
}

/** Changing a built-in directory has no effect, because it has no row. */
export function change(store: FileStore, target: string, to: Attributes): void {
  const row = requireRow(store, store.real(target), 'chmod')
  store.rows.change(row, { mode: to.mode ?? row.mode, modified: to.modified ?? row.modified })
}
