/** What a call cost. The provider's own word counts; else the prices of the settings; else it is unknown. */

import type { Usage } from '../agent/model/usage.ts'
import type { Route } from '../agent/wire/route.ts'

export function price(usage: Usage, route: Route): Usage {
  if (usage.costStatus === 'actual' || route.dialect === 'demo') return usage
  const { prices } = route
  if (!prices) return usage
  const perMillion =
    usage.input * prices.input +
    usage.output * prices.output +
    usage.cachedRead * prices.cachedRead +
    usage.cachedWrite * prices.cachedWrite
  return { ...usage, costUsd: perMillion / 1_000_000, costStatus: 'estimated' }
}
