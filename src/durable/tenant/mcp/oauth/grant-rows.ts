/** Stores what OAuth needs of a tenant's MCP servers: sign-ins that have begun, registered clients, and sealed tokens. */

import type { ClientAuthentication } from '#agent/mcp/oauth.ts'
import { unionScopes } from '#agent/mcp/oauth.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SecretOwner } from '#durable/platform/seal.ts'
import type { ServerConfig } from '../server-row.ts'

/** A client as one authorization server knows it. */
export type RegisteredClient = {
  readonly clientId: string
  /** Sealed. */
  readonly secret?: string
  readonly authentication: ClientAuthentication
}

/** The target of codes and tokens. */
type GrantTarget = RegisteredClient & {
  readonly issuer: string
  /** Of the MCP server. A token is never sent to another one. */
  readonly origin: string
  readonly resource: string
  readonly tokenEndpoint: string
  readonly scope: string
}

/** A sign-in that waits for the browser to return. */
export type SignIn = GrantTarget & {
  readonly alias: string
  /** The hash of the cookie that the browser must bring. */
  readonly cookieHash: string
  readonly redirectUri: string
  /** Sealed. */
  readonly verifier: string
  readonly mustNameIssuer: boolean
  /** The person who began it, for the audit log. */
  readonly actor: string
}

export type Grant = GrantTarget & {
  /** Sealed, as `refresh`. */
  readonly access: string
  readonly refresh?: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined
  /** Absent in grants of earlier versions. */
  readonly lifetimeMs?: number | undefined
}

/** Rights that a call lacked, and how many sign-ins have asked for them. */
type MissingScope = { readonly scope: string; readonly tries: number }

type StoredGrant = { readonly grant?: Grant | undefined; readonly missing?: MissingScope | undefined }

/** Tokens open for one server of one tenant, at one origin, from one authorization server. */
export const grantOwner = (
  tenant: string,
  { alias, origin, issuer }: { readonly alias: string; readonly origin: string; readonly issuer: string },
): SecretOwner => ({ tenant, kind: 'mcp-oauth', id: `${alias.toLowerCase()} ${origin} ${issuer}` })

/** The secret of a registered client opens for its authorization server alone. */
export const clientOwner = (tenant: string, issuer: string): SecretOwner => ({
  tenant,
  kind: 'mcp-client',
  id: issuer,
})

/** The rows that hold sealed values. */
export type SealedRows = {
  readonly configs: readonly ServerConfig[]
  readonly grants: readonly { readonly alias: string; readonly grant: Grant }[]
  readonly clients: readonly { readonly issuer: string; readonly client: RegisteredClient }[]
}

const signInMs = 600_000
const maxSignIns = 20
const maxTries = 2

const schema = [
  'CREATE TABLE IF NOT EXISTS mcp_grant (alias TEXT PRIMARY KEY COLLATE NOCASE, body TEXT NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS mcp_sign_in (state TEXT PRIMARY KEY, body TEXT NOT NULL, expiresAt INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS mcp_client (issuer TEXT NOT NULL, redirectUri TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (issuer, redirectUri)) WITHOUT ROWID',
]

export class GrantRows {
  readonly #storage: SqlStorage
  #hasTables = false

  constructor(storage: SqlStorage) {
    this.#storage = storage
  }

  get #sql(): SqlStorage {
    if (!this.#hasTables) for (const statement of schema) this.#storage.exec(statement)
    this.#hasTables = true
    return this.#storage
  }

