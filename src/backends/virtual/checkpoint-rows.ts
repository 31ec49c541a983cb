/**
 * Stores the old versions of changed workspace rows: copy-on-write, one row per changed file and turn. A checkpoint
 * begins with the first change of a turn by the agent. Later changes, up to the next checkpoint, belong to it, with a bit
 * for their author.
 */

import { type CheckpointLimits, checkpointLimits as standard, listOpenTurns } from '../checkpoints.ts'
import { workspaceRoot, isUnder, join } from './paths.ts'
import type { Table } from './table.ts'

/** Bits of `kept.who`. */
export const agentBit = 1
export const userBit = 2
export type ChangeAuthor = typeof agentBit | typeof userBit

export type CheckpointRow = {
  readonly id: number
  readonly run: string
  readonly at: number
  /** JSON array of paths whose old content was not stored. */
  readonly omitted: string
}

/** Must be called before rows of the workspace change. */
export type ChangeRecorder = {
  readonly beforeChange: (parent: string, name: string) => void
  readonly beforeChangeBelow: (directory: string) => void
  /** Records that all entries below one directory move to another. */
  readonly beforeMove: (from: string, to: string) => void
}

export type CheckpointRows = {
  readonly begin: (run: string) => void
  /** Starts a checkpoint before there is a change. */
  readonly mark: (key: string) => true
  readonly recorder: (author: ChangeAuthor) => ChangeRecorder
  readonly all: <T>(query: string, ...values: readonly (string | number | null)[]) => T[]
  readonly run: (statement: string, ...values: readonly (string | number | null)[]) => void
  readonly list: () => readonly CheckpointRow[]
  /** Filters keys of large contents by whether an old version still references them. */
  readonly findUsed: (refs: readonly string[]) => ReadonlySet<string>
  /** Collects keys of large contents for deletion. */
  readonly markUnused: (refs: readonly string[]) => void
  readonly takeUnused: () => readonly string[]
  /** Must be called after checkpoint rows were changed directly. */
  readonly clearCache: () => void
  readonly clear: () => void
}

export type CheckpointOptions = {
  readonly sql: SqlStorage
  readonly table: Table
  readonly now: () => number
  readonly limits?: CheckpointLimits
}

