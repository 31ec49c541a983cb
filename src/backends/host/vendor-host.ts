/** Binds ids and addresses in the answers of a vendor to that vendor: keys and commands never go to another host. */

import { BackendError } from '#agent/core/backend.ts'

const idPattern = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,126}[A-Za-z0-9])?$/

/** An id becomes a part of host names and paths. */
export function requireSandboxId(id: unknown, vendor: string): string {
  if (typeof id === 'string' && idPattern.test(id)) return id
  throw foreign(vendor, 'a sandbox id that is none')
}

/** `domain` is the vendor's: its host and everything below it. The scheme is that of `api`. */
export function requireVendorUrl(
  url: string,
  { api, domain, vendor }: { readonly api: string; readonly domain: string; readonly vendor: string },
): string {
  const { protocol, hostname, username, password } = URL.parse(url) ?? {}
  const isOwn = hostname !== undefined && (hostname === domain || hostname.endsWith(`.${domain}`))
  if (isOwn && protocol === new URL(api).protocol && !username && !password) return url
  throw foreign(vendor, 'an address that is not its own')
}

const foreign = (vendor: string, what: string): BackendError =>
  new BackendError('unavailable', `${vendor} responded with ${what}.`, 'Use another backend, and tell the operator.')