  /** `state` is the hash of the value that the browser carries. Returns when the sign-in expires. */
  putSignIn(state: string, signIn: SignIn): number {
    const expiresAt = clock.now() + signInMs
    this.#sql.exec('DELETE FROM mcp_sign_in WHERE expiresAt <= ?', clock.now())
    this.#sql.exec('INSERT INTO mcp_sign_in VALUES (?, ?, ?)', state, JSON.stringify(signIn), expiresAt)
    this.#sql.exec(
      'DELETE FROM mcp_sign_in WHERE state NOT IN (SELECT state FROM mcp_sign_in ORDER BY expiresAt DESC LIMIT ?)',
      maxSignIns,
    )
    return expiresAt
  }

  /** A sign-in can be taken once, also by a browser that is not the one that began it. */
  takeSignIn(state: string, cookieHash: string): SignIn | undefined {
    const [row] = this.#sql
      .exec<{ body: string; expiresAt: number }>(
        'DELETE FROM mcp_sign_in WHERE state = ? RETURNING body, expiresAt',
        state,
      )
      .toArray()
    if (!row || row.expiresAt <= clock.now()) return undefined
    const signIn = JSON.parse(row.body) as SignIn
    return signIn.cookieHash === cookieHash ? signIn : undefined
  }

  /**
   * Undefined too when a sign-in of this client has not come back: an authorization server that has forgotten a client
   * says so to the browser alone.
   */
  getClient(issuer: string, redirectUri: string): RegisteredClient | undefined {
    const query = `SELECT body FROM mcp_client AS client WHERE issuer = ? AND redirectUri = ? AND NOT EXISTS
      (SELECT 1 FROM mcp_sign_in AS begun WHERE begun.body ->> 'clientId' = client.body ->> 'clientId')`
    const [row] = this.#sql.exec<{ body: string }>(query, issuer, redirectUri).toArray()
    return row && (JSON.parse(row.body) as RegisteredClient)
  }

  putClient(issuer: string, redirectUri: string, client: RegisteredClient): void {
    this.#sql.exec('INSERT OR REPLACE INTO mcp_client VALUES (?, ?, ?)', issuer, redirectUri, JSON.stringify(client))
  }

  /** The authorization server does not know the client any more. */
  forgetClient(issuer: string, clientId: string): void {
    this.#sql.exec("DELETE FROM mcp_client WHERE issuer = ? AND body ->> 'clientId' = ?", issuer, clientId)
  }

  getGrant(alias: string): Grant | undefined {
    return this.#get(alias).grant
  }

  /** Tokens after a sign-in. It counts as a try to get the rights that were missing. */
  putGrant(alias: string, grant: Grant): void {
    const { missing } = this.#get(alias)
    this.#put(alias, { grant, ...(missing && { missing: { ...missing, tries: missing.tries + 1 } }) })
  }

  /** Replaces the tokens, unless the grant is another one by now. */
  renewGrant(alias: string, before: Grant, after: Grant): boolean {
    const stored = this.#get(alias)
    if (stored.grant?.access !== before.access) return false
    this.#put(alias, { ...stored, grant: after })
    return true
  }

  forgetGrant(alias: string): boolean {
    const hadGrant = this.getGrant(alias) !== undefined
    this.#sql.exec('DELETE FROM mcp_grant WHERE alias = ?', alias)
    return hadGrant
  }

  /** The rights for the next sign-in. `isHopeless`: two sign-ins have asked for them in vain. */
  addMissingScope(alias: string, scope: string): { readonly scope: string; readonly isHopeless: boolean } {
    const stored = this.#get(alias)
    const union = unionScopes(stored.grant?.scope, stored.missing?.scope, scope)
    const tries = union === stored.missing?.scope ? stored.missing.tries : 0
    this.#put(alias, { ...stored, missing: { scope: union, tries } })
    return { scope: union, isHopeless: tries >= maxTries }
  }

  getMissingScope(alias: string): { readonly scope: string; readonly isHopeless: boolean } | undefined {
    const { missing } = this.#get(alias)
    return missing && { scope: missing.scope, isHopeless: missing.tries >= maxTries }
  }

  /** Replaces a sealed text wherever it is stored. */
  reseal(before: string, after: string): boolean {
    const tables = ['mcp_grant', 'mcp_client']
    const written = tables.map(
      (table) =>
        this.#sql.exec(`UPDATE ${table} SET body = replace(body, ?, ?) WHERE instr(body, ?) > 0`, before, after, before)
          .rowsWritten,
    )
    return written.some((rows) => rows > 0)
  }

  listClients(): readonly {
    readonly issuer: string
    readonly redirectUri: string
    readonly client: RegisteredClient
  }[] {
    return this.#sql
      .exec<{ issuer: string; redirectUri: string; body: string }>('SELECT * FROM mcp_client')
      .toArray()
      .map(({ issuer, redirectUri, body }) => ({ issuer, redirectUri, client: JSON.parse(body) as RegisteredClient }))
  }

  #get(alias: string): StoredGrant {
    const [row] = this.#sql.exec<{ body: string }>('SELECT body FROM mcp_grant WHERE alias = ?', alias).toArray()
    return row ? (JSON.parse(row.body) as StoredGrant) : {}
  }

  #put(alias: string, stored: StoredGrant): void {
    this.#sql.exec('INSERT OR REPLACE INTO mcp_grant VALUES (?, ?)', alias, JSON.stringify(stored))
  }
}
