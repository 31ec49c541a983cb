/**
 * What rows of a workspace were before they changed: copy-on-write, one row per changed file and turn, nothing for
 * turns that change nothing. A checkpoint begins with the first change of a turn; whatever changes until the next one
 * is kept under it, with a mark of who changed it.
 */

import { type CheckpointLimits, checkpointLimits as standard } from '../checkpoints.ts'
import { workspaceRoot, isUnder, join } from './paths.ts'
import type { Table } from './table.ts'

/** Bits of `kept.who`. */
export const agentBit = 1
export const userBit = 2
export type Author = typeof agentBit | typeof userBit

export type CheckpointRow = {
  readonly id: number
  readonly run: string
  readonly at: number
  /** JSON: paths whose old content was not kept. */
  readonly omitted: string
}

/** Told before rows of the workspace change. */
export type ChangeRecorder = {
  readonly beforeChange: (parent: string, name: string) => void
  readonly beforeChangeBelow: (directory: string) => void
  /** All below one directory comes to be below another. */
  readonly beforeMove: (from: string, to: string) => void
}

export type CheckpointRows = {
  readonly begin: (run: string) => void
  readonly recorder: (author: Author) => ChangeRecorder
  readonly all: <T>(query: string, ...values: readonly (string | number | null)[]) => T[]
  readonly run: (statement: string, ...values: readonly (string | number | null)[]) => void
  readonly list: () => readonly CheckpointRow[]
  /** Of these names of large contents, those that an old version still needs. */
  readonly findUsed: (refs: readonly string[]) => ReadonlySet<string>
  /** Names of large contents that nothing needs any more. */
  readonly markUnused: (refs: readonly string[]) => void
  readonly takeUnused: () => readonly string[]
  /** After rows were changed from outside of a keeper. */
  readonly clearCache: () => void
  readonly clear: () => void
}

export type CheckpointOptions = {
  readonly sql: SqlStorage
  readonly table: Table
  readonly now: () => number
  readonly limits?: CheckpointLimits
}

