/**
 * Stops a turn at its time limit (`agent.max_turn_seconds`). The model then gets one call without tools for its answer.
 * Waits for providers and idle timeouts end at the limit too. Time in which the turn waits for persons does not count.
 */

import type { LoopLimits, View } from '#agent/core/ports.ts'
import type { Turn } from '#agent/core/turn.ts'
import { personWaitMs } from '#agent/core/person-wait.ts'
import type { BeforeModel } from './policy.ts'

/** Returns the time left; Infinity without a limit. */
export const getTimeLeftMs = (turn: Turn, { maxTurnMs = Infinity }: LoopLimits, at: number): number =>
  maxTurnMs - (at - turn.startedAt - personWaitMs(turn, at))

export const isTimeOver = (turn: Turn, { limits }: View, at: number): boolean => getTimeLeftMs(turn, limits, at) <= 0

export const stopAtTimeLimit: BeforeModel = (turn, view) => {
  // A turn that winds up already is ended by its step budget.
  if (turn.guard.halted !== undefined || turn.budget.closing !== 'no' || !isTimeOver(turn, view, view.now))
    return undefined
  const halted = `The ${Math.round((view.limits.maxTurnMs ?? 0) / 1_000)} seconds allowed for this turn are over.`
  const instruction = `${halted} Tools are switched off. Give your final answer now, from what you have.`
  return { do: 'call-model', tools: false, instruction, halted }
}
