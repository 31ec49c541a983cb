/** Validates the numbers of a provider's usage report. They arrive as unchecked JSON. */

import type { Usage } from '#agent/core/usage.ts'

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e12

/** Returns 0 for anything that is not a valid number of tokens. */
export const toTokenCount = (value: unknown): number => (isAmount(value) ? Math.floor(value) : 0)

/** The fields of a gateway about money. */
export type CostFields = {
  readonly cost?: number
  /** OpenRouter, for an own key of the upstream: `cost` is only the fee. */
  readonly is_byok?: boolean
  readonly cost_details?: { readonly upstream_inference_cost?: number | null } | null
}

/** With an own key the upstream bills its part too. Without that part the cost is unknown. */
export function parseCost({
  cost,
  is_byok: isOwnKey,
  cost_details: details,
}: CostFields): Pick<Usage, 'costUsd' | 'costStatus'> {
  const upstream = isOwnKey ? details?.upstream_inference_cost : 0
  if (!isAmount(cost) || !isAmount(upstream)) return { costUsd: 0, costStatus: 'unknown' }
  return { costUsd: cost + upstream, costStatus: 'actual' }
}
