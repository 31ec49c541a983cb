/**
 * A turn may be given a time (`agent.max_turn_seconds`). When it is over, tools are off and the model says
 * what it has, as when its steps are used up; no pause of the recovery and no answer of a model goes beyond it.
 * Without the setting a turn takes as long as its steps do. Time in which it waits for people is not its own.
 */

import type { LoopLimits, View } from '../model/ports.ts'
import type { Turn } from '../model/turn.ts'
import { personWaitMs } from '../model/person-wait.ts'
import type { BeforeModel } from './policy.ts'

/** Milliseconds that are left of it; Infinity when it has none. */
export const getTimeLeftMs = (turn: Turn, { maxTurnMs: maxTurn = Infinity }: LoopLimits, at: number): number =>
  maxTurn - (at - turn.startedAt - personWaitMs(turn, at))

export const isTimeOver = (turn: Turn, { limits }: View, at: number): boolean => getTimeLeftMs(turn, limits, at) <= 0

export const stopAtTimeLimit: BeforeModel = (turn, view) => {
  // Once it winds up, the budget's gate leads it to its end.
  if (turn.guard.halted !== undefined || turn.budget.closing !== 'no' || !isTimeOver(turn, view, view.now))
    return undefined
  const halted = `The ${Math.round((view.limits.maxTurnMs ?? 0) / 1_000)} seconds allowed for this turn are over.`
  const say = `${halted} Tools are switched off. Give your final answer now, from what you have.`
  return { do: 'call-model', tools: false, say, halted }
}
