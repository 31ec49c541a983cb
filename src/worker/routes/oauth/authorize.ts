/**
 * Serves `/oauth/authorize`: shows a person what an app wants, and gives the app a code for what the person allows. Nothing
 * is fetched and no address is followed before a person has signed in, and errors never lead to an address of the app.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import {
  type AppClient,
  type AppScope,
  describeReceiver,
  isDocumentId,
  isOwnResource,
  isRedirectUri,
  isRegisteredRedirect,
  readAppScopes,
} from '#agent/mcp/app-client.ts'
import { createTenants } from '#db/tenants.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { type AppHolder, appsOf } from '#durable/tenant/apps/app-row.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { requireAccess } from '../../access.ts'
import { authenticate } from '../../auth.ts'
import { AppError } from '../../errors.ts'
import { adminKeyId } from '../../login/key-identity.ts'
import { clearedCookie, endLogin, getHolder, readCookie } from '../../login/login-cookie.ts'
import { isForeign } from '../../login/same-origin.ts'
import type { RequestContext } from '../../route.ts'
import { signInWithKey } from '../login.ts'
import { randomText } from './app-token.ts'
import { type Carried, renderConsent, renderRefusal, renderSignIn } from './consent-page.ts'
import { chooseWords, type ConsentWord, type ConsentWords } from './consent-words.ts'
import { findClient } from './find-client.ts'
import { readOAuthForm } from './issue-tokens.ts'
import { noStore, OAuthError } from './oauth-error.ts'

const parameters = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
  'ui_locales',
] as const
const maxValueChars = 6_500
/** A person of an identity provider lets an app in for this time, as with keys. */
const maxLoginMs = 30 * 86_400_000
const challengePattern = /^[\w-]{43}$/

type AppRequest = {
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string | undefined
  readonly challenge: string
  readonly scopes: readonly AppScope[]
  /** As they came, for the next form. */
  readonly carried: Carried
}

/** `issuer` is this server. */
export type Authorization = { readonly web: RequestContext; readonly issuer: string; readonly resource: string }
type Page = Authorization & { readonly words: ConsentWords; readonly request: AppRequest }
type Person = { readonly authority: Authority; readonly isByCookie: boolean }

const wordsOf = ({ req }: RequestContext, form: URLSearchParams): ConsentWords =>
  chooseWords(form.get('ui_locales'), req.header('accept-language'))

/** Checks what can be checked without the client. */
function readAppRequest(form: URLSearchParams, resource: string): AppRequest | ConsentWord {
  const carried = parameters.flatMap((name) => form.getAll(name).map((value) => [name, value] as const))
  const {
    client_id: clientId = '',
    redirect_uri: redirectUri = '',
    ...given
  }: GivenParameters = Object.fromEntries(carried)
  if (!clientId || !isWellFormed(carried)) return 'request'
  if (!isRedirectUri(redirectUri)) return 'redirect'
  if (given.response_type !== 'code') return 'request'
  const challenge = given.code_challenge_method === 'S256' ? (given.code_challenge ?? '') : ''
  if (!challengePattern.test(challenge)) return 'pkce'
  if (!isOwnResource(given.resource, resource)) return 'resource'
  const scopes = readAppScopes(given.scope)
  return scopes ? { clientId, redirectUri, state: given.state, challenge, scopes, carried } : 'scope'
}

type GivenParameters = { readonly [Name in (typeof parameters)[number]]?: string }

/** A parameter that is there twice would be read differently by two sides. */
const isWellFormed = (carried: Carried): boolean =>
  new Set(carried.map(([name]) => name)).size === carried.length &&
  carried.every(([, value]) => value.length <= maxValueChars)

/** The page of a browser that comes from an app: showing it changes nothing, so that the cookie counts. */
export async function showConsent(given: Authorization): Promise<Response> {
  const { req } = given.web
  const form = new URL(req.url).searchParams
  const words = wordsOf(given.web, form)
  const request = readAppRequest(form, given.resource)
  if (typeof request === 'string') return renderRefusal(words, request)
  const headers = new Headers(req.raw.headers)
  headers.set('sec-fetch-site', 'same-origin')
  return showPage({ ...given, words, request }, new Request(req.url, { headers }))
}

async function showPage(page: Page, asked: Request, failure?: ConsentWord): Promise<Response> {
  const { web, words, request } = page
  const person = await findPerson(web, asked)
  if (!person) return renderSignIn(words, { carried: request.carried, host: hostOf(request), failure })
  const client = await findOwnClient(web.env, request)
  if (typeof client === 'string') return renderRefusal(words, client)
  const { authority, isByCookie } = person
  return renderConsent(words, {
    carried: request.carried,
    name: client.name,
    redirectUri: request.redirectUri,
    asked: request.scopes,
    held: new Set(authority.scopes),
    who: await nameOf(web.env, authority),
    tenant: authority.tenantId,
    holder: await markOf(authority),
    canSignOut: isByCookie,
    failure,
  })
}

const hostOf = ({ clientId, redirectUri }: AppRequest): string =>
  isDocumentId(clientId) ? new URL(clientId).host : describeReceiver(redirectUri).name

/** Undefined for somebody who has not signed in. */
async function findPerson(web: RequestContext, asked: Request): Promise<Person | undefined> {
  try {
    const known = await authenticate(asked, web.env, (work) => web.executionCtx.waitUntil(work))
    const identity = { ...known, requestId: web.get('requestId') }
    const authority = requireAccess(await fetchTenantSnapshot(web.env, identity.tenantId), identity)
    return { authority, isByCookie: !asked.headers.has('authorization') && readCookie(asked) !== undefined }
  } catch (error) {
    if (error instanceof AppError && error.status === 401) return undefined
    throw error
  }
}

