/** Builds the billing group of the turn's effects: estimates usage, reserves calls and reports them to the tenant. */

import type { Turn } from '#agent/core/turn.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { contextTokens } from './context-tokens.ts'
import { highestCost } from '#durable/models/pricing.ts'
import type { CallCost } from '#durable/tenant/billing/session-billing.ts'
import type { BillingEffects, Chosen } from './effects.ts'
import type { TurnSession } from './turn-session.ts'

export const createBillingEffects = (session: TurnSession): BillingEffects => ({
  estimate: (output) => estimateUsage(session, output),
  takeSideUsage: () => session.billing.claimSideCalls(session.store.current()),
  reserve: (turn, chosen) => session.billing.reserve(turn, mostCostOf(session, turn, chosen)),
  report: (turn, usage) => session.billing.report(turn, usage),
})

/** Answers are rarely longer. A larger reservation would hold back calls that there is room for. */
const maxReservedOutput = 16_384

/** Estimates the most that a call can cost: its prompt and the longest answer. */
function mostCostOf(session: TurnSession, { options, repairs }: Turn, { route, endpoint }: Chosen): CallCost {
  const requested = repairs.maxTokens ?? options.maxTokens ?? session.settings.model?.max_tokens
  const longest = requested ?? endpoint.quirks?.defaultMaxTokens ?? route.facts?.maxOutput ?? maxReservedOutput
  return highestCost(route, contextTokens(session), Math.min(longest, maxReservedOutput))
}

/** Estimates the usage of a call with this output. Its cost is unknown until prices are applied. */
export const estimateUsage = (session: TurnSession, output: string): Usage => ({
  ...noUsage,
  input: contextTokens(session),
  output: estimateTokens(output),
  costStatus: 'unknown',
})
