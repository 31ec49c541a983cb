/**
 * One object per tenant: its settings, exact counters, what waits for a person, and which idempotency
 * keys were used. Single writer, so a claim is a claim. It only keeps and counts; it drives nothing.
 */

import { DurableObject } from 'cloudflare:workers'
import type { ApprovalRule } from '../../agent/model/approval.ts'
import { type Limits, type Patched, patchSettings, type Settings } from '../../agent/model/settings.ts'
import type { Awaited } from '../../agent/model/tool.ts'
import type { Windows } from '../models/learned-windows.ts'
import {
  type Added,
  type Credential,
  type KeptCredentials,
  sealedKeys,
  withCredential,
  withoutCredential,
} from '../models/credentials.ts'
import type { KeptHealth } from '../models/key-pool.ts'
import { spentSince } from '../../db/usage-totals.ts'
import { type Approval, type Met, type PairedPerson, Pairing } from './pairing.ts'
import { type Amount, countsSpending, spansOf, Spending } from './spending.ts'
import { stricter, type TenantSnapshot } from './tenant-snapshot.ts'
import { clock } from '../platform/clock.ts'

export type Waiting = Awaited & {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
}

/** What a run has spent in all, and when it ended. */
export type Settled = Amount & { readonly at: number }

export type Stored = { readonly sessionId: string; readonly bytes: number }

export type Claim =
  | { readonly is: 'new' | 'same'; readonly sessionId: string; readonly runId: string }
  | { readonly is: 'conflict' }

type ClaimRow = { hash: string; session: string; run: string }

export type Admission =
  | { readonly ok: true }
  | { readonly ok: false; readonly limit: keyof Limits; readonly retryAfter: number }

