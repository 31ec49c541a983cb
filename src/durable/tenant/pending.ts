/** Lists the pending requests of all sessions of a tenant that wait for a person. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '../../agent/model/permission/authority.ts'
import { type ChangeCheck, requireOwn } from './own-tenant.ts'
import type { PersonRequest } from '../../agent/model/pending-request.ts'

/** A request with the ids by which API and channels answer it. */
export type PendingItem = PersonRequest & {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
}

const schema = 'CREATE TABLE IF NOT EXISTS waiting (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID'

export class TenantPending extends RpcTarget {
  readonly #mayChange: ChangeCheck
  readonly #sql: SqlStorage

  constructor(mayChange: ChangeCheck, sql: SqlStorage) {
    super()
    this.#mayChange = mayChange
    this.#sql = sql
    sql.exec(schema)
  }

  /** Replaces the requests of a session. An empty list removes it. */
  set(authority: Authority, sessionId: string, items: readonly PendingItem[]): void {
    requireOwn(this.#mayChange, authority)
    if (items.length)
      this.#sql.exec(
        'INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
        sessionId,
        JSON.stringify(items),
      )
    else this.#sql.exec('DELETE FROM waiting WHERE session = ?', sessionId)
  }

  list(authority: Authority): PendingItem[] {
    requireOwn(this.#mayChange, authority)
    return this.#sql
      .exec<{ body: string }>('SELECT body FROM waiting')
      .toArray()
      .flatMap(({ body }) => JSON.parse(body) as PendingItem[])
  }
}
