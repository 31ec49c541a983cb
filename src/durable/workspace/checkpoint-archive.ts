/**
 * Checkpoints of a machine that is not ours: before the first change of a turn the workspace goes to R2 as an archive,
 * with a list of what was in it. Going back is decided in one stretch and then done to the machine; until it is done,
 * nobody else gets to see the machine, so a crash in between is taken up again by whoever comes next.
 */

import type { FileStat } from '../../agent/model/backend.ts'
import {
  type Change,
  type Checkpoint,
  type Checkpoints,
  checkpointLimits,
  type Restored,
  type Selection,
} from '../../backends/checkpoints.ts'
import type { PortableBackend } from '../../backends/portable-backend.ts'
import { pack, unpack } from '../../backends/tar.ts'
import { archiveRows, type ArchiveRow, type PendingRollback } from './archive-rows.ts'
import { planTransfer } from './move-files.ts'
import { uploadInParts } from './upload.ts'

export type CheckpointArchive = {
  readonly begin: (run: string) => void
  /** Before the agent changes something; once in a turn. Never throws: a turn goes on without. */
  readonly saveBeforeChange: (machine: PortableBackend) => Promise<void>
  /** A person changes this. */
  readonly recordUserChange: (path: string) => void
  /** Ends what a crash has left half done. */
  readonly finishRollback: (machine: PortableBackend) => Promise<void>
  readonly checkpointsOf: (machine: PortableBackend) => Checkpoints
  /** The workspace is replaced as a whole. */
  readonly clear: () => Promise<void>
}

export type ArchiveOptions = {
  readonly sql: SqlStorage
  readonly blobs: R2Bucket
  /** Where archives of the session go. */
  readonly prefix: string
  readonly now: () => number
}

/** Paths that a list names of each. */
const NAMED = 200

type Stat = Pick<FileStat, 'path' | 'type' | 'size' | 'modified'>
type Listing = { readonly entries: readonly Stat[]; readonly left: readonly string[] }
type World = ArchiveOptions & { readonly rows: ReturnType<typeof archiveRows> }

export function openCheckpointArchive(options: ArchiveOptions): CheckpointArchive {
  const world: World = { ...options, rows: archiveRows(options.sql) }
  const { rows, now, blobs } = world
  let run: string | undefined
  let taking: Promise<void> | undefined
  let settling: Promise<void> | undefined
  const settle = async (machine: PortableBackend) => {
    if (rows.pending()) await (settling ??= perform(world, machine).finally(() => (settling = undefined)))
  }
  return {
    begin: (id) => void (run = id),
    async saveBeforeChange(machine) {
      if (run === undefined || rows.newest()?.run === run) return
      const turn = run
      taking ??= take(world, machine, turn)
        .catch((error: unknown) => console.warn('There is no checkpoint of this turn.', error))
        .finally(() => (taking = undefined))
      await taking
    },
    recordUserChange: (path) => rows.touch(path),
    finishRollback: settle,
    checkpointsOf: (machine) => checkpointsOf(world, machine, { begin: (id) => void (run = id), settle: () => settle(machine) }),
    async clear() {
      await remove(blobs, rows.forget({ from: 0, before: now() + 1 }))
    },
  }
}

/** What there is in the workspace; what is too large for an archive apart from it. */
async function look(machine: PortableBackend): Promise<Listing> {
  const { root } = machine.capabilities
  const tree = (await machine.tree()).filter(({ path }) => path.startsWith(`${root}/`))
  const large = tree.filter(({ type, size }) => type === 'file' && size > checkpointLimits.fileBytes).map(({ path }) => path)
  const { paths: fitting, skipped: left } = planTransfer(tree.filter(({ path }) => !large.includes(path)))
  const entries = tree.filter(({ path }) => fitting.has(path))
  return { entries, left: [...large, ...left.map(({ path }) => path)].toSorted() }
}

