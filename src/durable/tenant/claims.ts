/** Binds idempotency keys to request bodies and to the ids of the work, for three days. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import { clock } from '#durable/platform/clock.ts'
import type { StoredValues } from './stored-values.ts'

type Ids = { readonly sessionId: string; readonly runId: string }

/** `new`: the key was free. `same`: it was used with this body. `conflict`: it was used with another one. */
export type Claim = ({ readonly kind: 'new' | 'same' } & Ids) | { readonly kind: 'conflict' }

type ClaimRow = { hash: string; session: string; run: string }

const schema = `CREATE TABLE IF NOT EXISTS claim (name TEXT PRIMARY KEY, hash TEXT NOT NULL, session TEXT NOT NULL,
  run TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID`

const hourMs = 3_600_000
/** How long a claim holds. */
export const claimRetentionMs = 72 * hourMs
/** Name of the stored time of the last sweep. */
const sweptAt = 'swept'

export class TenantClaims extends TenantPart {
  readonly #sql: SqlStorage
  readonly #values: StoredValues

  constructor(mayChange: ChangeCheck, sql: SqlStorage, values: StoredValues) {
    super(mayChange)
    this.#sql = sql
    this.#values = values
    sql.exec(schema)
  }

  /** Claims `name` for a body of this hash. The answer has the ids to use: these, or those of the first claim. */
  claim(authority: Authority, name: string, hash: string, { sessionId, runId }: Ids): Claim {
    this.requireOwn(authority)
    const now = clock.now()
    this.#deleteOld(now)
    const query = 'SELECT hash, session, run FROM claim WHERE name = ? AND at >= ?'
    const [row] = this.#sql.exec<ClaimRow>(query, name, now - claimRetentionMs).toArray()
    if (row) return row.hash === hash ? { kind: 'same', sessionId: row.session, runId: row.run } : { kind: 'conflict' }
    this.#sql.exec('INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?, ?)', name, hash, sessionId, runId, now)
    return { kind: 'new', sessionId, runId }
  }

  /** The rests of the names that begin so, oldest first. With a run only those that are bound to it. */
  listNames(authority: Authority, prefix: string, run: string | null = null): readonly string[] {
    this.requireOwn(authority)
    const query = `SELECT name FROM claim WHERE name >= ?1 AND name < ?1 || char(1114111) AND (?2 IS NULL OR run = ?2)
      ORDER BY at LIMIT 200`
    return this.#sql
      .exec<{ name: string }>(query, prefix, run)
      .toArray()
      .map(({ name }) => name.slice(prefix.length))
  }

  /** Frees a key whose request was refused before any work began. */
  release(authority: Authority, name: string): void {
    this.requireOwn(authority)
    this.#sql.exec('DELETE FROM claim WHERE name = ?', name)
  }

  /** At most once an hour, also after evictions: it reads every row. */
  #deleteOld(now: number): void {
    if (now - (this.#values.get<number>(sweptAt) ?? 0) < hourMs) return
    this.#sql.exec('DELETE FROM claim WHERE at < ?', now - claimRetentionMs)
    this.#values.set(sweptAt, now)
  }
}
