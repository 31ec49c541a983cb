/**
 * Going back to a checkpoint of the virtual machine. What takes time (copying large contents that two files would
 * come to share) is done before; the rows change in one stretch, with whatever the caller changes in it.
 */

import type { Restored, Selection } from '../checkpoints.ts'
import { agentBit, type CheckpointRows, userBit } from './checkpoint-rows.ts'
import { workspaceRoot, isBuiltIn, isUnder, join, nameOf, parentOf } from './paths.ts'
import type { Kind } from './rows.ts'
import type { Table } from './table.ts'

export type RestoreOptions = {
  readonly rows: CheckpointRows
  readonly table: Table
  readonly blobs?: R2Bucket | undefined
  readonly prefix: string
  readonly now: () => number
}

/** The oldest version of a path since a checkpoint: how it was then. */
export type Version = {
  readonly parent: string
  readonly name: string
  readonly first: number
  readonly agent: number
  readonly person: number
  readonly kind: Kind | 'absent' | 'omitted'
  readonly size: number
  readonly ref: string | null
}

/** Copies that were made of large contents, by the name of the original. */
export type Copies = Map<string, string>

const VERSIONS = `SELECT k.parent, k.name, v.first, v.agent, v.person, k.kind, k.size, k.ref FROM
  (SELECT parent, name, min(checkpoint) AS first, max(who & ${agentBit}) AS agent, max(who & ${userBit}) AS person
    FROM kept WHERE checkpoint >= ? GROUP BY parent, name) v
  JOIN kept k ON k.checkpoint = v.first AND k.parent = v.parent AND k.name = v.name ORDER BY k.parent, k.name`

export const versionsSince = ({ rows }: Pick<RestoreOptions, 'rows'>, id: number): readonly Version[] =>
  rows.all<Version>(VERSIONS, id)

export const pathOf = ({ parent, name }: Pick<Version, 'parent' | 'name'>): string => join(parent, name)

const isWanted = ({ agent, person, ...place }: Version, { path, all }: Selection): boolean => {
  if (path !== undefined) return pathOf(place) === path || isUnder(pathOf(place), path)
  return all === true || (agent !== 0 && person === 0)
}

type Plan = { readonly wanted: readonly Version[]; readonly others: readonly Version[] }

function planOf(options: RestoreOptions, id: number, selection: Selection): Plan {
  const versions = versionsSince(options, id)
  return {
    wanted: versions.filter((one) => isWanted(one, selection)),
    others: versions.filter((one) => !isWanted(one, selection)),
  }
}

/** Large contents that would be named by a file which stays and by one that comes back. */
function shared({ table }: RestoreOptions, { wanted }: Plan): readonly string[] {
  const refs = wanted.flatMap(({ ref, kind }) => (kind === 'file' && ref !== null ? [ref] : []))
  if (!refs.length) return []
  const query = 'SELECT parent, name, ref FROM workspace WHERE ref IN (SELECT value FROM json_each(?))'
  const gone = new Set(wanted.map(pathOf))
  const staying = table.all<{ parent: string; name: string; ref: string }>(query, JSON.stringify(refs))
  return staying.filter((row) => !gone.has(pathOf(row))).map(({ ref }) => ref)
}

export async function prepare(options: RestoreOptions, id: number, selection: Selection): Promise<Copies> {
  const copies: Copies = new Map()
  for (const ref of shared(options, planOf(options, id, selection))) {
    const content = await options.blobs?.get(ref)
    if (!content) continue
    const copy = options.prefix + crypto.randomUUID()
    await options.blobs?.put(copy, await content.arrayBuffer())
    copies.set(ref, copy)
  }
  return copies
}

/** Undefined when a large content would be shared that was not when this was prepared. */
export function restore(
  options: RestoreOptions,
  { id, selection, copies }: { readonly id: number; readonly selection: Selection; readonly copies: Copies },
): Restored | undefined {
  const plan = planOf(options, id, selection)
  if (shared(options, plan).some((ref) => !copies.has(ref))) return undefined
  const refs = refsNamed(options, id, plan)
  // Asked for by a person, file by file: a change like any other of theirs.
  const keeper = selection.path === undefined ? undefined : options.rows.recorder(userBit)
  for (const { parent, name } of plan.wanted) keeper?.beforeChange(parent, name)
  const result = change(options, plan, copies)
  if (selection.path === undefined) forget(options, id, [...plan.others, ...result.unchanged])
  options.table.recount()
  options.rows.clearCache()
  const { table, rows } = options
  const stillNamed = table.all<{ ref: string }>('SELECT ref FROM workspace WHERE ref IS NOT NULL')
  const used = new Set([...stillNamed.map(({ ref }) => ref), ...rows.findUsed(refs)])
  rows.markUnused(refs.filter((ref) => !used.has(ref)))
  return {
    restored: result.changed.map(pathOf),
    kept: [...(selection.path === undefined ? plan.others.filter(isFile(options)) : []), ...result.blocked]
      .map(pathOf)
      .toSorted(),
    left: plan.wanted.filter(({ kind }) => kind === 'omitted').map(pathOf),
  }
}

