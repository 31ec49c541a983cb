/** Builds the billing group of the turn's effects: estimates usage and reports it to the tenant. */

import { noUsage, type Usage } from '../../agent/model/usage.ts'
import { estimateTokens } from '../../agent/prompt/estimate-tokens.ts'
import { contextTokens } from './context-tokens.ts'
import type { BillingEffects } from './effects.ts'
import type { TurnSession } from './turn-session.ts'

export const createBillingEffects = (session: TurnSession): BillingEffects => ({
  estimate: (output) => estimateUsage(session, output),
  takeSideUsage: () => session.billing.claimSideCalls(session.store.current()),
  report: (turn, usage) => session.billing.report(turn, usage),
})

/** Estimates the usage of a call with this output. Its cost is unknown until prices are applied. */
export const estimateUsage = (session: TurnSession, output: string): Usage => ({
  ...noUsage,
  input: contextTokens(session),
  output: estimateTokens(output),
  costStatus: 'unknown',
})
