/** Resolves host names by DNS over HTTPS (the JSON form), where the deployment names a resolver. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { clock } from './clock.ts'
import { withDeadline } from './timeout.ts'

type DnsAnswer = {
  readonly Status?: number
  readonly Answer?: readonly { readonly type: number; readonly data: string }[]
}

const cacheMs = 60_000
const timeoutMs = 3_000
const [typeA, typeAaaa] = [1, 28]
const cache = new BoundedMap<string, { readonly at: number; readonly addresses: readonly string[] }>(2_000)

/** Returns the addresses of a name, or undefined when the resolver cannot be asked. */
export async function resolveNames(resolver: string, host: string): Promise<readonly string[] | undefined> {
  const cached = cache.get(host)
  if (cached && clock.now() - cached.at < cacheMs) return cached.addresses
  const answers = await Promise.all(['A', 'AAAA'].map((type) => query(resolver, host, type)))
  if (answers.includes(undefined)) return undefined
  const addresses = answers.flatMap((answer) => answer ?? [])
  cache.set(host, { at: clock.now(), addresses })
  return addresses
}

async function query(resolver: string, name: string, type: string): Promise<readonly string[] | undefined> {
  try {
    const answer = await withDeadline(timeoutMs, async (signal) => {
      const response = await fetch(`${resolver}?${new URLSearchParams({ name, type }).toString()}`, {
        headers: { accept: 'application/dns-json' },
        redirect: 'manual',
        signal,
      })
      return response.ok ? response.json<DnsAnswer>() : void (await response.body?.cancel())
    })
    if (!answer) return undefined
    const { Answer: records = [] } = answer
    return records.filter((record) => record.type === typeA || record.type === typeAaaa).map(({ data }) => data)
  } catch {
    return undefined // The caller refuses a name that cannot be resolved.
  }
}
