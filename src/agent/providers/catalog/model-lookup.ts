/** Merges the facts about a model. Precedence: settings, the provider's model list, models.dev, built-in models, probe. */

import { builtInModels } from './built-in-models.ts'
import type { ModelFacts, ModelTable, FactSource } from './model-facts.ts'
import { defaultWindow, minWindow } from './context-window.ts'
import { omitUndefined } from './json-values.ts'

/** The fetched model lists, keyed by provider id. */
export type Catalog = {
  readonly provider: Readonly<Record<string, ModelTable>>
  readonly 'models.dev': Readonly<Record<string, ModelTable>>
}
export const emptyCatalog: Catalog = { provider: {}, 'models.dev': {} }

export type ModelQuery = {
  readonly provider: string
  readonly model: string
  /** Facts from the settings of the tenant. */
  readonly settings?: ModelFacts | undefined
  readonly catalog?: Catalog | undefined
  /** A context window learned from a `too-long` error. */
  readonly learnedWindow?: number | undefined
}

/** `source` is the origin of `contextWindow`. */
export type KnownModel = ModelFacts & { readonly contextWindow: number; readonly source: FactSource }

export function lookUpModel({
  provider,
  model,
  settings,
  catalog = emptyCatalog,
  learnedWindow,
}: ModelQuery): KnownModel {
  const layers: readonly (readonly [FactSource, ModelFacts | undefined])[] = [
    ['settings', settings],
    ['provider', getFromTable(catalog.provider[provider], model)],
    ['models.dev', getFromTable(catalog['models.dev'][provider], model)],
    ['built-in', findBuiltIn(provider, model)],
    ['probe', { contextWindow: learnedWindow ?? defaultWindow }],
  ]
  const [source] = layers.find(([, facts]) => facts?.contextWindow) ?? (['probe'] as const)
  const merged = layers.toReversed().reduce<ModelFacts>((lower, [, facts]) => ({ ...lower, ...facts }), {})
  return { contextWindow: defaultWindow, ...merged, source }
}

/**
 * Lists the cataloged models of a provider that can run the agent: with tools, a large enough window, not deprecated.
 * `isWanted` is asked first, because looking up hundreds of models takes milliseconds.
 */
export const listModelNames = (
  catalog: Catalog,
  provider: string,
  isWanted: (model: string) => boolean = () => true,
): readonly string[] => {
  const tables = [catalog.provider[provider], catalog['models.dev'][provider]]
  const names = new Set(tables.flatMap((table) => Object.keys(table ?? {})))
  return [...names].filter(isWanted).filter((model) => {
    const { tools, contextWindow, deprecated } = lookUpModel({ provider, model, catalog })
    return tools !== false && contextWindow >= minWindow && !deprecated
  })
}

/** Names of one model are equal without the variant, dots, capital letters and the date. */
const stemOf = (model: string): string =>
  model
    .toLowerCase()
    .replace(/[:@].*$/, '')
    .replace(/[._]/g, '-')
    .replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, '')

/** Models of a customer: fine-tuned ones and presets. */
const ownModel = /^(?:ft:|@)/

/** Whether the lists of the provider have the model, perhaps with a date or a variant. Undefined: there is no list. */
export function isListed(catalog: Catalog, provider: string, model: string): boolean | undefined {
  const tables = [catalog.provider[provider], catalog['models.dev'][provider]].filter((table) => table !== undefined)
  if (!tables.length || ownModel.test(model)) return undefined
  if (tables.some((table) => Object.hasOwn(table, model))) return true
  const stem = stemOf(model)
  if (tables.some((table) => Object.keys(table).some((name) => stemOf(name) === stem))) return true
  return builtInModels.some(({ family, maker }) => maker === provider && stem === family)
}

/** Removes the prefixes and suffixes that providers add: `anthropic/Claude-Opus-4.8:beta` → `claude-opus-4-8`. */
export const normalizeModelName = (model: string): string =>
  model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|amazon|meta|deepseek|minimax|moonshotai?|qwen|zai)\./, '')
    .replace(/[:@].*$/, '')
    .replace(/[._]/g, '-')

/** A suffix that names the same model: a date, `latest`, or a Bedrock version. */
const versionSuffix = /^(-(\d{8}|\d{4}-\d{2}-\d{2}|latest))?(-v\d+)?$/

function findBuiltIn(provider: string, model: string): ModelFacts | undefined {
  const name = normalizeModelName(model)
  // The demo model matches the provider `demo` only.
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
