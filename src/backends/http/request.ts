/**
 * Requests to a sandbox server. Every one has an end; reads are tried again, nothing else is: what may have
 * happened is never done twice.
 */

import { BackendError } from '../../agent/model/backend.ts'

export type SandboxServer = { readonly url: string; readonly token: string; readonly fetch: typeof fetch }

export type RequestOptions = {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>
  readonly json?: object
  readonly body?: BodyInit
  /** How long an answer may take to begin. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

const PATIENCE_MS = 30_000
/** Pauses before a read is tried again. */
const AGAIN_AFTER_MS = [200, 800]

/** The answer, good or a 404; everything else is thrown. */
export async function sendRequest(server: SandboxServer, path: string, request: RequestOptions = {}): Promise<Response> {
  const isRead = (request.method ?? 'GET') === 'GET'
  for (let tries = 0; ; tries++) {
    try {
      return await sendOnce(server, path, request)
    } catch (error) {
      const pause = AGAIN_AFTER_MS[tries]
      const may = isRead && error instanceof BackendError && error.code === 'unavailable' && !request.signal?.aborted
      if (!may || pause === undefined) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}

async function sendOnce(server: SandboxServer, path: string, request: RequestOptions): Promise<Response> {
  const { timeoutMs: patienceMs = PATIENCE_MS, signal } = request
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), patienceMs)
  try {
    const response = await server.fetch(addressOf(server, path, request.query ?? {}), {
      ...contentOf(server, request),
      // The key goes to the address that was set and nowhere else.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    })
    if (response.ok || response.status === 404) return response
    throw await refusal(response)
  } catch (error) {
    if (error instanceof BackendError) throw error
    if (late.signal.aborted) throw unreachableError(`does not answer within ${patienceMs / 1000} s`)
    throw unreachableError(`cannot be reached (${error instanceof Error ? error.message : String(error)})`)
  } finally {
    clearTimeout(timer)
  }
}

function contentOf({ token }: SandboxServer, { method = 'GET', json, body }: RequestOptions): RequestInit & { duplex?: 'half' } {
  const headers = { authorization: `Bearer ${token}` }
  if (json) return { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(json) }
  return { method, headers, ...(body !== undefined && { body, duplex: 'half' }) }
}

function addressOf({ url }: SandboxServer, path: string, query: NonNullable<RequestOptions['query']>): string {
  const address = new URL(url.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query))
    for (const each of Array.isArray(value) ? value : value === undefined ? [] : [value])
      address.searchParams.append(name, String(each))
  return address.href
}

/** The body of an answer, waited for no longer than this. */
export async function readJson<T>(response: Response): Promise<T> {
  try {
    return await within(response.json(), PATIENCE_MS)
  } catch {
    throw unreachableError('gave an answer that is cut off or no JSON')
  }
}

export async function readBytes(response: Response): Promise<Uint8Array> {
  try {
    return new Uint8Array(await within(response.arrayBuffer(), 4 * PATIENCE_MS))
  } catch {
    throw unreachableError('broke off in the middle of a file')
  }
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

export const unreachableError = (what: string): BackendError =>
  new BackendError('unavailable', `The sandbox server ${what}.`, 'Try again later, or use another backend.')

const CODES: Readonly<Record<string, BackendError['code']>> = {
  invalid: 'invalid',
  outside: 'invalid',
  missing: 'invalid',
  conflict: 'invalid',
  too_large: 'quota',
  busy: 'quota',
  quota: 'quota',
  unsupported: 'unsupported',
}

export type ErrorBody = { readonly code?: string; readonly message?: string; readonly hint?: string }

export function toBackendError({ code = '', message = 'The sandbox server refused.', hint = '' }: ErrorBody): BackendError {
  const error = new BackendError(CODES[code] ?? 'unavailable', message, hint)
  if (code !== 'internal') refusals.add(error)
  return error
}

const refusals = new WeakSet<BackendError>()
/** The server itself said no, and has begun nothing. */
export const isRefusal = (error: unknown): boolean => error instanceof BackendError && refusals.has(error)

async function refusal(response: Response): Promise<BackendError> {
  const { status } = response
  const { error } = await response.json<{ error?: ErrorBody }>().catch(() => ({ error: undefined }))
  if (status === 401 || status === 403)
    if (!error || error.code === 'unauthorized')
      return new BackendError(
        'unavailable',
        'The sandbox server does not accept the key.',
        'Set SANDBOX_HTTP_TOKEN to the key the server was started with.',
      )
  if (error?.code) return toBackendError(error)
  if (status >= 300 && status < 400) return unreachableError('redirects, so SANDBOX_HTTP_URL is not its address')
  return unreachableError(`answered ${status}`)
}
