/**
 * Reads and writes the rows of a session in its object's SQLite. A row of `step` has the messages of one model call (user
 * message or tool results, then the reply), its events, and the turn at that time. The newest row has the current turn.
 * A plain turn writes its row twice: before the call and after it.
 */

import { type SchemaVersion, schemaVersion } from '#durable/platform/schema-version.ts'
import { fromStoredTurn, type StoredTurn, toStoredTurn } from './stored-turn.ts'
import type { Entry } from '#agent/core/history.ts'
import type { UserMessage } from '#agent/core/message.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { OwnedOptions } from '#agent/core/turn-options.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { Usage } from '#agent/core/usage.ts'
import { Asides } from './asides.ts'
import type { LoggedEvent } from './event-log.ts'
import type { SessionMetadata } from './session-metadata.ts'

export type StepRow = {
  /** The seq of the first entry. */
  readonly n: number
  readonly runId: string
  entries: Entry[]
  /**
   * The JSON of entries that are new: rewriting a row does not serialise results again. Large texts are dropped when they
   * are stored, because an isolate runs many sessions and most rows are written only twice.
   */
  texts: (string | undefined)[]
  events: LoggedEvent[]
}

/** The run id of imported messages: they are older than the session's first turn. */
export const importRunId = 'import'

export type InboxItem =
  | {
      readonly kind: 'said'
      readonly mode: 'steer' | 'redirect'
      readonly runId: string
      readonly message: UserMessage
      /** The authority of the sender. */
      readonly by: Authority
    }
  | {
      readonly kind: 'queued'
      readonly runId: string
      readonly message: UserMessage
      readonly options: OwnedOptions
    }

/** An inbox item with its id. `size`: characters of its JSON. */
export type InboxRow = { readonly id: number; readonly item: InboxItem; readonly size: number }

/**
 * Row 0 has the session's metadata in `entries`, row -1 the notes of side calls (side-call-notes.ts): a table of its own
 * would cost every session more rows. Both have `gone` set, like undone rows: they are no part of the conversation.
 */
const schema = `CREATE TABLE step (n INTEGER PRIMARY KEY, run TEXT NOT NULL, last_event INTEGER NOT NULL,
  gone INTEGER NOT NULL, turn TEXT, events TEXT NOT NULL, entries TEXT NOT NULL)`
/** Created with the first message that arrives while a turn is open. */
const inboxSchema = 'CREATE TABLE IF NOT EXISTS inbox (id INTEGER PRIMARY KEY, body TEXT NOT NULL)'

type RawStep = {
  n: number
  run: string
  last_event: number
  gone: number
  turn: string | null
  events: string
  entries: string
}

/** The metadata as stored, with the version of the code that wrote it. */
type MetadataRow = SessionMetadata & { readonly schema?: SchemaVersion }

function readMetadataRow(sql: SqlStorage): MetadataRow | undefined {
  const [row] = sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = 0').toArray()
  return row && (JSON.parse(row.entries) as MetadataRow)
}

/** The version of the code that wrote the session. Undefined for an empty object, and for the first version. */
export function readSessionSchema(sql: SqlStorage): SchemaVersion | undefined {
  const [table] = sql.exec("SELECT name FROM sqlite_master WHERE name = 'step'").toArray()
  return table && readMetadataRow(sql)?.schema
}

const maxKeptTextChars = 16 * 1024

/** The JSON of an entry of the row. */
export const entryText = ({ entries, texts }: StepRow, index: number): string =>
  texts[index] ?? JSON.stringify(entries[index])

export class Journal {
  readonly #sql: SqlStorage
  readonly #tables: Set<string>
  /** Runs that are no part of the conversation. */
  readonly asides: Asides
  /** The table was created by this instance and has no messages yet: there is nothing to read. */
  #isEmpty = false

  constructor(sql: SqlStorage) {
    this.#sql = sql
    const names = sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name IN ('step', 'inbox', 'process', 'outbox', 'heard', 'delivered', 'aside', 'child', 'media_call', 'browser')",
      )
      .toArray()
    this.#tables = new Set(names.map(({ name }) => name))
    this.asides = new Asides(sql, this.#tables.has('aside'))
  }

