/** Counts the browsers of a tenant, so that its sessions open only so many at a time, and reaches its vault. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { clock } from '#durable/platform/clock.ts'
import { LoadedTenantPart } from './tenant-part.ts'
import type { VaultMethod } from './vault/vault-entry.ts'
import type { VaultOptions, VaultRows } from './vault/vault-rows.ts'

const defaultMaxBrowsers = 10
/** A session that never released its browser does not count for longer. */
const claimMs = 86_400_000

const schema = 'CREATE TABLE IF NOT EXISTS browser (session TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID'

export type BrowserClaim = { readonly isFree: boolean; readonly max: number }

export class TenantBrowsers extends LoadedTenantPart<VaultRows, VaultMethod> {
  readonly #sql: SqlStorage
  readonly #limits: () => Limits

  constructor(options: VaultOptions, sql: SqlStorage, limits: () => Limits) {
    super(options.mayChange, async () => new (await import('./vault/vault-rows.ts')).VaultRows(options))
    this.#sql = sql
    this.#limits = limits
    sql.exec(schema)
  }

  /** A session that has a claim already keeps it. */
  claim(authority: Authority, sessionId: string): BrowserClaim {
    this.requireOwn(authority)
    const now = clock.now()
    this.#sql.exec('DELETE FROM browser WHERE at < ?', now - claimMs)
    const { browsers: max = defaultMaxBrowsers } = this.#limits()
    const count = 'SELECT count(*) AS n FROM browser WHERE session <> ?'
    if (this.#sql.exec<{ n: number }>(count, sessionId).one().n >= max) return { isFree: false, max }
    this.#sql.exec('INSERT OR REPLACE INTO browser VALUES (?, ?)', sessionId, now)
    return { isFree: true, max }
  }

  release(authority: Authority, sessionId: string): void {
    this.requireOwn(authority)
    this.#sql.exec('DELETE FROM browser WHERE session = ?', sessionId)
  }
}
