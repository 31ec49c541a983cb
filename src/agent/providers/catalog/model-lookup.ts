/** Looks a model up, in the order of belief: settings, the provider's own list, models.dev, built in, a probe. */

import { builtInModels } from './built-in-models.ts'
import type { ModelFacts, ModelTable, FactSource } from './model-facts.ts'
import { defaultWindow, minWindow } from './context-window.ts'
import { omitUndefined } from './json-values.ts'

/** What was fetched, by our names of providers. */
export type Catalog = {
  readonly provider: Readonly<Record<string, ModelTable>>
  readonly 'models.dev': Readonly<Record<string, ModelTable>>
}
export const emptyCatalog: Catalog = { provider: {}, 'models.dev': {} }

export type ModelQuery = {
  readonly provider: string
  readonly model: string
  /** What the settings say of it. */
  readonly settings?: ModelFacts | undefined
  readonly catalog?: Catalog | undefined
  /** A window that was found out by asking for too much. */
  readonly learnedWindow?: number | undefined
}

/** `source` says where the window is from. */
export type KnownModel = ModelFacts & { readonly contextWindow: number; readonly source: FactSource }

export function lookUpModel({ provider, model, settings, catalog = emptyCatalog, learnedWindow: learnt }: ModelQuery): KnownModel {
  const layers: readonly (readonly [FactSource, ModelFacts | undefined])[] = [
    ['settings', settings],
    ['provider', getFromTable(catalog.provider[provider], model)],
    ['models.dev', getFromTable(catalog['models.dev'][provider], model)],
    ['built-in', findBuiltIn(provider, model)],
    ['probe', { contextWindow: learnt ?? defaultWindow }],
  ]
  const [source] = layers.find(([, facts]) => facts?.contextWindow) ?? (['probe'] as const)
  const merged = layers.toReversed().reduce<ModelFacts>((below, [, facts]) => ({ ...below, ...facts }), {})
  return { contextWindow: defaultWindow, ...merged, source }
}

/** Names of a provider's models that the catalogs know and that can be an agent's: with tools, and large enough. */
export const listModelNames = (catalog: Catalog, provider: string): readonly string[] => {
  const tables = [catalog.provider[provider], catalog['models.dev'][provider]]
  const names = new Set(tables.flatMap((table) => Object.keys(table ?? {})))
  return [...names].filter((model) => {
    const { tools, contextWindow, deprecated } = lookUpModel({ provider, model, catalog })
    return tools !== false && contextWindow >= minWindow && !deprecated
  })
}

/** `anthropic/Claude-Opus-4.8:beta` → `claude-opus-4-8`: names differ in what providers put around them. */
export const normalizeModelName = (model: string): string =>
  model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|amazon|meta|deepseek|minimax|moonshotai?|qwen|zai)\./, '')
    .replace(/[:@].*$/, '')
    .replace(/[._]/g, '-')

/** What may follow a name without making it another model: a date, a version of Bedrock, `latest`. */
const versionSuffix = /^(-(\d{8}|\d{4}-\d{2}-\d{2}|latest))?(-v\d+)?$/

function findBuiltIn(provider: string, model: string): ModelFacts | undefined {
  const name = normalizeModelName(model)
  // The stand-in is no model of anybody.
  const candidates = builtInModels.filter(
    ({ family, maker }) => isInFamily(name, family) && (maker === 'demo') === (provider === 'demo'),
  )
  const best = candidates.toSorted((a, b) => b.family.length - a.family.length)[0]
  if (!best) return undefined
  const { family, maker, prices, knowledge, ...facts } = best
  if (!versionSuffix.test(name.slice(family.length))) return facts
  return omitUndefined<ModelFacts>({ ...facts, knowledge, prices: provider === maker ? prices : undefined })
}

const isInFamily = (name: string, family: string): boolean => name === family || name.startsWith(`${family}-`)

const getFromTable = (table: ModelTable | undefined, model: string): ModelFacts | undefined =>
  table && Object.hasOwn(table, model) ? table[model] : undefined