  /** Whether nothing was ever stored: the session does not exist, or its object was lost. */
  get isBlank(): boolean {
    return !this.#hasSteps
  }

  /** Whether a table of another room existed when the object woke. */
  hasTable(table: 'process' | 'outbox' | 'heard' | 'delivered' | 'child' | 'media_call' | 'browser'): boolean {
    return this.#tables.has(table)
  }

  get #hasSteps(): boolean {
    return this.#tables.has('step')
  }

  metadata(): SessionMetadata | undefined {
    const row = this.#hasSteps ? readMetadataRow(this.#sql) : undefined
    if (!row) return undefined
    const { schema: _schema, ...meta } = row
    return meta
  }

  putMetadata(meta: SessionMetadata): void {
    if (!this.#hasSteps) {
      this.#sql.exec(schema)
      this.#tables.add('step')
      this.#isEmpty = true
    }
    this.#sql.exec(
      "INSERT INTO step VALUES (0, '', 0, 1, NULL, '[]', ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
      JSON.stringify({ ...meta, schema: schemaVersion }),
    )
  }

  /** The notes of side calls that no turn has billed yet, as id and usage. */
  sideCallNotes(): [number, Usage][] {
    if (!this.#hasSteps) return []
    const [row] = this.#sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = -1').toArray()
    return row ? (JSON.parse(row.entries) as [number, Usage][]) : []
  }

  /** Replaces the notes. An empty list deletes the row. */
  putSideCallNotes(notes: readonly (readonly [number, Usage])[]): void {
    if (notes.length)
      this.#sql.exec(
        "INSERT INTO step VALUES (-1, '', 0, 1, NULL, '[]', ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
        JSON.stringify(notes),
      )
    else this.#sql.exec('DELETE FROM step WHERE n = -1')
  }

  /** Writes a whole row. Without `turn`, a later row of the run has it. */
  putStep(row: StepRow, turn: Turn | undefined): void {
    this.#isEmpty = false
    this.#sql.exec(
      `INSERT INTO step VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT DO UPDATE SET
        last_event = excluded.last_event, turn = excluded.turn, events = excluded.events, entries = excluded.entries`,
      row.n,
      row.runId,
      row.events.at(-1)?.[0] ?? 0,
      turn ? JSON.stringify(toStoredTurn(turn)) : null,
      JSON.stringify(row.events),
      `[${row.entries.map((_, i) => entryText(row, i)).join(',')}]`,
    )
    row.texts = row.texts.map((text) => (text !== undefined && text.length > maxKeptTextChars ? undefined : text))
  }

  /** The newest row, undone or not: its turn is the session's last one in either case. */
  newest(): { readonly row: StepRow; readonly turn: Turn | undefined; readonly isUndone: boolean } | undefined {
    if (!this.#hasSteps) return undefined
    const [raw] = this.#sql.exec<RawStep>('SELECT * FROM step WHERE n > 0 ORDER BY n DESC LIMIT 1').toArray()
    return raw && { row: createRow(raw), turn: turnOf(raw), isUndone: raw.gone !== 0 }
  }

  /** Rows of the conversation, newest first. Rows that the caller does not reach are not read. */
  *rowsNewestFirst(): Generator<StepRow> {
    if (!this.#hasSteps) return
    for (const raw of this.#sql.exec<RawStep>('SELECT * FROM step WHERE gone = 0 ORDER BY n DESC')) yield createRow(raw)
  }

  /** Entries of the conversation's rows before `before`, newest row first. A wake-up reads these. */
  *entriesNewestFirst(before = Number.MAX_SAFE_INTEGER): Generator<RowEntries> {
    if (!this.#hasSteps || this.#isEmpty) return
    const newestFirst = 'SELECT n, entries FROM step WHERE gone = 0 AND n < ? ORDER BY n DESC'
    const rows = this.#sql.exec<RawEntries>(newestFirst, before)
    // Rows are parsed in batches: thousands of small texts cost twice as much. The first batch is small, because many
    // callers stop early.
    let batch: RawEntries[] = []
    let [length, batchChars] = [0, firstBatchChars]
    for (const row of rows) {
      batch.push(row)
      length += row.entries.length
      if (length < batchChars) continue
      yield* parseRows(batch)
      batch = []
      ;[length, batchChars] = [0, Math.min(batchChars * 2, maxBatchChars)]
    }
    yield* parseRows(batch)
  }

  /** Entries of the conversation's rows from the one with message `from` on, oldest row first. */
  *entriesOldestFirst(from: number): Generator<RowEntries> {
    if (!this.#hasSteps || this.#isEmpty) return
    const first = 'coalesce((SELECT max(n) FROM step WHERE gone = 0 AND n <= ?), 1)'
    const oldestFirst = `SELECT n, entries FROM step WHERE gone = 0 AND n >= ${first} ORDER BY n`
    for (const row of this.#sql.exec<RawEntries>(oldestFirst, from)) yield* parseRows([row])
  }

  /** The newest summary in the rows from `n` on. */
  summaryFrom(n: number): Entry | undefined {
    if (!this.#hasSteps) return undefined
    const candidates = `SELECT n, entries FROM step WHERE gone = 0 AND n >= ? AND instr(entries, '"covers":') ORDER BY n DESC`
    for (const row of this.#sql.exec<RawEntries>(candidates, n)) {
      const summary = (JSON.parse(row.entries) as Entry[]).findLast(({ covers }) => covers !== undefined)
      if (summary) return summary
    }
    return undefined
  }

  /** Entries of the conversation with these seqs, in this order. Only their rows are read. */
  entriesAt(seqs: readonly number[]): Entry[] {
    const read: Entry[] = []
    return seqs.flatMap((seq) => {
      const known = read.find((entry) => entry.seq === seq)
      if (known) return known
      const row = 'SELECT entries FROM step WHERE gone = 0 AND n > 0 AND n <= ? ORDER BY n DESC LIMIT 1'
      const [found] = this.#sql.exec<{ entries: string }>(row, seq).toArray()
      read.push(...(found ? (JSON.parse(found.entries) as Entry[]) : []))
      return read.find((entry) => entry.seq === seq) ?? []
    })
  }

  /** Rows with an event after `seq`, oldest first. Undone rows are included: their events were sent. */
  *rowsSince(seq: number): Generator<StepRow> {
    if (!this.#hasSteps) return
    let first: number | undefined
    const newestFirst = 'SELECT n, last_event FROM step WHERE n > 0 ORDER BY n DESC'
    for (const { n, last_event: last } of this.#sql.exec<Pick<RawStep, 'n' | 'last_event'>>(newestFirst)) {
      if (last <= seq) break
      first = n
    }
    if (first === undefined) return
    for (const raw of this.#sql.exec<RawStep>('SELECT * FROM step WHERE n >= ? ORDER BY n', first)) yield createRow(raw)
  }

  /** The rows of a run from the one with the message `from` on, oldest first, undone or not. */
  rowsOfRun(runId: string, from = 0): StepRow[] {
    if (!this.#hasSteps) return []
    const since = 'n >= coalesce((SELECT max(n) FROM step WHERE n > 0 AND n <= ?2), 1)'
    const rows = this.#sql.exec<RawStep>(`SELECT * ${fromRun} AND ${since} ORDER BY n`, runId, from)
    return rows.toArray().map(createRow)
  }

  /** Whether the run was removed from the conversation. */
  isUndone(runId: string): boolean {
    if (!this.#hasSteps) return false
    const newest = 'SELECT gone FROM step WHERE run = ? AND n > 0 ORDER BY n DESC LIMIT 1'
    return this.#sql.exec<{ gone: number }>(newest, runId).toArray()[0]?.gone === 1
  }

  /** The turn of a run as its last row has it. */
  turnOfRun(runId: string): Turn | undefined {
    return this.#newestTurn('run = ?', runId) ?? this.asides.turnOf(runId)
  }

  /** The turn of the newest run that is not undone, with the seq of its newest row. */
  lastTurn(): { readonly n: number; readonly turn: Turn | undefined } | undefined {
    if (!this.#hasSteps || this.#isEmpty) return undefined
    const newest = 'SELECT * FROM step WHERE n > 0 AND gone = 0 AND turn IS NOT NULL ORDER BY n DESC LIMIT 1'
    const [raw] = this.#sql.exec<RawStep>(newest).toArray()
    return raw && { n: raw.n, turn: turnOf(raw) }
  }

  /** The first row of a run in the conversation. */
  firstRowOf(runId: string): number {
    const first = 'SELECT min(n) AS n FROM step WHERE n > 0 AND gone = 0 AND run = ?'
    return this.#sql.exec<{ n: number | null }>(first, runId).toArray()[0]?.n ?? 0
  }

  /** The last turn of any other run. */
  turnBefore(runId: string): Turn | undefined {
    return this.#newestTurn('run <> ?', runId)
  }

  /** Whether there is any other run, undone or not. Imported messages are none. */
  hasOtherRun(runId: string): boolean {
    const query = 'SELECT 1 FROM step WHERE n > 0 AND run <> ? AND run <> ? LIMIT 1'
    return this.#hasSteps && this.#sql.exec(query, runId, importRunId).toArray().length > 0
  }

  #newestTurn(condition: 'run = ?' | 'run <> ?', runId: string): Turn | undefined {
    if (!this.#hasSteps) return undefined
    const [raw] = this.#sql
      .exec<RawStep>(
        `SELECT * FROM step WHERE n > 0 AND ${condition} AND turn IS NOT NULL ORDER BY n DESC LIMIT 1`,
        runId,
      )
      .toArray()
    return raw && turnOf(raw)
  }

  /** All messages of a run, oldest first, undone or not. */
  entriesOfRun(runId: string): Entry[] {
    if (!this.#hasSteps) return []
    const rows = this.#sql.exec<{ entries: string }>(`SELECT entries ${fromRun} ORDER BY n`, runId).toArray()
    return rows.length ? rows.flatMap(({ entries }) => JSON.parse(entries) as Entry[]) : this.asides.entriesOf(runId)
  }

  /** Keys of the conversation's rows, oldest first. */
  listRows(): { readonly n: number; readonly run: string }[] {
    if (!this.#hasSteps) return []
    return this.#sql
      .exec<{ n: number; run: string }>('SELECT n, run FROM step WHERE gone = 0 AND n > 0 ORDER BY n')
      .toArray()
  }

  /** Reads a row and its turn, undone or not. */
  row(n: number): { readonly row: StepRow; readonly turn: Turn | undefined } {
    const raw = this.#sql.exec<RawStep>('SELECT * FROM step WHERE n = ?', n).one()
    return { row: createRow(raw), turn: turnOf(raw) }
  }

  /** The bytes of the messages in rows after `n`. */
  bytesAfter(n: number): number {
    return this.#sql
      .exec<{ bytes: number }>('SELECT total(length(CAST(entries AS BLOB))) AS bytes FROM step WHERE n > ?', n)
      .one().bytes
  }

  /** Rows that history does not have yet, with their turns, oldest first. */
  *unprojected(through: number): Generator<{ readonly row: StepRow; readonly turn: Turn | undefined }> {
    if (!this.#hasSteps) return
    for (const raw of this.#sql.exec<RawStep>(unsentRows, through)) {
      const row = createRow(raw)
      if ((row.entries.at(-1)?.seq ?? row.n) > through) yield { row, turn: turnOf(raw) }
    }
  }

  /** Turns of undone rows from `from` on. */
  undoneTurns(from: number): Turn[] {
    if (!this.#hasSteps) return []
    return this.#sql
      .exec<RawStep>('SELECT * FROM step WHERE n >= ? AND n > 0 AND gone = 1 AND turn IS NOT NULL', from)
      .toArray()
      .flatMap((raw) => turnOf(raw) ?? [])
  }

  /** Removes rows from the conversation. They stay stored for subscribers of their events. */
  undo(from: number): void {
    this.#sql.exec('UPDATE step SET gone = 1 WHERE n >= ? AND gone = 0', from)
  }

  /** Takes the first rows out of the conversation and brings the others, which were undone, back. */
  exchange(gone: readonly number[], back: readonly number[]): void {
    const set = 'UPDATE step SET gone = ? WHERE n IN (SELECT value FROM json_each(?))'
    this.#sql.exec(set, 1, JSON.stringify(gone))
    this.#sql.exec(set, 0, JSON.stringify(back))
  }

  /** Which of these rows are still stored. Those of a session that was rebuilt or restored are not. */
  listStored(rows: readonly number[]): number[] {
    if (!this.#hasSteps) return []
    const stored = 'SELECT n FROM step WHERE n > 0 AND n IN (SELECT value FROM json_each(?)) ORDER BY n'
    return this.#sql
      .exec<{ n: number }>(stored, JSON.stringify(rows))
      .toArray()
      .map(({ n }) => n)
  }

  inbox(): InboxRow[] {
    if (!this.#tables.has('inbox')) return []
    return this.#sql
      .exec<{ id: number; body: string }>('SELECT id, body FROM inbox ORDER BY id')
      .toArray()
      .map(({ id, body }) => ({ id, item: JSON.parse(body) as InboxItem, size: body.length }))
  }

  putInbox(id: number, item: InboxItem): InboxRow {
    if (!this.#tables.has('inbox')) this.#sql.exec(inboxSchema)
    this.#tables.add('inbox')
    const body = JSON.stringify(item)
    this.#sql.exec('INSERT INTO inbox VALUES (?, ?)', id, body)
    return { id, item, size: body.length }
  }

  deleteInbox(ids: readonly number[]): void {
    for (const id of ids) this.#sql.exec('DELETE FROM inbox WHERE id = ?', id)
  }
}

/** A long row is sent as several pages. A row of which only a part was sent is selected again. */
const unsentRows = `SELECT * FROM step WHERE gone = 0 AND n >= CASE WHEN EXISTS (SELECT 1 FROM step WHERE n = ?1 + 1)
  THEN ?1 + 1 ELSE coalesce((SELECT max(n) FROM step WHERE n > 0 AND n <= ?1), 1) END ORDER BY n`

/**
 * Selects the rows of a run, which are consecutive. The search goes from the newest row to the row before them, so that
 * the rows a turn reads do not grow with the conversation.
 */
const fromRun = `FROM step WHERE n <= (SELECT n FROM step WHERE run = ?1 AND n > 0 ORDER BY n DESC LIMIT 1)
  AND n > coalesce((SELECT n FROM step WHERE run <> ?1 AND n > 0 AND n < (
    SELECT n FROM step WHERE run = ?1 AND n > 0 ORDER BY n DESC LIMIT 1) ORDER BY n DESC LIMIT 1), 0)`

/** Characters of rows that are parsed together: in the first batch, and at most. */
const firstBatchChars = 4 * 1024
const maxBatchChars = 128 * 1024

type RawEntries = { readonly n: number; readonly entries: string }
/** `length`: characters of the entries' JSON. */
type RowEntries = { readonly n: number; readonly entries: Entry[]; readonly length: number }

function parseRows(rows: readonly RawEntries[]): RowEntries[] {
  const all = JSON.parse(`[${rows.map(({ entries }) => entries).join(',')}]`) as Entry[][]
  return rows.map(({ n, entries }, i) => ({ n, entries: all[i] as Entry[], length: entries.length }))
}

const turnOf = (raw: RawStep) => (raw.turn === null ? undefined : fromStoredTurn(JSON.parse(raw.turn) as StoredTurn))

function createRow(raw: RawStep): StepRow {
  return {
    n: raw.n,
    runId: raw.run,
    entries: JSON.parse(raw.entries) as Entry[],
    texts: [],
    events: JSON.parse(raw.events) as LoggedEvent[],
  }
}
