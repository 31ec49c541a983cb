/** Divides the budget of a batch: the money of a prompt is held before it starts, so that all together never exceed it. */

import type { Batch } from './batch.ts'

/** A prompt with less could not pay for a call. */
const leastUsd = 0.01
const micro = 1_000_000

/**
 * Returns what is held for the next prompt; undefined without a budget. `wait`: prompts that run may leave something.
 * `over`: nothing is left.
 */
export function chooseHold({ plan, counts, spentUsd, heldUsd }: Batch): number | undefined | 'wait' | 'over' {
  const { budgetUsd, usdPerPrompt, concurrency } = plan
  if (budgetUsd === undefined) return usdPerPrompt
  // Rounded down to a millionth, so that the sum of what is held is never above the budget.
  const left = Math.floor((budgetUsd - spentUsd - heldUsd) * micro + 1e-6) / micro
  const free = Math.max(1, Math.min(concurrency - counts.running, counts.pending))
  const hold = usdPerPrompt ?? Math.floor((left / free) * micro) / micro
  const isEnough = hold <= left && (usdPerPrompt !== undefined || hold >= leastUsd)
  if (isEnough) return hold
  if (usdPerPrompt === undefined && left >= leastUsd) return left
  return counts.running ? 'wait' : 'over'
}
