/**
 * Keys of providers that a tenant pays for itself. Sealed they lie in the tenant's object and travel with its snapshot;
 * they are opened in the memory of whoever calls a model, once for each change.
 */

import { Bounded } from '../../agent/model/bounded.ts'
import type { FailureKind } from '../../agent/model/failure.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { KeySource, NamedKey } from '../../agent/routing/availability.ts'
import type { KeptHealth } from './key-pool.ts'
import { open, type SealedFor } from '../platform/seal.ts'

export type Credential = {
  readonly id: string
  /** Id of a provider of the table, or `custom:<name>`. */
  readonly provider: string
  readonly name: string | null
  readonly lastFour: string
  readonly createdAt: number
  readonly sealed: string
  /** Equal keys of one provider have equal marks. */
  readonly mark: string
}

/** Oldest first. The revision grows with every change, so that what is late is known to be late. */
export type KeptCredentials = { readonly revision: number; readonly list: readonly Credential[] }

/** What travels. */
export type SealedKeys = {
  readonly revision: number
  readonly list: readonly Pick<Credential, 'id' | 'provider' | 'sealed'>[]
}

/** The tenant's keys in the memory of an isolate, by provider. */
export type TenantKeys = { readonly revision: number; readonly of: ReadonlyMap<string, readonly NamedKey[]> }

export const mostCredentials = 50

export const sealedFor = (tenant: string, { id, provider }: Pick<Credential, 'id' | 'provider'>): SealedFor => ({
  tenant,
  kind: 'credential',
  id: `${provider} ${id}`,
})

/** What a mark is made for: one provider. */
export const markedFor = (tenant: string, provider: string): SealedFor => ({ tenant, kind: 'credential', id: provider })

export type Added = 'added' | 'known' | 'full'

export function withCredential(
  { revision, list }: KeptCredentials,
  one: Credential,
): { readonly is: Added; readonly kept?: KeptCredentials } {
  if (list.some(({ provider, mark }) => provider === one.provider && mark === one.mark)) return { is: 'known' }
  if (list.length >= mostCredentials) return { is: 'full' }
  return { is: 'added', kept: { revision: revision + 1, list: [...list, one] } }
}

/** Undefined when there is none of this id. */
export function withoutCredential({ revision, list }: KeptCredentials, id: string): KeptCredentials | undefined {
  const left = list.filter((one) => one.id !== id)
  return left.length < list.length ? { revision: revision + 1, list: left } : undefined
}

/** Undefined when the tenant never had one, as most have not. */
export const sealedKeys = (kept: KeptCredentials | undefined): SealedKeys | undefined =>
  kept && {
    revision: kept.revision,
    list: kept.list.map(({ id, provider, sealed }) => ({ id, provider, sealed })),
  }

export const noKeys: TenantKeys = { revision: 0, of: new Map() }

const opened = new Bounded<string, TenantKeys>(5_000)

/** The keys as this isolate has opened them last. */
export const knownKeys = (tenantId: string): TenantKeys => opened.get(tenantId) ?? noKeys

/** Those that tenants of this isolate have keys for. */
export const providersWithKeys = (): ReadonlySet<string> =>
  new Set([...opened.values()].flatMap(({ of }) => [...of.keys()]))

type Carrier = { readonly id: string; readonly credentials?: SealedKeys | undefined }

/** What cannot be opened is left out: a key that nobody can read is none. */
export async function openKeys(env: Env, { id, credentials }: Carrier): Promise<TenantKeys> {
  const known = knownKeys(id)
  if (!credentials || known.revision >= credentials.revision) return known
  const { list, revision } = credentials
  const results = await Promise.all(list.map((one) => open(env, one.sealed, sealedFor(id, one))))
  const of = new Map<string, NamedKey[]>()
  for (const [at, { id: name, provider }] of list.entries()) {
    const result = results[at]
    if (result?.is === 'open') of.set(provider, [...(of.get(provider) ?? []), { id: name, key: result.secret }])
    else console.warn(`The credential ${name} cannot be used.`, result?.reason)
  }
  // Meanwhile somebody may have opened later ones.
  const latest = knownKeys(id)
  if (latest.revision >= revision) return latest
  const keys = { revision, of }
  opened.set(id, keys)
  return keys
}

const bare = (address: string | undefined) => address?.replace(/\/+$/, '')

/** Of `custom:<name>`: what was written for one address is for no other. */
export const isSameAddress = (one: string | undefined, other: string | undefined): boolean => bare(one) === bare(other)

/**
 * `settings`: the tenant's own, without those of a session. Only they say where a key for `custom:<name>` goes: else
 * whoever may open a session could have it sent to himself.
 */
export const keySource =
  ({ of }: TenantKeys, settings: Settings): KeySource =>
  (provider, address) => {
    const isAtHome = !provider.startsWith('custom:') || isSameAddress(settings.providers?.[provider]?.base_url, address)
    return isAtHome ? (of.get(provider) ?? []) : []
  }

export type Standing = {
  readonly status: 'usable' | 'resting' | 'dead'
  /** Milliseconds since 1970. */
  readonly until: number | null
  readonly reason: string | null
}

const reasons: Partial<Record<FailureKind, string>> = {
  auth: 'The provider refused it.',
  'key-dead': 'The provider says that it is not valid any more.',
  rate: 'Its rate limit was reached.',
  quota: 'Its quota is used up.',
}

/** How a key stands in the pool. */
export function standingOf(health: KeptHealth[string] | undefined, now: number): Standing {
  if (!health || (!health.dead && health.until <= now)) return { status: 'usable', until: null, reason: null }
  const reason = (health.why && reasons[health.why]) ?? 'The provider refused it.'
  return health.dead ? { status: 'dead', until: null, reason } : { status: 'resting', until: health.until, reason }
}
