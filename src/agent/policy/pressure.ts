/** Compress before the prompt stops fitting. At most `ceiling` times a turn, or a full window would loop. */

import type { Gate } from './policy.ts'

const threshold = 0.75
export const ceiling = 3

export const pressure: Gate = (turn, view) =>
  view.contextTokens > view.contextWindow * threshold && turn.used.compressions < ceiling
    ? { do: 'compress' }
    : undefined