async function take(world: World, machine: PortableBackend, run: string): Promise<void> {
  const { rows, blobs, prefix, now } = world
  const listing = await look(machine)
  const newest = rows.newest()
  const key = `${prefix}${crypto.randomUUID()}`
  const wanted = new Set(listing.entries.map(({ path }) => path))
  const bytes = await uploadInParts(blobs, `${key}.tar`, pack(machine.snapshot((path) => wanted.has(path))))
  await blobs.put(`${key}.json`, JSON.stringify(listing))
  const before = newest && (await listingOf(world, newest))
  if (newest && before) rows.changed(newest.id, byAgent(rows, newest, differences(before, listing)))
  const gone = rows.add({ run, at: now(), key, bytes, left: listing.left }, checkpointLimits)
  await remove(blobs, gone)
}

async function listingOf({ blobs }: World, { key }: Pick<ArchiveRow, 'key'>): Promise<Listing> {
  const object = await blobs.get(`${key}.json`)
  if (!object) throw new Error('The list of a checkpoint is gone.')
  return object.json()
}

async function remove(blobs: R2Bucket, keys: readonly string[]): Promise<void> {
  if (keys.length) await blobs.delete(keys.flatMap((key) => [`${key}.tar`, `${key}.json`]))
}

/** Archives have whole seconds: a file that came back from one is the same. */
function isSame(one: Stat | undefined, other: Stat | undefined): boolean {
  if (!one || !other) return one === other
  if (one.type !== other.type) return false
  if (one.type === 'directory') return true
  const [a, b] = [one.modified, other.modified]
  const sameTime = a === b || ((a % 1000 === 0 || b % 1000 === 0) && Math.floor(a / 1000) === Math.floor(b / 1000))
  return one.size === other.size && sameTime
}

const byPath = ({ entries }: Listing) => new Map(entries.map((stat) => [stat.path, stat]))

/** Files and links that are not the same in both, without what is left out of either. */
function differences(before: Listing, after: Listing): readonly string[] {
  const [was, is] = [byPath(before), byPath(after)]
  const isLeft = leftOut(before, after)
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((path) => !isSame(was.get(path), is.get(path)) && !isLeft(path))
    .filter((path) => [was.get(path), is.get(path)].some((stat) => stat && stat.type !== 'directory'))
    .toSorted()
}

function leftOut(...listings: readonly Listing[]): (path: string) => boolean {
  const names = listings.flatMap(({ left }) => left)
  return (path) => names.some((name) => path === name || path.startsWith(`${name}/`) || name.startsWith(`${path}/`))
}

function byAgent(rows: World['rows'], { id }: ArchiveRow, changed: readonly string[]): readonly string[] {
  const byHand = new Set(rows.touched(id))
  return changed.filter((path) => !byHand.has(path))
}

const isWanted =
  ({ path, all }: Selection, byHand: ReadonlySet<string>) =>
  (one: string) =>
    path !== undefined ? one === path || one.startsWith(`${path}/`) : all === true || !byHand.has(one)

type Ways = { readonly begin: (run: string) => void; readonly settle: () => Promise<void> }

function checkpointsOf(world: World, machine: PortableBackend, { begin, settle }: Ways): Checkpoints {
  const { rows } = world
  let prepared:
    | { readonly key: string; readonly changed: readonly string[]; readonly left: readonly string[] }
    | undefined
  return {
    begin,
    has: (id, run) => rows.get(id)?.run === run,
    async list() {
      const [newest, ...older] = rows.list()
      if (!newest) return []
      const changed = differences(await listingOf(world, newest), await look(machine))
      return [
        described(newest, byAgent(rows, newest, changed)),
        ...older.map((row) => described(row, rows.changedOf(row.id))),
      ]
    },
    changes: (id, maxBytes) => changes(world, machine, { id, maxBytes }),
    async prepare(id, selection) {
      const row = rows.get(id)
      if (!row) return
      const changed = differences(await listingOf(world, row), await look(machine))
      prepared = { key: JSON.stringify([id, selection]), changed, left: row.left }
    },
    restore(id, selection): Restored | undefined {
      const row = rows.get(id)
      if (!row || prepared?.key !== JSON.stringify([id, selection])) return undefined
      const byHand = rows.touched(id)
      const wanted = isWanted(selection, new Set(byHand))
      rows.setPending({ id, key: row.key, selection, byHand })
      const kept = selection.path === undefined ? prepared.changed.filter((path) => !wanted(path)) : []
      return { restored: prepared.changed.filter(wanted), kept, left: prepared.left }
    },
    sweep: settle,
  }
}

