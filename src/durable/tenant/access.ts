/**
 * Stores whether the tenant may act and which of its keys are revoked, and announces changes of these and of the roles
 * to the sessions that asked for it. Other sessions see a change with their next snapshot. An announcement is repeated until it has arrived.
 */

import { log } from '#agent/core/log.ts'
import { type Access, fullAccess, type TenantStatus } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Roles } from '#agent/core/permission/roles.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ScheduledPart } from '#durable/platform/part-schedule.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import type { StoredValues } from './stored-values.ts'

export type TenantAccessOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly values: StoredValues
  /** Those of the settings as they are now. */
  readonly roles: () => Roles
  /** Whether anybody listens to the events of the tenant. */
  readonly isWatched: () => boolean
  /** Informs a session about the change. Resolves to whether the session still watches. */
  readonly announce: (sessionId: string, change: AccessReport) => Promise<boolean>
  /** Informs the objects that hold further sockets of the tenant. */
  readonly announceToRelays: (access: Access) => Promise<void>
  /** Called with every change, before it is announced. */
  readonly onChange: (access: Access) => void
  readonly armAlarm: () => void
}

/** `isWatched`: somebody listens to the events of the tenant. */
export type AccessReport = { readonly access: Access; readonly isWatched: boolean }

/**
 * `watcher`: sessions that hibernate with open sockets, or that are paused. `busy`: sessions that run or stream; a row
 * ends by its time, so that no session has to end it.
 */
const schema = [
  'CREATE TABLE IF NOT EXISTS revoked_key (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS watcher (session TEXT PRIMARY KEY) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS busy (session TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID',
]

/** Older ones have left every cache long ago. */
const maxRevokedKeys = 1_000
const maxConcurrent = 50
/** So long a busy session is told about changes. */
export const busyWatchMs = 900_000
/** The alarm repeats an announcement after this time. */
const retryMs = 2_000
/** Names of stored values. */
const statusName = 'status'
const announcedName = 'announce'

/** The tables of all parts with a column `session`. */
const sessionTables = ['busy', 'claim', 'stored', 'waiting', 'watcher']

export class TenantAccess extends TenantPart implements ScheduledPart {
  readonly #options: TenantAccessOptions
  #hasTables = false
  #access: Access | undefined
  #sweptAt = 0

  constructor(options: TenantAccessOptions) {
    super(options.mayChange)
    this.#options = options
  }

  get(): Access {
    return (this.#access ??= this.#read())
  }

  /**
   * Resolves when the watching sessions know the new status, or the alarm repeats the announcement. False when the
   * authority is not the operator's.
   */
  async setStatus(authority: Authority, status: 'active' | 'suspended'): Promise<boolean> {
    if (!this.mayChange(authority, 'admin')) return false
    await this.#changeStatus(status)
    return true
  }

  /** Called in the synchronous stretch that changes the roles in the settings. Resolves as `setStatus` does. */
  async rolesChanged(authority: Authority): Promise<void> {
    this.requireOwn(authority)
    await this.#announce()
  }

  /** Called by the deletion, which the operator has started. */
  async startDeletion(authority: Authority): Promise<void> {
    this.requireOwn(authority, 'admin')
    await this.#changeStatus('deleting')
  }

  /** False when the authority is neither the operator's nor one of the tenant that may change something. */
  async revokeKey(authority: Authority, id: string): Promise<boolean> {
    if (!this.mayChange(authority, 'admin', 'write')) return false
    this.#sql.exec('INSERT INTO revoked_key VALUES (?, ?) ON CONFLICT DO NOTHING', id, clock.now())
    await this.#announce()
    return true
  }

  async #changeStatus(status: TenantStatus): Promise<void> {
    if (this.get().status === status) return
    this.#options.values.set(statusName, status)
    await this.#announce()
  }

  /** Registers a session that has to be told about changes. Returns the access as it is now. */
  watch(authority: Authority, sessionId: string): Access {
    this.requireOwn(authority)
    this.#sql.exec('INSERT INTO watcher VALUES (?) ON CONFLICT DO NOTHING', sessionId)
    return this.get()
  }

  unwatch(authority: Authority, sessionId: string): void {
    this.requireOwn(authority)
    this.#sql.exec('DELETE FROM watcher WHERE session = ?', sessionId)
  }

  /** Registers a session that runs or streams, for `busyWatchMs`. Returns the access as it is now. */
  watchWhileBusy(authority: Authority, sessionId: string): AccessReport {
    this.requireOwn(authority)
    this.#sweepBusy()
    // A later registration never has the time of an earlier one, by which an announcement knows the row that it saw.
    const upsert = 'INSERT INTO busy VALUES (?, ?) ON CONFLICT DO UPDATE SET until = max(excluded.until, until + 1)'
    this.#sql.exec(upsert, sessionId, clock.now() + busyWatchMs)
    return this.#report()
  }

