/**
 * Sends the requests of the virtual shell. Every address, including redirect targets, must be public, and the response
 * size is limited.
 */

import { checkPublicAddress } from '../../agent/policy/network-address.ts'
import type { NetworkAnswer, NetworkRequest } from './protocol.ts'

export type Network = {
  /** Must not follow redirects: `fetchPublic` checks each address. */
  readonly fetch: (request: Request) => Promise<Response>
}

const maxBodyBytes = 20 * 1024 * 1024
const maxRedirects = 10
const defaultTimeoutMs = 60_000
/** Headers that are dropped on a redirect to another origin. */
const credentialHeaders = ['authorization', 'cookie', 'proxy-authorization']

export async function fetchPublic(
  network: Network,
  request: NetworkRequest,
  signal: AbortSignal,
): Promise<NetworkAnswer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(request.timeoutMs ?? defaultTimeoutMs)])
  let current = request
  for (let hops = 0; hops <= maxRedirects; hops++) {
    const { url, method, headers, body, follow } = current
    const refused = checkPublicAddress(url)
    if (refused !== undefined) throw new Error(`${url} may not be called: ${refused}`)
    const init = { method, headers, redirect: 'manual' as const, signal: limit, ...(body && { body }) }
    const response = await network.fetch(new Request(url, init))
    const next = follow ? redirectTarget(response, url) : undefined
    if (next === undefined) return readAnswer(response, url)
    await response.body?.cancel()
    current = redirectRequest(current, next, response.status)
  }
  throw new Error(`more than ${maxRedirects} redirects`)
}

/** Builds the request to a redirect target, without credentials for another origin. Only 307 and 308 keep the body. */
function redirectRequest(request: NetworkRequest, url: string, status: number): NetworkRequest {
  const isSameOrigin = new URL(url).origin === new URL(request.url).origin
  const headers = Object.entries(request.headers).filter(
    ([name]) => isSameOrigin || !credentialHeaders.includes(name.toLowerCase()),
  )
  const next = { ...request, url, headers: Object.fromEntries(headers) }
  return status >= 307 || request.method === 'HEAD' ? next : { ...next, method: 'GET', body: undefined }
}

function redirectTarget(response: Response, from: string): string | undefined {
  const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null
  return location === null ? undefined : URL.parse(location, from)?.href
}

async function readAnswer(response: Response, url: string): Promise<NetworkAnswer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.byteLength
    if (size > maxBodyBytes) throw new Error(`the response is larger than ${maxBodyBytes / 1024 / 1024} MiB`)
    parts.push(part)
  }
  const body = new Uint8Array(Buffer.concat(parts))
  const { status, statusText } = response
  return { status, statusText, headers: Object.fromEntries(response.headers), body, url }
}
