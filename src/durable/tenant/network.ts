/** Counts the requests that a tenant sends to hosts of the internet. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import { clock } from '#durable/platform/clock.ts'
import type { HostUse } from '#durable/platform/guarded-fetch.ts'

export type HostTotals = {
  readonly host: string
  readonly requests: number
  readonly bytes: number
  readonly refused: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
}

/** Beyond them, the hosts that were not called for longest are forgotten. */
const maxHosts = 1_000

const schema = `CREATE TABLE IF NOT EXISTS network (
  host TEXT PRIMARY KEY, requests INTEGER NOT NULL, bytes INTEGER NOT NULL, refused INTEGER NOT NULL,
  lastAt INTEGER NOT NULL) WITHOUT ROWID`

export class TenantNetwork extends TenantPart {
  readonly #sql: SqlStorage
  /** Hosts that the table has. Another one may be too many, which only reading the whole table shows. */
  readonly #known = new Set<string>()

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    super(mayChange)
    this.#sql = sql
    sql.exec(schema)
  }

  record(authority: Authority, uses: readonly HostUse[]): void {
    this.requireOwn(authority)
    for (const { host, bytes, isRefused } of uses)
      this.#sql.exec(
        `INSERT INTO network VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,
         bytes = bytes + excluded.bytes, refused = refused + excluded.refused, lastAt = excluded.lastAt`,
        host,
        isRefused ? 0 : 1,
        bytes,
        isRefused ? 1 : 0,
        clock.now(),
      )
    if (uses.every(({ host }) => this.#known.has(host))) return
    if (this.#forgetOldest()) this.#known.clear()
    else for (const { host } of uses) this.#known.add(host)
  }

  #forgetOldest(): boolean {
    const { rowsWritten } = this.#sql.exec(
      'DELETE FROM network WHERE host IN (SELECT host FROM network ORDER BY lastAt DESC LIMIT -1 OFFSET ?)',
      maxHosts,
    )
    return rowsWritten > 0
  }

  /** The last called hosts first. */
  list(authority: Authority, limit: number): readonly HostTotals[] {
    this.requireOwn(authority)
    return this.#sql.exec<HostTotals>('SELECT * FROM network ORDER BY lastAt DESC, host LIMIT ?', limit).toArray()
  }
}
