/** Someone pressed stop. Nothing further is started; what was running has already settled. */

import type { BeforeModel } from './policy.ts'

export const stopOnRequest: BeforeModel = (turn) =>
  turn.stopRequested ? { do: 'finish', outcome: 'stopped' } : undefined
