/**
 * Stores the connected apps of a tenant with the hashes of their codes and tokens. Each change is one synchronous stretch,
 * so that a code or a refresh token works once, however many requests bring it at the same time.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantAudit } from '../audit.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import {
  accessTokenMs,
  type ConnectedApp,
  type Consent,
  type NewCode,
  type NewTokens,
  type TokenOf,
} from './app-row.ts'

const codeMs = 60_000
/** A code that was used is kept this long, so that a second use is noticed. */
const usedCodeMs = 600_000
/** An app that renews no tokens for this time has to ask again. */
const idleMs = 90 * 86_400_000
const maxApps = 100
const maxCodes = 100

const schema = [
  'CREATE TABLE IF NOT EXISTS app_code (hash TEXT PRIMARY KEY, redirectUri TEXT NOT NULL, challenge TEXT NOT NULL, consent TEXT NOT NULL, app TEXT NOT NULL, usedAt INTEGER, expiresAt INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS app (id TEXT PRIMARY KEY, consent TEXT NOT NULL, family TEXT NOT NULL UNIQUE, access TEXT NOT NULL, accessUntil INTEGER NOT NULL, refresh TEXT NOT NULL, createdAt INTEGER NOT NULL, usedAt INTEGER NOT NULL, endsAt INTEGER NOT NULL) WITHOUT ROWID',
]

type CodeRecord = {
  readonly redirectUri: string
  readonly challenge: string
  readonly consent: string
  readonly app: string
  readonly usedAt: number | null
  readonly expiresAt: number
}
type AppRecord = {
  readonly id: string
  readonly consent: string
  readonly access: string
  readonly accessUntil: number
  readonly refresh: string
  readonly createdAt: number
  readonly usedAt: number
  readonly endsAt: number
}

export type AppRowsOptions = {
  readonly mayChange: ChangeCheck
  readonly sql: SqlStorage
  readonly audit: TenantAudit
  /** Refuses and stops whatever acts by the app, as for a key. */
  readonly revoke: (id: string) => Promise<unknown>
}

export type Redemption = {
  readonly code: string
  readonly clientId: string
  readonly redirectUri: string
  readonly challenge: string
  readonly tokens: NewTokens
}

export type Refreshment = TokenOf & { readonly clientId: string; readonly tokens: Omit<NewTokens, 'family'> }

const toApp = ({ id, consent, createdAt, usedAt, endsAt }: AppRecord): ConnectedApp => ({
  ...(JSON.parse(consent) as Consent),
  id,
  createdAt,
  usedAt,
  endsAt,
})

export class AppRows extends TenantPart {
  readonly #options: AppRowsOptions

  constructor(options: AppRowsOptions) {
    super(options.mayChange)
    this.#options = options
    for (const statement of schema) options.sql.exec(statement)
  }