const CREATE = [
  `CREATE TABLE checkpoint (id INTEGER PRIMARY KEY, run TEXT NOT NULL, at INTEGER NOT NULL,
    omitted TEXT NOT NULL DEFAULT '[]')`,
  `CREATE TABLE kept (checkpoint INTEGER NOT NULL, parent TEXT NOT NULL, name TEXT NOT NULL, who INTEGER NOT NULL,
    kind TEXT NOT NULL, mode INTEGER NOT NULL, modified INTEGER NOT NULL, size INTEGER NOT NULL, ref TEXT, content BLOB,
    PRIMARY KEY (checkpoint, parent, name)) WITHOUT ROWID`,
  'CREATE INDEX kept_ref ON kept (ref) WHERE ref IS NOT NULL',
]
const EXISTS = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'kept'`
const OLD = `?1, ?2, ?3, ?4, coalesce(w.kind, 'absent'), coalesce(w.mode, 0), coalesce(w.modified, 0),
  coalesce(w.size, 0), w.ref, w.content`
const AGAIN = 'ON CONFLICT DO UPDATE SET who = who | excluded.who WHERE who & excluded.who = 0'
const KEEP = `INSERT INTO kept SELECT ${OLD} FROM (SELECT 1) LEFT JOIN workspace w ON w.parent = ?2 AND w.name = ?3
  WHERE true ${AGAIN}`
const OMIT = `INSERT INTO kept VALUES (?1, ?2, ?3, ?4, 'omitted', 0, 0, 0, NULL, NULL) ${AGAIN}`

/** Names of what was left out that one checkpoint remembers. */
const NAMED = 200

type State = {
  readonly options: CheckpointOptions & { readonly limits: CheckpointLimits }
  readonly all: CheckpointRows['all']
  readonly run: CheckpointRows['run']
  /** The turn that runs, or ran last. */
  turn: string | undefined
  latest: { readonly id: number; readonly run: string } | undefined
  /** What is known to be kept under the latest checkpoint. */
  seen: Set<string>
  totals: { rows: number; bytes: number } | undefined
  doomed: string[]
}

export function openCheckpointRows(given: CheckpointOptions): CheckpointRows {
  const options = { limits: standard, ...given }
  const { sql } = options
  let exists = false
  const present = (): boolean => (exists ||= sql.exec(EXISTS).toArray().length > 0)
  const state: State = {
    options,
    all: <T>(query: string, ...values: readonly (string | number | null)[]) =>
      present() ? (sql.exec(query, ...values).toArray() as T[]) : [],
    run(statement, ...values) {
      if (!present()) for (const one of CREATE) sql.exec(one)
      sql.exec(statement, ...values)
    },
    turn: undefined,
    latest: undefined,
    seen: new Set(),
    totals: undefined,
    doomed: [],
  }
  const recount = () => {
    state.latest = undefined
    state.totals = undefined
    state.seen.clear()
  }
  return {
    all: state.all,
    run: state.run,
    clearCache: recount,
    begin: (run) => void (state.turn = run),
    recorder: (author) => keeperOf(state, author),
    list: () => state.all('SELECT id, run, at, omitted FROM checkpoint ORDER BY id DESC'),
    findUsed: (refs) => refsIn(state, 'kept', refs),
    markUnused: (refs) => void state.doomed.push(...refs),
    takeUnused: () => state.doomed.splice(0),
    clear() {
      const refs = state.all<{ ref: string }>('SELECT ref FROM kept WHERE ref IS NOT NULL').map(({ ref }) => ref)
      const used = refsIn(state, 'workspace', refs)
      state.doomed.push(...refs.filter((ref) => !used.has(ref)))
      if (present()) for (const name of ['kept', 'checkpoint']) sql.exec(`DELETE FROM ${name}`)
      recount()
    },
  }
}

const refsIn = ({ all }: Pick<State, 'all'>, table: 'kept' | 'workspace', refs: readonly string[]) =>
  new Set(
    refs.length === 0
      ? []
      : all<{ ref: string }>(
          `SELECT ref FROM ${table} WHERE ref IN (SELECT value FROM json_each(?))`,
          JSON.stringify(refs),
        ).map(({ ref }) => ref),
  )

/** Commands and tools work in the workspace; what is elsewhere (`/tmp`) comes and goes unnoticed. */
const isKept = (path: string): boolean => path === workspaceRoot || isUnder(path, workspaceRoot)

function keeperOf(state: State, author: Author): ChangeRecorder {
  const row = (parent: string, name: string): void => {
    const path = join(parent, name)
    if (!isKept(path)) return
    const id = checkpointFor(state, author)
    if (id === undefined || state.seen.has(`${author}${path}`)) return
    keep(state, { id, author, parent, name })
    state.seen.add(`${author}${path}`)
  }
  const each = (directory: string, told: (parent: string, name: string) => void): void => {
    if (!isKept(directory) && !isUnder(workspaceRoot, directory)) return
    for (const { parent, name } of below(state, directory)) told(parent, name)
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

const BELOW = `parent >= ?1 AND parent < ?1 || '0' AND (parent = ?1 OR parent >= ?1 || '/')`

const below = ({ options: { table } }: State, directory: string) =>
  directory === '/'
    ? table.all<{ parent: string; name: string }>('SELECT parent, name FROM workspace')
    : table.all<{ parent: string; name: string }>(`SELECT parent, name FROM workspace WHERE ${BELOW}`, directory)

/** The checkpoint that a change now belongs to. What a person changes before the first one needs none. */
function checkpointFor(state: State, author: Author): number | undefined {
  state.latest ??= state.all<{ id: number; run: string }>('SELECT id, run FROM checkpoint ORDER BY id DESC LIMIT 1')[0]
  const isNext = author === agentBit && state.turn !== undefined && state.turn !== state.latest?.run
  if (isNext) open(state, state.turn ?? '')
  return state.latest?.id
}

function open(state: State, run: string): void {
  const { now, limits } = state.options
  const old = state.all<CheckpointRow>('SELECT id, at FROM checkpoint ORDER BY id DESC')
  const gone = old.filter(({ at }, i) => i >= limits.checkpoints - 1 || at < now() - limits.ageMs)
  for (const { id } of gone.toReversed()) forget(state, id)
  state.run('INSERT INTO checkpoint (run, at) VALUES (?, ?)', run, now())
  state.latest = state.all<{ id: number; run: string }>('SELECT id, run FROM checkpoint ORDER BY id DESC LIMIT 1')[0]
  state.seen.clear()
}

type Place = { readonly id: number; readonly author: Author; readonly parent: string; readonly name: string }

function keep(state: State, { id, author, parent, name }: Place): void {
  const { table, limits } = state.options
  const [known] = state.all('SELECT 1 FROM kept WHERE checkpoint = ? AND parent = ? AND name = ?', id, parent, name)
  const query = 'SELECT size FROM workspace WHERE parent = ? AND name = ?'
  const size = known ? 0 : (table.all<{ size: number }>(query, parent, name)[0]?.size ?? 0)
  const fits = known !== undefined || (size <= limits.fileBytes && makeRoom(state, id, size))
  // The table of the workspace is made by the first write to it, if this is the first.
  if (!table.exists()) table.write('SELECT 1')
  state.run(fits ? KEEP : OMIT, id, parent, name, author)
  if (known) return
  if (!fits) omit(state, id, join(parent, name))
  const totals = totalsOf(state)
  totals.rows++
  if (fits) totals.bytes += size
}

const totalsOf = (state: State): { rows: number; bytes: number } =>
  (state.totals ??= state.all<{ rows: number; bytes: number }>(
    'SELECT count(*) AS rows, total(size) AS bytes FROM kept',
  )[0] ?? { rows: 0, bytes: 0 })

/** Gives up the oldest checkpoints for it, but not the one it is for. */
function makeRoom(state: State, id: number, size: number): boolean {
  const { limits } = state.options
  for (;;) {
    const { rows, bytes } = totalsOf(state)
    if (rows < limits.files && bytes + size <= limits.bytes) return true
    const [oldest] = state.all<{ id: number }>('SELECT id FROM checkpoint WHERE id < ? ORDER BY id LIMIT 1', id)
    if (!oldest) return false
    forget(state, oldest.id)
  }
}

function omit(state: State, id: number, path: string): void {
  const [row] = state.all<{ omitted: string }>('SELECT omitted FROM checkpoint WHERE id = ?', id)
  const names = JSON.parse(row?.omitted ?? '[]') as string[]
  if (names.length >= NAMED) return
  state.run('UPDATE checkpoint SET omitted = ? WHERE id = ?', JSON.stringify([...names, path]), id)
}

function forget(state: State, id: number): void {
  const query = 'SELECT ref FROM kept WHERE checkpoint = ? AND ref IS NOT NULL'
  const refs = state.all<{ ref: string }>(query, id).map(({ ref }) => ref)
  state.run('DELETE FROM kept WHERE checkpoint = ?', id)
  state.run('DELETE FROM checkpoint WHERE id = ?', id)
  const used = new Set([...refsIn(state, 'kept', refs), ...refsIn(state, 'workspace', refs)])
  state.doomed.push(...refs.filter((ref) => !used.has(ref)))
  state.totals = undefined
}
