/** `/api/login` and `/api/me`: signs the page in with a key or a link, and tells it what its key may do. */

import * as z from 'zod'
import { type Authority, type KeyPrincipal, scopes } from '#agent/core/permission/authority.ts'
import { limitsSchema } from '#agent/core/settings.ts'
import { findMediaProvider } from '#agent/routing/media-providers.ts'
import { createTenants } from '#db/tenants.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { requireAccess } from '../access.ts'
import { requireAdminKey, resolveKey } from '../auth.ts'
import { AppError, invalid } from '../errors.ts'
import { parseJson, readBytes, validate } from '../input/body.ts'
import { adminKeyId, type VerifiedKey } from '../login/key-identity.ts'
import {
  clearedCookie,
  endLogin,
  getHolder,
  issueCookie,
  type CookieLogin,
  openCookie,
  readCookie,
  verifyHolder,
} from '../login/login-cookie.ts'
import { createLoginLink, openLoginLink, redeemLink } from '../login/login-link.ts'
import { isForeign } from '../login/same-origin.ts'
import { type RouteCall, type OpenRoute, route, type RequestContext } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireShield } from '../limit-unknown-keys.ts'
import { ok } from '../shapes.ts'
import { apiVersion } from '#agent/public-api/version.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { clock } from '#durable/platform/clock.ts'

const tag = 'Sign-in'
const maxBodyBytes = 8_192
const given = z.string().trim().min(1).max(2_000)
const loginSchema = z.union([
  z.strictObject({ key: given.describe('An API key, or ADMIN_KEY.') }),
  z.strictObject({ link: given.describe('A link of `POST /api/login/links`, or what follows `#in=` in it.') }),
])
type LoginRequest = z.infer<typeof loginSchema>

const linkShape = z.object({ url: z.string(), expires_at: z.iso.datetime() })
const meShape = z.object({
  tenant: z.string(),
  key: z.object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(scopes)),
    expires_at: z.iso.datetime().nullable(),
  }),
  login: z
    .object({ expires_at: z.iso.datetime() })
    .nullable()
    .describe('The cookie of this request, which the answer renews. null: the request has a key.'),
  limits: limitsSchema,
  version: z.string(),
  features: z
    .array(z.string())
    .describe('Optional bindings that this deployment has; `transcription` and `speech` when `/v1/audio` has them.'),
})
nameSchemas({ LoginLink: linkShape, Me: meShape })

const noStore = { 'cache-control': 'no-store' }
const noContent = (cookie: string) => new Response(null, { status: 204, headers: { ...noStore, 'set-cookie': cookie } })

/** A page of another origin could sign people in as somebody else. */
function refuseForeign(request: Request): void {
  if (!isForeign(request)) return
  throw new AppError(403, 'insufficient_scope', 'A page of another origin may not sign in here.', { param: 'Origin' })
}

async function signIn(web: RequestContext): Promise<Response> {
  refuseForeign(web.req.raw)
  return noContent(
    await createLogin(web, async () => {
      const bytes = await readBytes(web.req.raw, { bytes: maxBodyBytes, text: '8 KB' })
      return validate(loginSchema, parseJson(new TextDecoder().decode(bytes)))
    }),
  )
}

/** The cookie of a sign-in with a key, for a page that has no script. The caller refuses forms of other origins. */
export const signInWithKey = (web: RequestContext, key: string): Promise<string> =>
  createLogin(web, async () => validate(loginSchema, { key }))

async function createLogin(web: RequestContext, read: () => Promise<LoginRequest>): Promise<string> {
  const { raw: request } = web.req
  requireAdminKey(web.env)
  requireAttempt(request)
  await requireShield(web.env, request)
  const body = await read()
  try {
    return await issueCookie(web.env, request.url, await requireHolder(web, body))
  } catch (error) {
    if (error instanceof AppError && error.status === 401) countWrongAttempt(request)
    throw error
  }
}

async function requireHolder(web: RequestContext, body: LoginRequest) {
  const verified = 'key' in body ? await verifyKey(web, body.key) : await verifyLink(web, body.link)
  const holder = await getHolder(web.env, verified)
  if (!holder)
    throw invalid('Sign in with a key. A token of an identity provider signs every request in itself.', 'key')
  return holder
}

async function verifyKey(web: RequestContext, key: string): Promise<VerifiedKey> {
  const later = (work: Promise<unknown>) => web.executionCtx.waitUntil(work)
  const verified = await resolveKey(key.replaceAll(/\s/g, ''), web.env, Date.now(), later)
  await requireActive(web, verified)
  return verified
}

async function verifyLink(web: RequestContext, text: string): Promise<VerifiedKey> {
  const link = await openLoginLink(web.env, text)
  const verified = link && (await verifyHolder(web.env, link))
  if (!link || !verified) throw wrongLink()
  const identity = { ...verified.identity, ...(link.login !== undefined && { login: link.login }) }
  if (!(await redeemLink(web.env, await requireActive(web, { ...verified, identity }), link))) throw wrongLink()
  return verified
}

const requireActive = async ({ env }: RequestContext, { identity }: VerifiedKey): Promise<Authority> =>
  requireAccess(await fetchTenantSnapshot(env, identity.tenantId), identity)

const wrongLink = () =>
  new AppError(401, 'invalid_api_key', 'This link is used, expired or damaged. Ask for another one, or enter a key.')

