/**
 * Stores the outgoing webhooks of a tenant and an outbox of their deliveries. An event is stored once for each hook before
 * the session forgets it, and every attempt is stored before it is made: a delivery arrives at least once, always with
 * the same id.
 */

import type { Observer } from '#agent/core/hook.ts'
import { type Authority, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { matchesTool } from '#agent/plugins/plugin.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { unseal } from '#durable/platform/seal.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import type { TenantAudit } from '../audit.ts'
import type { StoredValues } from '../stored-values.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import {
  type Delivery,
  type DeliveryAttempt,
  nextName,
  type OutgoingConfig,
  type OutgoingEvent,
  type OutgoingHook,
  outgoingOwner,
  type OutgoingSecrets,
  wantedName,
} from './outgoing-row.ts'
import { sendSigned } from './sign-delivery.ts'

const maxHooks = 20
const maxKept = 1_000
const maxBodyChars = 64 * 1024
const maxTextChars = 2_000
/** After each failed attempt. The last one is the end. */
const retryDelaysMs = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000]
/** An attempt that a crash has interrupted is made again after this time. Longer than an attempt takes. */
const leaseMs = 20_000
const maxAtOnce = 10
export const previousSecretMs = 86_400_000

const schema = [
  'CREATE TABLE IF NOT EXISTS outgoing_hook (id TEXT PRIMARY KEY, config TEXT NOT NULL, secrets TEXT NOT NULL, disabled TEXT, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS outgoing_delivery (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, hook TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL, attempts TEXT NOT NULL, nextAt INTEGER, createdAt INTEGER NOT NULL)',
]

type HookRecord = {
  readonly id: string
  readonly config: string
  readonly secrets: string
  readonly disabled: string | null
  readonly createdAt: number
  readonly updatedAt: number
}
type DeliveryRecord = {
  readonly id: string
  readonly hook: string
  readonly type: string
  readonly body: string
  readonly status: Delivery['status']
  readonly attempts: string
  readonly nextAt: number | null
  readonly createdAt: number
}

export type OutgoingOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly env: Env
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly audit: TenantAudit
  readonly armAlarm: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

export type OutgoingChange = Partial<OutgoingConfig> & { readonly isActive?: boolean }

export class OutgoingRows extends TenantPart {
  readonly #options: OutgoingOptions

  constructor(options: OutgoingOptions) {
    super(options.mayChange)
    this.#options = options
    for (const statement of schema) options.sql.exec(statement)
  }

  list(authority: Authority): readonly OutgoingHook[] {
    this.requireOwn(authority)
    return this.#list()
  }

  find(authority: Authority, id: string): OutgoingHook | undefined {
    this.requireOwn(authority)
    return this.#find(id)
  }

