/**
 * Stops a turn at a spending limit: of the turn, the session, or the tenant per day or month. The model gets one call
 * without tools for its answer. A turn that has not begun gets none.
 */

import type { Limits } from '../model/settings.ts'
import type { Counts } from '../model/usage.ts'
import { noticeOfWork } from './budget.ts'
import type { BeforeModel, OnEnter } from './policy.ts'

/** A limit that the tenant has reached, as its object reports it. `until` is in milliseconds since 1970. */
export type ReachedLimit = { readonly limit: keyof Limits; readonly until: number }

export type Spent = { readonly turn: Counts; readonly session: Counts; readonly reached?: ReachedLimit | undefined }

/** Names the limit that is reached. Unknown costs count as zero: `tokens_per_day` limits those calls. */
export function findReachedLimit(
  limits: Limits,
  { turn, session, reached }: Spent,
  now: number,
): keyof Limits | undefined {
  if (turn.costUsd >= (limits.usd_per_turn ?? Infinity)) return 'usd_per_turn'
  if (session.costUsd >= (limits.usd_per_session ?? Infinity)) return 'usd_per_session'
  return reached && now < reached.until ? reached.limit : undefined
}

const askForAnswer = 'Tools are switched off. Give your final answer now, from what you have.'

export const stopAtSpendingLimit: BeforeModel = (turn, { limitReached }) => {
  if (limitReached === undefined) return undefined
  const halted = `The limit ${limitReached} is reached.`
  const hasBegun = turn.budget.spent > 0 || turn.usage.by !== undefined
  if (!hasBegun || turn.budget.closing !== 'no')
    return { do: 'finish', outcome: 'out-of-budget', halted, notice: noticeOfWork(turn, halted) }
  return { do: 'call-model', tools: false, say: `${halted} ${askForAnswer}`, halted }
}

/** Records the reason when a step halts the tools: the turn winds up as if its budget were spent. */
export const recordHalt: OnEnter = (turn, step) =>
  'halted' in step && step.halted !== undefined ? { ...turn, guard: { ...turn.guard, halted: step.halted } } : turn
