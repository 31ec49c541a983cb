/**
 * Calls Vertex AI with the key of a service account: exchanges it for a token, and completes the address by the project
 * and the location. An isolate asks once for all sessions that wait, and again at 80 % of the lifetime of the token.
 */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Dialect, Endpoint, SendRequest } from '#agent/core/dialect.ts'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { clock, type Timers } from '#durable/platform/clock.ts'
import { googleTokenUrl, renderGoogleGrant } from '#durable/platform/sign-jwt.ts'
import { withDeadline } from '#durable/platform/timeout.ts'

/** The account as Google's file of its key names the fields, and `location`, which a person may add. */
type ServiceAccount = { readonly project: string; readonly location: string | undefined; readonly file: JsonObject }

/** The addresses of all locations have this host in their middle. The profile of the provider names it. */
const globalHost = '/aiplatform.googleapis.com/'
const scope = 'https://www.googleapis.com/auth/cloud-platform'

export const withServiceAccounts = (dialect: Dialect, platformSend: SendRequest, timers: Timers = clock): Dialect => ({
  async call(request, endpoint, options) {
    const account = parseAccount(endpoint.key)
    if (!account) {
      if (!endpoint.baseUrl.includes('/projects/-/')) return dialect.call(request, endpoint, options)
      throw failed(401, 'The key for Vertex AI is not the JSON of a service account with a project.')
    }
    const exchange = { key: endpoint.key, url: tokenUrlOf(endpoint), file: account.file }
    const source = { ...exchange, send: options.send ?? platformSend, timers }
    const call = (token: string) => dialect.call(request, completeEndpoint(endpoint, account, token), options)
    const token = await getToken(source)
    try {
      return await call(token)
    } catch (error) {
      if ((error as { status?: unknown }).status !== 401) throw error
      return call(await getToken(source, token))
    }
  },
})

/** The JSON, or its base64, which has no line breaks. Undefined for keys of other kinds. */
function parseAccount(key: string): ServiceAccount | undefined {
  const text = key.trim()
  const file = parseJson(text.startsWith('{') ? text : decode(text))
  if (!isJsonObject(file) || typeof file['client_email'] !== 'string') return undefined
  const { project_id: project, location } = file
  if (!isName(project)) return undefined
  return { project, location: isName(location) ? location : undefined, file }
}

function decode(text: string): Uint8Array | string {
  try {
    return decodeBase64Bytes(text)
  } catch {
    return ''
  }
}

/** Names become parts of addresses. */
const isName = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z][a-z0-9.:-]{1,100}$/.test(value) && !value.includes('..')

function completeEndpoint(endpoint: Endpoint, { project, location }: ServiceAccount, token: string): Endpoint {
  const place = location ?? /\/locations\/([a-z][a-z0-9-]{1,40})\//.exec(endpoint.baseUrl)?.[1] ?? 'global'
  const baseUrl = endpoint.baseUrl
    .replace('/projects/-/', `/projects/${project}/`)
    .replace(/\/locations\/[\w-]{1,41}\//, `/locations/${place}/`)
    .replace(globalHost, `/${hostOf(place)}/`)
  return { ...endpoint, key: '', baseUrl, headers: { ...endpoint.headers, authorization: `Bearer ${token}` } }
}

/** Locations of several regions have hosts of another form. */
function hostOf(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com'
  return location === 'us' || location === 'eu'
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`
}

/** Behind a prefix of the deployment, tokens come the same way. The file's own address is never called. */
function tokenUrlOf({ baseUrl, isTenantAddress }: Endpoint): string {
  const at = baseUrl.indexOf(globalHost)
  return isTenantAddress || at < 0 ? googleTokenUrl : googleTokenUrl.replace('https:/', baseUrl.slice(0, at))
}

type TokenSource = {
  readonly key: string
  readonly url: string
  readonly file: JsonObject
  readonly send: SendRequest
  readonly timers: Timers
}
type Token = { readonly token: string; readonly renewAt: number }

const tokens = new BoundedMap<string, Token>(200)
const flights = new Map<string, Promise<Token>>()
const exchangeMs = 15_000

/** `refused`: a token that the service did not accept. */
async function getToken(source: TokenSource, refused?: string): Promise<string> {
  const name = `${source.url} ${source.key}`
  const known = tokens.get(name)
  if (known && known.token !== refused && source.timers.now() < known.renewAt) return known.token
  let flight = flights.get(name)
  if (!flight) {
    flight = requestToken(source).finally(() => flights.delete(name))
    flights.set(name, flight)
  }
  // The object that asks may be reset meanwhile: its request then never ends.
  const patience = new AbortController()
  const patient = source.timers.wait(exchangeMs, patience).catch(() => undefined)
  const token = await Promise.race([flight, patient]).finally(() => patience.abort())
  if (!token) flights.delete(name)
  const granted = token ?? (await requestToken(source))
  tokens.set(name, granted)
  return granted.token
}

async function requestToken({ url, file, send, timers }: TokenSource): Promise<Token> {
  const email = String(file['client_email'])
  const body = await renderGoogleGrant(file, scope)
  if (!body) throw failed(401, `The private_key of the service account ${email} cannot be used.`)
  const { status, headers, answer } = await withDeadline(exchangeMs - 1_000, async (signal) => {
    const response = await send(new Request(url, { method: 'POST', body, redirect: 'manual', signal }))
    return { status: response.status, headers: response.headers, answer: parseJson(await response.text()) }
  })
  const fields = isJsonObject(answer) ? answer : {}
  const { access_token: token, expires_in: seconds } = fields
  if (status === 200 && typeof token === 'string')
    return { token, renewAt: timers.now() + (Number(seconds) || 3_600) * 800 }
  if (status === 429 || status >= 500) throw failed(status, `Google gives no token (${status}).`, headers)
  const { error, error_description: described = error } = fields
  const reason = typeof described === 'string' ? described.slice(0, 300) : `status ${status}`
  throw failed(401, `Google refused the service account ${email}: ${reason}`)
}

const failed = (status: number, message: string, headers?: Headers): Error =>
  Object.assign(new Error(message), { status, ...(headers && { headers }) })
