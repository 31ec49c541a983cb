/** Reads and changes the goal of a session for the API. */

import type { Authority } from '#agent/core/permission/authority.ts'
import {
  changeGoal,
  contractFields,
  type ContractField,
  createGoal,
  type Goal,
  maxGoalTurns,
  pauseGoal,
  resumeGoal,
} from '#agent/schedule/goal/goal.ts'
import { saveGoal } from '../core/save-goal.ts'
import { findWorkRefusal } from '../core/work-of-others.ts'
import type { Session } from '../session.ts'

/** Absent parts are empty in a new goal, and unchanged in a change. */
type GoalParts = {
  readonly contract?: { readonly [Field in ContractField]?: string | undefined } | undefined
  readonly criteria?: readonly string[] | undefined
  readonly gates?: readonly string[] | undefined
}
export type NewGoalBody = GoalParts & { readonly text: string; readonly state?: 'draft' | 'active' | undefined }
/** `active` resumes the goal with fresh counters, `waiting` needs the id of a process. */
export type GoalChange = GoalParts & GoalMove & { readonly text?: string | undefined }

type GoalMove = {
  readonly state?: 'active' | 'paused' | 'waiting' | undefined
  readonly process?: string | undefined
}

const goalView = ({ text, contract, criteria, gates, state, turns, last }: Goal) => ({
  text,
  state: state.at,
  reason: 'reason' in state ? state.reason : null,
  process: state.at === 'waiting' ? state.process : null,
  contract,
  criteria,
  gates,
  turns,
  max_turns: maxGoalTurns,
  last: last ?? null,
})
export type GoalView = ReturnType<typeof goalView>
/** Explains why this caller may not change the goal. */
export type Refused = { readonly refusal: string }

const findRefusal = (session: Session, authority: Authority, isFree = false): Refused | undefined => {
  const refusal = isFree ? undefined : findWorkRefusal(session, 'goal', { authority })
  return refusal === undefined ? undefined : { refusal }
}

/** Replaces the goal. An active one starts its first turn as soon as the session is idle. */
export function setGoal(session: Session, authority: Authority, body: NewGoalBody): GoalView | Refused | null {
  const refused = findRefusal(session, authority)
  if (refused) return refused
  const { meta, store } = session
  const { text, state = 'active' } = body
  const given = { text, ...parseParts(body), state: { at: state }, authority, judgedRun: store.current()?.id } as const
  saveGoal(session, createGoal({ ...given, startsNow: state === 'active' }, (meta.goal?.version ?? 0) + 1))
  return viewOf(session)
}

/** Null when the session has no goal; `no-process` when no process with this id runs. */
export function updateGoal(
  session: Session,
  authority: Authority,
  change: GoalChange,
): GoalView | Refused | null | 'no-process' {
  const { text, contract, criteria, gates, state } = change
  const hasContent = [text, contract, criteria, gates].some((part) => part !== undefined)
  const refused = findRefusal(session, authority, state === 'paused' && !hasContent)
  if (refused) return refused
  const { goal } = session.meta
  if (!goal) return null
  const content = { text: text ?? goal.text, ...parseParts(change, goal) }
  const changed = hasContent ? changeGoal(goal, content, authority) : { ...goal, version: goal.version + 1 }
  const moved = moveTo(session, { goal: changed, authority }, change)
  if (!moved) return 'no-process'
  saveGoal(session, moved)
  return viewOf(session)
}

/** False when there was none. */
export function clearGoal(session: Session, authority: Authority): boolean | Refused {
  const refused = findRefusal(session, authority)
  if (refused) return refused
  if (!session.meta.goal) return false
  saveGoal(session, undefined)
  return true
}

export const viewOf = ({ meta }: Session): GoalView | null => (meta.goal ? goalView(meta.goal) : null)

const parseParts = (
  { contract, criteria, gates }: GoalParts,
  held?: Goal,
): Pick<Goal, 'contract' | 'criteria' | 'gates'> => ({
  contract: Object.fromEntries(
    contractFields.flatMap((field) => {
      const text = contract?.[field] ?? held?.contract[field]
      return text ? [[field, text]] : []
    }),
  ),
  criteria: criteria ?? held?.criteria ?? [],
  gates: gates ?? held?.gates ?? [],
})

type Held = { readonly goal: Goal; readonly authority: Authority }

/** Undefined when the process does not run. */
function moveTo({ toolRuntime }: Session, { goal, authority }: Held, { state, process }: GoalMove): Goal | undefined {
  if (state === 'active') return resumeGoal(goal, authority)
  if (state === 'paused') return pauseGoal(goal, 'Paused by a person.')
  if (state === undefined) return goal
  const running = toolRuntime.processes.list().filter((one) => one.state.at === 'running')
  const found = running.find(({ id }) => id === process)
  return found && { ...goal, state: { at: 'waiting', process: found.id } }
}