async function findOwnClient(env: Env, { clientId, redirectUri }: AppRequest): Promise<AppClient | ConsentWord> {
  const client = await findClient(env, clientId)
  if ('refusal' in client) return client.refusal
  return isRegisteredRedirect(client, redirectUri) ? client : 'redirect'
}

const principalOf = ({ principal }: Authority) => {
  if (principal.kind !== 'key') throw new Error('A request comes from a key or a person of an identity provider.')
  return principal
}

const markOf = async (authority: Authority): Promise<string> =>
  sha256Hex(`${authority.tenantId} ${principalOf(authority).id}`, 8)

async function nameOf(env: Env, authority: Authority): Promise<string> {
  const { id, name } = principalOf(authority)
  if (id === adminKeyId) return 'ADMIN_KEY'
  return (await findKey(env, authority))?.name || name || id
}

const findKey = async (env: Env, { tenantId, principal }: Authority) =>
  (await createTenants(env.DB).listKeys(tenantId)).find(({ id }) => principal.kind === 'key' && principal.id === id)

/** A form of ours. `action` is the button. */
export async function answerConsent(given: Authorization): Promise<Response> {
  const { web, resource } = given
  const form = await readForm(web)
  const words = wordsOf(web, form)
  if (isForeign(web.req.raw)) return renderRefusal(words, 'foreign', 403)
  const request = readAppRequest(form, resource)
  if (typeof request === 'string') return renderRefusal(words, request)
  const page: Page = { ...given, words, request }
  const action = form.get('action')
  if (action === 'sign-in') return signIn(page, form.get('key') ?? '')
  if (action === 'sign-out') return signOut(page)
  return decide(page, form)
}

async function readForm(web: RequestContext): Promise<URLSearchParams> {
  try {
    return await readOAuthForm(web.req.raw, ['grant'])
  } catch (error) {
    if (error instanceof OAuthError) return new URLSearchParams()
    throw error
  }
}

const backTo = ({ request }: Page): string =>
  `?${new URLSearchParams(request.carried.map(([name, value]) => [name, value]))}`

const seeOther = (location: string, cookie?: string): Response =>
  new Response(null, {
    status: 303,
    headers: { ...noStore, location, 'referrer-policy': 'no-referrer', ...(cookie && { 'set-cookie': cookie }) },
  })

async function signIn(page: Page, key: string): Promise<Response> {
  try {
    return seeOther(backTo(page), await signInWithKey(page.web, key))
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    const failure = error.status === 429 ? 'tooMany' : 'wrongKey'
    return renderSignIn(page.words, { carried: page.request.carried, host: hostOf(page.request), failure })
  }
}

async function signOut(page: Page): Promise<Response> {
  const { req, env } = page.web
  const value = readCookie(req.raw)
  if (value !== undefined) await endLogin(env, value)
  return seeOther(backTo(page), clearedCookie(req.url))
}

async function decide(page: Page, form: URLSearchParams): Promise<Response> {
  const { web, words, request } = page
  const person = await findPerson(web, web.req.raw)
  if (!person) return showPage(page, web.req.raw)
  const client = await findOwnClient(web.env, request)
  if (typeof client === 'string') return renderRefusal(words, client)
  if (form.get('action') !== 'allow') return returnTo(page, { error: 'access_denied' })
  const { authority } = person
  if (form.get('holder') !== (await markOf(authority))) return showPage(page, web.req.raw, 'changed')
  const chosen = form.getAll('grant')
  const scopes = request.scopes.filter((scope) => chosen.includes(scope) && authority.scopes.includes(scope))
  if (!scopes.length) return showPage(page, web.req.raw, 'chooseOne')
  return returnTo(page, { code: await createCode(page, { authority, client, scopes }) })
}

type Agreement = {
  readonly authority: Authority
  readonly client: AppClient
  readonly scopes: readonly AppScope[]
}

async function createCode({ web, request, resource }: Page, { authority, client, scopes }: Agreement): Promise<string> {
  const code = `${authority.tenantId}.${randomText()}`
  await appsOf(web.env, authority.tenantId).createCode(authority, {
    hash: await sha256Hex(code),
    redirectUri: request.redirectUri,
    challenge: request.challenge,
    consent: {
      clientId: client.id,
      name: client.name,
      host: describeReceiver(request.redirectUri).name,
      resource,
      scopes,
      holder: await holderOf(web.env, authority),
      until: await endOf(web.env, authority),
    },
  })
  return code
}

async function holderOf(env: Env, authority: Authority): Promise<AppHolder> {
  const key = await getHolder(env, { identity: { ...authority, entitlements: [] }, expiresAt: null })
  if (key) return { kind: 'key', keyId: key.keyId, ...(key.adminKey !== undefined && { adminKey: key.adminKey }) }
  const { entitlements = [{ scopes: authority.scopes }] } = authority
  return { kind: 'login', principal: principalOf(authority), entitlements }
}

/** An app lasts no longer than the access of the person. */
async function endOf(env: Env, authority: Authority): Promise<number | null> {
  if (principalOf(authority).id === adminKeyId) return null
  const key = await findKey(env, authority)
  return key ? key.expiresAt : clock.now() + maxLoginMs
}

/** The browser goes back to the app, with the name of this server against mix-ups (RFC 9207). */
function returnTo({ request, issuer }: Page, answer: Readonly<Record<string, string>>): Response {
  const url = new URL(request.redirectUri)
  const { state } = request
  for (const [name, value] of Object.entries({ ...answer, ...(state !== undefined && { state }), iss: issuer }))
    url.searchParams.set(name, value)
  return seeOther(url.href)
}
