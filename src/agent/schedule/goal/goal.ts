/** Defines the goal of a session and how it changes. It is plain JSON in the metadata of the session. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities, joinAuthority, type TurnAuthority } from '#agent/core/permission/contribution.ts'

/** Notes of a person about the end of the work. Every part may be empty. */
export const contractFields = ['outcome', 'verification', 'constraints', 'boundaries', 'stop_when'] as const
export type ContractField = (typeof contractFields)[number]
export type GoalContract = Readonly<Partial<Record<ContractField, string>>>

export type GoalState =
  /** It is being written: nothing starts. */
  | { readonly at: 'draft' }
  | { readonly at: 'active' }
  /** Active again when the process has ended. */
  | { readonly at: 'waiting'; readonly process: string }
  | { readonly at: 'paused'; readonly reason: string }
  | { readonly at: 'done'; readonly reason: string }

export type Verdict = { readonly verdict: 'done' | 'continue' | 'wait'; readonly reason: string }

export type Goal = {
  readonly text: string
  readonly contract: GoalContract
  /** Further criteria, in their order. */
  readonly criteria: readonly string[]
  /** Shell commands that must succeed before the goal counts as reached. */
  readonly gates: readonly string[]
  readonly state: GoalState
  /** Turns that the goal has started since it was set or resumed. */
  readonly turns: number
  /** The next turn starts without a verdict. */
  readonly startsNow?: boolean | undefined
  /** The last run that was judged, or that had ended when the goal was set. */
  readonly judgedRun?: string | undefined
  /** The run that has checked the gates, until its results are read. */
  readonly gateRun?: string | undefined
  /** How often the gates have failed. */
  readonly gateFailures: number
  /** Failures of the judge in a row. */
  readonly judgeFailures: { readonly parse: number; readonly transport: number }
  readonly last?: Verdict | undefined
  /** The authority of the goal's turns: what everybody may who has set, changed or resumed it. */
  readonly authority: TurnAuthority
  /** Counts the changes by people, so that a verdict about an older goal is dropped. */
  readonly version: number
}

export const maxGoalTurns = 20
export const maxGoalChars = 8_000
export const maxCriteria = 50
export const maxGates = 10
export const maxGateChars = 2_000
/** The first check, and three repeats. */
const maxGateFailures = 4
const maxParseFailures = 3
const maxTransportFailures = 5

export type NewGoal = Partial<Pick<Goal, 'contract' | 'criteria' | 'gates' | 'startsNow' | 'judgedRun'>> & {
  readonly text: string
  readonly state: Extract<GoalState, { at: 'draft' | 'active' }>
  readonly authority: Authority
}

export const createGoal = ({ authority, ...goal }: NewGoal, version: number): Goal => ({
  contract: {},
  criteria: [],
  gates: [],
  turns: 0,
  gateFailures: 0,
  judgeFailures: { parse: 0, transport: 0 },
  version,
  ...goal,
  authority: combineAuthorities([authority]),
})

export type GoalContent = Partial<Pick<Goal, 'text' | 'contract' | 'criteria' | 'gates'>>

/** Changes what the turns of the goal work on. From here on they may do only what the author of the change may too. */
export const changeGoal = (goal: Goal, change: GoalContent, by: Authority): Goal => ({
  ...goal,
  ...change,
  authority: joinAuthority(goal.authority, by),
  version: goal.version + 1,
})

/** The authority of a goal that somebody starts or resumes: the turns run for that person, with what its authors may do too. */
export const takeOverGoal = (goal: Goal, by: Authority): TurnAuthority => combineAuthorities([by, goal.authority])

/** Goes on with fresh counters. */
export const resumeGoal = (goal: Goal, by: Authority): Goal => ({
  ...goal,
  state: { at: 'active' },
  turns: 0,
  gateFailures: 0,
  judgeFailures: { parse: 0, transport: 0 },
  startsNow: true,
  gateRun: undefined,
  authority: takeOverGoal(goal, by),
  version: goal.version + 1,
})

