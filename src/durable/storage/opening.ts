/** Creates the turn that a message opens. */

import type { TurnOptions } from '#agent/core/turn-options.ts'
import { endTurn, newTurn, type Outcome, type Turn } from '#agent/core/turn.ts'
import type { Usage } from '#agent/core/usage.ts'

export type Opening = {
  readonly options: TurnOptions
  readonly limit: number
  readonly usageBefore: Usage
  /** Inbox items that are part of the messages. */
  readonly drain?: readonly number[] | undefined
  /** The turn is over as soon as it begins. */
  readonly outcome?: Outcome
}

/** `before`: the turn before, which passes on how well compressions did. */
export function openingTurn(
  runId: string,
  now: number,
  { options, limit, usageBefore, outcome }: Opening,
  before?: Turn,
): Turn {
  const { compression } = before ?? {}
  const turn = { ...newTurn(runId, now, limit, options), usageBefore, ...(compression && { compression }) }
  return outcome ? endTurn(turn, outcome, now) : turn
}
