/**
 * Stops a turn at a spending limit: of the turn, the session, or the tenant per day or month. A call is reserved before
 * it is sent, so nothing is sent any more once a limit is used up. The turn ends with a notice that names the limit.
 */

import type { Limits } from '#agent/core/settings.ts'
import {
  addNote,
  type Commit,
  endTurn,
  modelCallUse,
  type Result,
  timesUsed,
  type Turn,
  warningNote,
} from '#agent/core/turn.ts'
import { type Counts, isAbove, isUsedUp, tokensUsed } from '#agent/core/usage.ts'
import type { View } from '#agent/core/ports.ts'
import { noticeOfWork } from './budget.ts'
import { withDraft } from './give-up.ts'
import type { AfterEffect, BeforeModel, OnEnter, OnReply } from './policy.ts'
import { isTimeOver } from './time-limit.ts'

export type Spent = { readonly turn: Counts; readonly session: Counts }

/** A limit that is nearly used up. */
export type LimitWarning = { readonly limit: keyof Limits; readonly percent: number }

/** The limits that a session checks itself, in the order in which they are checked. */
const ownLimits = [
  { limit: 'tokens_per_turn', of: 'turn', unit: 'tokens' },
  { limit: 'usd_per_turn', of: 'turn', unit: 'usd' },
  { limit: 'tokens_per_session', of: 'session', unit: 'tokens' },
  { limit: 'usd_per_session', of: 'session', unit: 'usd' },
] as const satisfies readonly { limit: keyof Limits; of: keyof Spent; unit: 'tokens' | 'usd' }[]

const amountOf = (counts: Counts, unit: 'tokens' | 'usd') => (unit === 'usd' ? counts.costUsd : tokensUsed(counts))

/** Names the limit of the turn or the session that is used up. */
export const findReachedLimit = (limits: Limits, spent: Spent): keyof Limits | undefined =>
  ownLimits.find(({ limit, of, unit }) => isUsedUp(amountOf(spent[of], unit), limits[limit] ?? Infinity))?.limit

/** Names the limit that a call of a known price would exceed. `more`: its price, and what other calls may cost. */
export const findExceededLimit = (
  limits: Limits,
  spent: Spent,
  more: { readonly tokens: number; readonly usd: number },
): keyof Limits | undefined =>
  ownLimits.find(
    ({ limit, of, unit }) =>
      more[unit] > 0 && isAbove(amountOf(spent[of], unit) + more[unit], limits[limit] ?? Infinity),
  )?.limit

const warningPercent = 80

/** Finds a limit of the turn or the session of which 80 % are used, and were not before the turn. */
export function findNearLimit(limits: Limits, spent: Spent, sessionBefore: Counts): LimitWarning | undefined {
  for (const { limit, of, unit } of ownLimits) {
    const max = limits[limit]
    if (max === undefined) continue
    const percentOf = (counts: Counts) => Math.floor((amountOf(counts, unit) / max) * 100)
    const percent = percentOf(spent[of])
    if (percent >= warningPercent && (of === 'turn' || percentOf(sessionBefore) < warningPercent))
      return { limit, percent }
  }
  return undefined
}

const usdLimits = ['usd_per_turn', 'usd_per_session', 'usd_per_day', 'usd_per_month'] as const

/** Whether a limit in USD is set for the turn. A call without a known price cannot be checked against it. */
export const hasUsdLimit = (limits: Limits, isUnattended: boolean): boolean =>
  usdLimits.some((limit) => limits[limit] !== undefined) ||
  (isUnattended && limits.unattended_usd_per_day !== undefined)

export const stopAtSpendingLimit: BeforeModel = (turn, { limitReached }) => {
  if (limitReached === undefined) return undefined
  const halted = explainLimit(limitReached)
  return { do: 'finish', outcome: 'out-of-budget', halted, notice: noticeOfWork(turn, halted) }
}

export const explainLimit = (limit: string): string => `The limit ${limit} is reached.`

/** Records the reason when a step halts the tools: the turn winds up as if its budget were spent. */
export const recordHalt: OnEnter = (turn, step) =>
  'halted' in step && step.halted !== undefined ? { ...turn, guard: { ...turn.guard, halted: step.halted } } : turn

/** Notes once that a limit is nearly used up. The event log gets it as a `status` event. */
export const warnNearLimit: OnReply = ({ turn }, { limitWarning, now }) => {
  if (!limitWarning) return undefined
  const { limit, percent } = limitWarning
  const isNoted = turn.notes.some(({ did, why }) => did === warningNote && why.endsWith(` ${limit}`))
  return isNoted ? undefined : { turn: addNote(turn, now, warningNote, `${percent} % of ${limit}`) }
}

/**
 * Settles a call that was not sent, because no limit had room for it. It waits while other calls have reserved the rest,
 * else it ends the turn.
 */
export const settleRefusedCall: AfterEffect = ({ turn, result }, view) =>
  isRefused(result) ? { commit: waitForRoom(turn, result, view) ?? endOutOfBudget(turn, result, view) } : undefined

type RefusedCall = Extract<Result, { of: 'failure' }>
const isRefused = (result: Result): result is RefusedCall => result.of === 'failure' && result.failure.kind === 'limit'

function waitForRoom(turn: Turn, { failure }: RefusedCall, view: View): Commit | undefined {
  if (failure.retryAfterMs === undefined || turn.stopRequested) return undefined
  const delayMs = Math.round(failure.retryAfterMs * (1 + view.random))
  const until = view.now + delayMs
  const waited = turn.waited + delayMs
  if (waited > view.limits.maxWaitMs || isTimeOver(turn, view, until)) return undefined
  const stage = { at: 'waiting', since: view.now, until, why: failure.kind } as const
  return { turn: { ...withoutCall(turn), waited, stage } }
}

function endOutOfBudget(turn: Turn, { failure }: RefusedCall, view: View): Commit {
  const ended = endTurn(withoutCall(turn), turn.stopRequested ? 'stopped' : 'out-of-budget', view.now)
  const notice = noticeOfWork(turn, failure.message)
  return {
    turn: { ...ended, guard: { ...ended.guard, halted: failure.message } },
    append: [withDraft(turn, notice)],
  }
}

/** The call was not sent, so it does not count as an attempt. */
const withoutCall = (turn: Turn): Turn =>
  turn.stage.at === 'calling-model'
    ? { ...turn, used: { ...turn.used, [modelCallUse]: timesUsed(turn, modelCallUse) - 1 } }
    : turn
