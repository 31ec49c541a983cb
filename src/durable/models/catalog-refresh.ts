/**
 * Fetches the model catalogs of OpenRouter and models.dev into D1, at most once a day for a deployment. Only providers
 * that the deployment or a tenant has a key for are fetched. A failed fetch is retried the next day; the stored catalog
 * stays in use. `MODEL_CATALOG_URL=off` fetches nothing.
 */

import { log } from '#agent/core/log.ts'
import { resolveBaseUrl, getMissingRequirement } from '#agent/routing/availability.ts'
import type { ModelTable } from '#agent/providers/catalog/model-facts.ts'
import { type Catalog, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import { parseModelsDev } from '#agent/providers/catalog/models-dev.ts'
import { parseOpenRouter } from '#agent/providers/catalog/openrouter.ts'
import { type Provider, providers } from '#agent/providers/profiles/providers.ts'
import { type CatalogRow, type ModelCatalog, createModelCatalog } from '#db/model-catalog.ts'
import { createGuardedFetch, type GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { variablesOf } from '#durable/platform/variables.ts'

const dayMs = 86_400_000
const publicCatalog = 'https://models.dev/api.json'
const fetchTimeoutMs = 20_000
const maxCatalogBytes = 16 * 1024 * 1024

export const isOutdated = (at: number | undefined, now: number, everyMs: number): boolean =>
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
