/** What the settings say about a model, in our words. */

import type { Settings } from '../../model/settings.ts'
import type { ModelFacts, Prices } from './model-facts.ts'
import { omitUndefined } from './json-values.ts'

export type ModelSettings = NonNullable<Settings['models']>[string]

export const factsFromSettings = (said: ModelSettings | undefined): ModelFacts =>
  omitUndefined<ModelFacts>({
    contextWindow: said?.context_window,
    maxOutput: said?.max_output,
    images: said?.images,
    reasoning: said?.reasoning,
    prices: said?.prices && parsePrices(said.prices),
  })

/** Of each rate the higher one. */
export const maxPrices = (one: Prices, other: Prices = one): Prices => ({
  ...other,
  input: Math.max(one.input, other.input),
  output: Math.max(one.output, other.output),
  cachedRead: Math.max(one.cachedRead, other.cachedRead),
  cachedWrite: Math.max(one.cachedWrite, other.cachedWrite),
})

/** What is not named costs nothing; what comes from a cache costs as much as what does not. */
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
