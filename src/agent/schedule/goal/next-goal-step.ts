/** Decides what a session does next for its goal. It is asked whenever the session is idle. */

import { isCancelled, type Outcome } from '#agent/core/turn.ts'
import type { Goal } from './goal.ts'

export type GoalFacts = {
  /** No turn is open, and nothing of a person waits. */
  readonly isIdle: boolean
  readonly lastRun: { readonly id: string; readonly outcome: Outcome; readonly error?: string | undefined } | undefined
  /** Background work will start a turn of its own, so the goal waits for it. */
  readonly isBackgroundBusy: boolean
  /** Whether the process that the goal waits for runs. */
  readonly isProcessRunning: boolean
}

export type GoalStep =
  | { readonly do: 'rest' | 'judge' | 'read-gates' }
  | { readonly do: 'continue' | 'pause'; readonly reason: string }

export function nextGoalStep(goal: Goal, facts: GoalFacts): GoalStep {
  const { state, startsNow } = goal
  if (!facts.isIdle) return rest
  if (state.at === 'waiting') return afterProcess(state.process, facts)
  if (state.at !== 'active' || facts.isBackgroundBusy) return rest
  return startsNow ? { do: 'continue', reason: goal.last?.reason ?? '' } : afterTurn(goal, facts)
}

const rest: GoalStep = { do: 'rest' }

function afterTurn({ judgedRun, gateRun }: Goal, { lastRun }: GoalFacts): GoalStep {
  if (!lastRun || lastRun.id === judgedRun) return rest
  if (isCancelled(lastRun.outcome)) return { do: 'pause', reason: 'The turn was stopped.' }
  if (lastRun.outcome === 'failed') return { do: 'pause', reason: `The turn failed: ${lastRun.error ?? 'unknown'}` }
  return { do: lastRun.id === gateRun ? 'read-gates' : 'judge' }
}

const afterProcess = (process: string, { isProcessRunning }: GoalFacts): GoalStep =>
  isProcessRunning ? rest : { do: 'continue', reason: `The process ${process} has ended.` }
