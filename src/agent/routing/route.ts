/** Which models a turn may use, in order, and what is needed to call them. Pure: variables in, routes out. */

import type { DialectName, Endpoint } from '../model/dialect.ts'
import { resolveBaseUrl, listKeys, findProvider, getMissingRequirement, type NamedKey, type Sources } from './availability.ts'
import type { ModelFacts, Prices, FactSource } from '../providers/catalog/model-facts.ts'
import { lookUpModel } from '../providers/catalog/model-lookup.ts'
import { omitUndefined } from '../providers/catalog/json-values.ts'
import { maxPrices, factsFromSettings, type ModelSettings } from '../providers/catalog/facts-from-settings.ts'
import { keyIdOf } from './key-selection.ts'
import { chooseDialect, filterInterchangeableKeys } from './choose-dialect.ts'
import type { Settings } from '../model/settings.ts'
import { type Provider, providers } from '../providers/profiles/providers.ts'
import { resolveCacheTtl, resolveQuirks } from './quirks.ts'

export type { Sources, Variables } from './availability.ts'
export type { Prices } from '../providers/catalog/model-facts.ts'

export type Route = {
  /** `provider/model`. */
  readonly id: string
  readonly dialect: DialectName
  readonly model: string
  readonly provider: string
  /** It passes requests on to other providers. */
  readonly aggregator: boolean
  /** It thinks before it speaks. */
  readonly reasoning: boolean
  /** One per key, in order of preference. */
  readonly endpoints: readonly Endpoint[]
  /** So many of them, the first ones, have keys of the tenant: they are used up before the others. */
  readonly tenantKeyCount?: number
  readonly overloadMs?: number
  /** Tokens. */
  readonly contextWindow: number
  /** Who says that the window is so large. */
  readonly source?: FactSource
  /** USD per million tokens, where they are known. */
  readonly prices?: Prices
  /** How long the provider is asked to keep the beginning of the prompt; absent: no marks. */
  readonly cache?: '5m' | '1h'
  readonly facts?: ModelFacts
}

export const splitModelId = (id: string): readonly [provider: string, model: string] => {
  const slash = id.indexOf('/')
  return slash < 0 ? ['', id] : [id.slice(0, slash), id.slice(slash + 1)]
}

/** The deployment's own choice: MODEL, else the first provider that can be asked and has a model of its own. */
export function resolveDefaultModel(sources: Sources): string {
  const named = sources.variables['MODEL']?.trim()
  if (named) return named
  const first = providers.find((provider) => provider.defaultModel && !getMissingRequirement(provider, sources))
  return first ? `${first.id}/${first.defaultModel}` : 'demo/agent'
}

/** The same model by the provider's own name, whatever it was called. */
export function resolveModelId(asked: string, settings?: Settings): string {
  const [name, model] = splitModelId(asked)
  return `${findProvider(name, settings)?.id ?? name}/${model}`
}

/** Undefined when the provider is unknown or something is missing for it. */
export function resolveRoute(asked: string, sources: Sources): Route | undefined {
  const [name, model] = splitModelId(asked)
  const provider = findProvider(name, sources.settings)
  if (!provider || !model || getMissingRequirement(provider, sources)) return undefined
  const id = `${provider.id}/${model}`
  return buildRoute({ id, model, provider, modelSettings: getModelSettings(id, sources.settings) }, sources)
}

/** What keeps a model from being asked, in words; undefined when nothing does. */
export function getModelRequirement(asked: string, sources: Sources): string | undefined {
  const provider = findProvider(splitModelId(asked)[0], sources.settings)
  return provider ? getMissingRequirement(provider, sources) : 'there is no provider of this name'
}

/** What the settings say of a model, by whichever name of its provider. */
function getModelSettings(id: string, settings: Settings = {}): ModelSettings | undefined {
  const { models = {} } = settings
  return models[id] ?? Object.entries(models).find(([name]) => resolveModelId(name, settings) === id)?.[1]
}

type RouteTarget = {
  readonly id: string
  readonly model: string
  readonly provider: Provider
  /** By the settings. */
  readonly modelSettings: ModelSettings | undefined
}

function buildRoute(found: RouteTarget, sources: Sources): Route {
  const { id, model, provider, modelSettings: said } = found
  const { settings = {} } = sources
  const { keys, ownKeys } = buildKeyPool(provider, sources)
  const chosen = chooseDialect(
    provider,
    { model, address: resolveBaseUrl(provider, sources.variables), key: keys[0]?.key ?? '' },
    said?.dialect ?? settings.providers?.[provider.id]?.dialect,
  )
  const { source, ...facts } = lookUpFacts(found, sources, keys.length > (ownKeys ?? 0))
  const quirks = resolveQuirks(chosen.dialect, model, facts, { profile: chosen.quirks, maxOutput: said?.max_output })
  return omitUndefined<Route>({
    id,
    dialect: chosen.dialect,
    model,
    provider: provider.id,
    aggregator: provider.aggregator ?? false,
    reasoning: facts.reasoning ?? reasoningModels.test(model),
    endpoints: keys.map((named) => ({ ...named, baseUrl: chosen.baseUrl, headers: chosen.headers, quirks })),
    tenantKeyCount: ownKeys,
    overloadMs: provider.overloadMs,
    contextWindow: facts.contextWindow,
    source,
    prices: facts.prices,
    cache: resolveCacheTtl(quirks, settings),
    facts,
  })
}

/**
 * What a tenant says of prices counts where the deployment may pay (with its key, or without one) only as far as it is
 * dearer: its limits in USD are the owner's.
 */
function lookUpFacts({ model, provider, modelSettings: said }: RouteTarget, sources: Sources, isDeployments: boolean) {
  const asked = {
    provider: provider.id,
    model,
    catalog: sources.catalog,
    learnt: sources.learnedWindows?.[`${provider.id}/${model}`],
  }
  const known = lookUpModel({ ...asked, settings: factsFromSettings(said) })
  if (!known.prices || !isDeployments || sources.isOwner || provider.id.startsWith('custom:')) return known
  return { ...known, prices: maxPrices(known.prices, lookUpModel(asked).prices) }
}

const noKey: NamedKey = { id: keyIdOf(''), key: '' }

/** The keys that can stand in for each other, the tenant's before those of the deployment. */
function buildKeyPool(provider: Provider, sources: Sources) {
  const { own, deployed } = listKeys(provider, sources)
  const all = [...own, ...deployed]
  const same = new Set(
    filterInterchangeableKeys(
      provider,
      all.map(({ key }) => key),
    ),
  )
  const keys = all.filter(({ key }) => same.has(key))
  return { keys: keys.length ? keys : [noKey], ownKeys: own.filter(({ key }) => same.has(key)).length || undefined }
}

/** Names by which models that think are known; only asked when nothing is known of a model. */
const reasoningModels = /\bo[134]\b|gpt-5|reason|think|r1\b|opus|sonnet|grok-[34]/
