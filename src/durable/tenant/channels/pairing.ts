/**
 * Admits chat users who are not listed in the settings. A user gets a code, and the owner of the tenant enters it. Only the hash of a
 * code is stored. Few codes are open at a time, they expire, and wrong guesses lock the entry.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantAudit } from '../audit.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const codeChars = 8
const codeExpiryMs = 3_600_000
/** The time before the same person gets another code. */
const codeIntervalMs = 600_000
const maxPending = 3
const maxWrongCodes = 5
const lockMs = 3_600_000
const maxNameChars = 200

export type Person = { readonly platform: string; readonly person: string; readonly name: string }

/** `code`: a new code for the person, shown this once. */
export type PairingStatus = { readonly kind: 'approved' | 'unknown' } | { readonly kind: 'code'; readonly code: string }

export type ApproveResult =
  | { readonly kind: 'approved'; readonly person: string; readonly name: string }
  | { readonly kind: 'wrong' }
  /** `retryAfter` is in seconds. */
  | { readonly kind: 'locked'; readonly retryAfter: number }

export type PairedPerson = {
  readonly platform: string
  readonly person: string
  readonly name: string
  readonly status: 'pending' | 'approved'
  readonly at: number
}

const schema = [
  `CREATE TABLE IF NOT EXISTS pairing (platform TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
    hash TEXT, at INTEGER NOT NULL, PRIMARY KEY (platform, person)) WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS pairing_guesses (id INTEGER PRIMARY KEY, wrong INTEGER NOT NULL, until INTEGER NOT NULL)',
]

export class TenantPairing extends TenantPart {
  readonly #sqlStorage: SqlStorage
  readonly #audit: TenantAudit
  #hasTables = false

  constructor(mayChange: ChangeCheck, sql: SqlStorage, audit: TenantAudit) {
    super(mayChange)
    this.#audit = audit
    this.#sqlStorage = sql
  }

  /** Returns whether a person is approved. With `issuesCode` an unknown person gets a code, unless one is too recent. */
  async check(authority: Authority, { platform, person, name }: Person, issuesCode: boolean): Promise<PairingStatus> {
    this.requireOwn(authority)
    const now = clock.now()
    const code = newCode()
    const hash = await hashOf(platform, code)
    // One synchronous stretch from here on: of concurrent messages only one gets a code.
    const query = 'SELECT status, at FROM pairing WHERE platform = ? AND person = ?'
    const [existing] = this.#sql.exec<{ status: string; at: number }>(query, platform, person).toArray()
    if (existing?.status === 'approved') return { kind: 'approved' }
    if (!issuesCode || (existing && now - existing.at < codeIntervalMs)) return { kind: 'unknown' }
    this.#sql.exec(
      "DELETE FROM pairing WHERE status = 'pending' AND (at < ? OR (platform = ? AND person = ?))",
      now - codeExpiryMs,
      platform,
      person,
    )
    if (this.#pendingCount(platform) >= maxPending) return { kind: 'unknown' }
    const insert = "INSERT INTO pairing VALUES (?, ?, ?, 'pending', ?, ?)"
    this.#sql.exec(insert, platform, person, name.slice(0, maxNameChars), hash, now)
    return { kind: 'code', code }
  }

  /** Approves the person who got this code. */
  async approve(authority: Authority, platform: string, code: string): Promise<ApproveResult> {
    if (!this.mayChange(authority, 'write')) return { kind: 'wrong' }
    const now = clock.now()
    const hash = await hashOf(platform, code.trim().toUpperCase())
    const query = 'SELECT wrong, until FROM pairing_guesses'
    const [guesses] = this.#sql.exec<{ wrong: number; until: number }>(query).toArray()
    if (guesses && guesses.until > now) return { kind: 'locked', retryAfter: Math.ceil((guesses.until - now) / 1_000) }
    const [approved] = this.#sql
      .exec<{ person: string; name: string }>(
        "UPDATE pairing SET status = 'approved', hash = NULL, at = ? WHERE platform = ? AND hash = ? AND at >= ? RETURNING person, name",
        now,
        platform,
        hash,
        now - codeExpiryMs,
      )
      .toArray()
    const wrong = approved ? 0 : (guesses?.until ? 0 : (guesses?.wrong ?? 0)) + 1
    this.#sql.exec(
      'INSERT INTO pairing_guesses VALUES (0, ?, ?) ON CONFLICT DO UPDATE SET wrong = excluded.wrong, until = excluded.until',
      wrong,
      wrong >= maxWrongCodes ? now + lockMs : 0,
    )
    if (!approved) return { kind: 'wrong' }
    const subject = `${platform}:${approved.person}`
    this.#audit.add(authority, { kind: 'pairing.approved', subject, details: { name: approved.name } })
    return { kind: 'approved', ...approved }
  }

  /** Approved people and those with a valid code, newest first. */
  list(authority: Authority): readonly PairedPerson[] {
    this.requireOwn(authority)
    const query =
      "SELECT platform, person, name, status, at FROM pairing WHERE status = 'approved' OR at >= ? ORDER BY at DESC"
    return this.#sql.exec<PairedPerson>(query, clock.now() - codeExpiryMs).toArray()
  }

  /** Returns whether the person was in the list. */
  remove(authority: Authority, platform: string, person: string): boolean {
    if (!this.mayChange(authority, 'write')) return false
    const query = 'DELETE FROM pairing WHERE platform = ? AND person = ? RETURNING name'
    const [removed] = this.#sql.exec<{ name: string }>(query, platform, person).toArray()
    if (!removed) return false
    const subject = `${platform}:${person}`
    this.#audit.add(authority, { kind: 'pairing.removed', subject, details: { name: removed.name } })
    return true
  }

  #pendingCount(platform: string): number {
    const query = "SELECT count(*) AS n FROM pairing WHERE status = 'pending' AND platform = ?"
    return this.#sql.exec<{ n: number }>(query, platform).one().n
  }

  /** Creates the tables at the first use: most tenants have no channel. */
  get #sql(): SqlStorage {
    if (!this.#hasTables) for (const statement of schema) this.#sqlStorage.exec(statement)
    this.#hasTables = true
    return this.#sqlStorage
  }
}

/** The alphabet has 32 characters, so that every one of them is equally likely. */
const newCode = (): string =>
  [...crypto.getRandomValues(new Uint8Array(codeChars))].map((byte) => alphabet[byte % alphabet.length]).join('')

const hashOf = (platform: string, code: string): Promise<string> => sha256Base64(`${platform} ${code}`)
