/** Counts the turns of a tenant that no person has started, for a day. A turn has one row. */

import type { Limits } from '#agent/core/settings.ts'
import {
  findUnattendedOverspending,
  findUnattendedRefusal,
  type UnattendedRefusal,
  type UnattendedUse,
} from '#agent/policy/unattended.ts'
import { type Amount, noAmount, type Over } from './spending.ts'

/** A turn that no person has started. `isSelfStarted`: by an event of its own session, such as the end of a process. */
export type UnattendedTurn = { readonly sessionId: string; readonly isSelfStarted: boolean }

const schema = `CREATE TABLE IF NOT EXISTS unattended (run TEXT PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL,
  tokens INTEGER NOT NULL, usd REAL NOT NULL) WITHOUT ROWID`

const hourMs = 3_600_000
const dayMs = 86_400_000

export class UnattendedTurns {
  readonly #sql: SqlStorage

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
  }

  /** Counts the turn, unless a limit refuses it. A run counts once. */
  admit(runId: string, { sessionId, isSelfStarted }: UnattendedTurn, limits: Limits, now: number): Over | undefined {
    if (this.#sql.exec('SELECT 1 FROM unattended WHERE run = ?', runId).toArray().length) return undefined
    this.#sql.exec('DELETE FROM unattended WHERE at <= ?', now - dayMs)
    const use = { hour: this.#hour(sessionId, now), day: this.#day() }
    const refusal = findUnattendedRefusal(use, limits, { isSelfStarted, now })
    if (refusal) return toOver(refusal)
    this.#sql.exec('INSERT INTO unattended VALUES (?, ?, ?, 0, 0)', runId, sessionId, now)
    return undefined
  }

  /** Records what an unattended run has spent so far, with its calls in flight. Ignores other runs. */
  record(runId: string, { tokens, usd }: Amount): void {
    this.#sql.exec(
      'UPDATE unattended SET tokens = ?1, usd = ?2 WHERE run = ?3 AND (tokens, usd) IS NOT (?1, ?2)',
      tokens,
      usd,
      runId,
    )
  }

  /** Checks what all unattended runs of the last day have spent. Undefined when a person has started this run. */
  over(runId: string, limits: Limits, now: number): Over | undefined {
    const isUnattended = this.#sql.exec('SELECT 1 FROM unattended WHERE run = ?', runId).toArray().length > 0
    if (!isUnattended) return undefined
    this.#sql.exec('DELETE FROM unattended WHERE at <= ? AND run <> ?', now - dayMs, runId)
    const refusal = findUnattendedOverspending(this.#day(), limits)
    return refusal && toOver(refusal)
  }

  #hour(sessionId: string, now: number): UnattendedUse['hour'] {
    const { turns, own, last } = this.#sql
      .exec<{ turns: number; own: number; last: number }>(
        `SELECT count(*) AS turns, coalesce(sum(session = ?1), 0) AS own,
          coalesce(max(at) FILTER (WHERE session = ?1), 0) AS last FROM unattended WHERE at > ?2`,
        sessionId,
        now - hourMs,
      )
      .one()
    return { turns, sessionTurns: own, sessionLastAt: last }
  }

  #day(): Amount {
    const [sum = noAmount] = this.#sql
      .exec<Amount>('SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd FROM unattended')
      .toArray()
    return sum
  }
}

const toOver = ({ limit, retryAfterMs }: UnattendedRefusal): Over => ({
  limit,
  retryAfter: Math.max(1, Math.ceil(retryAfterMs / 1_000)),
})
