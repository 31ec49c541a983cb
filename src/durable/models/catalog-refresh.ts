/**
 * Fetches what OpenRouter and models.dev say of models, at most once a day for a deployment, and keeps it in D1. Only
 * providers that the deployment or a tenant has a key for are asked and kept; `MODEL_CATALOG_URL=off` asks nobody. Whatever fails is tried again
 * the next day: what was kept before holds on.
 */

import { addressOf, missingFor } from '../../agent/routing/availability.ts'
import type { ModelTable } from '../../agent/providers/catalog/facts.ts'
import { type Catalog, noCatalog } from '../../agent/providers/catalog/lookup.ts'
import { readModelsDev } from '../../agent/providers/catalog/models-dev.ts'
import { readOpenRouter } from '../../agent/providers/catalog/openrouter.ts'
import { type Provider, providers } from '../../agent/providers/profiles/providers.ts'
import type { Variables } from '../../agent/routing/route.ts'
import { type CatalogRow, type CatalogRows, catalogRows } from '../../db/catalog.ts'
import { variablesOf } from '../platform/variables.ts'

const dayMs = 86_400_000
const publicCatalog = 'https://models.dev/api.json'
const fetchMs = 20_000
const largest = 16 * 1024 * 1024

export const isOutdated = (at: number | undefined, now: number, everyMs: number): boolean =>
  at === undefined || now - at >= everyMs

/**
 * `paid`: providers that tenants have keys of their own for. Undefined when there is nothing to know: no provider with
 * a public list is in use, or it was turned off.
 */
export async function loadCatalog(env: Env, now: number, paid = noneElse): Promise<Catalog | undefined> {
  const variables = variablesOf(env)
  const used = providers.filter((one) => one.catalog && (paid.has(one.id) || !missingFor(one, { variables })))
  const address = variables['MODEL_CATALOG_URL']?.trim() || publicCatalog
  if (!used.length || address === 'off') return undefined
  const rows = catalogRows(env.DB)
  const kept = await rows.all()
  const asked = (await rows.claim(now, dayMs)) ? used : await newlyUsed(used, rows, kept, now)
  if (!asked.length) return catalogFrom(kept)
  const fetched = await fetchAll(asked, address, variables)
  const fresh = fetched.map(([name, body]): CatalogRow => ({ name, at: now, body }))
  await rows.save(fresh)
  return catalogFrom([...kept, ...fresh])
}

const noneElse: ReadonlySet<string> = new Set()

/** Those that nothing is kept of, because a key came since: they need not wait for the next day. */
async function newlyUsed(used: readonly Provider[], rows: CatalogRows, kept: readonly CatalogRow[], now: number) {
  const known = new Set(kept.map(({ name }) => name))
  const others = used.filter(({ id }) => !sources.some((source) => known.has(`${source}:${id}`)))
  const names = others.map(({ id }) => id)
  // Without anything the first look is still under way, or failed.
  return kept.length && others.length && (await rows.claim(now, dayMs, names)) ? others : []
}

const sources = ['provider', 'models.dev'] as const

function catalogFrom(rows: readonly CatalogRow[]): Catalog {
  const catalog: Record<(typeof sources)[number], Record<string, ModelTable>> = { provider: {}, 'models.dev': {} }
  for (const { name, body } of rows) {
    const source = sources.find((one) => name.startsWith(`${one}:`))
    if (source) catalog[source][name.slice(source.length + 1)] = body as ModelTable
  }
  return rows.length ? catalog : noCatalog
}

type Named = readonly [name: string, table: ModelTable]

async function fetchAll(used: readonly Provider[], address: string, variables: Variables): Promise<readonly Named[]> {
  const router = used.find(({ id }) => id === 'openrouter')
  const [live, listed] = await Promise.all([
    router && fetchJson(`${addressOf(router, variables)}/models`),
    fetchJson(address),
  ])
  const table = live === undefined ? {} : readOpenRouter(live)
  const named = used.flatMap(({ id, catalog = '' }): readonly Named[] => {
    const models = readModelsDev(listed, catalog)
    return models ? [[`models.dev:${id}`, models]] : []
  })
  return Object.keys(table).length ? [['provider:openrouter', table], ...named] : named
}

/** Undefined when nobody answers, or with something else. */
async function fetchJson(address: string): Promise<unknown> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(fetchMs) })
    if (response.ok) return JSON.parse(await textOf(response)) as unknown
    console.warn(`The catalog of models at ${new URL(address).host} answered ${response.status}.`)
    await response.body?.cancel()
  } catch (error) {
    console.warn('A catalog of models could not be fetched.', error instanceof Error ? error.message : error)
  }
  return undefined
}

/** No more than is reasonable for a list. */
async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += bytes.length
    if (size > largest) throw new Error(`The list is larger than ${largest} bytes.`)
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}
