/** Which models a turn may use, in order, and what is needed to call them. Pure: variables in, routes out. */

import type { DialectName, Endpoint } from '../model/dialect.ts'
import { addressOf, allKeysOf, findProvider, missingFor, type NamedKey, type Sources } from './availability.ts'
import type { Facts, Prices, Source } from '../providers/catalog/facts.ts'
import { lookUp } from '../providers/catalog/lookup.ts'
import { present } from '../providers/catalog/read.ts'
import { dearer, factsSaid, type Said } from '../providers/catalog/from-settings.ts'
import { keyName } from './credentials.ts'
import { chooseDialect, samePool } from './dialect-choice.ts'
import type { Settings } from '../model/settings.ts'
import { type Provider, providers } from '../providers/profiles/providers.ts'
import { cacheFor, quirksFor } from './quirks.ts'

export type { Sources, Variables } from './availability.ts'
export type { Prices } from '../providers/catalog/facts.ts'

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
  readonly ownKeys?: number
  readonly overloadMs?: number
  /** Tokens. */
  readonly contextWindow: number
  /** Who says that the window is so large. */
  readonly source?: Source
  /** USD per million tokens, where they are known. */
  readonly prices?: Prices
  /** How long the provider is asked to keep the beginning of the prompt; absent: no marks. */
  readonly cache?: '5m' | '1h'
  readonly facts?: Facts
}

export const splitId = (id: string): readonly [provider: string, model: string] => {
  const slash = id.indexOf('/')
  return slash < 0 ? ['', id] : [id.slice(0, slash), id.slice(slash + 1)]
}

/** The deployment's own choice: MODEL, else the first provider that can be asked and has a model of its own. */
export function defaultModel(sources: Sources): string {
  const named = sources.variables['MODEL']?.trim()
  if (named) return named
  const first = providers.find((provider) => provider.defaultModel && !missingFor(provider, sources))
  return first ? `${first.id}/${first.defaultModel}` : 'demo/agent'
}

/** The same model by the provider's own name, whatever it was called. */
export function fullId(asked: string, settings?: Settings): string {
  const [name, model] = splitId(asked)
  return `${findProvider(name, settings)?.id ?? name}/${model}`
}

/** Undefined when the provider is unknown or something is missing for it. */
export function routeOf(asked: string, sources: Sources): Route | undefined {
  const [name, model] = splitId(asked)
  const provider = findProvider(name, sources.settings)
  if (!provider || !model || missingFor(provider, sources)) return undefined
  const id = `${provider.id}/${model}`
  return made({ id, model, provider, said: saidOf(id, sources.settings) }, sources)
}

/** What keeps a model from being asked, in words; undefined when nothing does. */
export function missingForModel(asked: string, sources: Sources): string | undefined {
  const provider = findProvider(splitId(asked)[0], sources.settings)
  return provider ? missingFor(provider, sources) : 'there is no provider of this name'
}

/** What the settings say of a model, by whichever name of its provider. */
function saidOf(id: string, settings: Settings = {}): Said | undefined {
  const { models = {} } = settings
  return models[id] ?? Object.entries(models).find(([name]) => fullId(name, settings) === id)?.[1]
}

type Found = {
  readonly id: string
  readonly model: string
  readonly provider: Provider
  /** By the settings. */
  readonly said: Said | undefined
}

function made(found: Found, sources: Sources): Route {
  const { id, model, provider, said } = found
  const { settings = {} } = sources
  const { keys, ownKeys } = poolOf(provider, sources)
  const chosen = chooseDialect(
    provider,
    { model, address: addressOf(provider, sources.variables), key: keys[0]?.key ?? '' },
    said?.dialect ?? settings.providers?.[provider.id]?.dialect,
  )
  const { source, ...facts } = knownOf(found, sources, keys.length > (ownKeys ?? 0))
  const quirks = quirksFor(chosen.dialect, model, facts, { profile: chosen.quirks, maxOutput: said?.max_output })
  return present<Route>({
    id,
    dialect: chosen.dialect,
    model,
    provider: provider.id,
    aggregator: provider.aggregator ?? false,
    reasoning: facts.reasoning ?? thinkers.test(model),
    endpoints: keys.map((named) => ({ ...named, baseUrl: chosen.baseUrl, headers: chosen.headers, quirks })),
    ownKeys,
    overloadMs: provider.overloadMs,
    contextWindow: facts.contextWindow,
    source,
    prices: facts.prices,
    cache: cacheFor(quirks, settings),
    facts,
  })
}

/**
 * What a tenant says of prices counts where the deployment may pay (with its key, or without one) only as far as it is
 * dearer: its limits in USD are the owner's.
 */
function knownOf({ model, provider, said }: Found, sources: Sources, isDeployments: boolean) {
  const asked = {
    provider: provider.id,
    model,
    catalog: sources.catalog,
    learnt: sources.learnt?.[`${provider.id}/${model}`],
  }
  const known = lookUp({ ...asked, settings: factsSaid(said) })
  if (!known.prices || !isDeployments || sources.isOwner || provider.id.startsWith('custom:')) return known
  return { ...known, prices: dearer(known.prices, lookUp(asked).prices) }
}

const noKey: NamedKey = { id: keyName(''), key: '' }

/** The keys that can stand in for each other, the tenant's before those of the deployment. */
function poolOf(provider: Provider, sources: Sources) {
  const { own, deployed } = allKeysOf(provider, sources)
  const all = [...own, ...deployed]
  const same = new Set(
    samePool(
      provider,
      all.map(({ key }) => key),
    ),
  )
  const keys = all.filter(({ key }) => same.has(key))
  return { keys: keys.length ? keys : [noKey], ownKeys: own.filter(({ key }) => same.has(key)).length || undefined }
}

/** Names by which models that think are known; only asked when nothing is known of a model. */
const thinkers = /\bo[134]\b|gpt-5|reason|think|r1\b|opus|sonnet|grok-[34]/
