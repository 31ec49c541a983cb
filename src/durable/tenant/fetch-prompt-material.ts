/** Loads the prompt material of a tenant, and caches it in the isolate until the tenant's snapshot names a newer version. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { PromptMaterial } from '#agent/core/prompt-layer.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

const maxCached = 200
const cache = new BoundedMap<string, PromptMaterial>(maxCached)

/** `version`: that of the snapshot. Undefined when the tenant has no material: then nothing is awaited. */
export function fetchPromptMaterial(
  env: Env,
  authority: Authority,
  version: number | undefined,
): PromptMaterial | undefined | Promise<PromptMaterial> {
  if (version === undefined) return undefined
  const cached = cache.get(authority.tenantId)
  return cached && cached.version >= version ? cached : loadPromptMaterial(env, authority)
}

/** Asks the tenant's object, whatever is cached. */
export async function loadPromptMaterial(env: Env, authority: Authority): Promise<PromptMaterial> {
  const material = await tenantStub(env, authority.tenantId).prompt.material(authority)
  cache.set(authority.tenantId, material)
  return material
}
