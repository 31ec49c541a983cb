/**
 * Implements checkpoints for hosts: before the first change of a turn the workspace is stored in R2 as an archive with a
 * listing. A rollback is decided synchronously and stored, then performed on the host. Every access to the host finishes
 * a stored rollback first, so that it survives a crash.
 */

import { log } from '#agent/core/log.ts'
import type { FileStat } from '#agent/core/backend.ts'
import {
  type Change,
  type Checkpoint,
  checkpointLimits,
  type Checkpoints,
  listOpenTurns,
  type Restored,
  type Selection,
} from '#backends/checkpoints.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { pack, unpack } from '#backends/tar.ts'
import { type ArchiveRow, archiveRows, type PendingRollback } from './archive-rows.ts'
import { planTransfer, removeRead } from './move-files.ts'

export type CheckpointArchive = {
  readonly begin: (run: string) => void
  /** Must be called before the agent changes something; saves once per turn. Never throws: a turn continues without a checkpoint. */
  readonly saveBeforeChange: (host: PortableBackend) => Promise<void>
  /** Must be called when the user changes a path. */
  readonly recordUserChange: (path: string) => void
  /** Performs a rollback that was decided but not finished. */
  readonly finishRollback: (host: PortableBackend) => Promise<void>
  readonly checkpointsOf: (host: PortableBackend) => Checkpoints
  /** Deletes all checkpoints, because the whole workspace is replaced. */
  readonly clear: () => Promise<void>
}

export type ArchiveOptions = {
  readonly sql: SqlStorage
  readonly blobs: R2Bucket
  /** R2 prefix of the session's archives. */
  readonly prefix: string
  readonly now: () => number
}

/** Paths that the list shows of each checkpoint. */
const maxListedPaths = 200

type ArchivedStat = Pick<FileStat, 'path' | 'type' | 'size' | 'modified'>
/** The stored listing of a checkpoint. `left`: paths that the archive omits. */
type ArchiveListing = { readonly entries: readonly ArchivedStat[]; readonly left: readonly string[] }
type ArchiveContext = ArchiveOptions & { readonly rows: ReturnType<typeof archiveRows> }

export function openCheckpointArchive(options: ArchiveOptions): CheckpointArchive {
  const context: ArchiveContext = { ...options, rows: archiveRows(options.sql) }
  const { rows, now, blobs } = context
  let run: string | undefined
  let saving: Promise<void> | undefined
  let rollback: Promise<void> | undefined
  const finishRollback = async (host: PortableBackend) => {
    if (rows.pending()) await (rollback ??= performRollback(context, host).finally(() => (rollback = undefined)))
  }
  return {
    begin: (id) => void (run = id),
    async saveBeforeChange(host) {
      if (run === undefined || listOpenTurns(rows.list().map((row) => row.run)).includes(run)) return
      const turn = run
      saving ??= saveCheckpoint(context, host, turn)
        .catch((error: unknown) =>
          log.warn('checkpoint.unsaved', 'The checkpoint of this turn could not be saved.', { error }),
        )
        .finally(() => (saving = undefined))
      await saving
    },
    recordUserChange: (path) => rows.touch(path),
    finishRollback,
    checkpointsOf: (host) =>
      createCheckpoints(context, host, { begin: (id) => void (run = id), finishRollback: () => finishRollback(host) }),
    async clear() {
      await deleteArchives(blobs, rows.forget({ from: 0, before: now() + 1 }))
    },
  }
}

/** Lists the workspace, with paths that are too large for an archive in `left`. */
async function listWorkspace(host: PortableBackend): Promise<ArchiveListing> {
  const { root } = host.capabilities
  const tree = (await host.tree()).filter(({ path }) => path === root || path.startsWith(`${root}/`))
  const large = tree
    .filter(({ type, size }) => type === 'file' && size > checkpointLimits.fileBytes)
    .map(({ path }) => path)
  const { paths: storable, skipped: left } = planTransfer(tree.filter(({ path }) => !large.includes(path)))
  const entries = tree.filter(({ path }) => storable.has(path))
  return { entries, left: [...large, ...left.map(({ path }) => path)].toSorted() }
}

async function saveCheckpoint(context: ArchiveContext, host: PortableBackend, run: string): Promise<void> {
  const { rows, blobs, prefix, now } = context
  const listed = await listWorkspace(host)
  const newest = rows.newest()
  const key = `${prefix}${crypto.randomUUID()}`
  const stored = new Set(listed.entries.map(({ path }) => path))
  const unread = new Set(stored)
  const archived = removeRead(
    host.snapshot((path) => stored.has(path)),
    unread,
  )
  const bytes = await uploadInParts(blobs, `${key}.tar`, pack(archived))
  const entries = listed.entries.filter(({ path }) => !unread.has(path))
  const listing = { entries, left: [...listed.left, ...unread].toSorted() }
  await blobs.put(`${key}.json`, JSON.stringify(listing))
  const before = newest && (await readListing(context, newest))
  if (newest && before) rows.changed(newest.id, withoutUserChanges(rows, newest, listChangedPaths(before, listing)))
  const deletedKeys = rows.add({ run, at: now(), key, bytes, left: listing.left }, checkpointLimits)
  await deleteArchives(blobs, deletedKeys)
}

