/** Returns when a session has to check its goal, its loop and its heartbeat. */

import type { Goal } from '#agent/schedule/goal/goal.ts'
import { type GoalFacts, type GoalStep, nextGoalStep } from '#agent/schedule/goal/next-goal-step.ts'
import { recurringWake } from '#agent/schedule/recurring/recurring.ts'
import { clock } from '#durable/platform/clock.ts'
import { leaseMs } from '#durable/platform/schedule.ts'
import type { Session } from '../session.ts'

/** No turn is open, and no message of a person waits for one. */
export const isUnused = ({ store, driver }: Session): boolean =>
  !store.hasOpenTurn && !driver.isDriving && store.queued().length === 0

export class SelfStartTimer {
  /** Set while the work is done: the alarm then only checks that it goes on. */
  isWorking = false
  readonly #session: Session
  #notBefore = 0

  constructor(session: Session) {
    this.#session = session
  }

  /** Nothing is due while a turn is open. */
  getNextWake(): number | undefined {
    const { exists, store, meta } = this.#session
    if (!exists || store.hasOpenTurn) return undefined
    const now = clock.now()
    if (this.isWorking) return now + leaseMs
    const times = [
      goalStepOf(this.#session).do === 'rest' ? undefined : now,
      meta.loop && recurringWake(meta.loop, now),
      meta.heartbeat && recurringWake(meta.heartbeat, now),
    ].filter((at) => at !== undefined)
    return times.length ? Math.max(this.#notBefore, Math.min(...times)) : undefined
  }

  /** Nothing is tried again before this time has passed, because a limit refuses it. */
  postpone(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, clock.now() + ms)
  }
}

export function goalStepOf(session: Session): GoalStep {
  const { goal } = session.meta
  return goal ? nextGoalStep(goal, factsOf(session, goal)) : { do: 'rest' }
}

function factsOf(session: Session, { state }: Goal): GoalFacts {
  const { store, injected, toolRuntime } = session
  const { stage, id = '' } = store.current() ?? {}
  const running = toolRuntime.processes.list().filter((process) => process.state.at === 'running')
  const isExpected = toolRuntime.processes.hasNotice() || running.some(({ notify }) => notify)
  return {
    // A driver that is about to stop leaves no turn open: the alarm comes after it.
    isIdle: !store.hasOpenTurn && store.queued().length === 0,
    lastRun: stage?.at === 'done' ? { id, outcome: stage.outcome, error: stage.failure?.message } : undefined,
    isBackgroundBusy: isExpected || injected.waiting().length > 0,
    isProcessRunning: state.at === 'waiting' && running.some((process) => process.id === state.process),
  }
}
