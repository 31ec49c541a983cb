/** Calculates the cost of a call: as the provider reports it, else from known prices, else unknown. */

import { type Counts, noUsage, usageOfCall, tallyKey, tokensUsed, type Usage } from '#agent/core/usage.ts'
import { defaultSearchPrice, type Prices, type Rates } from '#agent/providers/catalog/model-facts.ts'
import type { Route } from '#agent/routing/route.ts'

/** Anthropic, and Bedrock for Claude: a cache write costs 1.25 times the input for 5 minutes, 2 times for an hour. */
const hourWriteFactor = 2 / 1.25

/** Adds the cost to a usage. Reasoning tokens are part of the output; cached tokens have their own prices. */
export function addCost(usage: Usage, route: Pick<Route, 'dialect' | 'prices' | 'facts'>): Usage {
  if (usage.costStatus === 'actual' || route.dialect === 'demo') return usage
  const { prices } = route
  if (!prices) return usage
  const rates = ratesFor(usage, prices)
  // A provider that does not charge extra for cache writes does not charge for their duration either.
  const hourly = rates.cachedWrite > rates.input ? rates.cachedWrite * hourWriteFactor : rates.cachedWrite
  const { hourWrite = 0 } = usage
  const perMillion =
    usage.input * rates.input +
    usage.output * rates.output +
    usage.cachedRead * rates.cachedRead +
    (usage.cachedWrite - hourWrite) * rates.cachedWrite +
    hourWrite * hourly
  const searchUsd = ((usage.webSearches ?? 0) * (route.facts?.searchPrice ?? defaultSearchPrice)) / 1_000
  const isFree =
    !searchUsd && [rates.input, rates.output, rates.cachedRead, rates.cachedWrite].every((one) => one === 0)
  return { ...usage, costUsd: perMillion / 1_000_000 + searchUsd, costStatus: isFree ? 'included' : 'estimated' }
}

/** Returns the rates of the price tier that the length of the prompt selects, for the whole call. */
function ratesFor({ input, cachedRead, cachedWrite }: Counts, { above = [], ...usual }: Prices): Rates {
  const prompt = input + cachedRead + cachedWrite
  return above.findLast(({ tokens }) => prompt > tokens) ?? usual
}

export type BilledCall = {
  readonly route: Pick<Route, 'id' | 'dialect' | 'prices' | 'facts'>
  /** The task of a side call. Absent for the conversation itself. */
  readonly task?: string
}

/** Bills a completed call. Its usage is estimated when the provider reports none. */
export function billCall(usage: Usage, estimate: Counts, { route, task }: BilledCall): Usage {
  const isEstimated = tokensUsed(usage) === 0 && usage.costStatus !== 'actual' && route.dialect !== 'demo'
  return usageOfCall(addCost(isEstimated ? estimate : usage, route), tallyKey(route.id, task), isEstimated)
}

/** Bills an interrupted call by its prompt and the part of the answer that was received. */
export const billInterrupted = (estimate: Counts, { route, task }: BilledCall): Usage =>
  usageOfCall(addCost(estimate, route), tallyKey(route.id, task), true)

/** The most that a call can cost, before it is sent. `usd` is undefined when the price of the model is unknown. */
export function highestCost(route: Pick<Route, 'id' | 'dialect' | 'prices'>, input: number, output: number) {
  const isFree = route.dialect === 'demo'
  const { costUsd } = addCost({ ...noUsage, input, output, costStatus: 'unknown' }, route)
  return { model: route.id, tokens: input + output, usd: route.prices || isFree ? costUsd : undefined }
}