async function readListing({ blobs }: ArchiveContext, { key }: Pick<ArchiveRow, 'key'>): Promise<ArchiveListing> {
  const object = await blobs.get(`${key}.json`)
  if (!object) throw new Error('The listing of a checkpoint is missing.')
  return object.json()
}

async function deleteArchives(blobs: R2Bucket, keys: readonly string[]): Promise<void> {
  if (keys.length) await blobs.delete(keys.flatMap((key) => [`${key}.tar`, `${key}.json`]))
}

/** Archives have whole seconds, so the times of a restored file may differ by less than one. */
function isSame(one: ArchivedStat | undefined, other: ArchivedStat | undefined): boolean {
  if (!one || !other) return one === other
  if (one.type !== other.type) return false
  if (one.type === 'directory') return true
  const [a, b] = [one.modified, other.modified]
  const sameTime = a === b || ((a % 1000 === 0 || b % 1000 === 0) && Math.floor(a / 1000) === Math.floor(b / 1000))
  return one.size === other.size && sameTime
}

const indexByPath = ({ entries }: ArchiveListing) => new Map(entries.map((stat) => [stat.path, stat]))

/** Paths of files and links that differ, without those that one listing omits. */
function listChangedPaths(before: ArchiveListing, after: ArchiveListing): readonly string[] {
  const [previous, current] = [indexByPath(before), indexByPath(after)]
  const isOmitted = createOmittedMatcher(before, after)
  return [...new Set([...previous.keys(), ...current.keys()])]
    .filter((path) => !isSame(previous.get(path), current.get(path)) && !isOmitted(path))
    .filter((path) => [previous.get(path), current.get(path)].some((stat) => stat && stat.type !== 'directory'))
    .toSorted()
}

function createOmittedMatcher(...listings: readonly ArchiveListing[]): (path: string) => boolean {
  const names = listings.flatMap(({ left }) => left)
  return (path) => names.some((name) => path === name || path.startsWith(`${name}/`) || name.startsWith(`${path}/`))
}

function withoutUserChanges(
  rows: ArchiveContext['rows'],
  { id }: ArchiveRow,
  changed: readonly string[],
): readonly string[] {
  const userPaths = new Set(rows.touched(id))
  return changed.filter((path) => !userPaths.has(path))
}

const createSelector =
  ({ path, all }: Selection, userPaths: ReadonlySet<string>) =>
  (one: string) =>
    path !== undefined ? one === path || one.startsWith(`${path}/`) : all === true || !userPaths.has(one)

async function mark(context: ArchiveContext, host: PortableBackend, key: string): Promise<boolean> {
  try {
    await saveCheckpoint(context, host, key)
    return true
  } catch (error) {
    log.warn('checkpoint.unsaved', 'A named checkpoint could not be saved.', { error })
    return false
  }
}

type Actions = { readonly begin: (run: string) => void; readonly finishRollback: () => Promise<void> }

function createCheckpoints(
  context: ArchiveContext,
  host: PortableBackend,
  { begin, finishRollback }: Actions,
): Checkpoints {
  const { rows } = context
  let prepared:
    | { readonly key: string; readonly changed: readonly string[]; readonly left: readonly string[] }
    | undefined
  return {
    begin,
    mark: (key) => mark(context, host, key),
    has: (id, run) => rows.get(id)?.run === run,
    async list() {
      const [newest, ...older] = rows.list()
      if (!newest) return []
      const changed = listChangedPaths(await readListing(context, newest), await listWorkspace(host))
      return [
        toCheckpoint(newest, withoutUserChanges(rows, newest, changed)),
        ...older.map((row) => toCheckpoint(row, rows.changedOf(row.id))),
      ]
    },
    changes: (id, maxBytes) => changes(context, host, { id, maxBytes }),
    async prepare(id, selection) {
      const row = rows.get(id)
      if (!row) return
      const changed = listChangedPaths(await readListing(context, row), await listWorkspace(host))
      prepared = { key: JSON.stringify([id, selection]), changed, left: row.left }
    },
    restore(id, selection): Restored | undefined {
      const row = rows.get(id)
      if (!row || prepared?.key !== JSON.stringify([id, selection])) return undefined
      const userPaths = rows.touched(id)
      const isRestored = createSelector(selection, new Set(userPaths))
      rows.setPending({ id, key: row.key, selection, byHand: userPaths })
      const kept = selection.path === undefined ? prepared.changed.filter((path) => !isRestored(path)) : []
      return { restored: prepared.changed.filter(isRestored), kept, left: prepared.left }
    },
    finishRestore: finishRollback,
  }
}

const toCheckpoint = ({ id, run, at, left }: ArchiveRow, changed: readonly string[]): Checkpoint => {
  const files = changed.slice(0, maxListedPaths)
  return { id, run, at, files, count: changed.length, left: left.slice(0, maxListedPaths) }
}

