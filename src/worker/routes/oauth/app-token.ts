/** Creates and verifies the tokens of connected apps. A token names its tenant, and opens `/mcp` alone. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { isSameAddress } from '#agent/core/local-address.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import { encodeBase64Url } from '#agent/core/base64.ts'
import { createTenants, tenantIdPattern } from '#db/tenants.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { type AppHolder, appsOf, type ConnectedApp, type TokenOf } from '#durable/tenant/apps/app-row.ts'
import { requireShield } from '../../limit-unknown-keys.ts'
import { verifyHolder } from '../../login/login-cookie.ts'

export const accessPrefix = 'talat_'
export const refreshPrefix = 'talrt_'
const tokenPattern = /^tal[ar]t_([a-z0-9-]{1,63})\.([\w-]{22})\.([\w-]{43})$/

/** The object of the tenant checks what a token proves. */
export const appsAuthority = (tenantId: string) => systemAuthority(tenantId, { kind: 'job', id: 'apps' }, ['write'])

export const randomText = (bytes = 32): string => encodeBase64Url(crypto.getRandomValues(new Uint8Array(bytes)))

export async function createTokens(tenantId: string, family = randomText(16)) {
  const [access, refresh] = [accessPrefix, refreshPrefix].map(
    (prefix) => `${prefix}${tenantId}.${family}.${randomText()}`,
  )
  if (access === undefined || refresh === undefined) throw new Error('Both tokens were made.')
  return { access, refresh, hashes: { family, access: await sha256Hex(access), refresh: await sha256Hex(refresh) } }
}

export type ParsedToken = TokenOf & { readonly tenantId: string }

/** Undefined when it is no token of an app, or its tenant does not exist. */
export async function parseToken(env: Env, token: string): Promise<ParsedToken | undefined> {
  const [, tenantId = '', family = ''] = tokenPattern.exec(token) ?? []
  if (!(await isTenantActive(env, tenantId))) return undefined
  return { tenantId, family, hash: await sha256Hex(token) }
}

/** No object is made for a name that somebody has invented. */
export const isTenantActive = async (env: Env, tenantId: string): Promise<boolean> =>
  tenantIdPattern.test(tenantId) && (await createTenants(env.DB).get(tenantId))?.status === 'active'

const cacheMs = 30_000
/** As keys: a revoked one is refused by `requireAccess` meanwhile. */
const cache = new BoundedMap<
  string,
  { readonly identity: Identity; readonly resource: string; readonly until: number }
>(10_000)

/** Undefined when the token gives no access to this resource. */
export async function verifyAppToken(
  { env, request, resource }: { readonly env: Env; readonly request: Request; readonly resource: string },
  token: string,
): Promise<Identity | undefined> {
  const cached = cache.get(token)
  if (cached && cached.until > clock.now())
    return isSameAddress(cached.resource, resource) ? cached.identity : undefined
  await requireShield(env, request)
  const parsed = token.startsWith(accessPrefix) ? await parseToken(env, token) : undefined
  const app = parsed && (await appsOf(env, parsed.tenantId).find(appsAuthority(parsed.tenantId), parsed))
  const holder = app && (await identifyHolder(env, parsed.tenantId, app.holder))
  if (!holder || !isSameAddress(app.resource, resource)) return undefined
  const identity = limitToApp(holder, app)
  cache.set(token, { identity, resource, until: clock.now() + cacheMs })
  return identity
}

/** Undefined when the access of the holder has ended. */
export async function identifyHolder(env: Env, tenantId: string, holder: AppHolder): Promise<Identity | undefined> {
  if (holder.kind === 'key') return (await verifyHolder(env, { tenantId, ...holder }))?.identity
  const { principal, entitlements } = holder
  return { tenantId, principal, entitlements, taint: 'none' }
}

/** The app acts as its holder, with less. Its end, and that of the holder's key or rules, are seen as those of a key. */
function limitToApp(holder: Identity, { id, host, scopes }: ConnectedApp): Identity {
  const { principal, entitlements } = holder
  if (principal.kind !== 'key') throw new Error('Apps act for keys and people of identity providers.')
  const { rules = principal.id, name } = principal
  return {
    ...holder,
    principal: { ...principal, rules: `${id}+${rules}`, name: name === undefined ? host : `${name} by ${host}` },
    entitlements: entitlements.map((one) => ({
      ...one,
      scopes: one.scopes.filter((scope) => scopes.some((allowed) => allowed === scope)),
    })),
  }
}

/** For tests: a new isolate knows no tokens. */
export const clearAppCache = (): void => cache.clear()