const described = ({ id, run, at, left }: ArchiveRow, changed: readonly string[]): Checkpoint => {
  const files = changed.slice(0, NAMED)
  return { id, run, at, files, count: changed.length, left: left.slice(0, NAMED) }
}

async function* entriesOf({ blobs }: World, key: string, wanted: (path: string) => boolean) {
  const object = await blobs.get(`${key}.tar`)
  if (!object) throw new Error('The archive of a checkpoint is gone.')
  for await (const entry of unpack(object.body, (path) => wanted(`/${path.replace(/^\//, '')}`)))
    yield { ...entry, path: `/${entry.path.replace(/^\//, '')}` }
}

/** Brings the machine to where it is to be. Doing it twice is doing it once. */
async function perform(world: World, machine: PortableBackend): Promise<void> {
  const { rows, blobs } = world
  const pending = rows.pending()
  if (!pending) return
  if (!(await blobs.head(`${pending.key}.tar`)) || !(await blobs.head(`${pending.key}.json`))) {
    // Better files as they are than a machine that nobody gets to see again.
    console.error('A workspace cannot be put back: its archive is gone.')
    finish(rows, pending)
    return
  }
  const [before, now] = [await listingOf(world, pending), await look(machine)]
  const was = byPath(before)
  const isLeft = leftOut(before, now)
  const wanted = isWanted(pending.selection, new Set(pending.byHand))
  const differ = (path: string, is: Stat | undefined) => wanted(path) && !isLeft(path) && !isSame(was.get(path), is)
  const there = byPath(now)
  const gone = now.entries.filter((stat) => was.get(stat.path)?.type !== stat.type && differ(stat.path, stat))
  await removeFrom(machine, gone)
  const back = new Set(before.entries.filter(({ path }) => differ(path, there.get(path))).map(({ path }) => path))
  if (back.size) await machine.restore(entriesOf(world, pending.key, (path) => back.has(path)))
  await remove(blobs, finish(rows, pending))
}

/** Files first, then folders, the deepest first and only when nothing is left in them. */
async function removeFrom({ files }: PortableBackend, gone: readonly Stat[]): Promise<void> {
  for (const { path } of gone.filter(({ type }) => type !== 'directory')) await files.remove(path)
  const folders = gone.filter(({ type }) => type === 'directory').map(({ path }) => path)
  for (const path of folders.toSorted((a, b) => b.split('/').length - a.split('/').length))
    if (!(await files.list(path)).length) await files.remove(path)
}

/** Names of what is not needed any more. One file alone leaves the checkpoints as they are. */
function finish(rows: World['rows'], { id, selection, byHand }: PendingRollback): readonly string[] {
  rows.setPending(undefined)
  if (selection.path !== undefined) {
    rows.touch(selection.path)
    return []
  }
  const gone = rows.forget({ from: id })
  // What a person changed and kept is from now on a change since the checkpoint before.
  if (!selection.all) for (const path of byHand) rows.touch(path)
  return gone
}

type Asked = { readonly id: number; readonly maxBytes: number }

async function* changes(world: World, machine: PortableBackend, { id, maxBytes }: Asked): ReturnType<Checkpoints['changes']> {
  const row = world.rows.get(id)
  if (!row) return
  const [before, now] = [await listingOf(world, row), await look(machine)]
  const [was, is] = [byPath(before), byPath(now)]
  const changed = differences(before, now)
  const small = changed.filter((path) => Math.max(was.get(path)?.size ?? 0, is.get(path)?.size ?? 0) <= maxBytes)
  const old = new Map<string, Uint8Array>()
  for await (const entry of entriesOf(world, row.key, (path) => small.includes(path)))
    if (entry.kind === 'file') old.set(entry.path, entry.bytes)
  for (const path of changed) {
    if (!small.includes(path)) yield { path, tooLarge: true }
    else yield { path, before: old.get(path), after: await machine.files.read(path) } satisfies Change
  }
}
