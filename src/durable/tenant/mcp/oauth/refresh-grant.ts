/** Renews the tokens of an MCP server. Only the tenant's object does it, because a refresh token may be used once. */

import { clock } from '#durable/platform/clock.ts'
import { unseal } from '#durable/platform/seal.ts'
import { sealForTenant } from '../../secrets/tenant-seal.ts'
import { createTenantFetch } from '../../tenant-fetch.ts'
import { clientOwner, type Grant, grantOwner } from './grant-rows.ts'
import { requestTokens } from './token-request.ts'
import type { Tokens } from '#agent/mcp/oauth.ts'

export type GrantContext = { readonly env: Env; readonly tenantId: string; readonly alias: string }

export type RefreshAnswer =
  | { readonly kind: 'renewed'; readonly grant: Grant }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

export async function refreshGrant(grant: Grant, context: GrantContext, isTrusted: boolean): Promise<RefreshAnswer> {
  const { env, tenantId, alias } = context
  const owner = grantOwner(tenantId, { alias, ...grant })
  const refresh = grant.refresh === undefined ? undefined : await unseal(env, grant.refresh, owner)
  if (!refresh) return { kind: 'refused', reason: 'Its sign-in has expired.' }
  if (refresh.kind === 'unreadable') return { kind: 'refused', reason: refresh.reason }
  const secret = await openClientSecret(grant, context)
  const { tokenEndpoint, clientId, authentication, resource } = grant
  const answer = await requestTokens(createTenantFetch(env, tenantId, ignoreEnd), {
    tokenEndpoint,
    clientId,
    authentication,
    secret,
    parameters: { grant_type: 'refresh_token', refresh_token: refresh.secret, resource },
    isTrusted,
  })
  if (answer.kind !== 'tokens') return { kind: answer.kind, reason: answer.reason }
  // Without a new refresh token the old one stays valid.
  const tokens = { ...answer.tokens, refresh: answer.tokens.refresh ?? refresh.secret }
  return { kind: 'renewed', grant: await sealGrant(grant, tokens, context) }
}

export const openClientSecret = async (
  { secret, issuer }: Pick<Grant, 'secret' | 'issuer'>,
  { env, tenantId }: GrantContext,
): Promise<string | undefined> => {
  const opened = secret === undefined ? undefined : await unseal(env, secret, clientOwner(tenantId, issuer))
  return opened?.kind === 'opened' ? opened.secret : undefined
}

type GrantBase = Omit<Grant, 'access' | 'refresh' | 'expiresAt' | 'lifetimeMs'>

export async function sealGrant(
  { issuer, origin, resource, tokenEndpoint, clientId, secret, authentication, scope }: GrantBase,
  tokens: Tokens,
  { env, tenantId, alias }: GrantContext,
): Promise<Grant> {
  const owner = grantOwner(tenantId, { alias, origin, issuer })
  return {
    issuer,
    origin,
    resource,
    tokenEndpoint,
    clientId,
    authentication,
    ...(secret !== undefined && { secret }),
    scope: tokens.scope ?? scope,
    access: await sealForTenant(env, tokens.access, owner),
    ...(tokens.refresh !== undefined && { refresh: await sealForTenant(env, tokens.refresh, owner) }),
    ...(tokens.lifetime !== undefined && {
      expiresAt: clock.now() + tokens.lifetime * 1e3,
      lifetimeMs: tokens.lifetime * 1e3,
    }),
  }
}
