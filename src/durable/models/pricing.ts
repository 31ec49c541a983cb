/** What a call cost. The provider's own word counts; else the known prices; else it is unknown. */

import { type Counts, oneCall, tallyKey, tokensUsed, type Usage } from '../../agent/model/usage.ts'
import type { Prices, Rates } from '../../agent/providers/catalog/facts.ts'
import type { Route } from '../../agent/routing/route.ts'

/** Anthropic, and Bedrock for Claude: five minutes cost 1.25 times the input, an hour twice as much as the input. */
const hourPerShort = 2 / 1.25

/** Reasoning is billed as output, of which it is a part; what a cache holds has prices of its own. */
export function price(usage: Usage, route: Pick<Route, 'dialect' | 'prices'>): Usage {
  if (usage.costStatus === 'actual' || route.dialect === 'demo') return usage
  const { prices } = route
  // A dialect may know that a model is free; otherwise it says that it does not know.
  if (!prices) return usage
  const rates = ratesFor(usage, prices)
  // Where writing costs no more than reading it first, time costs nothing either.
  const hourly = rates.cachedWrite > rates.input ? rates.cachedWrite * hourPerShort : rates.cachedWrite
  const { hourWrite = 0 } = usage
  const perMillion =
    usage.input * rates.input +
    usage.output * rates.output +
    usage.cachedRead * rates.cachedRead +
    (usage.cachedWrite - hourWrite) * rates.cachedWrite +
    hourWrite * hourly
  const isFree = [rates.input, rates.output, rates.cachedRead, rates.cachedWrite].every((one) => one === 0)
  return { ...usage, costUsd: perMillion / 1_000_000, costStatus: isFree ? 'included' : 'estimated' }
}

/** A prompt beyond a length is dearer as a whole, and so is its answer. */
function ratesFor({ input, cachedRead, cachedWrite }: Counts, { above = [], ...usual }: Prices): Rates {
  const prompt = input + cachedRead + cachedWrite
  return above.findLast(({ tokens }) => prompt > tokens) ?? usual
}

export type Billed = {
  readonly route: Pick<Route, 'id' | 'dialect' | 'prices'>
  /** Absent: the conversation itself. */
  readonly task?: string
}

/** A call that came to its end. Its usage is estimated when the provider kept it to itself. */
export function bill(usage: Usage, estimate: Counts, { route, task }: Billed): Usage {
  const isSilent = tokensUsed(usage) === 0 && usage.costStatus !== 'actual' && route.dialect !== 'demo'
  return oneCall(price(isSilent ? estimate : usage, route), tallyKey(route.id, task), isSilent)
}

/** A call that was cut off, or died: what it was given, and what of its answer was heard. */
export const billCut = (estimate: Counts, { route, task }: Billed): Usage =>
  oneCall(price(estimate, route), tallyKey(route.id, task), true)
