/**
 * What the deployment knows of models, in this isolate: a copy of what D1 keeps of the public catalogs. It is read and
 * refreshed in the background, and nobody waits for it: until it is there, what is built in holds.
 */

import type { Settings } from '../../agent/model/settings.ts'
import type { KeySource } from '../../agent/routing/availability.ts'
import { type Catalog, noCatalog } from '../../agent/providers/catalog/lookup.ts'
import type { Sources } from '../../agent/routing/route.ts'
import { ownerTenant } from '../../db/schema.ts'
import { learntWindows } from './learned-windows.ts'
import { isOutdated, loadCatalog } from './catalog-refresh.ts'
import { keySource, knownKeys, providersWithKeys } from './credentials.ts'
import { variablesOf } from '../platform/variables.ts'
import { clock } from '../platform/clock.ts'

/** How long an isolate goes by its copy before it looks again. */
const copyMs = 600_000

let copy: { readonly catalog: Catalog; readonly at: number } | undefined
/** A look that never came back, because its object died, is not waited for longer. */
const lookMs = 60_000
let lookedAt = 0

export type Later = (work: Promise<unknown>) => void

function catalogOf(env: Env, later: Later): Catalog {
  const now = clock.now()
  if (isOutdated(copy?.at, now, copyMs) && isOutdated(lookedAt, now, lookMs)) later(look(env, now))
  return copy?.catalog ?? noCatalog
}

async function look(env: Env, now: number): Promise<void> {
  lookedAt = now
  try {
    const catalog = await loadCatalog(env, now, providersWithKeys())
    copy = { catalog: catalog ?? copy?.catalog ?? noCatalog, at: now }
  } catch (error) {
    // The built-in facts go on holding; the next look is as far away as after a success.
    console.warn('The catalog of models could not be read.', error)
    copy = { catalog: copy?.catalog ?? noCatalog, at: now }
  }
}

type Tenant = {
  readonly id: string
  readonly settings: Settings
  /** As a session has them; else those that this isolate knows. */
  readonly tenantKeys?: KeySource
}

/** Everything that decides which models there are for a tenant. Without `later` the copy is taken as it is. */
export function sourcesFor(env: Env, tenant?: Tenant, later?: Later): Sources {
  return {
    variables: variablesOf(env),
    settings: tenant?.settings ?? {},
    isOwner: tenant?.id === ownerTenant,
    ...(tenant && { tenantKeys: tenant.tenantKeys ?? keySource(knownKeys(tenant.id), tenant.settings) }),
    catalog: later ? catalogOf(env, later) : (copy?.catalog ?? noCatalog),
    learnt: tenant ? learntWindows(tenant.id) : {},
  }
}
