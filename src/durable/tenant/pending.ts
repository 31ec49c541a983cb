/** Lists the pending requests of all sessions of a tenant that wait for a person. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { PendingItem } from './events/pending-item.ts'
import { pendingEvents } from './events/tenant-event.ts'
import type { TenantSockets } from './events/tenant-sockets.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

const schema = 'CREATE TABLE IF NOT EXISTS waiting (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID'

export class TenantPending extends TenantPart {
  readonly #sql: SqlStorage

  readonly #sockets: TenantSockets

  constructor(mayChange: ChangeCheck, sql: SqlStorage, sockets: TenantSockets) {
    super(mayChange)
    this.#sql = sql
    this.#sockets = sockets
    sql.exec(schema)
  }

  /** Replaces the requests of a session. An empty list removes it. */
  set(authority: Authority, sessionId: string, items: readonly PendingItem[]): void {
    this.requireOwn(authority)
    if (this.#sockets.isWatched) this.#sockets.send(pendingEvents(this.#of(sessionId), items))
    if (items.length)
      this.#sql.exec(
        'INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
        sessionId,
        JSON.stringify(items),
      )
    else this.#sql.exec('DELETE FROM waiting WHERE session = ?', sessionId)
  }

  #of(sessionId: string): readonly PendingItem[] {
    const query = 'SELECT body FROM waiting WHERE session = ?'
    const [row] = this.#sql.exec<{ body: string }>(query, sessionId).toArray()
    return row ? (JSON.parse(row.body) as PendingItem[]) : []
  }

  /** Whether a question of the session waits for this person of its chat. */
  hasQuestionFor(authority: Authority, sessionId: string, person: string, isNumber = false): boolean {
    this.requireOwn(authority)
    return this.#of(sessionId).some((item) => (isNumber || item.kind === 'question') && item.person === person)
  }

  list(authority: Authority): PendingItem[] {
    this.requireOwn(authority)
    return this.#sql
      .exec<{ body: string }>('SELECT body FROM waiting')
      .toArray()
      .flatMap(({ body }) => JSON.parse(body) as PendingItem[])
  }
}
