/** Describes the tokens of a subscription, which are stored sealed in place of a key. */

import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { unseal } from '#durable/platform/seal.ts'
import { credentialOwner } from './credentials.ts'

export type SubscriptionTokens = {
  /** Sent with calls of models. */
  readonly access: string
  /** Gives new tokens. Most services accept it once. */
  readonly refresh?: string
  /** Milliseconds since 1970, as `issuedAt`. */
  readonly expiresAt?: number
  /** Of two sets of tokens, the later one is valid. */
  readonly issuedAt: number
  /** The account as the service names it. */
  readonly account?: string
  /** The address that the service gave to this account. */
  readonly baseUrl?: string
}

type SealedCredential = { readonly id: string; readonly provider: string; readonly sealed: string }

/** Undefined when they cannot be opened. They are masked in everything that leaves from then on. */
export async function openTokens(
  env: Env,
  tenantId: string,
  { id, provider, sealed }: SealedCredential,
): Promise<SubscriptionTokens | undefined> {
  const opened = await unseal(env, sealed, credentialOwner(tenantId, { id, provider }))
  const tokens = opened.kind === 'opened' ? parseJson(opened.secret) : undefined
  if (!isJsonObject(tokens) || typeof tokens['access'] !== 'string') return undefined
  const { access, refresh } = tokens as SubscriptionTokens
  rememberSecrets(tenantId, `subscription ${id}`, [access, ...(refresh === undefined ? [] : [refresh])])
  return tokens as SubscriptionTokens
}

/** The text whose fingerprint tells one credential from another: the account of tokens, else the key itself. */
export function readIdentity(secret: string): string {
  if (!secret.startsWith('{')) return secret
  const tokens = parseJson(secret)
  return isJsonObject(tokens) ? String(tokens['account'] ?? tokens['access'] ?? secret) : secret
}
