/** Resolves a model id to a route: everything that is needed to call the model. */

import type { DialectName, Endpoint, Quirks } from '#agent/core/dialect.ts'
import {
  findProvider,
  getMissingRequirement,
  listKeys,
  type NamedKey,
  resolveBaseUrl,
  type Sources,
} from './availability.ts'
import {
  defaultSearchPrice,
  type FactSource,
  type ModelFacts,
  type Prices,
} from '#agent/providers/catalog/model-facts.ts'
import { lookUpModel } from '#agent/providers/catalog/model-lookup.ts'
import { omitUndefined } from '#agent/providers/catalog/json-values.ts'
import { factsFromSettings, maxPrices, type ModelSettings } from '#agent/providers/catalog/facts-from-settings.ts'
import { keyIdOf } from './key-selection.ts'
import { chooseDialect, filterInterchangeableKeys } from './choose-dialect.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Provider } from '#agent/providers/profiles/providers.ts'
import { explainModelless } from './default-model.ts'

export type { Sources, Variables } from './availability.ts'
export type { Prices } from '#agent/providers/catalog/model-facts.ts'

export type Route = {
  /** `provider/model`. */
  readonly id: string
  readonly dialect: DialectName
  readonly model: string
  readonly provider: string
  /** The provider forwards requests to other providers. */
  readonly isAggregator: boolean
  /** The model reasons before it answers. */
  readonly isReasoning: boolean
  /** One per key, in order of preference. */
  readonly endpoints: readonly Endpoint[]
  /** The first so many endpoints use keys of the tenant. They come before the keys of the deployment. */
  readonly tenantKeyCount?: number
  readonly overloadMs?: number
  /** Tokens. */
  readonly contextWindow: number
  /** The source of `contextWindow`. */
  readonly windowSource?: FactSource
  /** USD per million tokens, if known. */
  readonly prices?: Prices
  /** The time for which the provider should cache the prompt prefix; absent: no cache marks are sent. */
  readonly cache?: '5m' | '1h'
  readonly facts?: ModelFacts
}

export const splitModelId = (id: string): readonly [provider: string, model: string] => {
  const slash = id.indexOf('/')
  return slash < 0 ? ['', id] : [id.slice(0, slash), id.slice(slash + 1)]
}

/** Replaces an alias of the provider in a model id by the provider id. */
export function resolveModelId(modelId: string, settings?: Settings): string {
  const [name, model] = splitModelId(modelId)
  return `${findProvider(name, settings)?.id ?? name}/${model}`
}

/** Returns undefined when the provider is unknown or not usable. */
export function resolveRoute(modelId: string, sources: Sources): Route | undefined {
  const [name, model] = splitModelId(modelId)
  const provider = findProvider(name, sources.settings)
  if (!provider || !model || getMissingRequirement(provider, sources)) return undefined
  const id = `${provider.id}/${model}`
  return buildRoute({ id, model, provider, modelSettings: getModelSettings(id, sources.settings) }, sources)
}

/** Returns why a model cannot be called, for people; undefined when it can. */
export function getModelRequirement(modelId: string, sources: Sources): string | undefined {
  const provider = findProvider(splitModelId(modelId)[0], sources.settings)
  if (!provider) return 'there is no provider of this name'
  return getMissingRequirement(provider, sources) ?? (splitModelId(modelId)[1] ? undefined : explainModelless(provider))
}

/** Finds the settings of a model under any name of its provider. */
function getModelSettings(id: string, settings: Settings = {}): ModelSettings | undefined {
  const { models = {} } = settings
  return models[id] ?? Object.entries(models).find(([name]) => resolveModelId(name, settings) === id)?.[1]
}

type RouteTarget = {
  readonly id: string
  readonly model: string
  readonly provider: Provider
  readonly modelSettings: ModelSettings | undefined
}

function buildRoute(target: RouteTarget, sources: Sources): Route {
  const { id, model, provider, modelSettings } = target
  const { settings = {} } = sources
  const { keys, tenantKeyCount } = buildKeyPool(provider, sources)
  const choice = chooseDialect(
    provider,
    { model, address: resolveBaseUrl(provider, sources.variables), key: keys[0]?.key ?? '' },
    modelSettings?.dialect ?? settings.providers?.[provider.id]?.dialect,
  )
  const { source, ...facts } = lookUpFacts(target, sources, keys.length > (tenantKeyCount ?? 0))
  const quirks = resolveQuirks(choice.dialect, model, facts, {
    profile: choice.quirks,
    maxOutput: modelSettings?.max_output,
  })
  return omitUndefined<Route>({
    id,
    dialect: choice.dialect,
    model,
    provider: provider.id,
    isAggregator: provider.isAggregator ?? false,
    isReasoning: facts.reasoning ?? reasoningModels.test(model),
    endpoints: keys.map((key) => ({
      ...key,
      baseUrl: throughPrefix(choice.baseUrl, provider, sources),
      headers: choice.headers,
      quirks,
      ...parseRegion(provider, sources),
      ...(provider.signIn && { subscription: provider.id }),
      ...(provider.id.startsWith('custom:') && { isTenantAddress: true as const }),
    })),
    tenantKeyCount,
    overloadMs: provider.overloadMs,
    contextWindow: facts.contextWindow,
    windowSource: source,
    prices: facts.prices,
    cache: resolveCacheTtl(quirks, settings),
    facts,
  })
}

