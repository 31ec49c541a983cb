/**
 * The rows of one session in the object's own SQLite: what is written, in which shape. A row of `step`
 * holds what one model call answered to and what it said (user message or tool results, then the
 * reply), the events of that time and the turn as it stood then; the newest row has the current turn.
 * So a step of a turn costs two row writes, and a plain turn two in all.
 */

import type { Entry } from '../../agent/model/history.ts'
import type { UserMessage } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/options.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { Usage } from '../../agent/model/usage.ts'
import type { LoggedEvent } from './event-log.ts'
import type { SessionMetadata } from './session-metadata.ts'

export type StepRow = {
  /** seq of the first entry. */
  readonly n: number
  readonly runId: string
  entries: Entry[]
  /** JSON of each entry, so that rewriting a row does not serialise large results again. */
  texts: string[]
  events: LoggedEvent[]
}

/** The run id of messages that were there before the session's first turn. */
export const importRun = 'import'

export type InboxItem =
  | {
      readonly kind: 'said'
      readonly mode: 'steer' | 'redirect'
      readonly runId: string
      readonly message: UserMessage
    }
  | {
      readonly kind: 'queued'
      readonly runId: string
      readonly message: UserMessage
      readonly options: TurnOptions
    }

/** `size`: characters of its row. */
export type Waiting = { readonly id: number; readonly item: InboxItem; readonly size: number }

/**
 * Row 0 is the session itself, with its description in `entries`, row -1 what side-notes.ts keeps: tables of their own
 * would cost more than they are worth. Both are `gone`: no part of the conversation.
 */
const schema = `CREATE TABLE step (n INTEGER PRIMARY KEY, run TEXT NOT NULL, last_event INTEGER NOT NULL,
  gone INTEGER NOT NULL, turn TEXT, events TEXT NOT NULL, entries TEXT NOT NULL)`
/** Made when something is said while a turn runs. */
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

export class Journal {
  readonly #sql: SqlStorage
  readonly #tables: Set<string>
  /** Made in this life and still without a row of the conversation: there is nothing to read. */
  #isEmpty = false

