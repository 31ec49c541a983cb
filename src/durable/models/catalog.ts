/**
 * Caches the public model catalogs in this isolate. The copy is read from D1 and refreshed in the background; until it
 * is loaded, the built-in facts are used.
 */

import { log } from '#agent/core/log.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { KeySource } from '#agent/routing/availability.ts'
import { type Catalog, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import type { Sources } from '#agent/routing/route.ts'
import { ownerTenant } from '#db/schema.ts'
import { getLearnedWindows } from './learned-windows.ts'
import { isOutdated, loadCatalog } from './catalog-refresh.ts'
import { keySource, cachedKeys, providersWithKeys } from './credentials.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { clock } from '#durable/platform/clock.ts'

/** The age at which an isolate refreshes its copy. */
const copyMaxAgeMs = 600_000

let copy: { readonly catalog: Catalog; readonly at: number } | undefined
/** A refresh may never end, because its object was evicted: after this time another one starts. */
const refreshTimeoutMs = 60_000
let refreshStartedAt = 0

export type RunInBackground = (work: Promise<unknown>) => void

function getCatalog(env: Env, runInBackground: RunInBackground): Catalog {
  const now = clock.now()
  if (isOutdated(copy?.at, now, copyMaxAgeMs) && isOutdated(refreshStartedAt, now, refreshTimeoutMs))
    runInBackground(refreshCopy(env, now))
  return copy?.catalog ?? emptyCatalog
}

async function refreshCopy(env: Env, now: number): Promise<void> {
  refreshStartedAt = now
  try {
    const catalog = await loadCatalog(env, now, providersWithKeys())
    copy = { catalog: catalog ?? copy?.catalog ?? emptyCatalog, at: now }
  } catch (error) {
    // The current copy stays in use; the next refresh is as far away as after a success.
    log.warn('catalog.unreadable', 'The model catalog could not be read.', { error })
    copy = { catalog: copy?.catalog ?? emptyCatalog, at: now }
  }
}

type CatalogTenant = {
  readonly id: string
  readonly settings: Settings
  /** Absent: the keys that this isolate has opened. */
  readonly tenantKeys?: KeySource
}

/** Collects everything that determines a tenant's models. Without `later` the catalog is not refreshed. */
export function sourcesFor(env: Env, tenant?: CatalogTenant, runInBackground?: RunInBackground): Sources {
  return {
    variables: variablesOf(env),
    settings: tenant?.settings ?? {},
    isOwner: tenant?.id === ownerTenant,
    ...(tenant && { tenantKeys: tenant.tenantKeys ?? keySource(cachedKeys(tenant.id), tenant.settings) }),
    catalog: runInBackground ? getCatalog(env, runInBackground) : (copy?.catalog ?? emptyCatalog),
    learnedWindows: tenant ? getLearnedWindows(tenant.id) : {},
  }
}
