/** Seals secrets with the data key of their tenant, which the tenant's object stores wrapped. */

import { systemAuthority } from '#agent/core/permission/authority.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { clock } from '#durable/platform/clock.ts'
import { createDataKey, type DataKey, rewrapDataKey } from '#durable/platform/data-key.ts'
import { seal, type SecretOwner } from '#durable/platform/seal.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

const cacheMs = 30_000
const cache = new BoundedMap<string, { readonly key: DataKey; readonly at: number; readonly master: string }>(5_000)

const keeperOf = (tenant: string) => systemAuthority(tenant, { kind: 'job', id: 'data-key' })

export const sealForTenant = async (env: Env, secret: string, owner: SecretOwner): Promise<string> =>
  seal(env, secret, owner, await getDataKey(env, owner.tenant))

/** Creates the key when there is none, and wraps it again after `ENCRYPTION_KEY` has changed. */
async function getDataKey(env: Env, tenant: string): Promise<DataKey> {
  const { ENCRYPTION_KEY: master = '' } = env
  const cached = cache.get(tenant)
  if (cached && cached.master === master && clock.now() - cached.at < cacheMs) return cached.key
  const keys = tenantStub(env, tenant).dataKeys
  const stored = await keys.get(keeperOf(tenant))
  const changed = stored ? await rewrapDataKey(env, tenant, stored) : await createDataKey(env, tenant, 1)
  const key = changed ? await keys.put(keeperOf(tenant), changed, stored?.wrapped) : (stored as DataKey)
  cache.set(tenant, { key, at: clock.now(), master })
  return key
}

/** Gives the tenant a new data key. What was sealed before opens as before. */
export async function rotateDataKey(env: Env, tenant: string): Promise<DataKey> {
  const keys = tenantStub(env, tenant).dataKeys
  const stored = await keys.get(keeperOf(tenant))
  const key = await keys.put(
    keeperOf(tenant),
    await createDataKey(env, tenant, (stored?.version ?? 0) + 1),
    stored?.wrapped,
  )
  cache.delete(tenant)
  return key
}
