/**
 * Restores a checkpoint of the virtual backend. `prepare` copies large contents that two files would otherwise share;
 * `restore` then changes the rows synchronously, inside the caller's transaction.
 */

import type { Restored, Selection } from '../checkpoints.ts'
import { agentBit, type CheckpointRows, userBit } from './checkpoint-rows.ts'
import { workspaceRoot, isBuiltIn, isUnder, join, nameOf, getParent } from './paths.ts'
import type { FileKind } from './rows.ts'
import type { Table } from './table.ts'

export type RestoreOptions = {
  readonly rows: CheckpointRows
  readonly table: Table
  readonly blobs?: R2Bucket | undefined
  readonly prefix: string
  readonly now: () => number
}

/** The oldest version of a path since a checkpoint: its state at the checkpoint. */
export type Version = {
  readonly parent: string
  readonly name: string
  readonly first: number
  readonly agent: number
  readonly person: number
  readonly kind: FileKind | 'absent' | 'omitted'
  readonly size: number
  readonly ref: string | null
}

/** Keys of copied large contents, by the key of the original. */
export type Copies = Map<string, string>

const selectVersions = `SELECT k.parent, k.name, v.first, v.agent, v.person, k.kind, k.size, k.ref FROM
  (SELECT parent, name, min(checkpoint) AS first, max(who & ${agentBit}) AS agent, max(who & ${userBit}) AS person
    FROM kept WHERE checkpoint >= ? GROUP BY parent, name) v
  JOIN kept k ON k.checkpoint = v.first AND k.parent = v.parent AND k.name = v.name ORDER BY k.parent, k.name`

export const versionsSince = ({ rows }: Pick<RestoreOptions, 'rows'>, id: number): readonly Version[] =>
  rows.all<Version>(selectVersions, id)

export const pathOf = ({ parent, name }: Pick<Version, 'parent' | 'name'>): string => join(parent, name)

const isSelected = ({ agent, person, ...position }: Version, { path, all }: Selection): boolean => {
  if (path !== undefined) return pathOf(position) === path || isUnder(pathOf(position), path)
  return all === true || (agent !== 0 && person === 0)
}

type Plan = { readonly selected: readonly Version[]; readonly others: readonly Version[] }

function getPlan(options: RestoreOptions, id: number, selection: Selection): Plan {
  const versions = versionsSince(options, id)
  return {
    selected: versions.filter((one) => isSelected(one, selection)),
    others: versions.filter((one) => !isSelected(one, selection)),
  }
}

/** Keys of large contents that an unchanged file and a restored file would share. */
function sharedRefs({ table }: RestoreOptions, { selected }: Plan): readonly string[] {
  const refs = selected.flatMap(({ ref, kind }) => (kind === 'file' && ref !== null ? [ref] : []))
  if (!refs.length) return []
  const query = 'SELECT parent, name, ref FROM workspace WHERE ref IN (SELECT value FROM json_each(?))'
  const replaced = new Set(selected.map(pathOf))
  const staying = table.all<{ parent: string; name: string; ref: string }>(query, JSON.stringify(refs))
  return staying.filter((row) => !replaced.has(pathOf(row))).map(({ ref }) => ref)
}

export async function prepare(options: RestoreOptions, id: number, selection: Selection): Promise<Copies> {
  const copies: Copies = new Map()
  for (const ref of sharedRefs(options, getPlan(options, id, selection))) {
    const content = await options.blobs?.get(ref)
    if (!content) continue
    const copy = options.prefix + crypto.randomUUID()
    await options.blobs?.put(copy, await content.arrayBuffer())
    copies.set(ref, copy)
  }
  return copies
}

/** Undefined when a content would be shared that `prepare` has not copied. */
export function restore(
  options: RestoreOptions,
  { id, selection, copies }: { readonly id: number; readonly selection: Selection; readonly copies: Copies },
): Restored | undefined {
  const plan = getPlan(options, id, selection)
  if (sharedRefs(options, plan).some((ref) => !copies.has(ref))) return undefined
  const refs = affectedRefs(options, id, plan)
  // Restoring a single path is a change by the user like any other.
  const recorder = selection.path === undefined ? undefined : options.rows.recorder(userBit)
  for (const { parent, name } of plan.selected) recorder?.beforeChange(parent, name)
  const result = applyPlan(options, plan, copies)
  if (selection.path === undefined) deleteCheckpointsFrom(options, id, [...plan.others, ...result.unchanged])
  options.table.recount()
  options.rows.clearCache()
  const { table, rows } = options
  const current = table.all<{ ref: string }>('SELECT ref FROM workspace WHERE ref IS NOT NULL')
  const used = new Set([...current.map(({ ref }) => ref), ...rows.findUsed(refs)])
  rows.markUnused(refs.filter((ref) => !used.has(ref)))
  return {
    restored: result.changed.map(pathOf),
    kept: [...(selection.path === undefined ? plan.others.filter(isFile(options)) : []), ...result.blocked]
      .map(pathOf)
      .toSorted(),
    left: plan.selected.filter(({ kind }) => kind === 'omitted').map(pathOf),
  }
}

