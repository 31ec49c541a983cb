/**
 * Sends every request whose address a tenant, a model, a page or a server can influence. Each hop is judged again,
 * credentials stay with their origin, and time and bytes are limited (docs/design/network.md).
 */

import { type AddressRules, checkPublicAddress, normalizeHost } from '#agent/policy/network/network-address.ts'
import { resolveNames } from './name-resolution.ts'
import { createLoopMark, loopHeader } from './loop-mark.ts'
import { startDeadline } from './timeout.ts'
import { variablesOf } from './variables.ts'

export type GuardedRequest = {
  readonly url: string
  readonly method?: string
  readonly headers?: HeadersInit
  readonly body?: BodyInit | null | undefined
  /** Follows up to five redirects. The body must then be repeatable: text or bytes. */
  readonly follow?: boolean
  readonly signal?: AbortSignal | undefined
  /** For all hops and the body. */
  readonly timeoutMs?: number | undefined
  /** The maximum size of the answer. */
  readonly maxBytes?: number
  readonly ports?: AddressRules['ports']
  /** The address comes from a variable of the deployment and may be private. Its redirects may not. */
  readonly isTrusted?: boolean
}

export type GuardedResponse = {
  readonly response: Response
  /** The last address, after redirects. */
  readonly url: string
}

/** A request to one host, as the ledger of the tenant counts it. */
export type HostUse = { readonly host: string; readonly bytes: number; readonly isRefused: boolean }

export type GuardedFetch = (request: GuardedRequest) => Promise<GuardedResponse>

/** Judges addresses that another program calls, such as a browser. */
export type AddressGuard = {
  /** The reason why an address may not be called; undefined when it may. */
  readonly check: (url: string) => Promise<string | undefined>
  /** Hosts of `WEB_HOST_MAP`, which only the guarded fetch reaches. */
  readonly mappedHosts: readonly string[]
}

export type GuardOptions = {
  /** Sends one request without following redirects. */
  readonly send?: (request: Request) => Promise<Response>
  readonly record?: (use: HostUse) => void
}

/** Thrown for an address that may not be called. The message is for the model and for people. */
class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress'
}

/** Ends an answer above `maxBytes`. Rooms that cannot import this file find it by its name. */
class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge'
}

const maxRedirects = 5
const defaultTimeoutMs = 60_000
const defaultMaxBytes = 20 * 1024 * 1024

type FetchGuard = {
  readonly env: Env
  readonly send: (request: Request) => Promise<Response>
  readonly record: (use: HostUse) => void
}

export function createGuardedFetch(env: Env, options: GuardOptions = {}): GuardedFetch {
  const guard: FetchGuard = { env, send: (request) => fetch(request), record: () => undefined, ...options }
  return (request) => fetchGuarded(request, guard)
}

type Hop = {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: BodyInit | null | undefined
  readonly isTrusted: boolean
}

async function fetchGuarded(request: GuardedRequest, guard: FetchGuard): Promise<GuardedResponse> {
  const { timeoutMs = defaultTimeoutMs, signal = null } = request
  const deadline = timeoutMs === Infinity ? { signal, end: () => undefined } : startDeadline(timeoutMs, signal)
  try {
    return await follow(request, deadline, guard)
  } catch (error) {
    deadline.end()
    throw error
  }
}

/** `end`: nothing of the request waits any more. */
type Ends = { readonly signal: AbortSignal | null; readonly end: () => void }

async function follow(request: GuardedRequest, { signal, end }: Ends, guard: FetchGuard): Promise<GuardedResponse> {
  let hop: Hop = {
    url: request.url,
    method: (request.method ?? 'GET').toUpperCase(),
    headers: cleanHeaders(request.headers),
    body: request.body,
    isTrusted: request.isTrusted ?? false,
  }
  for (let hops = 0; hops <= maxRedirects; hops++) {
    if (!hop.isTrusted) await requirePublic(hop.url, request, guard)
    const response = await sendHop(hop, signal, guard)
    const next = request.follow ? redirectTarget(response, hop.url) : undefined
    const { url } = hop
    const record = (bytes: number) => guard.record({ host: hostOf(url), bytes, isRefused: false })
    if (next === undefined) {
      const onEnd = (bytes: number) => {
        end()
        record(bytes)
      }
      return { response: limitBody(response, request, onEnd), url }
    }
    record(0)
    await response.body?.cancel()
    hop = redirect(hop, next, response.status)
  }
  throw new BlockedAddress(`more than ${maxRedirects} redirects`)
}

/** The same judgement as that of the guarded fetch. */
export function createAddressGuard(env: Env, record: FetchGuard['record']): AddressGuard {
  const guard: FetchGuard = { env, send: (request) => fetch(request), record }
  return { check: (url) => judge(url, 'web', guard), mappedHosts: Object.keys(hostMap(env)) }
}

async function requirePublic(url: string, { ports = 'web' }: GuardedRequest, guard: FetchGuard): Promise<void> {
  const reason = await judge(url, ports, guard)
  if (reason === undefined) return
  throw new BlockedAddress(`${url.slice(0, 500)} may not be called: ${reason}`)
}

async function judge(
  url: string,
  ports: NonNullable<AddressRules['ports']>,
  guard: FetchGuard,
): Promise<string | undefined> {
  const reason =
    checkPublicAddress(getPublicName(url, guard.env), { ports, ownHosts: ownHosts(guard.env) }) ??
    (await checkResolved(new URL(url), guard))
  if (reason !== undefined) guard.record({ host: hostOf(url), bytes: 0, isRefused: true })
  return reason
}