/** Signed requests and addresses of tenants do not take the way of the deployment. */
function throughPrefix(address: string, { id, regionVariables }: Provider, { variables }: Sources): string {
  const prefix = variables['MODEL_ADDRESS_PREFIX']?.trim()
  if (!prefix || regionVariables || id.startsWith('custom:') || !/^https?:/.test(address)) return address
  return `${prefix.replace(/\/{1,20}$/, '')}/${address.replace(/^https?:\/\//, '')}`
}

/** The region to sign for, where the address names none. */
function parseRegion({ regionVariables = [] }: Provider, { variables }: Sources): Pick<Endpoint, 'region'> {
  const region = regionVariables.map((name) => variables[name]?.trim()).find(Boolean)
  return region ? { region } : {}
}

/** A call costs nothing more, whatever the catalogs say of keys. */
const paidBySubscription: Prices = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 }

/**
 * Looks up the facts of a model. Where the deployment pays, a tenant's prices can only raise the known prices:
 * otherwise a tenant could evade the limits in USD that the owner has set.
 */
function lookUpFacts({ model, provider, modelSettings }: RouteTarget, sources: Sources, usesDeploymentKey: boolean) {
  const query = {
    provider: provider.id,
    model,
    catalog: sources.catalog,
    learnedWindow: sources.learnedWindows?.[`${provider.id}/${model}`],
  }
  const paid = provider.signIn === undefined ? undefined : { prices: paidBySubscription }
  const facts = lookUpModel({ ...query, settings: { ...paid, ...factsFromSettings(modelSettings) } })
  if (!usesDeploymentKey || sources.isOwner || provider.id.startsWith('custom:')) return facts
  const { prices, searchPrice } = facts
  return {
    ...facts,
    ...(prices && { prices: maxPrices(prices, lookUpModel(query).prices) }),
    ...(searchPrice !== undefined && { searchPrice: Math.max(searchPrice, defaultSearchPrice) }),
  }
}

const noKey: NamedKey = { id: keyIdOf(''), key: '' }

/** Builds the list of interchangeable keys: those of the tenant first, then those of the deployment. */
function buildKeyPool(provider: Provider, sources: Sources) {
  const { tenant, deployment } = listKeys(provider, sources)
  const all = [...tenant, ...deployment]
  const interchangeable = new Set(
    filterInterchangeableKeys(
      provider,
      all.map(({ key }) => key),
    ),
  )
  const keys = all.filter(({ key }) => interchangeable.has(key))
  return {
    keys: keys.length ? keys : [noKey],
    tenantKeyCount: tenant.filter(({ key }) => interchangeable.has(key)).length || undefined,
  }
}

/** Names of reasoning models; used only when no catalog says whether a model reasons. */
const reasoningModels = /\bo[134]\b|gpt-5|reason|think|r1\b|opus|sonnet|grok-[34]/

/** Caps the output tokens that are requested by default. Settings may request more. */
const maxDefaultOutputTokens = 128_000

/** Resolves the quirks of a route. Quirks of the provider profile override those derived from the model facts. */
function resolveQuirks(
  dialect: DialectName,
  model: string,
  facts: ModelFacts,
  { profile, maxOutput }: { readonly profile: Quirks; readonly maxOutput?: number | undefined },
): Quirks {
  const reasoning = resolveReasoning(dialect, facts, profile.reasoning)
  return {
    ...(facts.efforts && { efforts: facts.efforts }),
    ...(facts.temperature === false && { temperature: 'omitted' as const }),
    ...(dialect === 'anthropic' &&
      facts.maxOutput && { defaultMaxTokens: Math.min(facts.maxOutput, maxDefaultOutputTokens) }),
    ...(dialect === 'anthropic' && cacheMarkModels.test(model) && { cacheMarks: 'native' as const }),
    ...profile,
    ...(reasoning && { reasoning }),
    ...(maxOutput && { defaultMaxTokens: maxOutput }),
  }
}

/** Models in the Anthropic dialect that support its cache marks. */
const cacheMarkModels = /claude|minimax-m[12]/i

/** A profile describes its usual dialect. In the Anthropic and Bedrock dialects the model facts decide. */
function resolveReasoning(dialect: DialectName, facts: ModelFacts, profile: Quirks['reasoning']): Quirks['reasoning'] {
  if (facts.reasoning === false) return 'none'
  if (dialect !== 'anthropic' && dialect !== 'bedrock-converse') return profile
  if (profile === 'budget' || profile === 'adaptive') return profile
  if (facts.adaptive) return 'adaptive'
  return facts.reasoning ? 'budget' : undefined
}

/** Returns how long the provider should cache the prompt prefix; undefined: no cache marks are sent. */
const resolveCacheTtl = (quirks: Quirks, { prompt_caching: caching }: Settings): '5m' | '1h' | undefined =>
  quirks.cacheMarks === 'native' && caching?.enabled !== false ? (caching?.ttl ?? '5m') : undefined