const schema = [
  'CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS waiting (session TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS active (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID',
  `CREATE TABLE IF NOT EXISTS claim (name TEXT PRIMARY KEY, hash TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL,
    at INTEGER NOT NULL) WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS stored (session TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID',
]

const hour = 3_600_000
const day = 24 * hour
const claimsKeptMs = 3 * day

export class TenantDO extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql
  readonly #id = (this.ctx.id.name ?? '').slice('t/'.length)
  readonly #spending = new Spending(this.ctx.storage.sql)
  readonly #pairing = new Pairing(this.ctx.storage.sql)
  #requests: number[] = []

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    for (const statement of schema) ctx.storage.sql.exec(statement)
  }

  snapshot(): TenantSnapshot {
    const settings = this.settings()
    const keys = this.#kept<KeptHealth>('keys') ?? {}
    const windows = this.#kept<Windows>('windows') ?? {}
    const credentials = sealedKeys(this.#kept<KeptCredentials>('credentials'))
    return { id: this.#id, settings, keys, windows, limits: this.#limits(), ...(credentials && { credentials }) }
  }

  #limits(): Limits {
    return stricter(this.#kept<Limits>('limits') ?? {}, this.settings().limits ?? {})
  }

  settings(): Settings {
    return this.#kept<Settings>('settings') ?? {}
  }

  patchSettings(patch: object): Patched {
    const patched = patchSettings(this.settings(), patch)
    if (patched.is === 'wrong') return patched
    this.#keep('settings', patched.settings)
    this.#forgetSpending()
    return patched
  }

  /** A person has allowed this once and for all: a rule like those of the settings, where it can be taken back. */
  allowAlways(rule: ApprovalRule): void {
    const { rules = [] } = this.settings().approvals ?? {}
    const isKnown = rules.some((known) => JSON.stringify(known) === JSON.stringify(rule))
    if (!isKnown) this.patchSettings({ approvals: { rules: [...rules, rule] } })
  }

  /** What the operator allows. */
  setLimits(limits: Limits): void {
    this.#keep('limits', limits)
    this.#forgetSpending()
  }

  /** What is not limited is not counted: a limit that comes later begins with what history knows. */
  #forgetSpending(): void {
    if (this.#spending.isCounting && !countsSpending(this.#limits())) this.#spending.forget()
  }

  /** Counts a request against `requests_per_minute`. */
  countRequest(perMinute: number): Admission {
    const now = clock.now()
    this.#requests = this.#requests.filter((at) => at > now - 60_000)
    if (this.#requests.length >= perMinute) {
      const retryAfter = Math.ceil(((this.#requests[0] ?? now) + 60_000 - now) / 1_000)
      return { ok: false, limit: 'requests_per_minute', retryAfter: Math.max(1, retryAfter) }
    }
    this.#requests.push(now)
    return { ok: true }
  }

  /** Whether a turn may begin; it takes a place, where places are limited. Taking the same one twice is taking it once. */
  async admitTurn(runId: string): Promise<Admission> {
    await this.#countFrom(runId)
    const limits = this.#limits()
    const over = this.#over(limits) ?? this.#overStored(limits)
    if (over) return over
    const places = limits.concurrent_turns
    if (places === undefined) return { ok: true }
    this.#sql.exec('DELETE FROM active WHERE at < ?', clock.now() - day)
    const others = this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM active WHERE run <> ?', runId).one().n
    if (others >= places) return { ok: false, limit: 'concurrent_turns', retryAfter: 5 }
    this.#sql.exec('INSERT INTO active VALUES (?, ?) ON CONFLICT DO NOTHING', runId, clock.now())
    return { ok: true }
  }

  /** Gives the place back, if the run has one. */
  releaseTurn(runId: string): void {
    this.#sql.exec('DELETE FROM active WHERE run = ?', runId)
  }

  /** All that a run has spent so far. The answer says whether the tenant may go on. */
  async charge(runId: string, amount: Amount): Promise<Admission> {
    await this.#countFrom(runId)
    this.#spending.charge(runId, amount, clock.now())
    return this.#over(this.#limits()) ?? { ok: true }
  }

  /** A run has ended: what it spent in all, and how much its session keeps now. */
  async settleTurn(runId: string, { at, ...amount }: Settled, stored?: Stored): Promise<void> {
    await this.#countFrom(runId)
    if (countsSpending(this.#limits())) this.#spending.settle(runId, amount, at)
    if (stored) this.setStored(stored)
    this.releaseTurn(runId)
  }

  /** Bytes that a session keeps; none when it is gone. */
  setStored({ sessionId, bytes }: Stored): void {
    if (bytes > 0)
      this.#sql.exec(
        'INSERT INTO stored VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes',
        sessionId,
        bytes,
      )
    else this.#sql.exec('DELETE FROM stored WHERE session = ?', sessionId)
  }

  /** Whether there is room for so many bytes more. */
  admitBytes(more: number): Admission {
    return this.#overStored(this.#limits(), more) ?? { ok: true }
  }

  #over(limits: Limits): Admission | undefined {
    const over = countsSpending(limits) ? this.#spending.over(limits, clock.now()) : undefined
    return over && { ok: false, ...over }
  }

  #overStored({ storage_bytes: most }: Limits, more = 0): Admission | undefined {
    if (most === undefined) return undefined
    const { bytes } = this.#sql.exec<{ bytes: number }>('SELECT coalesce(sum(bytes), 0) AS bytes FROM stored').one()
    return bytes + more >= most ? { ok: false, limit: 'storage_bytes', retryAfter: 3_600 } : undefined
  }

  /** History is asked once, when counting begins; while it is away, it is tried again with the next turn. */
  async #countFrom(runId: string): Promise<void> {
    if (this.#spending.isCounting || !countsSpending(this.#limits())) return
    const now = clock.now()
    const { day: today, month } = spansOf(now)
    try {
      const totals = await spentSince(this.env.DB, this.#id, { month: month.from, day: today.from, without: runId })
      if (!this.#spending.isCounting) this.#spending.seed(totals, now)
    } catch (error) {
      console.warn('What was spent before cannot be asked of history now.', error)
    }
  }

  /** Binds an idempotency key to a body and to the ids that the work will have. */
  claim(name: string, hash: string, ids: { readonly sessionId: string; readonly runId: string }): Claim {
    const now = clock.now()
    this.#sweepClaims(now)
    const [row] = this.#sql
      .exec<ClaimRow>('SELECT hash, session, run FROM claim WHERE name = ? AND at >= ?', name, now - claimsKeptMs)
      .toArray()
    if (row) return row.hash === hash ? { is: 'same', sessionId: row.session, runId: row.run } : { is: 'conflict' }
    this.#sql.exec('INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?, ?)', name, hash, ids.sessionId, ids.runId, now)
    return { is: 'new', ...ids }
  }

  /** It reads all of them: once an hour, in whichever life. */
  #sweepClaims(now: number): void {
    if (now - (this.#kept<number>('swept') ?? 0) < hour) return
    this.#sql.exec('DELETE FROM claim WHERE at < ?', now - claimsKeptMs)
    this.#keep('swept', now)
  }

  /** The work was refused before it began: the key is free again. */
  unclaim(name: string): void {
    this.#sql.exec('DELETE FROM claim WHERE name = ?', name)
  }

  /** A provider key that failed rests, or is dead; all sessions of the tenant go by it. */
  benchKey(name: string, state: KeptHealth[string]): void {
    const now = clock.now()
    const known = Object.entries(this.#kept<KeptHealth>('keys') ?? {}).filter(
      ([, { until, dead }]) => dead || until > now,
    )
    this.#keep('keys', { ...Object.fromEntries(known), [name]: state })
  }

  credentials(): { readonly list: readonly Credential[]; readonly health: KeptHealth } {
    return { list: this.#credentials().list, health: this.#kept<KeptHealth>('keys') ?? {} }
  }

  addCredential(credential: Credential): Added {
    const { is, kept } = withCredential(this.#credentials(), credential)
    if (kept) this.#keep('credentials', kept)
    return is
  }

  /** False when there is none of this id. */
  removeCredential(id: string): boolean {
    const left = withoutCredential(this.#credentials(), id)
    if (!left) return false
    const { [id]: _gone, ...health } = this.#kept<KeptHealth>('keys') ?? {}
    this.#keep('credentials', left)
    this.#keep('keys', health)
    return true
  }

  #credentials(): KeptCredentials {
    return this.#kept<KeptCredentials>('credentials') ?? { revision: 0, list: [] }
  }

  /** A model's window that was found out by asking for too much; the smallest one is kept. */
  keepWindow(id: string, window: number): void {
    const known = this.#kept<Windows>('windows') ?? {}
    if (window < (known[id] ?? Infinity)) this.#keep('windows', { ...known, [id]: window })
  }

  /** What a session waits for now; an empty list takes it off. */
  setWaiting(sessionId: string, items: readonly Waiting[]): void {
    if (items.length)
      this.#sql.exec(
        'INSERT INTO waiting VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
        sessionId,
        JSON.stringify(items),
      )
    else this.#sql.exec('DELETE FROM waiting WHERE session = ?', sessionId)
  }

  waiting(): Waiting[] {
    return this.#sql
      .exec<{ body: string }>('SELECT body FROM waiting')
      .toArray()
      .flatMap(({ body }) => JSON.parse(body) as Waiting[])
  }

  /** Somebody whom no setting names has written. `asks`: and is told a code, if none was told lately. */
  meetPerson(who: { platform: string; person: string; name: string }, asks: boolean): Promise<Met> {
    return this.#pairing.meet(who, asks, clock.now())
  }

  approvePairing(platform: string, code: string): Promise<Approval> {
    return this.#pairing.approve(platform, code, clock.now())
  }

  pairedPeople(): readonly PairedPerson[] {
    return this.#pairing.list(clock.now())
  }

  unpair(platform: string, person: string): boolean {
    return this.#pairing.remove(platform, person)
  }

  #kept<T>(name: string): T | undefined {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM kept WHERE name = ?', name).toArray()
    return row && (JSON.parse(row.body) as T)
  }

  #keep(name: string, value: unknown) {
    this.#sql.exec(
      'INSERT INTO kept VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
      name,
      JSON.stringify(value),
    )
  }
}
