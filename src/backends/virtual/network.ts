/**
 * The only way out of the virtual machine, there only when a session is given one: every address is judged, the
 * ones that answers redirect to as well, and an answer has a size.
 */

import { checkPublicAddress } from '../../agent/policy/network-address.ts'
import type { NetworkAnswer, NetworkRequest } from './protocol.ts'

export type Network = {
  /** Follows no redirects: that is done here, one judged address after the other. */
  readonly fetch: (request: Request) => Promise<Response>
}

const MAX_BODY = 20 * 1024 * 1024
const MAX_REDIRECTS = 10
const PATIENCE_MS = 60_000
/** Not for others than who they were meant for. */
const PERSONAL = ['authorization', 'cookie', 'proxy-authorization']

export async function fetchPublic(network: Network, request: NetworkRequest, signal: AbortSignal): Promise<NetworkAnswer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(request.timeoutMs ?? PATIENCE_MS)])
  let current = request
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const { url, method, headers, body, follow } = current
    const refused = checkPublicAddress(url)
    if (refused !== undefined) throw new Error(`${url} may not be called: ${refused}`)
    const init = { method, headers, redirect: 'manual' as const, signal: limit, ...(body && { body }) }
    const response = await network.fetch(new Request(url, init))
    const next = follow ? targetOf(response, url) : undefined
    if (next === undefined) return answerOf(response, url)
    await response.body?.cancel()
    current = redirected(current, next, response.status)
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects`)
}

/** The next request: what is personal goes to no other origin, and only 307 and 308 repeat what was sent. */
function redirected(request: NetworkRequest, url: string, status: number): NetworkRequest {
  const stays = new URL(url).origin === new URL(request.url).origin
  const kept = Object.entries(request.headers).filter(([name]) => stays || !PERSONAL.includes(name.toLowerCase()))
  const next = { ...request, url, headers: Object.fromEntries(kept) }
  return status >= 307 || request.method === 'HEAD' ? next : { ...next, method: 'GET', body: undefined }
}

function targetOf(response: Response, from: string): string | undefined {
  const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null
  return location === null ? undefined : URL.parse(location, from)?.href
}

async function answerOf(response: Response, url: string): Promise<NetworkAnswer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.byteLength
    if (size > MAX_BODY) throw new Error(`the answer is larger than ${MAX_BODY / 1024 / 1024} MiB`)
    parts.push(part)
  }
  const body = new Uint8Array(Buffer.concat(parts))
  const { status, statusText } = response
  return { status, statusText, headers: Object.fromEntries(response.headers), body, url }
}
