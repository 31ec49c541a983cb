/**
 * Stores which run answers a conversation, by the hash of its messages (docs/design/continuity.md). A hash has several
 * continuations when the same words were sent more than once. Old ones are deleted.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

/** `segment`: the part of the run that answers. */
export type Continuation = { readonly sessionId: string; readonly runId: string; readonly segment: number }

/** The rest of an expired session: hashes of what its run said, and of its state. */
export type RetiredContinuation = { readonly said: readonly string[]; readonly state: string }

/** `retired`: the session has expired by itself. */
export type RecordedContinuation = Continuation & { readonly at: number; readonly retired?: RetiredContinuation }

type ContinuationRow = { session: string; run: string; segment: number; at: number; retired: string | null }

const schema = `CREATE TABLE IF NOT EXISTS conversation (hash TEXT NOT NULL, at INTEGER NOT NULL, session TEXT NOT NULL,
  run TEXT NOT NULL, segment INTEGER NOT NULL, retired TEXT, PRIMARY KEY (hash, session, run, segment)) WITHOUT ROWID`

const retentionMs = 90 * 24 * 3_600_000
const maxContinuations = 20_000
/** So many writes are between two sweeps, which read every row. */
const writesPerSweep = 1_000
/** Of the same words; the oldest ones are forgotten. */
const maxTwins = 8

export class TenantConversations extends TenantPart {
  readonly #sqlStorage: SqlStorage
  #hasTable = false
  #writes = writesPerSweep

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    super(mayChange)
    this.#sqlStorage = sql
  }

  /** Repeating it changes nothing. */
  record(authority: Authority, hash: string, { sessionId, runId, segment }: Continuation): void {
    this.requireOwn(authority)
    const now = clock.now()
    const insert = 'INSERT INTO conversation VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING'
    this.#sql.exec(insert, hash, now, sessionId, runId, segment)
    if (++this.#writes < writesPerSweep) return
    this.#writes = 0
    this.#sweep(now)
  }

  /** The continuations of a conversation, newest first. */
  find(authority: Authority, hash: string): readonly RecordedContinuation[] {
    this.requireOwn(authority)
    const query =
      'SELECT session, run, segment, at, retired FROM conversation WHERE hash = ? AND at >= ? ORDER BY at DESC LIMIT ?'
    return this.#sql
      .exec<ContinuationRow>(query, hash, clock.now() - retentionMs, maxTwins)
      .toArray()
      .map(({ session, run, segment, at, retired }) => ({
        sessionId: session,
        runId: run,
        segment,
        at,
        ...(retired !== null && { retired: JSON.parse(retired) as RetiredContinuation }),
      }))
  }

  /** Called by a session that expires. It reads every row, which is rare enough for an expiry. */
  retire(
    authority: Authority,
    { sessionId, runId }: Omit<Continuation, 'segment'>,
    retired: RetiredContinuation,
  ): void {
    this.requireOwn(authority)
    const update = 'UPDATE conversation SET retired = ? WHERE session = ? AND run = ?'
    this.#sql.exec(update, JSON.stringify(retired), sessionId, runId)
  }

  /** Creates the table at the first use: many tenants have no such client. */
  get #sql(): SqlStorage {
    if (!this.#hasTable) this.#sqlStorage.exec(schema)
    this.#hasTable = true
    return this.#sqlStorage
  }

  #sweep(now: number): void {
    const deleteOld = `DELETE FROM conversation WHERE at < max(?, coalesce((SELECT at FROM conversation
      ORDER BY at DESC LIMIT 1 OFFSET ${maxContinuations}), 0))`
    this.#sql.exec(deleteOld, now - retentionMs)
  }
}