/** Names below `.test` are reserved for tests. One that the deployment maps is judged as a public name. */
function getPublicName(address: string, env: Env): string {
  const url = URL.parse(address)
  const host = normalizeHost(url?.hostname ?? '')
  if (!url || !host.endsWith('.test') || !Object.hasOwn(hostMap(env), host)) return address
  url.hostname = `${host}.example.com`
  return url.href
}

/** Judges the addresses that the name resolves to, where the deployment has a resolver. Mapped names are not resolved. */
async function checkResolved({ hostname }: URL, { env }: FetchGuard): Promise<string | undefined> {
  const resolver = variablesOf(env)['DNS_RESOLVER_URL']
  const host = normalizeHost(hostname)
  if (!resolver || Object.hasOwn(hostMap(env), host) || /^\[|^[\d.]+$/.test(host)) return undefined
  const addresses = await resolveNames(resolver, host)
  if (!addresses) return 'its name cannot be resolved'
  return addresses.some((address) => checkPublicAddress(`http://${address.includes(':') ? `[${address}]` : address}`))
    ? 'its name resolves to a private address'
    : undefined
}

async function sendHop(
  { url, method, headers, body }: Hop,
  signal: AbortSignal | null,
  guard: FetchGuard,
): Promise<Response> {
  const mark = await createLoopMark(guard.env)
  const sent = new Headers(headers)
  sent.set(loopHeader, mark)
  const target = mapHost(url, guard.env)
  if (target !== url) sent.set('x-forwarded-host', new URL(url).host)
  const init = { method, headers: sent, redirect: 'manual' as const, signal, ...(body != null && { body }) }
  return guard.send(new Request(target, init))
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

function redirectTarget(response: Response, from: string): string | undefined {
  const location = redirectStatuses.has(response.status) ? response.headers.get('location') : null
  if (location === null) return undefined
  // An address that cannot be parsed is refused by the next check.
  return URL.parse(location, from)?.href ?? location
}

/** Headers that say nothing about who asks. All others are dropped at another origin, because any of them can be a key. */
const anonymousHeaders = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-type',
  'git-protocol',
  'if-modified-since',
  'if-none-match',
  'range',
  'user-agent',
])

function redirect({ url, method, headers, body }: Hop, next: string, status: number): Hop {
  const isSameOrigin = URL.parse(next)?.origin === new URL(url).origin
  const kept = isSameOrigin ? headers : new Headers([...headers].filter(([name]) => anonymousHeaders.has(name)))
  const keepsBody = status >= 307 || ((status === 301 || status === 302) && (method === 'GET' || method === 'HEAD'))
  if (keepsBody || method === 'HEAD') return { url: next, method, headers: kept, body, isTrusted: false }
  const withoutBody = new Headers(kept)
  withoutBody.delete('content-type')
  return { url: next, method: 'GET', headers: withoutBody, body: undefined, isTrusted: false }
}

/** Headers that describe the connection or the client. Only the platform sets them. */
const connectionHeaders =
  /^(?:host|connection|transfer-encoding|upgrade|te|trailer|forwarded|x-real-ip|cf-.*|x-forwarded-.*)$/

function cleanHeaders(headers: HeadersInit | undefined): Headers {
  return new Headers([...new Headers(headers)].filter(([name]) => !connectionHeaders.test(name)))
}

/** Returns the response with a body that fails when it is too large. `onEnd` gets its size when it was read, cancelled or broken. */
function limitBody(
  response: Response,
  { maxBytes = defaultMaxBytes }: GuardedRequest,
  onEnd: (bytes: number) => void,
): Response {
  let bytes = 0
  const end = () => onEnd(bytes)
  if (!response.body) {
    end()
    return response
  }
  const tooLarge = () => new ResponseTooLarge(`the response is larger than ${Math.floor(maxBytes / 1024 / 1024)} MiB`)
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        bytes += part.byteLength
        if (bytes > maxBytes) {
          end()
          throw tooLarge()
        }
        controller.enqueue(part)
      },
      flush: end,
      cancel: end,
    }),
  )
  return new Response(counted, response)
}

const hostOf = (url: string): string => normalizeHost(URL.parse(url)?.hostname ?? '').slice(0, 253)

/** Host names of this deployment, which requests of tenants may not call. */
function ownHosts(env: Env): readonly string[] {
  const host = env.PUBLIC_URL && URL.parse(env.PUBLIC_URL)?.hostname
  return host ? [normalizeHost(host)] : []
}

type HostMap = Readonly<Record<string, string>>
const hostMaps = new Map<string, HostMap>()

/** `WEB_HOST_MAP`: public names that are reached at other addresses. */
function hostMap(env: Env): HostMap {
  const text = variablesOf(env)['WEB_HOST_MAP']?.trim()
  if (!text) return {}
  let map = hostMaps.get(text)
  if (!map) hostMaps.set(text, (map = parseHostMap(text)))
  return map
}

function parseHostMap(text: string): HostMap {
  try {
    const entries = Object.entries(JSON.parse(text) as Readonly<Record<string, string>>)
    return Object.fromEntries(
      entries.map(([host, base]) => [normalizeHost(host), new URL(base).href.replace(/\/$/, '')]),
    )
  } catch (error) {
    throw new Error('WEB_HOST_MAP must be JSON such as {"intranet.example.com":"http://127.0.0.1:9001"}.', {
      cause: error,
    })
  }
}

function mapHost(url: string, env: Env): string {
  const { hostname, pathname, search } = new URL(url)
  const map = hostMap(env)
  const host = normalizeHost(hostname)
  return Object.hasOwn(map, host) ? `${map[host]}${pathname}${search}` : url
}
