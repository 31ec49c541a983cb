/** Lists the vendors that tools call beside models, and resolves their addresses and keys. */

import type { VendorAccess } from '#agent/core/vendor/tool-deployment.ts'
import { getProvider, type Provider } from '#agent/providers/profiles/providers.ts'
import { listKeys, resolveBaseUrl, type Sources } from './availability.ts'

type ToolVendor = {
  readonly id: string
  /** Empty: the deployment names the address. */
  readonly baseUrl: string
  readonly baseUrlVariable: string
  /** Empty: the vendor has no keys. */
  readonly keyVariable: string
}

const vendor = (id: string, baseUrl: string): ToolVendor => ({
  id,
  baseUrl,
  baseUrlVariable: `${id.toUpperCase()}_BASE_URL`,
  keyVariable: `${id.toUpperCase()}_API_KEY`,
})

/** `<ID>_API_KEY` and `<ID>_BASE_URL` are the variables of a vendor, and `id` is the provider of its credentials. */
const vendors: readonly ToolVendor[] = [
  vendor('brave', 'https://api.search.brave.com'),
  vendor('tavily', 'https://api.tavily.com'),
  vendor('exa', 'https://api.exa.ai'),
  vendor('parallel', 'https://api.parallel.ai'),
  vendor('perplexity', 'https://api.perplexity.ai'),
  vendor('firecrawl', 'https://api.firecrawl.dev'),
  vendor('keenable', 'https://api.keenable.ai'),
  vendor('serper', 'https://google.serper.dev'),
  vendor('jina', 'https://r.jina.ai'),
  { id: 'searxng', baseUrl: '', baseUrlVariable: 'SEARXNG_URL', keyVariable: '' },
  vendor('fal', 'https://queue.fal.run'),
  vendor('elevenlabs', 'https://api.elevenlabs.io'),
  vendor('deepgram', 'https://api.deepgram.com'),
  vendor('groq', 'https://api.groq.com/openai'),
  vendor('mistral', 'https://api.mistral.ai/v1'),
  vendor('browserbase', 'https://api.browserbase.com'),
  vendor('steel', 'https://api.steel.dev'),
  vendor('homeassistant', ''),
  vendor('spotify', 'https://api.spotify.com'),
]

/** Whether credentials can be stored for a vendor of this name. */
export const isToolVendor = (id: string): boolean => vendors.some((one) => one.id === id && one.keyVariable !== '')

/** A vendor, else a provider of models, of this name. */
export function resolveVendor(id: string, sources: Pick<Sources, 'variables' | 'tenantKeys'>): VendorAccess {
  const known = vendors.find((one) => one.id === id)
  return known ? vendorAccess(known, sources) : providerAccess(id, getProvider(id), sources)
}

function vendorAccess(
  { id, baseUrl, baseUrlVariable, keyVariable }: ToolVendor,
  { variables, tenantKeys }: Pick<Sources, 'variables' | 'tenantKeys'>,
): VendorAccess {
  const replaced = variables[baseUrlVariable]?.trim() ?? ''
  const address = (replaced || baseUrl).replace(/\/{1,20}$/, '')
  const own = keyVariable ? (tenantKeys?.(id, address) ?? []).map(({ key }) => key) : []
  const deployed = (variables[keyVariable] ?? '').split(',').flatMap((key) => key.trim() || [])
  return {
    id,
    baseUrl: address,
    isReplaced: replaced !== '',
    keys: own.length ? own : deployed,
    paidBy: own.length ? 'tenant' : 'deployment',
    variable: keyVariable || baseUrlVariable,
  }
}

function providerAccess(
  id: string,
  provider: Provider | undefined,
  sources: Pick<Sources, 'variables' | 'tenantKeys'>,
) {
  if (!provider) return { id, baseUrl: '', isReplaced: false, keys: [], paidBy: 'deployment', variable: '' } as const
  const { tenant, deployment } = listKeys(provider, sources)
  return {
    id: provider.id,
    baseUrl: resolveBaseUrl(provider, sources.variables),
    isReplaced: Boolean(sources.variables[provider.baseUrlVariable]?.trim()),
    keys: (tenant.length ? tenant : deployment).map(({ key }) => key),
    paidBy: tenant.length ? 'tenant' : 'deployment',
    variable: provider.keys[0] ?? '',
  } as const
}
