/** Serves `/oauth/token` and `/oauth/revoke`: codes and refresh tokens become tokens, once. */

import { isDocumentId, isOwnResource } from '#agent/mcp/app-client.ts'
import { encodeBase64Url } from '#agent/core/base64.ts'
import { sha256, sha256Hex } from '#durable/platform/hash.ts'
import { accessTokenMs, appsOf, type ConnectedApp } from '#durable/tenant/apps/app-row.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { clock } from '#durable/platform/clock.ts'
import { readBytes } from '../../input/body.ts'
import { requireShield } from '../../limit-unknown-keys.ts'
import type { RequestContext } from '../../route.ts'
import { appsAuthority, createTokens, identifyHolder, isTenantActive, parseToken, refreshPrefix } from './app-token.ts'
import { isClientSecret, openClientId } from './find-client.ts'
import { noStore, OAuthError } from './oauth-error.ts'

const limit = { bytes: 32 * 1024, text: '32 KB' }
const verifierPattern = /^[\w.~-]{43,128}$/

/** `repeatable`: fields that may be there more than once. */
export async function readOAuthForm(request: Request, repeatable: readonly string[] = []): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded'))
    throw new OAuthError('invalid_request', 'Send application/x-www-form-urlencoded.')
  const form = new URLSearchParams(new TextDecoder().decode(await readBytes(request, limit)))
  const names = [...form.keys()].filter((name) => !repeatable.includes(name))
  if (new Set(names).size !== names.length) throw new OAuthError('invalid_request', 'A parameter is there twice.')
  return form
}

function requireField(form: URLSearchParams, name: string): string {
  const value = form.get(name)
  if (value) return value
  throw new OAuthError('invalid_request', `${name} is missing.`)
}

/** The id of the client, after its secret was checked where it has one. */
async function authenticateClient(env: Env, request: Request, form: URLSearchParams): Promise<string> {
  const basic = readBasic(request.headers.get('authorization'))
  const id = basic?.id ?? requireField(form, 'client_id')
  if (isDocumentId(id)) return id
  const client = await openClientId(env, id)
  const secret = basic?.secret ?? form.get('client_secret') ?? ''
  if (client && (client.authentication === 'none' || (await isClientSecret(env, id, secret)))) return id
  throw new OAuthError('invalid_client', 'The client is unknown, or its secret is wrong.', 401)
}

function readBasic(header: string | null): { readonly id: string; readonly secret: string } | undefined {
  const [, encoded = ''] = /^Basic\s{1,4}([A-Za-z0-9+/]{1,10000}={0,2})$/i.exec(header ?? '') ?? []
  if (!encoded) return undefined
  try {
    const [id = '', secret = ''] = atob(encoded).split(':', 2).map(decodeURIComponent)
    return { id, secret }
  } catch {
    return undefined // It is not base64, so it names no client.
  }
}

export async function serveToken({ req, env }: RequestContext, resource: string): Promise<Response> {
  await requireShield(env, req.raw)
  const form = await readOAuthForm(req.raw)
  const kind = requireField(form, 'grant_type')
  const clientId = await authenticateClient(env, req.raw, form)
  if (!isOwnResource(form.get('resource') ?? undefined, resource))
    throw new OAuthError('invalid_target', `Tokens are for ${resource} only.`)
  if (kind === 'authorization_code') return redeem(env, clientId, form)
  if (kind === 'refresh_token') return renew(env, clientId, form)
  throw new OAuthError('unsupported_grant_type', 'grant_type: authorization_code or refresh_token.')
}

const invalidGrant = (): OAuthError =>
  new OAuthError('invalid_grant', 'The code or token is unknown, expired, used, or was given to another client.')

async function redeem(env: Env, clientId: string, form: URLSearchParams): Promise<Response> {
  const [code, verifier] = [requireField(form, 'code'), requireField(form, 'code_verifier')]
  const tenantId = code.slice(0, Math.max(0, code.lastIndexOf('.')))
  if (!verifierPattern.test(verifier) || !(await isTenantActive(env, tenantId))) throw invalidGrant()
  const { access, refresh, hashes } = await createTokens(tenantId)
  const app = await appsOf(env, tenantId).redeemCode(appsAuthority(tenantId), {
    code: await sha256Hex(code),
    clientId,
    redirectUri: requireField(form, 'redirect_uri'),
    challenge: encodeBase64Url(await sha256(verifier)),
    tokens: hashes,
  })
  if (!app) throw refuse(tenantId)
  return renderTokens(app, access, refresh)
}

/** It may have ended the app. */
function refuse(tenantId: string): OAuthError {
  forgetSnapshot(tenantId)
  return invalidGrant()
}

async function renew(env: Env, clientId: string, form: URLSearchParams): Promise<Response> {
  const given = requireField(form, 'refresh_token')
  const parsed = given.startsWith(refreshPrefix) ? await parseToken(env, given) : undefined
  if (!parsed) throw invalidGrant()
  const { tenantId, family, hash } = parsed
  const { access, refresh, hashes } = await createTokens(tenantId, family)
  const apps = appsOf(env, tenantId)
  const app = await apps.refresh(appsAuthority(tenantId), { family, hash, clientId, tokens: hashes })
  if (!app) throw refuse(tenantId)
  if (!(await identifyHolder(env, tenantId, app.holder))) {
    await apps.end(appsAuthority(tenantId), app.id, 'its key has ended')
    throw refuse(tenantId)
  }
  return renderTokens(app, access, refresh)
}

/** `scope` tells what the person has allowed, which may be less than was asked for. */
const renderTokens = ({ scopes, endsAt }: ConnectedApp, access: string, refresh: string): Response =>
  Response.json(
    {
      access_token: access,
      token_type: 'Bearer',
      expires_in: Math.floor(Math.min(accessTokenMs, endsAt - clock.now()) / 1_000),
      refresh_token: refresh,
      scope: scopes.join(' '),
    },
    { headers: noStore },
  )

/** The answer is the same whether or not there was such a token (RFC 7009). */
export async function serveRevocation({ req, env }: RequestContext): Promise<Response> {
  await requireShield(env, req.raw)
  const form = await readOAuthForm(req.raw)
  const clientId = await authenticateClient(env, req.raw, form)
  const parsed = await parseToken(env, requireField(form, 'token'))
  if (parsed) {
    const { tenantId, ...token } = parsed
    await appsOf(env, tenantId).endByToken(appsAuthority(tenantId), { ...token, clientId })
    forgetSnapshot(tenantId)
  }
  return new Response(null, { status: 200, headers: noStore })
}
