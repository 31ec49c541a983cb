/** Seals and opens headers of custom providers. A header is bound to the origin that it is sent to. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Endpoint } from '#agent/core/dialect.ts'
import { isSealedHeader, originOf, parseSealedHeader } from '#agent/core/secrets/provider-headers.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { type SecretOwner, unseal } from '#durable/platform/seal.ts'

export const headerOwner = (tenant: string, address: string | undefined, header: string): SecretOwner => ({
  tenant,
  kind: 'header',
  id: `${originOf(address)} ${header.toLowerCase()}`,
})

type OpenedHeaders = BoundedMap<string, string>
const opened = new BoundedMap<string, OpenedHeaders>(5_000)
const maxHeaders = 200

/** Returns the endpoint with its headers opened, for one request. Throws when one cannot be opened. */
export async function openEndpoint(env: Env, tenant: string, endpoint: Endpoint): Promise<Endpoint> {
  if (!Object.values(endpoint.headers).some(isSealedHeader)) return endpoint
  const headers = Object.entries(endpoint.headers).map(
    async ([name, value]) =>
      [name, isSealedHeader(value) ? await open(env, tenant, endpoint, [name, value]) : value] as const,
  )
  return { ...endpoint, headers: Object.fromEntries(await Promise.all(headers)) }
}

async function open(env: Env, tenant: string, { baseUrl }: Endpoint, [name, stored]: readonly [string, string]) {
  const known = opened.get(tenant) ?? new BoundedMap<string, string>(maxHeaders)
  const key = `${originOf(baseUrl)} ${name} ${stored}`
  const cached = known.get(key)
  if (cached !== undefined) return cached
  const result = await unseal(env, parseSealedHeader(stored), headerOwner(tenant, baseUrl, name))
  if (result.kind === 'unreadable')
    throw new Error(`The header ${name} of this provider cannot be read. ${result.reason}`)
  known.set(key, result.secret)
  opened.set(tenant, known)
  rememberSecrets(tenant, 'headers', [...known.values()])
  return result.secret
}
