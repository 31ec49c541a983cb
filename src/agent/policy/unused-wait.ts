/** Takes back the unused part of a wait that ends early, so that only real waiting counts for the limit. */

import type { OnEnter } from './policy.ts'

export const refundUnusedWait: OnEnter = (turn, _step, { now }) => {
  const { stage, waited } = turn
  if (stage.at !== 'waiting' || now >= stage.until) return turn
  return { ...turn, waited: waited - (stage.until - Math.max(now, stage.since)) }
}
