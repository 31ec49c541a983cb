/**
 * Sends requests to a sandbox server. Each has a timeout. Only reads are retried: a request with effects must not run
 * twice.
 */

import { BackendError } from '#agent/core/backend.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

export type SandboxServer = {
  readonly url: string
  readonly token: string
  /** Shares the server fairly with other tenants. */
  readonly tenant?: string | Promise<string> | undefined
  readonly fetch: typeof fetch
}

export type RequestOptions = {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>
  readonly json?: object
  readonly body?: BodyInit
  /** Time until the response headers must arrive. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

const defaultTimeoutMs = 30_000
/** Delays before the retries of a read. */
const retryDelaysMs = [200, 800]

/** Returns a successful response or a 404. Throws BackendError otherwise. */
export async function sendRequest(
  server: SandboxServer,
  path: string,
  request: RequestOptions = {},
): Promise<Response> {
  const isRead = (request.method ?? 'GET') === 'GET'
  for (let attempt = 0; ; attempt++) {
    try {
      return await sendOnce(server, path, request)
    } catch (error) {
      const delayMs = retryDelaysMs[attempt]
      const canRetry =
        isRead && error instanceof BackendError && error.code === 'unavailable' && !request.signal?.aborted
      if (!canRetry || delayMs === undefined) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}

async function sendOnce(server: SandboxServer, path: string, request: RequestOptions): Promise<Response> {
  const { timeoutMs = defaultTimeoutMs, signal } = request
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  try {
    const response = await server.fetch(requestUrl(server, path, request.query ?? {}), {
      ...(await requestInit(server, request)),
      // A redirect must not send the key to another address.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
    })
    if (response.ok || response.status === 404) return response
    throw await responseError(response)
  } catch (error) {
    if (error instanceof BackendError) throw error
    if (timeout.signal.aborted) throw unreachableError(`does not respond within ${timeoutMs / 1000} s`)
    throw unreachableError(`cannot be reached (${error instanceof Error ? error.message : String(error)})`)
  } finally {
    clearTimeout(timer)
  }
}

async function requestInit(
  { token, tenant }: SandboxServer,
  { method = 'GET', json, body }: RequestOptions,
): Promise<RequestInit & { duplex?: 'half' }> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(tenant !== undefined && { 'x-talaria-tenant': await tenant }),
  }
  if (json) return { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(json) }
  return { method, headers, ...(body !== undefined && { body, duplex: 'half' }) }
}

function requestUrl({ url }: SandboxServer, path: string, query: NonNullable<RequestOptions['query']>): string {
  const address = new URL(url.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : value === undefined ? [] : [value])
      address.searchParams.append(name, String(each))
  return address.href
}

/** Reads the body of a response, with a timeout. */
export async function readJson<T>(response: Response): Promise<T> {
  try {
    return await withTimeout(response.json() as Promise<T>, defaultTimeoutMs, throwTimeout)
  } catch {
    throw unreachableError('sent a response that is incomplete or no JSON')
  }
}

export async function readBytes(response: Response): Promise<Uint8Array> {
  try {
    return new Uint8Array(await withTimeout(response.arrayBuffer(), 4 * defaultTimeoutMs, throwTimeout))
  } catch {
    throw unreachableError('closed the connection in the middle of a file')
  }
}

const throwTimeout = (): never => {
  throw new Error('timeout')
}

export const unreachableError = (problem: string): BackendError =>
  new BackendError('unavailable', `The sandbox server ${problem}.`, 'Try again later, or use another backend.')

const backendErrorCodes: Readonly<Record<string, BackendError['code']>> = {
  invalid: 'invalid',
  outside: 'invalid',
  missing: 'invalid',
  conflict: 'invalid',
  too_large: 'too_large',
  busy: 'quota',
  quota: 'full',
  unsupported: 'unsupported',
}

export type HostError = { readonly code?: string; readonly message?: string; readonly hint?: string }

export function toBackendError({
  code = '',
  message = 'The sandbox server rejected the request.',
  hint = '',
}: HostError): BackendError {
  const error = new BackendError(backendErrorCodes[code] ?? 'unavailable', message, hint)
  if (code !== 'internal') refusals.add(error)
  return error
}

const refusals = new WeakSet<BackendError>()
/** Whether the server rejected the request, so that nothing has started. */
export const isRefusal = (error: unknown): boolean => error instanceof BackendError && refusals.has(error)

async function responseError(response: Response): Promise<BackendError> {
  const { status } = response
  const { error } = await response.json<{ error?: HostError }>().catch(() => ({ error: undefined }))
  if (status === 401 || status === 403)
    if (!error || error.code === 'unauthorized')
      return new BackendError(
        'unavailable',
        'The sandbox server does not accept the key.',
        'Set SANDBOX_HTTP_TOKEN to the key the server was started with.',
      )
  if (error?.code) return toBackendError(error)
  if (status >= 300 && status < 400) return unreachableError('redirects, so SANDBOX_HTTP_URL is not its address')
  return unreachableError(`responded with ${status}`)
}