export const pauseGoal = (goal: Goal, reason: string): Goal => ({
  ...goal,
  state: { at: 'paused', reason },
  startsNow: undefined,
})

const finishGoal = (goal: Goal, reason: string): Goal => ({ ...goal, state: { at: 'done', reason } })

/** Counts a turn that starts now. `run`: the run before it. */
export const countGoalTurn = (goal: Goal, run: string | undefined): Goal => ({
  ...goal,
  state: { at: 'active' },
  turns: goal.turns + 1,
  startsNow: undefined,
  judgedRun: run ?? goal.judgedRun,
})

/** The judge's answer about a run, or how it failed. */
export type Judgement =
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  | { readonly kind: 'unreadable' | 'unreachable'; readonly detail: string }

/** The goal after a judgement, and what follows. A judge that fails does not stop the work, unless it keeps failing. */
export function applyJudgement(goal: Goal, judgement: Judgement): { readonly goal: Goal; readonly next: GoalAction } {
  if (judgement.kind === 'verdict') return applyVerdict(goal, judgement.verdict)
  const { parse, transport } = goal.judgeFailures
  const isUnreadable = judgement.kind === 'unreadable'
  const judgeFailures = isUnreadable ? { parse: parse + 1, transport: 0 } : { parse: 0, transport: transport + 1 }
  const failed = { ...goal, judgeFailures }
  if (judgeFailures.parse >= maxParseFailures)
    return pausing(failed, `The judge gave ${maxParseFailures} answers in a row that could not be read.`)
  if (judgeFailures.transport >= maxTransportFailures)
    return pausing(failed, `The judge could not be asked ${maxTransportFailures} times in a row: ${judgement.detail}`)
  return continuing(failed, 'The judge could not decide, so the work goes on.')
}

/** The step after a judgement: nothing, a turn that works on, or a turn that checks the gates. */
export type GoalAction =
  | { readonly do: 'rest' }
  | { readonly do: 'gates' }
  | { readonly do: 'continue'; readonly reason: string }

const rest: GoalAction = { do: 'rest' }

function applyVerdict(held: Goal, verdict: Verdict): { readonly goal: Goal; readonly next: GoalAction } {
  const goal = { ...held, last: verdict, judgeFailures: { parse: 0, transport: 0 } }
  switch (verdict.verdict) {
    case 'wait':
      return { goal, next: rest }
    case 'continue':
      return continuing(goal, verdict.reason)
    case 'done':
      if (!goal.gates.length) return { goal: finishGoal(goal, verdict.reason), next: rest }
      return hasTurns(goal) ? { goal, next: { do: 'gates' } } : outOfTurns(goal)
  }
}

/** The goal after its gates were checked. `failed`: the commands that did not succeed. */
export function applyGates(held: Goal, failed: readonly string[]): { readonly goal: Goal; readonly next: GoalAction } {
  const goal = { ...held, gateRun: undefined }
  if (!failed.length) return { goal: finishGoal(goal, held.last?.reason ?? 'All gates pass.'), next: rest }
  const counted = { ...goal, gateFailures: goal.gateFailures + 1 }
  if (counted.gateFailures >= maxGateFailures)
    return pausing(counted, `These gates failed ${maxGateFailures} times: ${failed.join('; ')}`)
  return continuing(counted, `These gates failed: ${failed.join('; ')}. Find out why and mend it.`)
}

export const continuing = (goal: Goal, reason: string): { readonly goal: Goal; readonly next: GoalAction } =>
  hasTurns(goal) ? { goal, next: { do: 'continue', reason } } : outOfTurns(goal)

const hasTurns = ({ turns }: Goal): boolean => turns < maxGoalTurns

const outOfTurns = (goal: Goal) => pausing(goal, `It has used its ${maxGoalTurns} turns. Resume it to go on.`)

const pausing = (goal: Goal, reason: string) => ({ goal: pauseGoal(goal, reason), next: rest })
