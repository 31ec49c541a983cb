/** Divides the budget of a batch: the money of a prompt is held before it starts, so that all together never exceed it. */

import type { Batch } from './batch.ts'

const micro = 1_000_000

/**
 * Returns what is held for the next prompt; undefined without a budget. `wait`: prompts that run may leave something.
 * `over`: nothing is left.
 */
export function chooseHold(batch: Batch): number | undefined | 'wait' | 'over' {
  const { plan, counts, spentUsd, heldUsd, leastUsd = 0.01 } = batch
  if (plan.budgetUsd === undefined) return plan.usdPerPrompt
  // Rounded down to a millionth, so that the sum of what is held is never above the budget.
  const left = Math.floor((plan.budgetUsd - spentUsd - heldUsd) * micro + 1e-6) / micro
  const free = Math.max(1, Math.min(plan.concurrency - counts.running, counts.pending))
  const share = Math.max(leastUsd, Math.floor((left / free) * micro) / micro)
  const hold = plan.usdPerPrompt ?? share
  if (hold <= left) return hold
  if (counts.running) return 'wait'
  // A share is raised by a factor, so the largest that was refused may lie below what is left.
  const isUntried = plan.usdPerPrompt === undefined && left * raiseFactor > (batch.leastUsd ?? Infinity)
  return isUntried ? left : 'over'
}

const raiseFactor = 2

/** The share was too small for the first call of a prompt: fewer run at a time, with more for each. */
export const raiseShare = (heldUsd: number): number => heldUsd * raiseFactor
