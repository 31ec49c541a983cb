/** Sends requests to the API of a vendor of sandboxes: one attempt, with a timeout, and failures as BackendError. */

import { BackendError } from '#agent/core/backend.ts'
import { fetchWithDeadline } from '#durable/platform/timeout.ts'

export type VendorApi = {
  /** Undefined for a 404. */
  readonly request: (method: string, url: string, content?: RequestContent) => Promise<Response | undefined>
}

export type RequestContent = {
  readonly json?: object
  readonly body?: BodyInit
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

export type VendorApiOptions = {
  readonly vendor: string
  readonly headers: Readonly<Record<string, string>>
  /** The environment variable that holds the key. */
  readonly keyName: string
  readonly fetch: typeof fetch
}

const defaultTimeoutMs = 30_000
const maxErrorChars = 300

export function vendorApi({ vendor, headers, keyName, fetch: send }: VendorApiOptions): VendorApi {
  return {
    async request(method, url, { json, body, headers: more, timeoutMs = defaultTimeoutMs } = {}) {
      const init = {
        method,
        headers: { ...headers, ...(json && { 'content-type': 'application/json' }), ...more },
        ...(json ? { body: JSON.stringify(json) } : body !== undefined && { body }),
        redirect: 'manual',
      } as const
      // Covers the body as well: a response that stalls must end.
      const response = await fetchWithDeadline(timeoutMs, (signal) => send(url, { ...init, signal })).catch(
        (error: unknown) => {
          throw unreachable(vendor, error instanceof Error ? error.message : String(error))
        },
      )
      if (response.ok) return response
      if (response.status === 404) return void (await response.body?.cancel())
      throw await refusal(response, vendor, keyName)
    },
  }
}

const unreachable = (vendor: string, why: string): BackendError =>
  new BackendError('unavailable', `${vendor} cannot be reached: ${why}.`, 'Try again later, or use another backend.')

async function refusal(response: Response, vendor: string, keyName: string): Promise<BackendError> {
  const { status } = response
  const body = (await response.text().catch(() => '')).slice(0, maxErrorChars)
  if (status === 401 || status === 403)
    return new BackendError('unavailable', `${vendor} does not accept the key.`, `Check ${keyName}.`)
  if (status === 507)
    return new BackendError('full', `${vendor} refuses: ${body || status}`, 'Remove files that are not needed.')
  if (status === 402 || status === 429)
    return new BackendError(
      'quota',
      `${vendor} refuses: ${body || status}`,
      'A limit of the account is reached. Try again later.',
    )
  return new BackendError(
    'unavailable',
    `${vendor} responded with ${status}: ${body}`,
    'Try again later, or use another backend.',
  )
}

/** Returns the value, or throws when the vendor responded with 404. */
export function requireFound<T>(value: T | undefined, vendor: string): T {
  if (value !== undefined) return value
  throw new BackendError(
    'unavailable',
    `${vendor} does not have this sandbox any more.`,
    'Run the command again: it starts a new sandbox.',
  )
}

/** Ends a response that nobody reads: it would hold its connection and its timer. */
export async function discardBody(response: Response | undefined): Promise<void> {
  await response?.body?.cancel()
}