type LoginRouteDefinition = Omit<OpenRoute, 'scope' | 'tag' | 'mount'> & {
  readonly handle: (web: RequestContext) => Promise<Response>
}
const openRoute = ({ handle, ...described }: LoginRouteDefinition): OpenRoute => ({
  ...described,
  scope: null,
  tag,
  mount: (app) => void app.on(described.method.toUpperCase(), described.path, handle),
})

export const signInRoutes: readonly OpenRoute[] = [
  openRoute({
    method: 'post',
    path: '/api/login',
    id: 'createSignIn',
    summary: 'Sign the page in with a key or a link that works once',
    example: { key: 'tal_abcdefgh23456789_k2j4h6g8f0d2s4a6' },
    body: loginSchema,
    responses: { 204: { description: 'Signed in: the answer sets a cookie of at most 12 hours' } },
    handle: signIn,
  }),
  openRoute({
    method: 'delete',
    path: '/api/login',
    id: 'deleteSignIn',
    summary: 'Sign the page out: its cookie and the links that it has made end',
    responses: { 204: { description: 'The cookie is deleted' } },
    handle: async ({ req, env }) => {
      refuseForeign(req.raw)
      const value = readCookie(req.raw)
      if (value !== undefined) await endLogin(env, value)
      return noContent(clearedCookie(req.url))
    },
  }),
]

export const loginPageRoutes = [
  route({
    method: 'post',
    path: '/api/login/links',
    id: 'createLoginLink',
    scope: 'read',
    tag,
    summary: 'Create a link that signs in once with this key, within ten minutes',
    body: z.strictObject({}),
    responses: { 201: { description: 'The link', schema: linkShape } },
    handle: async (call) => {
      const { env, authority, web } = call
      const holder = await getHolder(env, { identity: { ...authority, entitlements: [] }, expiresAt: null })
      if (!holder) throw invalid('Only a key can create links, not a token of an identity provider.')
      const { token, expiresAt } = await createLoginLink(env, { ...holder, login: (await readLogin(call))?.id })
      const origin = new URL(web.req.url).origin
      const answer = { url: `${origin}/#in=${token}`, expires_at: new Date(expiresAt).toISOString() }
      return Response.json(answer, { status: 201, headers: noStore })
    },
  }),
  route({
    method: 'get',
    path: '/api/me',
    id: 'getMe',
    scope: 'read',
    tag,
    summary: 'The tenant, the key and its rights; renews the cookie of the page',
    responses: ok('The key of this request', meShape),
    handle: async (call) => {
      const { env, authority, tenant, web } = call
      const login = await readLogin(call)
      const renewed = login && (await issueCookie(env, web.req.url, login))
      const body: z.infer<typeof meShape> = {
        tenant: tenant.id,
        key: { ...(await describeKey(env, authority)), scopes: [...authority.scopes] },
        login: login ? { expires_at: new Date(login.expiresAt).toISOString() } : null,
        limits: tenant.limits,
        version: apiVersion,
        features: listFeatures(call),
      }
      return Response.json(body, { headers: { ...noStore, ...(renewed && { 'set-cookie': renewed }) } })
    },
  }),
]

const mediaFeatures = ['transcription', 'speech'] as const
const optionalBindings = ['BLOBS', 'LOADER', 'AI', 'IMAGES'] as const

function listFeatures({ env, tenant: { id, settings } }: RouteCall<unknown, unknown>): string[] {
  const deployment = createToolDeployment(env, { id, settings })
  const bindings = optionalBindings.filter((name) => env[name] !== undefined).map((name) => name.toLowerCase())
  return [...bindings, ...mediaFeatures.filter((use) => !('reason' in findMediaProvider(use, deployment)))]
}

async function readLogin({ env, web }: RouteCall<unknown, unknown>): Promise<CookieLogin | undefined> {
  if (web.req.header('authorization') !== undefined) return undefined
  const value = readCookie(web.req.raw)
  return value === undefined ? undefined : openCookie(env, value)
}

async function describeKey(env: Env, { principal, tenantId }: Authority) {
  const { id = '', name = '' }: Partial<KeyPrincipal> = principal.kind === 'key' ? principal : {}
  if (id === adminKeyId) return { id, name: 'ADMIN_KEY', expires_at: null }
  const key = (await createTenants(env.DB).listKeys(tenantId)).find((one) => one.id === id)
  const expires = key?.expiresAt ?? null
  return {
    id,
    name: key?.name ?? name,
    expires_at: expires === null ? null : new Date(expires).toISOString(),
  }
}

const maxWrong = 10
const periodMs = 60_000
type LoginAttempts = { readonly since: number; readonly count: number }
const attempts = new BoundedMap<string, LoginAttempts>(10_000)

const addressOf = (request: Request): string => request.headers.get('cf-connecting-ip') ?? 'unknown'

const getCurrent = (address: string): LoginAttempts => {
  const known = attempts.get(address)
  return known && clock.now() - known.since < periodMs ? known : { since: clock.now(), count: 0 }
}

/** Limits wrong keys and links by address. Each isolate counts for itself: it slows guessing down and is no quota. */
function requireAttempt(request: Request): void {
  const { since, count } = getCurrent(addressOf(request))
  if (count < maxWrong) return
  const retryAfter = Math.max(1, Math.ceil((since + periodMs - clock.now()) / 1_000))
  throw new AppError(429, 'limit_exceeded', 'Too many wrong keys from this address.', {
    param: 'login_attempts',
    retryAfter,
  })
}

function countWrongAttempt(request: Request): void {
  const { since, count } = getCurrent(addressOf(request))
  attempts.set(addressOf(request), { since, count: count + 1 })
}
