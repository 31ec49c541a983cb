/** Sends requests to the API of our own origin. The cookie signs them in. */

export { fileOf, filePath, path } from './paths.ts'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly param: string | null

  constructor(status: number, { message, code, param }: { message: string; code: string; param: string | null }) {
    super(message)
    this.status = status
    this.code = code
    this.param = param
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
export type Send = {
  /** Sent as JSON, bytes and forms unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}
export type Page<T> = { readonly data: readonly T[]; readonly next_cursor: string | null }

let onSignedOut = () => {}
/** Called when the API refuses the cookie. */
export const whenSignedOut = (work: () => void): void => void (onSignedOut = work)

export async function send(method: Method, path: string, { body, headers, signal }: Send = {}): Promise<Response> {
  const isRaw = body instanceof Blob || body instanceof Uint8Array || body instanceof FormData
  const response = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: { ...(body !== undefined && !isRaw && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isRaw ? (body as BodyInit) : JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, { message: 'offline', code: 'offline', param: null })
  })
  if (response.ok) return response
  if (response.status === 401 && path !== '/api/login') onSignedOut()
  throw await toError(response)
}

export async function api<T>(method: Method, path: string, options: Send = {}): Promise<T> {
  const response = await send(method, path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export const get = <T>(path: string, signal?: AbortSignal): Promise<T> => api<T>('GET', path, signal ? { signal } : {})

export async function toError(response: Response): Promise<ApiError> {
  const fallback = { message: `${response.status} ${response.statusText}`, code: 'unknown', param: null }
  try {
    const { error } = (await response.json()) as { error: typeof fallback }
    return new ApiError(response.status, error)
  } catch {
    // Proxies answer without JSON.
    return new ApiError(response.status, fallback)
  }
}