/** Keys of all large contents that may be unused after the restore. */
function affectedRefs({ rows, table }: RestoreOptions, id: number, { selected }: Plan): readonly string[] {
  const old = rows.all<{ ref: string }>('SELECT ref FROM kept WHERE checkpoint >= ? AND ref IS NOT NULL', id)
  const now = table
    .all<{ parent: string; name: string; ref: string }>('SELECT parent, name, ref FROM workspace WHERE ref IS NOT NULL')
    .filter((row) => selected.some((one) => one.parent === row.parent && one.name === row.name))
  return [...new Set([...old, ...now].map(({ ref }) => ref))]
}

type ChangedVersions = {
  readonly changed: readonly Version[]
  readonly blocked: readonly Version[]
  readonly unchanged: readonly Version[]
}

/** Removes new entries, the deepest first, then restores old entries, the highest first. */
function applyPlan(options: RestoreOptions, { selected }: Plan, copies: Copies): ChangedVersions {
  const changed: Version[] = []
  const blocked: Version[] = []
  const unchanged = selected.filter(({ kind }) => kind === 'omitted')
  const depth = (version: Version) => pathOf(version).split('/').length
  const toRemove = selected.filter(({ kind }) => kind === 'absent').toSorted((a, b) => depth(b) - depth(a))
  const toRestore = selected
    .filter(({ kind }) => kind !== 'absent' && kind !== 'omitted')
    .toSorted((a, b) => depth(a) - depth(b))
  for (const version of toRemove) {
    const done = removeEntry(options, version)
    if (done === 'blocked') unchanged.push(version)
    // Directories are not reported: they appear and vanish with their files.
    else if (done !== 'directory' && done !== 'nothing') changed.push(version)
  }
  for (const version of toRestore) {
    const isBack = restoreEntry(options, version, copies)
    if (!isBack) blocked.push(version)
    else if (version.kind !== 'directory') changed.push(version)
  }
  return { changed, blocked, unchanged: [...unchanged, ...blocked] }
}

const kindAt = ({ table }: RestoreOptions, parent: string, name: string): FileKind | undefined =>
  table.all<{ kind: FileKind }>('SELECT kind FROM workspace WHERE parent = ? AND name = ?', parent, name)[0]?.kind

const isFile =
  (options: RestoreOptions) =>
  ({ kind, parent, name }: Version): boolean =>
    kind !== 'directory' && kindAt(options, parent, name) !== 'directory'

/** A directory that is not empty stays. */
function removeEntry(options: RestoreOptions, version: Version): FileKind | 'nothing' | 'blocked' {
  const { table } = options
  const { parent, name } = version
  const kind = kindAt(options, parent, name)
  if (kind === undefined) return 'nothing'
  const isFull =
    kind === 'directory' && table.all('SELECT 1 FROM workspace WHERE parent = ? LIMIT 1', pathOf(version)).length > 0
  if (isFull) return 'blocked'
  table.write('DELETE FROM workspace WHERE parent = ? AND name = ?', parent, name)
  return kind
}

const restoreRow = `INSERT OR REPLACE INTO workspace SELECT parent, name, kind, mode, modified, size, coalesce(?, ref), content
  FROM kept WHERE checkpoint = ? AND parent = ? AND name = ?`

/** False when an entry of the user blocks the path. */
function restoreEntry(options: RestoreOptions, version: Version, copies: Copies): boolean {
  const { parent, name, kind, first, ref } = version
  const now = kindAt(options, parent, name)
  if (now === 'directory' && kind !== 'directory' && removeEntry(options, version) === 'blocked') return false
  if (!makeDirectories(options, parent)) return false
  const copy = kind === 'file' && ref !== null ? (copies.get(ref) ?? null) : null
  options.table.write(restoreRow, copy, first, parent, name)
  return true
}

function makeDirectories(options: RestoreOptions, path: string): boolean {
  if (isBuiltIn(path) || path === workspaceRoot) return true
  const kind = kindAt(options, getParent(path), nameOf(path))
  if (kind !== undefined) return kind === 'directory'
  if (!makeDirectories(options, getParent(path))) return false
  const row = "INSERT INTO workspace VALUES (?, ?, 'directory', 493, ?, 0, NULL, NULL)"
  options.table.write(row, getParent(path), nameOf(path), options.now())
  return true
}

/**
 * Deletes this checkpoint and later ones. Versions that were not restored move to the checkpoint before, as changes by
 * the user, so that they can still be restored from there.
 */
function deleteCheckpointsFrom({ rows }: RestoreOptions, id: number, others: readonly Version[]): void {
  const [before] = rows.all<{ id: number }>('SELECT id FROM checkpoint WHERE id < ? ORDER BY id DESC LIMIT 1', id)
  if (before)
    for (const { first, parent, name } of others)
      rows.run(
        `INSERT INTO kept SELECT ?, parent, name, ${userBit}, kind, mode, modified, size, ref, content FROM kept
          WHERE checkpoint = ? AND parent = ? AND name = ?
          ON CONFLICT DO UPDATE SET who = who | ${userBit}`,
        before.id,
        first,
        parent,
        name,
      )
  rows.run('DELETE FROM kept WHERE checkpoint >= ?', id)
  rows.run('DELETE FROM checkpoint WHERE id >= ?', id)
}
