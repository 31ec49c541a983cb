/** Chooses the model where none is named: that of the deployment, else of the first usable provider. */

import { emptyCatalog, listModelNames, lookUpModel } from '#agent/providers/catalog/model-lookup.ts'
import { type Provider, providers } from '#agent/providers/profiles/providers.ts'
import { getMissingRequirement, type Sources } from './availability.ts'

/**
 * Returns the model of a provider that is used when only the provider is known: the one of its profile, else the
 * cheapest model with tools that a catalog lists. Undefined when no model of it is known.
 */
export function chooseModel(provider: Provider, { catalog = emptyCatalog }: Sources): string | undefined {
  if (provider.defaultModel) return provider.defaultModel
  const known = listModelNames(catalog, provider.id).map((model) => {
    const { tools, prices } = lookUpModel({ provider: provider.id, model, catalog })
    return { model, tools, price: prices && prices.input + prices.output }
  })
  const paid = known.filter(({ tools, price }) => tools && price).toSorted((a, b) => (a.price ?? 0) - (b.price ?? 0))
  return (paid[0] ?? known.find(({ tools }) => tools) ?? known[0])?.model
}

/** Explains to people how to name a model of a provider. */
export const explainModelless = ({ id }: Pick<Provider, 'id'>): string =>
  `no model of it is known here; set MODEL=${id}/NAME, or model.default in the settings`

/** Whether a model other than the demo can answer. */
export const hasProvider = (sources: Sources): boolean =>
  Object.keys(sources.settings?.providers ?? {}).length > 0 ||
  providers.some((provider) => provider.id !== 'demo' && !getMissingRequirement(provider, sources))

const needsNoSetup = new Set(['workers-ai', 'demo'])

/**
 * Returns the default model: MODEL, else that of the first usable provider with a known model. When a provider is set up
 * but no model of it is known, the id has no model: it cannot be called, and the error says what to set. Only without
 * any provider it is the AI binding, then the demo.
 */
export function resolveDefaultModel(sources: Sources): string {
  const configured = sources.variables['MODEL']?.trim()
  if (configured) return configured
  const isUsable = (provider: Provider) => !getMissingRequirement(provider, sources)
  const usable = providers.filter((provider) => !needsNoSetup.has(provider.id) && isUsable(provider))
  for (const provider of usable) {
    const model = chooseModel(provider, sources)
    if (model) return `${provider.id}/${model}`
  }
  const [modelless = Object.keys(sources.settings?.providers ?? {})[0]] = usable.map(({ id }) => id)
  if (modelless) return `${modelless}/`
  const last = providers.find((provider) => needsNoSetup.has(provider.id) && isUsable(provider))
  return `${last?.id}/${last?.defaultModel}`
}