  get #sql(): SqlStorage {
    return this.#options.sql
  }

  /** Stores the consent of the person who asks. */
  createCode(authority: Authority, { hash, redirectUri, challenge, consent }: NewCode): void {
    this.requireOwn(authority)
    this.#sweep()
    const app = `app_${crypto.randomUUID().replaceAll('-', '')}`
    const row = [hash, redirectUri, challenge, JSON.stringify(consent), app, clock.now() + codeMs] as const
    this.#sql.exec('INSERT INTO app_code VALUES (?, ?, ?, ?, ?, NULL, ?)', ...row)
    const { name, host, scopes } = consent
    this.#options.audit.add(authority, { kind: 'app.connected', subject: app, details: { name, host, scopes } })
  }

  /** Undefined when the code is unknown, too old, used, or was given to another request. */
  async redeemCode(authority: Authority, redemption: Redemption): Promise<ConnectedApp | undefined> {
    this.requireOwn(authority)
    const { code, clientId, redirectUri, challenge, tokens } = redemption
    const now = clock.now()
    const [row] = this.#sql.exec<CodeRecord>('SELECT * FROM app_code WHERE hash = ?', code).toArray()
    if (!row) return undefined
    if (row.usedAt !== null) return this.#endReused(authority, row.app)
    this.#sql.exec('UPDATE app_code SET usedAt = ? WHERE hash = ?', now, code)
    const consent = JSON.parse(row.consent) as Consent
    const isMeant = consent.clientId === clientId && row.redirectUri === redirectUri && row.challenge === challenge
    if (!isMeant || row.expiresAt <= now) return undefined
    const [accessUntil, endsAt] = endsOf(consent, now)
    const { family, access, refresh } = tokens
    const values = [row.app, row.consent, family, access, accessUntil, refresh, now, now, endsAt] as const
    this.#sql.exec('INSERT INTO app VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)', ...values)
    return this.#find(row.app)
  }

  /** Undefined when the token gives nothing. A token that another one has replaced was copied: the app ends. */
  async refresh(authority: Authority, given: Refreshment): Promise<ConnectedApp | undefined> {
    this.requireOwn(authority)
    const { family, hash, clientId, tokens } = given
    const now = clock.now()
    const row = this.#ofFamily(family)
    const consent = row && (JSON.parse(row.consent) as Consent)
    if (!row || consent?.clientId !== clientId || row.endsAt <= now) return undefined
    if (row.refresh !== hash) return this.#endReused(authority, row.id)
    const [accessUntil, endsAt] = endsOf(consent, now)
    this.#sql.exec(
      'UPDATE app SET access = ?, accessUntil = ?, refresh = ?, usedAt = ?, endsAt = ? WHERE id = ?',
      tokens.access,
      accessUntil,
      tokens.refresh,
      now,
      endsAt,
      row.id,
    )
    return this.#find(row.id)
  }

  /** The app of an access token. Undefined when it has expired or was replaced. */
  find(authority: Authority, { family, hash }: TokenOf): ConnectedApp | undefined {
    this.requireOwn(authority)
    const row = this.#ofFamily(family)
    return row && row.access === hash && row.accessUntil > clock.now() ? toApp(row) : undefined
  }

  /** Newest first. */
  list(authority: Authority): readonly ConnectedApp[] {
    this.requireOwn(authority)
    const query = 'SELECT * FROM app WHERE endsAt > ? ORDER BY createdAt DESC, id DESC'
    return this.#sql.exec<AppRecord>(query, clock.now()).toArray().map(toApp)
  }

  /** Ends the access of an app and what runs by it. False: there is no such app. */
  async end(authority: Authority, id: string, reason = 'disconnected'): Promise<boolean> {
    if (!this.mayChange(authority, 'write')) return false
    const app = this.#find(id)
    if (!app) return false
    this.#sql.exec('DELETE FROM app WHERE id = ?', id)
    const { name, host } = app
    this.#options.audit.add(authority, { kind: 'app.disconnected', subject: id, details: { name, host, reason } })
    await this.#options.revoke(id)
    return true
  }

  /** A token that is not the app's own changes nothing. */
  async endByToken(authority: Authority, { family, hash, clientId }: TokenOf & { readonly clientId: string }) {
    this.requireOwn(authority)
    const row = this.#ofFamily(family)
    const isOwn = row && (row.access === hash || row.refresh === hash) && toApp(row).clientId === clientId
    if (isOwn) await this.end(authority, row.id, 'by the app')
  }

  async #endReused(authority: Authority, id: string): Promise<undefined> {
    await this.end(authority, id, 'a code or token was used twice')
    return undefined
  }

  #find(id: string): ConnectedApp | undefined {
    return this.#sql.exec<AppRecord>('SELECT * FROM app WHERE id = ?', id).toArray().map(toApp)[0]
  }

  #ofFamily(family: string): AppRecord | undefined {
    return this.#sql.exec<AppRecord>('SELECT * FROM app WHERE family = ?', family).toArray()[0]
  }

  /** Removes what has expired, and beyond the maximum what was used longest ago. */
  #sweep(): void {
    const now = clock.now()
    this.#sql.exec('DELETE FROM app_code WHERE expiresAt <= ?', now - usedCodeMs)
    const newest = 'SELECT hash FROM app_code ORDER BY expiresAt DESC LIMIT ?'
    this.#sql.exec(`DELETE FROM app_code WHERE hash NOT IN (${newest})`, maxCodes)
    this.#sql.exec('DELETE FROM app WHERE endsAt <= ?', now)
    this.#sql.exec('DELETE FROM app WHERE id NOT IN (SELECT id FROM app ORDER BY usedAt DESC LIMIT ?)', maxApps - 1)
  }
}

/** The ends of an access token, and of the app without another renewal. */
const endsOf = ({ until }: Consent, now: number): readonly [number, number] => [
  Math.min(now + accessTokenMs, until ?? Infinity),
  Math.min(now + idleMs, until ?? Infinity),
]
