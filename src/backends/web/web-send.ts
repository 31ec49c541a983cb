/** Defines the port through which the web is reached: the guarded fetch of a tenant. */

export type WebRequest = {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly follow?: boolean
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** The address is below the base URL of a vendor. */
  readonly isTrusted?: boolean
}

/** Rejects with an error named `BlockedAddress` for an address that may not be called. */
export type WebSend = (request: WebRequest) => Promise<{ readonly response: Response; readonly url: string }>

export const isBlocked = (error: unknown): error is Error => error instanceof Error && error.name === 'BlockedAddress'

/** Explains in a few words why a request failed. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed'
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return 'it did not answer in time'
  return error.message.slice(0, 300) || 'the request failed'
}
