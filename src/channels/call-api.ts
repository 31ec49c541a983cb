/**
 * Calls the API of a messaging platform and reads its answer as JSON. Addresses and headers contain secrets, so no
 * error text contains either.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'

export type ApiAnswer = {
  readonly kind: 'answered'
  readonly status: number
  readonly headers: Headers
  /** Undefined: the body is no JSON. */
  readonly body: unknown
}

export type FailedOutcome = Exclude<SendOutcome, { kind: 'sent' }>

/** The request may have arrived: there was no answer. */
export type NoAnswer = { readonly kind: 'ambiguous'; readonly detail: string }

export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | FormData | URLSearchParams | Blob
}

type Send = (url: string, init: RequestInit) => Promise<Response>

const timeoutMs = 30_000
/** Uploads of files take longer. */
const uploadTimeoutMs = 120_000

export async function callApi(
  url: string,
  { method, headers, body }: ApiRequest,
  send: Send = fetch,
): Promise<ApiAnswer | NoAnswer> {
  const isUpload = body instanceof FormData || body instanceof Blob
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), isUpload ? uploadTimeoutMs : timeoutMs)
  try {
    const response = await send(url, {
      method,
      headers: { ...headers },
      redirect: 'manual',
      signal: timeout.signal,
      ...(body !== undefined && { body }),
    })
    const parsed: unknown = await response.json().catch(() => undefined)
    return { kind: 'answered', status: response.status, headers: response.headers, body: parsed }
  } catch (error) {
    if (error instanceof Error && error.name === 'BlockedAddress') return blocked
    // The runtime reports a refused connection like one that broke later. The thrown error may contain the address.
    const detail = timeout.signal.aborted ? 'the platform did not answer' : 'the connection to the platform broke'
    return { kind: 'ambiguous', detail }
  } finally {
    clearTimeout(timer)
  }
}

/** Nothing was sent. */
const blocked: ApiAnswer = {
  kind: 'answered',
  status: 403,
  headers: new Headers(),
  body: {
    error: 'the address of the server may not be called',
    message: 'the address of the server may not be called',
  },
}

export const joinUrl = (base: string, path: string): string => `${base.replace(/\/{1,20}$/, '')}/${path}`

const defaultBusyMs = 5_000
/** Longer pauses are a mistake of the platform or of a proxy: they would silence a bot for good. */
const maxBusyMs = 86_400_000

/** The pause that a 429 names, in its header or in seconds of its body. */
export function busyWaitMs({ headers }: Pick<ApiAnswer, 'headers'>, seconds?: unknown): number {
  const named = typeof seconds === 'number' ? seconds : Number(headers.get('retry-after') || Number.NaN)
  return Number.isFinite(named) && named >= 0 ? Math.min(Math.ceil(named * 1_000), maxBusyMs) : defaultBusyMs
}

/** Classifies an answer that failed by its status alone. `message`: the platform's own words. */
export function classifyStatus(answer: ApiAnswer, message = ''): FailedOutcome {
  const { status } = answer
  const detail = failureDetail(status, message)
  if (status === 429) return { kind: 'retry', waitMs: busyWaitMs(answer), detail }
  // An unreadable 2xx comes from a proxy in between: the platform may have accepted the message.
  if (status >= 200 && status < 300)
    return { kind: 'ambiguous', detail: 'the platform gave an answer that cannot be read' }
  if (status >= 500 || status < 400) return { kind: 'retry', detail }
  if (status === 413) return { kind: 'too_long', detail }
  return { kind: [401, 403, 404].includes(status) ? 'forbidden' : 'fatal', detail }
}

const failureDetail = (status: number, message: string): string =>
  `HTTP ${status}${message ? `: ${message.slice(0, 300)}` : ''}`