  /** Hooks send what happens in all sessions: a role with limits changes none. */
  #mayConfigure(authority: Authority): boolean {
    return this.mayChange(authority, 'write') && !isLimitedByRole(authority)
  }

  create(authority: Authority, id: string, config: OutgoingConfig, sealed: string): 'stored' | 'full' | 'foreign' {
    if (!this.#mayConfigure(authority)) return 'foreign'
    if (this.#list().length >= maxHooks) return 'full'
    const now = clock.now()
    const secrets: OutgoingSecrets = { current: sealed }
    const row = [id, JSON.stringify(config), JSON.stringify(secrets), now, now]
    this.#sql.exec('INSERT INTO outgoing_hook VALUES (?, ?, ?, NULL, ?, ?)', ...row)
    this.#changed()
    this.#options.audit.add(authority, { kind: 'hook.created', subject: id, details: { url: config.url } })
    return 'stored'
  }

  update(authority: Authority, id: string, { isActive, ...change }: OutgoingChange): boolean {
    const hook = this.#mayConfigure(authority) ? this.#find(id) : undefined
    if (!hook) return false
    const disabled = isActive === undefined ? hook.disabled : isActive ? undefined : 'A person has disabled it.'
    this.#sql.exec(
      'UPDATE outgoing_hook SET config = ?, disabled = ?, updatedAt = ? WHERE id = ?',
      JSON.stringify({ ...hook.config, ...change }),
      disabled ?? null,
      clock.now(),
      id,
    )
    if (disabled !== undefined) this.#failPending(id)
    this.#changed()
    this.#options.audit.add(authority, { kind: 'hook.changed', subject: id, details: { ...change, active: isActive } })
    return true
  }

  remove(authority: Authority, id: string): boolean {
    if (!this.#mayConfigure(authority) || !this.#find(id)) return false
    this.#sql.exec('DELETE FROM outgoing_hook WHERE id = ?', id)
    this.#sql.exec('DELETE FROM outgoing_delivery WHERE hook = ?', id)
    this.#changed()
    this.#options.audit.add(authority, { kind: 'hook.deleted', subject: id })
    return true
  }

  /** From now on both secrets sign, for a day. */
  rotate(authority: Authority, id: string, sealed: string): boolean {
    const hook = this.#mayConfigure(authority) ? this.#find(id) : undefined
    if (!hook) return false
    const previous = { sealed: hook.secrets.current, until: clock.now() + previousSecretMs }
    this.#putSecrets(id, { current: sealed, previous })
    this.#options.audit.add(authority, { kind: 'hook.changed', subject: id, details: { secret: 'rotated' } })
    return true
  }

  /** Newest first. */
  deliveries(authority: Authority, id: string, limit: number, before?: string): readonly Delivery[] | undefined {
    this.requireOwn(authority)
    if (!this.#find(id)) return undefined
    return this.#sql
      .exec<DeliveryRecord>(
        `SELECT * FROM outgoing_delivery WHERE hook = ? AND n < coalesce((SELECT n FROM outgoing_delivery WHERE id = ?), 9e15)
         ORDER BY n DESC LIMIT ?`,
        id,
        before ?? '',
        limit,
      )
      .toArray()
      .map(toDelivery)
  }

  /** Sends a delivery once more, with the same id. */
  retry(authority: Authority, hook: string, id: string): 'stored' | 'unknown' | 'disabled' {
    const known = this.#mayConfigure(authority) ? this.#find(hook) : undefined
    const [row] = this.#sql
      .exec<DeliveryRecord>('SELECT * FROM outgoing_delivery WHERE hook = ? AND id = ?', hook, id)
      .toArray()
    if (!known || !row) return 'unknown'
    if (known.disabled !== undefined) return 'disabled'
    this.#sql.exec("UPDATE outgoing_delivery SET status = 'pending', nextAt = ? WHERE id = ?", clock.now(), id)
    this.#sendSoon()
    return 'stored'
  }

  /** Stores events for all hooks that want them. A repeated report adds nothing. */
  async accept(authority: Authority, sessionId: string, events: readonly OutgoingEvent[]): Promise<void> {
    this.requireOwn(authority)
    const hooks = this.#list().filter(({ disabled }) => disabled === undefined)
    const now = clock.now()
    for (const event of events)
      for (const { id, config } of hooks) {
        if (!wants(config, event)) continue
        const delivery = `msg_${id}_${sessionId.replace(/[^\w-]/g, '-')}_${event.seq}_${event.hook}`
        const row = [delivery, id, event.hook, renderBody(sessionId, event), '[]', now, now]
        this.#sql.exec(
          "INSERT OR IGNORE INTO outgoing_delivery (id, hook, type, body, status, attempts, nextAt, createdAt) VALUES (?, ?, ?, ?, 'pending', ?, ?, ?)",
          ...row,
        )
      }
    this.#sql.exec(
      "DELETE FROM outgoing_delivery WHERE status <> 'pending' AND n < (SELECT max(n) FROM outgoing_delivery) - ?",
      maxKept,
    )
    this.#setNext()
    await failpoint('hook-stored')
    this.#sendSoon()
  }

  #sendSoon(): void {
    this.#setNext()
    this.#options.runInBackground(this.send(clock.now()))
  }

  /** Makes the attempts that are due. */
  async send(now: number): Promise<void> {
    const due = this.#sql
      .exec<DeliveryRecord>(
        "SELECT * FROM outgoing_delivery WHERE status = 'pending' AND nextAt <= ? ORDER BY n LIMIT ?",
        now,
        maxAtOnce,
      )
      .toArray()
    for (const { id } of due)
      this.#sql.exec('UPDATE outgoing_delivery SET nextAt = ? WHERE id = ?', clock.now() + leaseMs, id)
    this.#setNext()
    if (due.length) await failpoint('hook-claimed')
    await Promise.all(due.map((delivery) => this.#attempt(delivery)))
    this.#setNext()
    if (due.length === maxAtOnce) await this.send(clock.now())
  }

  async #attempt(delivery: DeliveryRecord): Promise<void> {
    const hook = this.#find(delivery.hook)
    if (!hook || hook.disabled !== undefined) return this.#settle(delivery, 'failed', [])
    const { env, tenantId, runInBackground } = this.#options
    const secrets = await this.#openSecrets(hook)
    const { id, type, body } = delivery
    const request = { url: hook.config.url, id, type, body, secrets, isHermes: hook.config.hermes, now: clock.now() }
    const attempt = secrets.length
      ? await sendSigned(createTenantFetch(env, tenantId, runInBackground), request)
      : { at: clock.now(), status: null, error: 'Its secret cannot be opened. Rotate it.' }
    await failpoint('hook-sent')
    this.#finish(delivery, attempt)
  }

  #finish(delivery: DeliveryRecord, attempt: DeliveryAttempt): void {
    const attempts = [...(JSON.parse(delivery.attempts) as readonly DeliveryAttempt[]), attempt]
    if (attempt.error === null) return this.#settle(delivery, 'delivered', attempts)
    const isGone = attempt.status === 410
    const delayMs = retryDelaysMs[attempts.length - 1]
    if (!isGone && delayMs !== undefined) {
      this.#sql.exec(
        'UPDATE outgoing_delivery SET attempts = ?, nextAt = ? WHERE id = ?',
        JSON.stringify(attempts),
        clock.now() + delayMs,
        delivery.id,
      )
      return
    }
    this.#settle(delivery, 'failed', attempts)
    this.#disable(
      delivery.hook,
      isGone ? 'The receiver answered 410 Gone.' : `A delivery failed ${attempts.length} times: ${attempt.error}`,
    )
  }

  #settle({ id, attempts }: DeliveryRecord, status: Delivery['status'], made: readonly DeliveryAttempt[]): void {
    const all = made.length ? JSON.stringify(made) : attempts
    this.#sql.exec('UPDATE outgoing_delivery SET status = ?, attempts = ?, nextAt = NULL WHERE id = ?', status, all, id)
  }

  #disable(id: string, reason: string): void {
    log.warn('hook.disabled', 'An outgoing webhook was disabled.', { hook: id, reason })
    this.#sql.exec('UPDATE outgoing_hook SET disabled = ? WHERE id = ?', reason, id)
    this.#failPending(id)
    this.#changed()
  }

  #failPending(hook: string): void {
    this.#sql.exec(
      "UPDATE outgoing_delivery SET status = 'failed', nextAt = NULL WHERE hook = ? AND status = 'pending'",
      hook,
    )
  }

  async #openSecrets({ id, secrets }: OutgoingHook): Promise<readonly string[]> {
    const { env, tenantId } = this.#options
    const { current, previous } = secrets
    const sealed = [current, ...(previous && previous.until > clock.now() ? [previous.sealed] : [])]
    const opened = await Promise.all(sealed.map((one) => unseal(env, one, outgoingOwner(tenantId, id))))
    return opened.flatMap((one) => (one.kind === 'opened' ? [one.secret] : []))
  }

  listSealed(authority: Authority): readonly { readonly id: string; readonly sealed: string }[] {
    if (!this.mayChange(authority, 'admin')) return []
    return this.#list().flatMap(({ id, secrets: { current, previous } }) =>
      [current, ...(previous ? [previous.sealed] : [])].map((sealed) => ({ id, sealed })),
    )
  }

  /** For the operator: replaces a sealed text. Its value stays the same. */
  reseal(authority: Authority, before: string, after: string): boolean {
    if (!this.mayChange(authority, 'admin')) return false
    const query = 'UPDATE outgoing_hook SET secrets = replace(secrets, ?, ?) WHERE instr(secrets, ?) > 0'
    return this.#sql.exec(query, before, after, before).rowsWritten > 0
  }

  get #sql(): SqlStorage {
    return this.#options.sql
  }

  #list(): readonly OutgoingHook[] {
    return this.#sql.exec<HookRecord>('SELECT * FROM outgoing_hook ORDER BY createdAt, id').toArray().map(toHook)
  }

  #find(id: string): OutgoingHook | undefined {
    const [row] = this.#sql.exec<HookRecord>('SELECT * FROM outgoing_hook WHERE id = ?', id).toArray()
    return row && toHook(row)
  }

  #putSecrets(id: string, secrets: OutgoingSecrets): void {
    const change = [JSON.stringify(secrets), clock.now(), id]
    this.#sql.exec('UPDATE outgoing_hook SET secrets = ?, updatedAt = ? WHERE id = ?', ...change)
  }

  /** Sessions report only what a hook wants. */
  #changed(): void {
    const active = this.#list().filter(({ disabled }) => disabled === undefined)
    const wanted = [...new Set(active.flatMap(({ config }) => config.events))].toSorted()
    this.#options.values.set(wantedName, wanted.length ? wanted : null)
    this.#setNext()
  }

  #setNext(): void {
    const { next } = this.#sql
      .exec<{ next: number | null }>("SELECT min(nextAt) AS next FROM outgoing_delivery WHERE status = 'pending'")
      .one()
    this.#options.values.set(nextName, next)
    this.#options.armAlarm()
  }
}

