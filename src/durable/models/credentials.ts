/**
 * Opens the provider keys that a tenant pays for itself. The tenant's object stores them sealed, and its snapshot carries
 * them sealed. An isolate opens them in memory once for each revision.
 */

import { log } from '#agent/core/log.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { FailureKind } from '#agent/core/failure.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { KeySource, NamedKey } from '#agent/routing/availability.ts'
import type { StoredKeyHealth } from './key-pool.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { unsealAll, type SecretOwner } from '#durable/platform/seal.ts'

export type Credential = {
  readonly id: string
  /** The id of a built-in provider, or `custom:<name>`. */
  readonly provider: string
  readonly name: string | null
  readonly lastFour: string
  readonly createdAt: number
  readonly sealed: string
  /** A keyed hash: equal keys of one provider have equal marks. */
  readonly mark: string
}

/** Oldest first. The revision grows with every change, so that a late snapshot is recognised. */
export type StoredCredentials = { readonly revision: number; readonly list: readonly Credential[] }

/** The credentials as a snapshot carries them. */
export type SealedKeys = {
  readonly revision: number
  readonly list: readonly Pick<Credential, 'id' | 'provider' | 'sealed'>[]
}

/** The opened keys of a tenant. */
export type TenantKeys = { readonly revision: number; readonly byProvider: ReadonlyMap<string, readonly NamedKey[]> }

export const maxCredentials = 50

export const credentialOwner = (
  tenant: string,
  { id, provider }: Pick<Credential, 'id' | 'provider'>,
): SecretOwner => ({
  tenant,
  kind: 'credential',
  id: `${provider} ${id}`,
})

/** Marks are made for a provider, so that duplicates are found within it. */
export const providerOwner = (tenant: string, provider: string): SecretOwner => ({
  tenant,
  kind: 'credential',
  id: provider,
})

export type AddResult = 'added' | 'known' | 'full'

/** Adds a credential, unless its key is known or the list is full. */
export function withCredential(
  { revision, list }: StoredCredentials,
  one: Credential,
): { readonly result: AddResult; readonly stored?: StoredCredentials } {
  if (list.some(({ provider, mark }) => provider === one.provider && mark === one.mark)) return { result: 'known' }
  if (list.length >= maxCredentials) return { result: 'full' }
  return { result: 'added', stored: { revision: revision + 1, list: [...list, one] } }
}

/** Removes a credential. Undefined when there is none of this id. */
export function withoutCredential({ revision, list }: StoredCredentials, id: string): StoredCredentials | undefined {
  const left = list.filter((one) => one.id !== id)
  return left.length < list.length ? { revision: revision + 1, list: left } : undefined
}

/** Undefined when the tenant never had a credential. */
export const sealedKeys = (stored: StoredCredentials | undefined): SealedKeys | undefined =>
  stored && {
    revision: stored.revision,
    list: stored.list.map(({ id, provider, sealed }) => ({ id, provider, sealed })),
  }

export const noKeys: TenantKeys = { revision: 0, byProvider: new Map() }

const openedKeys = new BoundedMap<string, TenantKeys>(5_000)

/** The keys that this isolate has opened last. */
export const cachedKeys = (tenantId: string): TenantKeys => openedKeys.get(tenantId) ?? noKeys

/** Providers that the tenants of this isolate have keys for. */
export const providersWithKeys = (): ReadonlySet<string> =>
  new Set([...openedKeys.values()].flatMap(({ byProvider }) => [...byProvider.keys()]))

type TenantWithKeys = { readonly id: string; readonly credentials?: SealedKeys | undefined }

/**
 * Opens the keys of a snapshot. A key that cannot be opened is left out. A snapshot without keys drops those in memory:
 * they may be of a deleted tenant that had the same id.
 */
export async function openKeys(env: Env, { id, credentials }: TenantWithKeys): Promise<TenantKeys> {
  if (!credentials) {
    openedKeys.delete(id)
    return noKeys
  }
  const cached = cachedKeys(id)
  if (cached.revision >= credentials.revision) return cached
  const { list, revision } = credentials
  const ownerOf = (one: (typeof list)[number]) => credentialOwner(id, one)
  const isSealed = ({ provider }: (typeof list)[number]) => getProvider(provider)?.signIn !== undefined
  const opened = await unsealAll(
    env,
    list.filter((one) => !isSealed(one)),
    ownerOf,
    ({ id: name }, reason) =>
      log.warn('credential.unusable', `The credential ${name} cannot be used.`, { reason, tenant_id: id }),
  )
  const byProvider = new Map<string, NamedKey[]>()
  // Tokens of subscriptions stay sealed: they change while a turn runs, and the call that sends them opens them.
  for (const { id: name, provider, sealed } of list.filter(isSealed))
    byProvider.set(provider, [...(byProvider.get(provider) ?? []), { id: name, key: sealed }])
  for (const [{ id: name, provider }, key] of opened)
    byProvider.set(provider, [...(byProvider.get(provider) ?? []), { id: name, key }])
  // A later revision may have been opened during the wait.
  const latest = cachedKeys(id)
  if (latest.revision >= revision) return latest
  const values = opened.map(([, key]) => key)
  rememberSecrets(id, 'credentials', values)
  const keys = { revision, byProvider }
  openedKeys.set(id, keys)
  return keys
}

const withoutTrailingSlash = (address: string | undefined) => address?.replace(/\/+$/, '')

/** Whether two base URLs are equal. Keys and headers of `custom:<name>` belong to one address. */
export const isSameAddress = (one: string | undefined, other: string | undefined): boolean =>
  withoutTrailingSlash(one) === withoutTrailingSlash(other)

/**
 * Returns a function that finds the keys for a provider and address. `settings` are the tenant's without a session's:
 * only they name the address of `custom:<name>`. Otherwise the scope `chat` could send a key to any address.
 */
export const keySource =
  ({ byProvider }: TenantKeys, settings: Settings): KeySource =>
  (provider, address) => {
    const isAllowed =
      !provider.startsWith('custom:') || isSameAddress(settings.providers?.[provider]?.base_url, address)
    return isAllowed ? (byProvider.get(provider) ?? []) : []
  }

export type KeyStatus = {
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

/** Returns the status of a key for the API. */
export function getKeyStatus(health: StoredKeyHealth[string] | undefined, now: number): KeyStatus {
  if (!health || (!health.dead && health.until <= now)) return { status: 'usable', until: null, reason: null }
  const reason = (health.why && reasons[health.why]) ?? 'The provider refused it.'
  return health.dead ? { status: 'dead', until: null, reason } : { status: 'resting', until: health.until, reason }
}
