/** Finishes the turn after a stop request. No effect is in flight at this point. */

import { stopOutcome } from '#agent/core/turn.ts'
import type { BeforeModel } from './policy.ts'

export const stopOnRequest: BeforeModel = (turn) =>
  turn.stopRequested ? { do: 'finish', outcome: stopOutcome(turn) } : undefined
