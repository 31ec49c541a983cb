/** Compresses the context before it exceeds the window, a bounded number of times per turn. */

import { timesUsed, type Turn } from '../model/turn.ts'
import type { View } from '../model/ports.ts'
import type { BeforeModel } from './policy.ts'

type Test = (turn: Turn, view: View) => boolean

export const maxCompressions = 3

/** A shorter transcript has nothing to compress. */
const minMessages = 4

export const compressContext: BeforeModel = (turn, view) =>
  isRequested(turn, view) || isNearlyFull(turn, view) ? { do: 'compress' } : undefined

/** A person's request applies once, also when the settings switch compression off. */
const isRequested: Test = ({ compress }, { messageCount: messages }) =>
  compress !== undefined && messages >= minMessages

const isNearlyFull: Test = (turn, { contextTokens, contextWindow, limits: { compression } }) =>
  compression.enabled &&
  contextTokens > contextWindow * compression.threshold &&
  timesUsed(turn, 'compress') < maxCompressions
