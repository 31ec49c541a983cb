/** Looks a model up, in the order of belief: settings, the provider's own list, models.dev, built in, a probe. */

import { entries } from './built-in.ts'
import type { Facts, ModelTable, Source } from './facts.ts'
import { firstTier, smallestWindow } from './probe.ts'
import { present } from './read.ts'

/** What was fetched, by our names of providers. */
export type Catalog = {
  readonly provider: Readonly<Record<string, ModelTable>>
  readonly 'models.dev': Readonly<Record<string, ModelTable>>
}
export const noCatalog: Catalog = { provider: {}, 'models.dev': {} }

export type Asked = {
  readonly provider: string
  readonly model: string
  /** What the settings say of it. */
  readonly settings?: Facts | undefined
  readonly catalog?: Catalog | undefined
  /** A window that was found out by asking for too much. */
  readonly learnt?: number | undefined
}

/** `source` says where the window is from. */
export type Known = Facts & { readonly contextWindow: number; readonly source: Source }

export function lookUp({ provider, model, settings, catalog = noCatalog, learnt }: Asked): Known {
  const layers: readonly (readonly [Source, Facts | undefined])[] = [
    ['settings', settings],
    ['provider', inTable(catalog.provider[provider], model)],
    ['models.dev', inTable(catalog['models.dev'][provider], model)],
    ['built-in', builtIn(provider, model)],
    ['probe', { contextWindow: learnt ?? firstTier }],
  ]
  const [source] = layers.find(([, facts]) => facts?.contextWindow) ?? (['probe'] as const)
  const merged = layers.toReversed().reduce<Facts>((below, [, facts]) => ({ ...below, ...facts }), {})
  return { contextWindow: firstTier, ...merged, source }
}

/** Names of a provider's models that the catalogs know and that can be an agent's: with tools, and large enough. */
export const namesIn = (catalog: Catalog, provider: string): readonly string[] => {
  const tables = [catalog.provider[provider], catalog['models.dev'][provider]]
  const names = new Set(tables.flatMap((table) => Object.keys(table ?? {})))
  return [...names].filter((model) => {
    const { tools, contextWindow, deprecated } = lookUp({ provider, model, catalog })
    return tools !== false && contextWindow >= smallestWindow && !deprecated
  })
}

/** `anthropic/Claude-Opus-4.8:beta` → `claude-opus-4-8`: names differ in what providers put around them. */
export const plainName = (model: string): string =>
  model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|amazon|meta|deepseek|minimax|moonshotai?|qwen|zai)\./, '')
    .replace(/[:@].*$/, '')
    .replace(/[._]/g, '-')

/** What may follow a name without making it another model: a date, a version of Bedrock, `latest`. */
const sameModel = /^(-(\d{8}|\d{4}-\d{2}-\d{2}|latest))?(-v\d+)?$/

function builtIn(provider: string, model: string): Facts | undefined {
  const name = plainName(model)
  // The stand-in is no model of anybody.
  const candidates = entries.filter(
    ({ family, maker }) => isOf(name, family) && (maker === 'demo') === (provider === 'demo'),
  )
  const best = candidates.toSorted((a, b) => b.family.length - a.family.length)[0]
  if (!best) return undefined
  const { family, maker, prices, knowledge, ...facts } = best
  if (!sameModel.test(name.slice(family.length))) return facts
  return present<Facts>({ ...facts, knowledge, prices: provider === maker ? prices : undefined })
}

const isOf = (name: string, family: string): boolean => name === family || name.startsWith(`${family}-`)

const inTable = (table: ModelTable | undefined, model: string): Facts | undefined =>
  table && Object.hasOwn(table, model) ? table[model] : undefined