  #sweepBusy(): void {
    const now = clock.now()
    if (now - this.#sweptAt < busyWatchMs) return
    this.#sweptAt = now
    this.#sql.exec('DELETE FROM busy WHERE until < ?', now)
  }

  watchers(): readonly string[] {
    return [...new Set([...this.#hibernating(), ...this.#busy().keys()])]
  }

  #hibernating(): readonly string[] {
    return this.#sql
      .exec<{ session: string }>('SELECT session FROM watcher')
      .toArray()
      .map(({ session }) => session)
  }

  /** The sessions that run or stream, with the ends of their registrations. */
  #busy(): ReadonlyMap<string, number> {
    const query = 'SELECT session, until FROM busy WHERE until >= ?'
    const rows = this.#sql.exec<{ session: string; until: number }>(query, clock.now()).toArray()
    return new Map(rows.map(({ session, until }) => [session, until]))
  }

  /** Somebody has begun to listen to the events of the tenant: running sessions publish theirs from now on. */
  async listenersChanged(): Promise<void> {
    const told = [...this.#busy()].map(([sessionId, until]) => this.#tell(sessionId, this.#report(), until))
    for (const { status } of await Promise.allSettled(told))
      if (status === 'rejected') log.warn('access.unannounced', 'A session does not know that somebody listens.')
  }

  #report(): AccessReport {
    return { access: this.get(), isWatched: this.#options.isWatched() }
  }

  /** Some of the sessions that this object knows: history may not have all of them. */
  listSessions(authority: Authority, limit: number): string[] {
    this.requireOwn(authority, 'admin')
    const listIn = (table: string) =>
      this.#sql.exec<{ id: string }>(`SELECT DISTINCT session AS id FROM ${table} LIMIT ?`, limit).toArray()
    return sessionTables.flatMap(listIn).map(({ id }) => id)
  }

  /** Forgets sessions that were deleted with the tenant. */
  forgetSessions(authority: Authority, ids: readonly string[]): void {
    this.requireOwn(authority, 'admin')
    for (const table of sessionTables)
      for (const id of ids) this.#sql.exec(`DELETE FROM ${table} WHERE session = ?`, id)
  }

  wakeAt(): number | undefined {
    return this.#options.values.get<number>(announcedName) || undefined
  }

  async wake(): Promise<void> {
    const since = this.wakeAt()
    const [report, sessions, busy] = [this.#report(), [...this.watchers()], this.#busy()]
    const failures: unknown[] = []
    const tellNext = async () => {
      for (let id = sessions.pop(); id !== undefined; id = sessions.pop())
        await this.#tell(id, report, busy.get(id)).catch((error: unknown) => failures.push(error))
    }
    const relays = this.#options.announceToRelays(report.access).catch((error: unknown) => failures.push(error))
    await Promise.all([relays, ...Array.from({ length: maxConcurrent }, tellNext)])
    if (failures.length) throw new Error(`${failures.length} objects could not be told.`, { cause: failures[0] })
    // A change during the announcement is announced again.
    if (this.wakeAt() === since) this.#options.values.set(announcedName, 0)
  }

  /** `until`: of the registration of a busy session. One that it has made meanwhile stays. */
  async #tell(sessionId: string, report: AccessReport, until = 0): Promise<void> {
    if (await this.#options.announce(sessionId, report)) return
    this.#sql.exec('DELETE FROM watcher WHERE session = ?', sessionId)
    this.#sql.exec('DELETE FROM busy WHERE session = ? AND until <= ?', sessionId, until)
  }

  /** The intent is stored first: the alarm repeats an announcement that fails or is interrupted. */
  async #announce(): Promise<void> {
    this.#access = undefined
    const { values, armAlarm, onChange } = this.#options
    onChange(this.get())
    values.set(announcedName, Math.max(clock.now() + retryMs, (this.wakeAt() ?? 0) + 1))
    armAlarm()
    try {
      await this.wake()
      armAlarm()
    } catch (error) {
      log.warn('access.announced_again', 'A change of access is announced again.', { error })
    }
  }

  #read(): Access {
    const status = this.#options.values.get<TenantStatus>(statusName) ?? fullAccess.status
    const query = 'SELECT id FROM revoked_key ORDER BY at DESC LIMIT ?'
    const revokedKeys = this.#sql
      .exec<{ id: string }>(query, maxRevokedKeys)
      .toArray()
      .map(({ id }) => id)
    return { status, revokedKeys, roles: this.#options.roles() }
  }

  /** Creates the tables at the first use. */
  get #sql(): SqlStorage {
    const { sql } = this.#options
    if (!this.#hasTables) for (const statement of schema) sql.exec(statement)
    this.#hasTables = true
    return sql
  }
}