/** Every large content that may be without a name afterwards. */
function refsNamed({ rows, table }: RestoreOptions, id: number, { wanted }: Plan): readonly string[] {
  const old = rows.all<{ ref: string }>('SELECT ref FROM kept WHERE checkpoint >= ? AND ref IS NOT NULL', id)
  const now = table
    .all<{ parent: string; name: string; ref: string }>('SELECT parent, name, ref FROM workspace WHERE ref IS NOT NULL')
    .filter((row) => wanted.some((one) => one.parent === row.parent && one.name === row.name))
  return [...new Set([...old, ...now].map(({ ref }) => ref))]
}

type Changed = {
  readonly changed: readonly Version[]
  readonly blocked: readonly Version[]
  readonly unchanged: readonly Version[]
}

/** What came since goes first, the deepest first; then what was comes back, the highest first. */
function change(options: RestoreOptions, { wanted }: Plan, copies: Copies): Changed {
  const changed: Version[] = []
  const blocked: Version[] = []
  const unchanged = wanted.filter(({ kind }) => kind === 'omitted')
  const depth = (version: Version) => pathOf(version).split('/').length
  const gone = wanted.filter(({ kind }) => kind === 'absent').toSorted((a, b) => depth(b) - depth(a))
  const back = wanted
    .filter(({ kind }) => kind !== 'absent' && kind !== 'omitted')
    .toSorted((a, b) => depth(a) - depth(b))
  for (const version of gone) {
    const done = clear(options, version)
    if (done === 'blocked') unchanged.push(version)
    // Directories come and go with their files: nobody asks for them by name.
    else if (done !== 'directory' && done !== 'nothing') changed.push(version)
  }
  for (const version of back) {
    const isBack = putBack(options, version, copies)
    if (!isBack) blocked.push(version)
    else if (version.kind !== 'directory') changed.push(version)
  }
  return { changed, blocked, unchanged: [...unchanged, ...blocked] }
}

const kindAt = ({ table }: RestoreOptions, parent: string, name: string): Kind | undefined =>
  table.all<{ kind: Kind }>('SELECT kind FROM workspace WHERE parent = ? AND name = ?', parent, name)[0]?.kind

const isFile =
  (options: RestoreOptions) =>
  ({ kind, parent, name }: Version): boolean =>
    kind !== 'directory' && kindAt(options, parent, name) !== 'directory'

/** A directory that still has something in it stays. */
function clear(options: RestoreOptions, version: Version): Kind | 'nothing' | 'blocked' {
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

const BACK = `INSERT OR REPLACE INTO workspace SELECT parent, name, kind, mode, modified, size, coalesce(?, ref), content
  FROM kept WHERE checkpoint = ? AND parent = ? AND name = ?`

/** False when something of a person stands in its place. */
function putBack(options: RestoreOptions, version: Version, copies: Copies): boolean {
  const { parent, name, kind, first, ref } = version
  const now = kindAt(options, parent, name)
  if (now === 'directory' && kind !== 'directory' && clear(options, version) === 'blocked') return false
  if (!makeDirectories(options, parent)) return false
  const copy = kind === 'file' && ref !== null ? (copies.get(ref) ?? null) : null
  options.table.write(BACK, copy, first, parent, name)
  return true
}

function makeDirectories(options: RestoreOptions, path: string): boolean {
  if (isBuiltIn(path) || path === workspaceRoot) return true
  const kind = kindAt(options, parentOf(path), nameOf(path))
  if (kind !== undefined) return kind === 'directory'
  if (!makeDirectories(options, parentOf(path))) return false
  const row = "INSERT INTO workspace VALUES (?, ?, 'directory', 493, ?, 0, NULL, NULL)"
  options.table.write(row, parentOf(path), nameOf(path), options.now())
  return true
}

/**
 * These checkpoints are over. What was not put back is from now on a change of a person since the one before, so
 * that it can still be put back from there.
 */
function forget({ rows }: RestoreOptions, id: number, others: readonly Version[]): void {
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
