/**
 * Works on the goal of a session between its turns: asks the judge about the last turn, starts the next one, and checks
 * the gates. A verdict and the turn that follows are one write, so a crash in between repeats the question and never a
 * turn.
 */

import { textIn, type ToolCallPart, userText } from '#agent/core/message.ts'
import {
  applyGates,
  applyJudgement,
  continuing,
  countGoalTurn,
  type Goal,
  type GoalAction,
  type Judgement,
  pauseGoal,
} from '#agent/schedule/goal/goal.ts'
import {
  judgeInstructions,
  parseVerdict,
  renderContinuation,
  renderForJudge,
  renderGateCheck,
} from '#agent/schedule/goal/goal-text.ts'
import type { GoalStep } from '#agent/schedule/goal/next-goal-step.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import type { Session } from '../session.ts'
import { saveGoal } from '../core/save-goal.ts'
import { goalStepOf, isUnused } from '../core/self-start-timer.ts'
import { refusalFor, startOwnTurn } from './start-turn.ts'

/** Returns whether a turn of the goal has begun. */
export async function workOnGoal(session: Session): Promise<boolean> {
  await session.ensureTenant()
  const { goal } = session.meta
  const step = goalStepOf(session)
  if (!goal || step.do === 'rest' || !isUnused(session)) return false
  const refusal = refusalFor(session, goal.authority)
  if (refusal !== undefined) return rest(session, pauseGoal(goal, refusal))
  const run = session.store.current()?.id
  const after = await takeStep(session, goal, step)
  if (!isCurrent(session, goal, run)) return false
  if (after.next.do === 'rest') return rest(session, { ...after.goal, judgedRun: run })
  return startGoalTurn(session, { goal: after.goal, next: after.next, after: run })
}

/** A person may have changed the goal or written something during the wait. */
const isCurrent = (session: Session, { version }: Goal, run: string | undefined): boolean =>
  session.exists && session.meta.goal?.version === version && isUnused(session) && session.store.current()?.id === run

function rest(session: Session, goal: Goal): false {
  saveGoal(session, goal)
  return false
}

type After = { readonly goal: Goal; readonly next: GoalAction }

async function takeStep(session: Session, goal: Goal, step: GoalStep): Promise<After> {
  switch (step.do) {
    case 'rest':
      return { goal, next: { do: 'rest' } }
    case 'pause':
      return { goal: pauseGoal(goal, step.reason), next: { do: 'rest' } }
    case 'continue':
      return continuing(goal, step.reason)
    case 'read-gates':
      return applyGates(goal, failedGates(session, goal))
    case 'judge':
      return applyJudgement(goal, await judge(session, goal))
  }
}

async function judge(session: Session, goal: Goal): Promise<Judgement> {
  const answer = await session.side('goal_judge', {
    system: judgeInstructions,
    transcript: [userText(renderForJudge(goal, lastTurn(session)))],
    maxTokens: maxJudgeTokens,
  })
  await failpoint('after-goal-judge')
  if (answer.kind === 'answered') return parseVerdict(answer.text)
  const { kind, message } = answer.failure
  return { kind: kind === 'malformed' ? 'unreadable' : 'unreachable', detail: message || kind }
}

const maxJudgeTokens = 4_096
const maxResultChars = 300

/** The answer of the last turn, and its calls with the beginnings of their results. */
function lastTurn({ journal, store }: Session): { readonly answer: string; readonly tools: readonly string[] } {
  const messages = journal.entriesOfRun(store.current()?.id ?? '').map(({ message }) => message)
  const last = messages.findLast(({ role }) => role === 'assistant')
  return {
    answer: last ? textIn(last) : '',
    tools: messages.flatMap((message) =>
      message.role === 'tool' ? [`${message.name}: ${textIn(message).slice(0, maxResultChars)}`] : [],
    ),
  }
}

type GoalTurn = {
  readonly goal: Goal
  readonly next: Exclude<GoalAction, { do: 'rest' }>
  /** The run before it. */
  readonly after: string | undefined
}

function startGoalTurn(session: Session, { goal, next, after }: GoalTurn): Promise<boolean> {
  const begin = (runId: string) => {
    const { meta, store } = session
    if (meta.goal?.version !== goal.version || store.current()?.id !== after) return undefined
    const counted = countGoalTurn(goal, after)
    saveGoal(session, next.do === 'gates' ? { ...counted, gateRun: runId } : counted)
    return next.do === 'gates'
      ? { text: renderGateCheck(goal), calls: goal.gates.map(gateCall) }
      : { text: renderContinuation(goal, next.reason) }
  }
  return startOwnTurn(session, { authority: goal.authority, source: 'goal', begin })
}

const gateTimeoutSeconds = 300
const gateId = (n: number): string => `gate_${n + 1}`

const gateCall = (command: string, n: number): ToolCallPart => ({
  type: 'call',
  id: gateId(n),
  name: 'terminal',
  input: { command, timeout: gateTimeoutSeconds },
})

/** The gates whose command did not succeed, did not run or was denied. */
function failedGates({ journal }: Session, { gates, gateRun = '' }: Goal): readonly string[] {
  const messages = journal.entriesOfRun(gateRun).map(({ message }) => message)
  return gates.filter((_command, n) => {
    const result = messages.find((message) => message.role === 'tool' && message.callId === gateId(n))
    return !result || parseExitCode(textIn(result)) !== 0
  })
}

function parseExitCode(result: string): unknown {
  try {
    return (JSON.parse(result) as { readonly exit_code?: unknown }).exit_code
  } catch {
    // Not the result of a command that has run.
    return undefined
  }
}
