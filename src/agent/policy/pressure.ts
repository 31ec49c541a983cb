/** Compress before the prompt stops fitting. At most `ceiling` times a turn, or a full window would loop. */

import { timesUsed } from '../model/turn.ts'
import type { Gate } from './policy.ts'

export const ceiling = 3

export const pressure: Gate = (turn, { contextTokens, contextWindow, limits: { compression } }) =>
  compression.enabled && contextTokens > contextWindow * compression.threshold && timesUsed(turn, 'compress') < ceiling
    ? { do: 'compress' }
    : undefined
