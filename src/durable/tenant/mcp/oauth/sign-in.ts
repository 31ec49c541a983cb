/** Begins the sign-in to an MCP server, and ends it when the browser returns. */

import { actorOf } from '#agent/core/permission/audit.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { renderAuthorizationUrl, unionScopes } from '#agent/mcp/oauth.ts'
import { sha256, sha256Hex } from '#durable/platform/hash.ts'
import { unseal } from '#durable/platform/seal.ts'
import { sealForTenant } from '../../secrets/tenant-seal.ts'
import { createTenantAddressGuard, createTenantFetch } from '../../tenant-fetch.ts'
import { refreshServer, type ServerAccess } from '../list-server.ts'
import { isOfDeployment, mcpOf, type StoredServer } from '../server-row.ts'
import { clientDocumentOf, redirectUriOf } from './client-metadata.ts'
import { chooseClient, discoverServer, OAuthRefusal } from './discover.ts'
import { grantOwner, type SignIn } from './grant-rows.ts'
import { openClientSecret, sealGrant } from './refresh-grant.ts'
import { requestTokens } from './token-request.ts'

export { OAuthRefusal } from './discover.ts'

const base64Url = (bytes: Uint8Array): string =>
  encodeBase64Bytes(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const randomText = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)))

const ownAuthority = (tenantId: string): Authority => systemAuthority(tenantId, { kind: 'job', id: 'mcp' })
const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

export type SignInStart = {
  readonly authorizeUrl: string
  readonly expiresAt: number
  /** The value of the cookie that the browser must bring. */
  readonly cookie: string
}

type SignInRequest = { readonly authority: Authority; readonly origin: string; readonly isPublic: boolean }

/** Throws an `OAuthRefusal`. `isPublic`: authorization servers can read our metadata document. */
export async function startSignIn(
  stored: StoredServer,
  access: ServerAccess,
  { authority, origin, isPublic }: SignInRequest,
): Promise<SignInStart | 'foreign'> {
  const { env, tenantId } = access
  const { alias, url } = stored.config
  const missing = await mcpOf(env, tenantId).getMissingScope(ownAuthority(tenantId), alias)
  if (missing?.isHopeless)
    throw new OAuthRefusal(
      `The server still refuses after two sign-ins with these rights: ${missing.scope}. Ask its operator, then forget the sign-in and begin anew.`,
    )
  const { server, resource, scope } = await discoverServer(stored, access)
  const redirectUri = redirectUriOf(origin)
  const documentUrl = isPublic ? clientDocumentOf(origin) : undefined
  const client = await chooseClient({ stored, server, access, redirectUri, documentUrl })
  await requireOpenable(stored, server.authorizationEndpoint, access)
  const [verifier, state, cookie] = [randomText(), randomText(), randomText()]
  const target = { alias, origin: new URL(url).origin, issuer: server.issuer }
  const signIn: SignIn = {
    ...target,
    ...client,
    resource,
    tokenEndpoint: server.tokenEndpoint,
    scope: unionScopes(scope, missing?.scope),
    cookieHash: await sha256Hex(cookie),
    redirectUri,
    verifier: await sealForTenant(env, verifier, grantOwner(tenantId, target)),
    mustNameIssuer: server.namesItself,
    actor: actorOf(authority),
  }
  const expiresAt = await mcpOf(env, tenantId).putSignIn(authority, await sha256Hex(state), signIn)
  if (expiresAt === undefined) return 'foreign'
  const challenge = base64Url(await sha256(verifier))
  const { clientId, scope: asked } = signIn
  const request = { clientId, redirectUri, state, challenge, resource, scope: asked }
  return { authorizeUrl: renderAuthorizationUrl(server, request), expiresAt, cookie: `${tenantId}.${cookie}` }
}

/** The browser of a person opens it, which may reach more than this deployment. */
async function requireOpenable(stored: StoredServer, address: string, { env, tenantId }: ServerAccess): Promise<void> {
  if (isOfDeployment(stored, address)) return
  const reason = await createTenantAddressGuard(env, tenantId, ignoreEnd).check(address)
  if (reason !== undefined)
    throw new OAuthRefusal(`The authorization endpoint of the authorization server cannot be used: ${reason}.`)
}

export type Callback = {
  readonly code: string | undefined
  readonly state: string
  readonly iss: string | undefined
  readonly cookie: string
}

/** The alias of the server that has tokens now. Undefined: the return is forged, too late or refused. */
export async function endSignIn(env: Env, { code, state, iss, cookie }: Callback) {
  const at = cookie.lastIndexOf('.')
  const [tenantId, secret] = [cookie.slice(0, at), cookie.slice(at + 1)]
  if (at <= 0) return undefined
  const mcp = () => mcpOf(env, tenantId)
  const authority = ownAuthority(tenantId)
  const signIn = await mcp().takeSignIn(authority, await sha256Hex(state), await sha256Hex(secret))
  // Another server that returns its code here would get it redeemed.
  if (!signIn || (iss === undefined ? signIn.mustNameIssuer : iss !== signIn.issuer) || code === undefined)
    return undefined
  const { alias, clientId, authentication, tokenEndpoint, resource, redirectUri } = signIn
  const stored = await mcp().find(authority, alias)
  const verifier = await unseal(env, signIn.verifier, grantOwner(tenantId, signIn))
  if (!stored || new URL(stored.config.url).origin !== signIn.origin || verifier.kind !== 'opened') return undefined
  const context = { env, tenantId, alias }
  const answer = await requestTokens(createTenantFetch(env, tenantId, ignoreEnd), {
    tokenEndpoint,
    clientId,
    authentication,
    secret: await openClientSecret(signIn, context),
    parameters: {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier.secret,
      resource,
    },
    isTrusted: isOfDeployment(stored, tokenEndpoint),
  })
  if (answer.kind !== 'tokens') {
    if (answer.error === 'invalid_client') await mcp().forgetClient(authority, signIn.issuer, clientId)
    await mcp().noteSignInFailure(authority, alias, answer.reason)
    return undefined
  }
  const grant = await sealGrant(signIn, answer.tokens, context)
  if (!(await mcp().putGrant(authority, alias, grant, signIn.actor))) return undefined
  return { tenantId, alias }
}

const connectTimeoutMs = 10_000

/** Lists the tools of a server with its new tokens. */
export async function connectSignedIn(env: Env, tenantId: string, alias: string): Promise<void> {
  const opened = await mcpOf(env, tenantId).open(ownAuthority(tenantId), alias)
  if (opened) await refreshServer(opened.server, { env, tenantId, secrets: opened.secrets }, connectTimeoutMs)
}
