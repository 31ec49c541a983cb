/** Enforces the limits of a tenant: requests per minute, concurrent turns, stored bytes, and spending. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SettledRun, TenantBilling } from './billing/billing.ts'
import { type Admission, effectiveLimits } from './effective-limits.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import type { SharedStorage } from './shared-storage.ts'
import type { StoredValues } from './stored-values.ts'
import type { UnattendedTurn } from './billing/unattended-turns.ts'

/** Bytes that a session stores, in its object and in R2. */
export type SessionBytes = { readonly sessionId: string; readonly bytes: number }

export type LimitsOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly billing: TenantBilling
  readonly shared: SharedStorage
}

/** A row of `active` for each open turn that takes a slot, a row of `stored` for each session. */
const schema = [
  'CREATE TABLE IF NOT EXISTS active (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS stored (session TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID',
]

const minuteMs = 60_000
/** A turn that never released its slot loses it after this time. */
const slotTimeoutMs = 86_400_000
const turnRetryAfterSeconds = 5
const storageRetryAfterSeconds = 3_600

export class TenantLimits extends TenantPart {
  readonly #sql: SqlStorage
  readonly #values: StoredValues
  readonly #billing: TenantBilling
  readonly #shared: SharedStorage
  /** Times of the requests of the last minute. In memory: an eviction may admit some more. */
  #requests: number[] = []

  constructor({ mayChange, sql, values, billing, shared }: LimitsOptions) {
    super(mayChange)
    this.#sql = sql
    this.#values = values
    this.#billing = billing
    this.#shared = shared
    for (const statement of schema) sql.exec(statement)
  }

  /** The limits that hold now. */
  get(): Limits {
    return effectiveLimits(this.#values)
  }

  /** Replaces the limits that the operator has set. False when the authority is not the operator's. */
  set(authority: Authority, limits: Limits): boolean {
    if (!this.mayChange(authority, 'admin')) return false
    this.#values.set('limits', limits)
    this.#billing.limitsChanged(authority)
    return true
  }

  /** Counts a request against `requests_per_minute`. */
  countRequest(authority: Authority, perMinute: number): Admission {
    this.requireOwn(authority)
    const now = clock.now()
    this.#requests = this.#requests.filter((at) => at > now - minuteMs)
    if (this.#requests.length >= perMinute) {
      const retryAfter = Math.ceil(((this.#requests[0] ?? now) + minuteMs - now) / 1_000)
      return { ok: false, limit: 'requests_per_minute', retryAfter: Math.max(1, retryAfter) }
    }
    this.#requests.push(now)
    return { ok: true }
  }

  /**
   * Checks whether a turn may start and takes one of the `concurrent_turns` slots. A run takes at most one slot.
   * `unattended`: no person has started the turn.
   */
  async admitTurn(authority: Authority, runId: string, unattended?: UnattendedTurn): Promise<Admission> {
    await this.#billing.startCounting(authority, runId)
    // One synchronous stretch from here on: two turns cannot take the same slot.
    const spending = this.#billing.check(authority)
    if (!spending.ok) return spending
    const storage = this.admitBytes(authority, 0)
    if (!storage.ok) return storage
    const slot = this.#takeSlot(runId)
    if (!slot.ok || !unattended) return slot
    const admission = this.#billing.admitUnattended(authority, runId, unattended)
    if (!admission.ok) this.releaseTurn(authority, runId)
    return admission
  }

  #takeSlot(runId: string): Admission {
    const { concurrent_turns: slots } = this.get()
    if (slots === undefined) return { ok: true }
    this.#sql.exec('DELETE FROM active WHERE at < ?', clock.now() - slotTimeoutMs)
    const others = this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM active WHERE run <> ?', runId).one().n
    if (others >= slots) return { ok: false, limit: 'concurrent_turns', retryAfter: turnRetryAfterSeconds }
    this.#sql.exec('INSERT INTO active VALUES (?, ?) ON CONFLICT DO NOTHING', runId, clock.now())
    return { ok: true }
  }

  /** Frees the slot of a run, if it has one. */
  releaseTurn(authority: Authority, runId: string): void {
    this.requireOwn(authority)
    this.#sql.exec('DELETE FROM active WHERE run = ?', runId)
  }

  /** Records the end of a run: its final amount, the bytes of its session, and its slot as free. */
  async settleTurn(authority: Authority, runId: string, settled: SettledRun, stored?: SessionBytes): Promise<void> {
    await this.#billing.startCounting(authority, runId)
    this.#billing.settle(authority, runId, settled)
    if (stored) this.setStoredBytes(authority, stored)
    this.releaseTurn(authority, runId)
  }

  /** Records how many bytes a session stores; zero when it is deleted. */
  setStoredBytes(authority: Authority, { sessionId, bytes }: SessionBytes): void {
    this.requireOwn(authority)
    const upsert =
      'INSERT INTO stored VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes'
    if (bytes > 0) this.#sql.exec(upsert, sessionId, bytes)
    else this.#sql.exec('DELETE FROM stored WHERE session = ?', sessionId)
    this.#shared.noteSession(sessionId, bytes)
  }

  /** Checks whether so many more bytes fit into `storage_bytes`. */
  admitBytes(authority: Authority, more: number): Admission {
    this.requireOwn(authority)
    const { storage_bytes: maxBytes } = this.get()
    if (maxBytes === undefined) return { ok: true }
    const { bytes } = this.#sql.exec<{ bytes: number }>('SELECT coalesce(sum(bytes), 0) AS bytes FROM stored').one()
    if (bytes + this.#shared.bytes() + more < maxBytes) return { ok: true }
    return { ok: false, limit: 'storage_bytes', retryAfter: storageRetryAfterSeconds }
  }
}