  constructor(sql: SqlStorage) {
    this.#sql = sql
    const names = sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE name IN ('step', 'inbox', 'process', 'outbox', 'heard')",
      )
      .toArray()
    this.#tables = new Set(names.map(({ name }) => name))
  }

  /** Nothing was ever stored here: the session does not exist, or its object was lost. */
  get isBlank(): boolean {
    return !this.#ready
  }

  /** Whether a table of others was there when the object woke. */
  had(table: 'process' | 'outbox' | 'heard'): boolean {
    return this.#tables.has(table)
  }

  get #ready(): boolean {
    return this.#tables.has('step')
  }

  meta(): SessionMetadata | undefined {
    if (!this.#ready) return undefined
    const [row] = this.#sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = 0').toArray()
    return row && (JSON.parse(row.entries) as SessionMetadata)
  }

  putMeta(meta: SessionMetadata): void {
    if (!this.#ready) {
      this.#sql.exec(schema)
      this.#tables.add('step')
      this.#isEmpty = true
    }
    this.#sql.exec(
      "INSERT INTO step VALUES (0, '', 0, 1, NULL, '[]', ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
      JSON.stringify(meta),
    )
  }

  /** Calls beside the conversation that no turn has in its books yet: id and usage (side-notes.ts). */
  asides(): [number, Usage][] {
    if (!this.#ready) return []
    const [row] = this.#sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = -1').toArray()
    return row ? (JSON.parse(row.entries) as [number, Usage][]) : []
  }

  /** An empty list takes the row away. */
  putAsides(asides: readonly (readonly [number, Usage])[]): void {
    if (asides.length)
      this.#sql.exec(
        "INSERT INTO step VALUES (-1, '', 0, 1, NULL, '[]', ?) ON CONFLICT DO UPDATE SET entries = excluded.entries",
        JSON.stringify(asides),
      )
    else this.#sql.exec('DELETE FROM step WHERE n = -1')
  }

  /** Writes the row as a whole. Without `turn`, a later row of the run holds it. */
  putStep(row: StepRow, turn: Turn | undefined): void {
    this.#isEmpty = false
    this.#sql.exec(
      `INSERT INTO step VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT DO UPDATE SET
        last_event = excluded.last_event, turn = excluded.turn, events = excluded.events, entries = excluded.entries`,
      row.n,
      row.runId,
      row.events.at(-1)?.[0] ?? 0,
      turn ? JSON.stringify(turn) : null,
      JSON.stringify(row.events),
      `[${row.texts.join(',')}]`,
    )
  }

  /** Taken back or not: its turn is the session's last one all the same. */
  newest(): { readonly row: StepRow; readonly turn: Turn | undefined; readonly isGone: boolean } | undefined {
    if (!this.#ready) return undefined
    const [raw] = this.#sql.exec<RawStep>('SELECT * FROM step WHERE n > 0 ORDER BY n DESC LIMIT 1').toArray()
    return raw && { row: rowOf(raw), turn: turnOf(raw), isGone: raw.gone !== 0 }
  }

  /** Rows that were not taken back, newest first, read as far as the caller goes. */
  *backwards(): Generator<StepRow> {
    if (!this.#ready) return
    for (const raw of this.#sql.exec<RawStep>('SELECT * FROM step WHERE gone = 0 ORDER BY n DESC')) yield rowOf(raw)
  }

  /** Entries of rows that were not taken back and begin below `before`, newest row first: what a wake-up reads. */
  *entriesBackwards(before = Number.MAX_SAFE_INTEGER): Generator<RowEntries> {
    if (!this.#ready || this.#isEmpty) return
    const newestFirst = 'SELECT n, entries FROM step WHERE gone = 0 AND n < ? ORDER BY n DESC'
    const rows = this.#sql.exec<RawEntries>(newestFirst, before)
    // Many rows are parsed as one text: thousands of small ones cost twice as much. Who wants few stops early.
    let batch: RawEntries[] = []
    let [length, together] = [0, readFirst]
    for (const row of rows) {
      batch.push(row)
      length += row.entries.length
      if (length < together) continue
      yield* parsed(batch)
      batch = []
      ;[length, together] = [0, Math.min(together * 2, readTogether)]
    }
    yield* parsed(batch)
  }

  /** The last message that a summary in the rows from `n` on stands for, 0 without one. Few rows are parsed for it. */
  coveredFrom(n: number): number {
    if (!this.#ready) return 0
    const likely = `SELECT n, entries FROM step WHERE gone = 0 AND n >= ? AND instr(entries, '"covers":') ORDER BY n DESC`
    for (const row of this.#sql.exec<RawEntries>(likely, n)) {
      const covers = (JSON.parse(row.entries) as Entry[]).findLast((entry) => entry.covers !== undefined)?.covers
      if (covers !== undefined) return covers
    }
    return 0
  }

  /**
   * Rows with an event after `seq`, oldest first, read as far as the caller goes. Taken-back rows count: their events
   * were heard.
   */
  *rowsSince(seq: number): Generator<StepRow> {
    if (!this.#ready) return
    let first: number | undefined
    const newestFirst = 'SELECT n, last_event FROM step WHERE n > 0 ORDER BY n DESC'
    for (const { n, last_event: last } of this.#sql.exec<Pick<RawStep, 'n' | 'last_event'>>(newestFirst)) {
      if (last <= seq) break
      first = n
    }
    if (first === undefined) return
    for (const raw of this.#sql.exec<RawStep>('SELECT * FROM step WHERE n >= ? ORDER BY n', first)) yield rowOf(raw)
  }

  /** All rows of a run, oldest first, taken back or not. */
  rowsOf(runId: string): StepRow[] {
    if (!this.#ready) return []
    return this.#sql.exec<RawStep>(`SELECT * ${fromRun}`, runId).toArray().map(rowOf)
  }

  /** The record of a run: the turn as its last row knew it. */
  turnOf(runId: string): Turn | undefined {
    return this.#newestTurn('run = ?', runId)
  }

  /** The last turn before those of this run. */
  turnBefore(runId: string): Turn | undefined {
    return this.#newestTurn('run <> ?', runId)
  }

  #newestTurn(where: 'run = ?' | 'run <> ?', runId: string): Turn | undefined {
    if (!this.#ready) return undefined
    const [raw] = this.#sql
      .exec<RawStep>(`SELECT * FROM step WHERE n > 0 AND ${where} AND turn IS NOT NULL ORDER BY n DESC LIMIT 1`, runId)
      .toArray()
    return raw && turnOf(raw)
  }

  /** All messages of a run, oldest first, taken back or not. */
  entriesOf(runId: string): Entry[] {
    if (!this.#ready) return []
    return this.#sql
      .exec<{ entries: string }>(`SELECT entries ${fromRun}`, runId)
      .toArray()
      .flatMap(({ entries }) => JSON.parse(entries) as Entry[])
  }

  /** Rows of the conversation, oldest first. */
  places(): { readonly n: number; readonly run: string }[] {
    if (!this.#ready) return []
    return this.#sql
      .exec<{ n: number; run: string }>('SELECT n, run FROM step WHERE gone = 0 AND n > 0 ORDER BY n')
      .toArray()
  }

  /** A row with the turn it ends, taken back or not. */
  at(n: number): { readonly row: StepRow; readonly turn: Turn | undefined } {
    const raw = this.#sql.exec<RawStep>('SELECT * FROM step WHERE n = ?', n).one()
    return { row: rowOf(raw), turn: turnOf(raw) }
  }

  /** Bytes of rows that begin behind `n`, as far as a copy of the conversation would have them. */
  bytesBehind(n: number): number {
    return this.#sql
      .exec<{ bytes: number }>('SELECT total(length(CAST(entries AS BLOB))) AS bytes FROM step WHERE n > ?', n)
      .one().bytes
  }

  /** Rows that history does not have yet, with the turn each of them ends, oldest first. */
  *unsent(through: number): Generator<{ readonly row: StepRow; readonly turn: Turn | undefined }> {
    if (!this.#ready) return
    for (const raw of this.#sql.exec<RawStep>(unsentRows, through)) {
      const row = rowOf(raw)
      if ((row.entries.at(-1)?.seq ?? row.n) > through) yield { row, turn: turnOf(raw) }
    }
  }

  /** Turns that ended in rows from `n` on which were taken back. */
  goneTurns(from: number): Turn[] {
    if (!this.#ready) return []
    return this.#sql
      .exec<RawStep>('SELECT * FROM step WHERE n >= ? AND n > 0 AND gone = 1 AND turn IS NOT NULL', from)
      .toArray()
      .flatMap((raw) => turnOf(raw) ?? [])
  }

  /** Takes rows out of the conversation; they stay for those who still follow the events. */
  retract(from: number): void {
    this.#sql.exec('UPDATE step SET gone = 1 WHERE n >= ? AND gone = 0', from)
  }

  inbox(): Waiting[] {
    if (!this.#tables.has('inbox')) return []
    return this.#sql
      .exec<{ id: number; body: string }>('SELECT id, body FROM inbox ORDER BY id')
      .toArray()
      .map(({ id, body }) => ({ id, item: JSON.parse(body) as InboxItem, size: body.length }))
  }

  putInbox(id: number, item: InboxItem): Waiting {
    if (!this.#tables.has('inbox')) this.#sql.exec(inboxSchema)
    this.#tables.add('inbox')
    const body = JSON.stringify(item)
    this.#sql.exec('INSERT INTO inbox VALUES (?, ?)', id, body)
    return { id, item, size: body.length }
  }

  /** Takes items out of the inbox. */
  dropInbox(ids: readonly number[]): void {
    for (const id of ids) this.#sql.exec('DELETE FROM inbox WHERE id = ?', id)
  }
}

/** A row that is long goes in several pages, and may have gone only in part: then it comes once more. */
const unsentRows = `SELECT * FROM step WHERE gone = 0 AND n >= CASE WHEN EXISTS (SELECT 1 FROM step WHERE n = ?1 + 1)
  THEN ?1 + 1 ELSE coalesce((SELECT max(n) FROM step WHERE n > 0 AND n <= ?1), 1) END ORDER BY n`

/**
 * The rows of a run stand together. They are looked for from the newest row on, and no further than to the row before
 * them, so that what a turn reads does not grow with its conversation.
 */
const fromRun = `FROM step WHERE n <= (SELECT n FROM step WHERE run = ?1 AND n > 0 ORDER BY n DESC LIMIT 1)
  AND n > coalesce((SELECT n FROM step WHERE run <> ?1 AND n > 0 AND n < (
    SELECT n FROM step WHERE run = ?1 AND n > 0 ORDER BY n DESC LIMIT 1) ORDER BY n DESC LIMIT 1), 0) ORDER BY n`

/** Characters that are parsed at once, at first and at most; the reader may stop before they are all taken. */
const readFirst = 4 * 1024
const readTogether = 128 * 1024

type RawEntries = { readonly n: number; readonly entries: string }
/** `length`: characters of their JSON. */
type RowEntries = { readonly n: number; readonly entries: Entry[]; readonly length: number }

function parsed(rows: readonly RawEntries[]): RowEntries[] {
  const all = JSON.parse(`[${rows.map(({ entries }) => entries).join(',')}]`) as Entry[][]
  return rows.map(({ n, entries }, i) => ({ n, entries: all[i] as Entry[], length: entries.length }))
}

const turnOf = (raw: RawStep) => (raw.turn === null ? undefined : (JSON.parse(raw.turn) as Turn))

function rowOf(raw: RawStep): StepRow {
  const entries = JSON.parse(raw.entries) as Entry[]
  return {
    n: raw.n,
    runId: raw.run,
    entries,
    texts: entries.map((entry) => JSON.stringify(entry)),
    events: JSON.parse(raw.events) as LoggedEvent[],
  }
}
