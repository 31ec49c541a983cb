/**
 * Holds audit entries until D1 has them. An entry is stored in the same synchronous stretch as the change that it
 * describes, so neither a crash nor an outage of D1 loses it. The alarm sends it at once, and again after a failure.
 */

import { actorOf, type AuditEvent, createAuditEvent, type NewAuditEvent } from '#agent/core/permission/audit.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { writeAuditEvents } from '#db/audit-log.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'

const maxBatch = 100
const schema = 'CREATE TABLE IF NOT EXISTS audit_outbox (num INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL)'

export type TenantAuditOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly database: D1Database
  readonly armAlarm: () => void
}

export class TenantAudit extends TenantPart implements ScheduledPart {
  readonly #options: TenantAuditOptions
  #hasTable: boolean
  /** When the first entry that D1 does not have was stored, or found after a restart. */
  #pendingSince: number | undefined

  constructor(options: TenantAuditOptions) {
    super(options.mayChange)
    this.#options = options
    const query = "SELECT count(*) AS n FROM sqlite_master WHERE name = 'audit_outbox'"
    this.#hasTable = options.sql.exec<{ n: number }>(query).one().n > 0
    if (this.#hasTable && options.sql.exec('SELECT 1 FROM audit_outbox LIMIT 1').toArray().length)
      this.#pendingSince = clock.now()
  }

  /** Stores the entries; resolves when they are durable. */
  record(authority: Authority, events: readonly AuditEvent[]): void {
    this.requireOwn(authority)
    this.#record(events)
  }

  #record(events: readonly AuditEvent[]): void {
    const { sql, armAlarm } = this.#options
    if (!this.#hasTable) sql.exec(schema)
    this.#hasTable = true
    for (const event of events) sql.exec('INSERT INTO audit_outbox (body) VALUES (?)', JSON.stringify(event))
    this.#pendingSince ??= clock.now()
    armAlarm()
  }

  /** Stores the entry of an action. */
  add(authority: Authority, event: Omit<NewAuditEvent, 'at' | 'actor'>): void {
    this.requireOwn(authority)
    this.#record([createAuditEvent({ ...event, at: clock.now(), actor: actorOf(authority) })])
  }

  wakeAt(): number | undefined {
    return this.#pendingSince
  }

  /** Sends all entries in order. */
  async wake(): Promise<void> {
    const { sql, tenantId, database } = this.#options
    for (;;) {
      const query = 'SELECT num, body FROM audit_outbox ORDER BY num LIMIT ?'
      const rows = sql.exec<{ num: number; body: string }>(query, maxBatch).toArray()
      const last = rows.at(-1)
      if (!last) break
      const events = rows.map(({ body }) => JSON.parse(body) as AuditEvent)
      await writeAuditEvents(database, tenantId, events)
      sql.exec('DELETE FROM audit_outbox WHERE num <= ?', last.num)
    }
    this.#pendingSince = undefined
  }
}