async function* readEntries({ blobs }: ArchiveContext, key: string, isWantedPath: (path: string) => boolean) {
  const object = await blobs.get(`${key}.tar`)
  if (!object) throw new Error('The archive of a checkpoint is missing.')
  for await (const entry of unpack(object.body, (path) => isWantedPath(`/${path.replace(/^\//, '')}`)))
    yield { ...entry, path: `/${entry.path.replace(/^\//, '')}` }
}

/** Performs the stored rollback. Idempotent. */
async function performRollback(context: ArchiveContext, host: PortableBackend): Promise<void> {
  const { rows, blobs } = context
  const pending = rows.pending()
  if (!pending) return
  if (!(await blobs.head(`${pending.key}.tar`)) || !(await blobs.head(`${pending.key}.json`))) {
    // Without the archive the rollback is dropped: otherwise the host would stay inaccessible.
    log.error('checkpoint.missing', 'A workspace cannot be restored: its archive is missing.')
    finishRows(rows, pending)
    return
  }
  const [before, now] = [await readListing(context, pending), await listWorkspace(host)]
  const previous = indexByPath(before)
  const isOmitted = createOmittedMatcher(before, now)
  const isRestored = createSelector(pending.selection, new Set(pending.byHand))
  const needsChange = (path: string, stat: ArchivedStat | undefined) =>
    isRestored(path) && !isOmitted(path) && !isSame(previous.get(path), stat)
  const current = indexByPath(now)
  const toRemove = now.entries.filter(
    (stat) => previous.get(stat.path)?.type !== stat.type && needsChange(stat.path, stat),
  )
  await removeFrom(host, toRemove)
  const toRestore = new Set(
    before.entries.filter(({ path }) => needsChange(path, current.get(path))).map(({ path }) => path),
  )
  if (toRestore.size) await host.restore(readEntries(context, pending.key, (path) => toRestore.has(path)))
  await deleteArchives(blobs, finishRows(rows, pending))
}

/** Removes files first, then empty folders, the deepest first. */
async function removeFrom({ files }: PortableBackend, entries: readonly ArchivedStat[]): Promise<void> {
  for (const { path } of entries.filter(({ type }) => type !== 'directory')) await files.remove(path)
  const folders = entries.filter(({ type }) => type === 'directory').map(({ path }) => path)
  for (const path of folders.toSorted((a, b) => b.split('/').length - a.split('/').length))
    if (!(await files.list(path)).length) await files.remove(path)
}

/** Ends a rollback and returns the keys that are not needed any more. Restoring a single path deletes no checkpoints. */
function finishRows(rows: ArchiveContext['rows'], { id, selection, byHand }: PendingRollback): readonly string[] {
  rows.setPending(undefined)
  if (selection.path !== undefined) {
    rows.touch(selection.path)
    return []
  }
  const deletedKeys = rows.forget({ from: id })
  // Changes of the user that were not restored now belong to the checkpoint before.
  if (!selection.all) for (const path of byHand) rows.touch(path)
  return deletedKeys
}

type ChangesOptions = { readonly id: number; readonly maxBytes: number }

async function* changes(
  context: ArchiveContext,
  host: PortableBackend,
  { id, maxBytes }: ChangesOptions,
): ReturnType<Checkpoints['changes']> {
  const row = context.rows.get(id)
  if (!row) return
  const [before, now] = [await readListing(context, row), await listWorkspace(host)]
  const [previous, current] = [indexByPath(before), indexByPath(now)]
  const changed = listChangedPaths(before, now)
  const small = changed.filter(
    (path) => Math.max(previous.get(path)?.size ?? 0, current.get(path)?.size ?? 0) <= maxBytes,
  )
  const oldContents = new Map<string, Uint8Array>()
  for await (const entry of readEntries(context, row.key, (path) => small.includes(path)))
    if (entry.kind === 'file') oldContents.set(entry.path, entry.bytes)
  for (const path of changed) {
    if (!small.includes(path)) yield { path, tooLarge: true }
    else yield { path, before: oldContents.get(path), after: await host.files.read(path) } satisfies Change
  }
}

/** All parts but the last must have the same size. */
const partBytes = 8 * 1024 * 1024

/** Returns the number of bytes. */
export async function uploadInParts(blobs: R2Bucket, key: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const part = new Uint8Array(partBytes)
  let [filled, sum] = [0, 0]
  let parts: R2MultipartUpload | undefined
  const done: R2UploadedPart[] = []
  const send = async () => {
    parts ??= await blobs.createMultipartUpload(key)
    done.push(await parts.uploadPart(done.length + 1, part.slice(0, filled)))
    filled = 0
  }
  const take = async (chunk: Uint8Array): Promise<void> => {
    const piece = chunk.subarray(0, partBytes - filled)
    part.set(piece, filled)
    filled += piece.byteLength
    if (filled === partBytes) await send()
    if (piece.byteLength < chunk.byteLength) await take(chunk.subarray(piece.byteLength))
  }
  try {
    for await (const chunk of chunks) {
      sum += chunk.byteLength
      await take(chunk)
    }
    if (!parts) await blobs.put(key, part.slice(0, filled))
    else {
      if (filled) await send()
      await parts.complete(done)
    }
    return sum
  } catch (error) {
    await parts?.abort()
    throw error
  }
}