const createTables = [
  `CREATE TABLE IF NOT EXISTS checkpoint (id INTEGER PRIMARY KEY, run TEXT NOT NULL, at INTEGER NOT NULL,
    omitted TEXT NOT NULL DEFAULT '[]')`,
  `CREATE TABLE IF NOT EXISTS kept (checkpoint INTEGER NOT NULL, parent TEXT NOT NULL, name TEXT NOT NULL, who INTEGER NOT NULL,
    kind TEXT NOT NULL, mode INTEGER NOT NULL, modified INTEGER NOT NULL, size INTEGER NOT NULL, ref TEXT, content BLOB,
    PRIMARY KEY (checkpoint, parent, name)) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS kept_ref ON kept (ref) WHERE ref IS NOT NULL',
]
const tableExists = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept'`

export function createCheckpointTables(sql: SqlStorage): void {
  for (const one of createTables) sql.exec(one)
}

const oldVersionColumns = `?1, ?2, ?3, ?4, coalesce(w.kind, 'absent'), coalesce(w.mode, 0), coalesce(w.modified, 0),
  coalesce(w.size, 0), w.ref, w.content`
const onConflict = 'ON CONFLICT DO UPDATE SET who = who | excluded.who WHERE who & excluded.who = 0'
const insertVersion = `INSERT INTO kept SELECT ${oldVersionColumns} FROM (SELECT 1) LEFT JOIN workspace w ON w.parent = ?2 AND w.name = ?3
  WHERE true ${onConflict}`
const insertOmitted = `INSERT INTO kept VALUES (?1, ?2, ?3, ?4, 'omitted', 0, 0, 0, NULL, NULL) ${onConflict}`

/** Maximum of omitted paths that one checkpoint lists. */
const maxOmittedPaths = 200

type CheckpointState = {
  readonly options: CheckpointOptions & { readonly limits: CheckpointLimits }
  readonly all: CheckpointRows['all']
  readonly run: CheckpointRows['run']
  /** The current or last turn. */
  turn: string | undefined
  latest: { readonly id: number; readonly openTurns: readonly string[] } | undefined
  /** Author and path of changes that the latest checkpoint has recorded. */
  recorded: Set<string>
  totals: { rows: number; bytes: number } | undefined
  unusedRefs: string[]
}

export function openCheckpointRows(overrides: CheckpointOptions): CheckpointRows {
  const options = { limits: standard, ...overrides }
  const { sql } = options
  let exists = false
  const present = (): boolean => (exists ||= sql.exec(tableExists).toArray().length > 0)
  const state: CheckpointState = {
    options,
    all: <T>(query: string, ...values: readonly (string | number | null)[]) =>
      present() ? (sql.exec(query, ...values).toArray() as T[]) : [],
    run(statement, ...values) {
      if (!present()) createCheckpointTables(sql)
      sql.exec(statement, ...values)
    },
    turn: undefined,
    latest: undefined,
    recorded: new Set(),
    totals: undefined,
    unusedRefs: [],
  }
  const recount = () => {
    state.latest = undefined
    state.totals = undefined
    state.recorded.clear()
  }
  return {
    all: state.all,
    run: state.run,
    clearCache: recount,
    begin: (run) => void (state.turn = run),
    mark(key) {
      createWorkspace(state)
      startCheckpoint(state, key)
      return true
    },
    recorder: (author) => createRecorder(state, author),
    list: () => state.all('SELECT id, run, at, omitted FROM checkpoint ORDER BY id DESC'),
    findUsed: (refs) => refsIn(state, 'kept', refs),
    markUnused: (refs) => void state.unusedRefs.push(...refs),
    takeUnused: () => state.unusedRefs.splice(0),
    clear() {
      const refs = state.all<{ ref: string }>('SELECT ref FROM kept WHERE ref IS NOT NULL').map(({ ref }) => ref)
      const used = refsIn(state, 'workspace', refs)
      state.unusedRefs.push(...refs.filter((ref) => !used.has(ref)))
      if (present()) for (const name of ['kept', 'checkpoint']) sql.exec(`DELETE FROM ${name}`)
      recount()
    },
  }
}

const refsIn = ({ all }: Pick<CheckpointState, 'all'>, table: 'kept' | 'workspace', refs: readonly string[]) =>
  new Set(
    refs.length === 0
      ? []
      : all<{ ref: string }>(
          `SELECT ref FROM ${table} WHERE ref IN (SELECT value FROM json_each(?))`,
          JSON.stringify(refs),
        ).map(({ ref }) => ref),
  )

/** Only changes in the workspace are recorded, not those elsewhere (`/tmp`). */
const isRecorded = (path: string): boolean => path === workspaceRoot || isUnder(path, workspaceRoot)

function createRecorder(state: CheckpointState, author: ChangeAuthor): ChangeRecorder {
  const row = (parent: string, name: string): void => {
    const path = join(parent, name)
    if (!isRecorded(path)) return
    const id = checkpointFor(state, author)
    if (id === undefined || state.recorded.has(`${author}${path}`)) return
    saveVersion(state, { id, author, parent, name })
    state.recorded.add(`${author}${path}`)
  }
  const each = (directory: string, visit: (parent: string, name: string) => void): void => {
    if (!isRecorded(directory) && !isUnder(workspaceRoot, directory)) return
    for (const { parent, name } of below(state, directory)) visit(parent, name)
  }
  return {
    beforeChange: row,
    beforeChangeBelow: (directory) => each(directory, row),
    beforeMove(from, to) {
      each(from, row)
      for (const { parent, name } of below(state, from)) row(to + parent.slice(from.length), name)
    },
  }
}

const isBelow = `parent >= ?1 AND parent < ?1 || '0' AND (parent = ?1 OR parent >= ?1 || '/')`

const below = ({ options: { table } }: CheckpointState, directory: string) =>
  directory === '/'
    ? table.all<{ parent: string; name: string }>('SELECT parent, name FROM workspace')
    : table.all<{ parent: string; name: string }>(`SELECT parent, name FROM workspace WHERE ${isBelow}`, directory)

/** Returns the checkpoint of a change, and starts a new one when needed. Before the first one, changes by the user have none. */
function checkpointFor(state: CheckpointState, author: ChangeAuthor): number | undefined {
  state.latest ??= findLatest(state)
  const { turn, latest } = state
  if (author === agentBit && turn !== undefined && !latest?.openTurns.includes(turn)) startCheckpoint(state, turn)
  return state.latest?.id
}

function findLatest({ all }: CheckpointState): CheckpointState['latest'] {
  const rows = all<{ id: number; run: string }>('SELECT id, run FROM checkpoint ORDER BY id DESC')
  return rows[0] && { id: rows[0].id, openTurns: listOpenTurns(rows.map(({ run }) => run)) }
}

function startCheckpoint(state: CheckpointState, run: string): void {
  const { now, limits } = state.options
  const old = state.all<CheckpointRow>('SELECT id, at FROM checkpoint ORDER BY id DESC')
  const expired = old.filter(({ at }, i) => i >= limits.checkpoints - 1 || at < now() - limits.ageMs)
  for (const { id } of expired.toReversed()) deleteCheckpoint(state, id)
  state.run('INSERT INTO checkpoint (run, at) VALUES (?, ?)', run, now())
  state.latest = findLatest(state)
  state.recorded.clear()
}

/** Queries of old versions need its table. */
function createWorkspace({ options: { table } }: CheckpointState): void {
  if (!table.exists()) table.write('SELECT 1')
}

type ChangedPath = {
  readonly id: number
  readonly author: ChangeAuthor
  readonly parent: string
  readonly name: string
}

function saveVersion(state: CheckpointState, { id, author, parent, name }: ChangedPath): void {
  const { table, limits } = state.options
  const [existing] = state.all('SELECT 1 FROM kept WHERE checkpoint = ? AND parent = ? AND name = ?', id, parent, name)
  const query = 'SELECT size FROM workspace WHERE parent = ? AND name = ?'
  const size = existing ? 0 : (table.all<{ size: number }>(query, parent, name)[0]?.size ?? 0)
  const fits = existing !== undefined || (size <= limits.fileBytes && makeRoom(state, id, size))
  createWorkspace(state)
  state.run(fits ? insertVersion : insertOmitted, id, parent, name, author)
  if (existing) return
  if (!fits) recordOmitted(state, id, join(parent, name))
  const totals = countTotals(state)
  totals.rows++
  if (fits) totals.bytes += size
}

const countTotals = (state: CheckpointState): { rows: number; bytes: number } =>
  (state.totals ??= state.all<{ rows: number; bytes: number }>(
    'SELECT count(*) AS rows, total(size) AS bytes FROM kept',
  )[0] ?? { rows: 0, bytes: 0 })

/** Deletes the oldest checkpoints until the content fits, except the current one. */
function makeRoom(state: CheckpointState, id: number, size: number): boolean {
  const { limits } = state.options
  for (;;) {
    const { rows, bytes } = countTotals(state)
    if (rows < limits.files && bytes + size <= limits.bytes) return true
    const [oldest] = state.all<{ id: number }>('SELECT id FROM checkpoint WHERE id < ? ORDER BY id LIMIT 1', id)
    if (!oldest) return false
    deleteCheckpoint(state, oldest.id)
  }
}

function recordOmitted(state: CheckpointState, id: number, path: string): void {
  const [row] = state.all<{ omitted: string }>('SELECT omitted FROM checkpoint WHERE id = ?', id)
  const names = JSON.parse(row?.omitted ?? '[]') as string[]
  if (names.length >= maxOmittedPaths) return
  state.run('UPDATE checkpoint SET omitted = ? WHERE id = ?', JSON.stringify([...names, path]), id)
}

function deleteCheckpoint(state: CheckpointState, id: number): void {
  const query = 'SELECT ref FROM kept WHERE checkpoint = ? AND ref IS NOT NULL'
  const refs = state.all<{ ref: string }>(query, id).map(({ ref }) => ref)
  state.run('DELETE FROM kept WHERE checkpoint = ?', id)
  state.run('DELETE FROM checkpoint WHERE id = ?', id)
  const used = new Set([...refsIn(state, 'kept', refs), ...refsIn(state, 'workspace', refs)])
  state.unusedRefs.push(...refs.filter((ref) => !used.has(ref)))
  state.totals = undefined
}
