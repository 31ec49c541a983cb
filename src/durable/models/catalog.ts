/**
 * Caches the public model catalogs in this isolate. The copy is read from D1 and refreshed in the background; until it
 * is loaded, the built-in facts are used.
 */

import { log } from '#agent/core/log.ts'
import type { Settings } from '#agent/core/settings.ts'
import { getMissingRequirement, type KeySource, resolveBaseUrl } from '#agent/routing/availability.ts'
import { type Catalog, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import type { Sources } from '#agent/routing/route.ts'
import { ownerTenant } from '#db/schema.ts'
import { getLearnedWindows } from './learned-windows.ts'
import { cachedKeys, keySource, providersWithKeys } from './credentials.ts'
import { variablesOf } from '#durable/platform/variables.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ModelTable } from '#agent/providers/catalog/model-facts.ts'
import { parseModelsDev } from '#agent/providers/catalog/models-dev.ts'
import { parseOpenRouter } from '#agent/providers/catalog/openrouter.ts'
import { type Provider, providers } from '#agent/providers/profiles/providers.ts'
import { type CatalogRow, createModelCatalog, type ModelCatalog } from '#db/model-catalog.ts'
import { createGuardedFetch, type GuardedFetch } from '#durable/platform/guarded-fetch.ts'

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

/** The parts of the sources that an isolate learns: each stays the same object until it changes. */
export const learnedSources = (env: Env, tenantId: string, runInBackground: RunInBackground) => ({
  catalog: getCatalog(env, runInBackground),
  learnedWindows: getLearnedWindows(tenantId),
})

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

const dayMs = 86_400_000
const publicCatalog = 'https://models.dev/api.json'
const fetchTimeoutMs = 20_000
const maxCatalogBytes = 16 * 1024 * 1024

/**
 * Fetches the model catalogs of OpenRouter and models.dev into D1, at most once a day for a deployment. Only providers
 * that the deployment or a tenant has a key for are fetched. A failed fetch is retried the next day; the stored catalog
 * stays in use. `MODEL_CATALOG_URL=off` fetches nothing.
 */
const isOutdated = (at: number | undefined, now: number, everyMs: number): boolean =>
  at === undefined || now - at >= everyMs

/**
 * Returns the stored catalog, fetched anew when it is a day old. `tenantProviders`: providers that tenants have their
 * own keys for. Undefined when no provider with a public catalog is in use, or the catalog is turned off.
 */
export async function loadCatalog(env: Env, now: number, tenantProviders = noProviders): Promise<Catalog | undefined> {
  const variables = variablesOf(env)
  const used = providers.filter(
    (one) => one.catalog && (tenantProviders.has(one.id) || !getMissingRequirement(one, { variables })),
  )
  const address = variables['MODEL_CATALOG_URL']?.trim() || publicCatalog
  if (!used.length || address === 'off') return undefined
  const rows = createModelCatalog(env.DB)
  const stored = await rows.list()
  const outdated = (await rows.claim(now, dayMs)) ? used : await findNewProviders(used, rows, stored, now)
  if (!outdated.length) return createCatalog(stored)
  const fetched = await fetchAll(outdated, address, env)
  const newRows = fetched.map(([name, body]): CatalogRow => ({ name, at: now, body }))
  await rows.save(newRows)
  return createCatalog([...stored, ...newRows])
}

const noProviders: ReadonlySet<string> = new Set()

/** Finds providers without a stored catalog, because their key is new: they are fetched before the next day. */
async function findNewProviders(
  used: readonly Provider[],
  rows: ModelCatalog,
  stored: readonly CatalogRow[],
  now: number,
) {
  const storedNames = new Set(stored.map(({ name }) => name))
  const others = used.filter(({ id }) => !sources.some((source) => storedNames.has(`${source}:${id}`)))
  const names = others.map(({ id }) => id)
  // An empty store means that the first fetch is still running, or has failed.
  return stored.length && others.length && (await rows.claim(now, dayMs, names)) ? others : []
}

const sources = ['provider', 'models.dev'] as const

function createCatalog(rows: readonly CatalogRow[]): Catalog {
  const catalog: Record<(typeof sources)[number], Record<string, ModelTable>> = { provider: {}, 'models.dev': {} }
  for (const { name, body } of rows) {
    const source = sources.find((one) => name.startsWith(`${one}:`))
    if (source) catalog[source][name.slice(source.length + 1)] = body as ModelTable
  }
  return rows.length ? catalog : emptyCatalog
}

type Named = readonly [name: string, table: ModelTable]

async function fetchAll(used: readonly Provider[], address: string, env: Env): Promise<readonly Named[]> {
  const router = used.find(({ id }) => id === 'openrouter')
  const guardedFetch = createGuardedFetch(env)
  const [live, listed] = await Promise.all([
    router && fetchJson(`${resolveBaseUrl(router, variablesOf(env))}/models`, guardedFetch),
    fetchJson(address, guardedFetch),
  ])
  const table = live === undefined ? {} : parseOpenRouter(live)
  const named = used.flatMap(({ id, catalog = '' }): readonly Named[] => {
    const models = parseModelsDev(listed, catalog)
    return models ? [[`models.dev:${id}`, models]] : []
  })
  return Object.keys(table).length ? [['provider:openrouter', table], ...named] : named
}

/** Undefined when the request fails or the answer is not JSON. */
async function fetchJson(url: string, guardedFetch: GuardedFetch): Promise<unknown> {
  try {
    // The address is the deployment's, but its redirects are the server's.
    const limits = { timeoutMs: fetchTimeoutMs, maxBytes: maxCatalogBytes }
    const { response, url: address } = await guardedFetch({ url, follow: true, isTrusted: true, ...limits })
    if (response.ok) return (await response.json()) as unknown
    log.warn('catalog.refused', `The model catalog at ${new URL(address).host} answered ${response.status}.`)
    await response.body?.cancel()
  } catch (error) {
    log.warn('catalog.unreachable', 'A model catalog could not be fetched.', { error })
  }
  return undefined
}
