/** Converts the settings of a model to facts. */

import type { Settings } from '#agent/core/settings.ts'
import type { ModelFacts, Prices } from './model-facts.ts'
import { omitUndefined } from './json-values.ts'

export type ModelSettings = NonNullable<Settings['models']>[string]

export function factsFromSettings(settings: ModelSettings | undefined): ModelFacts {
  const { web_search: searchPrice, ...rates } = settings?.prices ?? {}
  // The price of searches alone leaves the catalog's prices of tokens as they are.
  const hasRates = settings?.prices && (searchPrice === undefined || Object.keys(rates).length > 0)
  return omitUndefined<ModelFacts>({
    contextWindow: settings?.context_window,
    maxOutput: settings?.max_output,
    images: settings?.images,
    pdf: settings?.pdf,
    reasoning: settings?.reasoning,
    prices: hasRates ? parsePrices(rates) : undefined,
    searchPrice,
  })
}

/** Returns the higher of each rate. */
export const maxPrices = (first: Prices, second: Prices = first): Prices => ({
  ...second,
  input: Math.max(first.input, second.input),
  output: Math.max(first.output, second.output),
  cachedRead: Math.max(first.cachedRead, second.cachedRead),
  cachedWrite: Math.max(first.cachedWrite, second.cachedWrite),
})

/** Missing rates are 0; missing cache rates equal the input rate. */
const parsePrices = ({
  input = 0,
  output = 0,
  cached_read: read,
  cached_write: write,
}: NonNullable<ModelSettings['prices']>): Prices => ({
  input,
  output,
  cachedRead: read ?? input,
  cachedWrite: write ?? input,
})
