/** Defines what the tenant's object stores of connected apps: OAuth clients that people have let use the MCP server. */

import type { Entitlement, KeyPrincipal } from '#agent/core/permission/authority.ts'
import type { AppScope } from '#agent/mcp/app-client.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { AppRows } from './app-rows.ts'

/** The key, or the person of an identity provider, in whose name an app acts. `adminKey`: the digest of the ADMIN_KEY. */
export type AppHolder =
  | { readonly kind: 'key'; readonly keyId: string; readonly adminKey?: string }
  | { readonly kind: 'login'; readonly principal: KeyPrincipal; readonly entitlements: readonly Entitlement[] }

/** The consent of a person. */
export type Consent = {
  readonly clientId: string
  readonly name: string
  /** The receiver of the code: a host, `localhost`, or a scheme. */
  readonly host: string
  /** The only audience of the tokens. */
  readonly resource: string
  readonly scopes: readonly AppScope[]
  readonly holder: AppHolder
  /** The end of the holder's own access. Null: none. */
  readonly until: number | null
}

/** A consent whose code was redeemed. Times are milliseconds since 1970. */
export type ConnectedApp = Consent & {
  readonly id: string
  readonly createdAt: number
  readonly usedAt: number
  /** It ends then, unless its tokens are renewed before. */
  readonly endsAt: number
}

/** A code before it is redeemed. `hash` is all that is stored of it. */
export type NewCode = {
  readonly hash: string
  readonly redirectUri: string
  /** Of PKCE: the hash of the verifier. */
  readonly challenge: string
  readonly consent: Consent
}

/** The hashes of a pair of tokens. `family` finds their app. */
export type NewTokens = { readonly family: string; readonly access: string; readonly refresh: string }

export type TokenOf = { readonly family: string; readonly hash: string }

export const accessTokenMs = 3_600_000

const methods = ['createCode', 'redeemCode', 'refresh', 'find', 'list', 'end', 'endByToken'] as const
export type AppMethod = (typeof methods)[number]

export const appsOf = (env: Env, tenantId: string): LoadedCalls<AppRows, AppMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).apps)