const toHook = ({ id, config, secrets, disabled, createdAt, updatedAt }: HookRecord): OutgoingHook => ({
  id,
  config: JSON.parse(config) as OutgoingConfig,
  secrets: JSON.parse(secrets) as OutgoingSecrets,
  ...(disabled !== null && { disabled }),
  createdAt,
  updatedAt,
})

const toDelivery = ({ id, type, status, attempts, nextAt, createdAt }: DeliveryRecord): Delivery => ({
  id,
  type,
  status,
  attempts: JSON.parse(attempts) as readonly DeliveryAttempt[],
  nextAt,
  createdAt,
})

const isWanted = (events: readonly string[], hook: Observer): boolean => events.includes('*') || events.includes(hook)

function wants({ events, matcher }: OutgoingConfig, { hook, data }: OutgoingEvent): boolean {
  const tool = data['tool_name']
  return isWanted(events, hook) && (typeof tool !== 'string' || matchesTool(matcher, tool))
}

/** Long texts are shortened where the whole is too large. */
function renderBody(sessionId: string, { hook, at, runId, data }: OutgoingEvent): string {
  const content = { session_id: sessionId, run_id: runId, ...data }
  const body = JSON.stringify({ type: hook, timestamp: at, data: content })
  if (body.length <= maxBodyChars) return body
  const shorten = (_key: string, value: unknown) =>
    typeof value === 'string' && value.length > maxTextChars ? `${value.slice(0, maxTextChars)}…` : value
  const short = JSON.stringify({ type: hook, timestamp: at, data: content }, shorten)
  if (short.length <= maxBodyChars) return short
  return JSON.stringify({ type: hook, timestamp: at, data: { session_id: sessionId, run_id: runId, truncated: true } })
}
