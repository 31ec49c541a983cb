/** Chooses who answers web searches and who reads pages: pinned by the settings, else whoever has a key, else the keyless ring. */

import type { Availability, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { extractBackends, searchBackends } from '#agent/core/vendor/web-settings.ts'

export type SearchChoice =
  /** `vendors` have keys. `isKeyless`: the ring comes after them. */
  | { readonly kind: 'usable'; readonly vendors: readonly string[]; readonly isKeyless: boolean }
  | { readonly kind: 'unusable'; readonly reason: string }

const storeKey = 'or store a key with POST /api/credentials'

export function chooseSearch({ settings: { web = {} }, vendor }: ToolDeployment): SearchChoice {
  const isKeyless = web.keyless_fallback !== false
  const pinned = web.search_backend ?? web.backend ?? 'auto'
  if (isSearchBackend(pinned)) {
    const { keys, baseUrl, variable } = vendor(pinned)
    if (isReady(pinned, keys, baseUrl)) return { kind: 'usable', vendors: [pinned], isKeyless: false }
    const missing = pinned === 'searxng' ? `set ${variable}` : `set ${variable}, ${storeKey}`
    return { kind: 'unusable', reason: `The settings choose ${pinned} for web searches: ${missing}.` }
  }
  const vendors = pinned === 'keyless' ? [] : listReady({ vendor })
  if (vendors.length || isKeyless) return { kind: 'usable', vendors, isKeyless }
  return {
    kind: 'unusable',
    reason: `No web search has a key, and web.keyless_fallback is off: set TAVILY_API_KEY or that of another vendor, ${storeKey}.`,
  }
}

const isSearchBackend = (name: string): boolean => (searchBackends as readonly string[]).includes(name)

const isReady = (id: string, keys: readonly string[], baseUrl: string): boolean =>
  keys.length > 0 || (id === 'searxng' && baseUrl !== '')

/** Vendors with keys of the tenant come first: it chose and pays them. */
function listReady({ vendor }: Pick<ToolDeployment, 'vendor'>): readonly string[] {
  const ready = searchBackends.flatMap((id) => {
    const { keys, baseUrl, paidBy } = vendor(id)
    return isReady(id, keys, baseUrl) ? [{ id, isOwn: paidBy === 'tenant' }] : []
  })
  return [...ready.filter(({ isOwn }) => isOwn), ...ready.filter(({ isOwn }) => !isOwn)].map(({ id }) => id)
}

/** A model without a search of its provider uses the other vendors. */
function describeNative(choice: SearchChoice): string {
  const others = choice.kind === 'usable' ? (choice.vendors[0] ?? 'free endpoints') : `nobody: ${choice.reason}`
  return `the provider of the model, where it can and the turn has read no private data; else ${others}`
}

/** Shown where people look for reasons of failures. */
const keylessNote =
  'free endpoints that limit calls by address. Workers share their addresses, so that searches may fail for a while; set TAVILY_API_KEY or that of another vendor'

export function searchAvailability(deployment: ToolDeployment): Availability {
  const choice = chooseSearch(deployment)
  const { search_backend, backend } = deployment.settings.web ?? {}
  if ((search_backend ?? backend) === 'native') return { by: 'native', note: describeNative(choice) }
  if (choice.kind === 'unusable') return { reason: choice.reason }
  const [first] = choice.vendors
  return first === undefined ? { by: 'keyless', note: keylessNote } : { by: first }
}

export type ExtractChoice =
  /** `first`: the vendor that reads every page. `afterwards`: those that read pages that need a browser. */
  | { readonly kind: 'usable'; readonly first?: string; readonly afterwards: readonly string[] }
  | { readonly kind: 'unusable'; readonly reason: string }

export function chooseExtract({ settings: { web = {} }, vendor }: ToolDeployment): ExtractChoice {
  const pinned = web.extract_backend ?? web.backend ?? 'auto'
  const ready = extractBackends.filter((id) => vendor(id).keys.length > 0)
  if (!(extractBackends as readonly string[]).includes(pinned))
    return { kind: 'usable', afterwards: pinned === 'fetch' ? [] : ready }
  if ((ready as readonly string[]).includes(pinned)) return { kind: 'usable', first: pinned, afterwards: [] }
  const reason = `The settings choose ${pinned} to read pages: set ${vendor(pinned).variable}, ${storeKey}.`
  return { kind: 'unusable', reason }
}

export function extractAvailability(deployment: ToolDeployment): Availability {
  const choice = chooseExtract(deployment)
  return choice.kind === 'unusable' ? { reason: choice.reason } : { by: choice.first ?? 'fetch' }
}
