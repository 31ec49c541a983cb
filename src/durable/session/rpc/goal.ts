/** RPC subject `goal`: reads and changes the goal of a session. Its code is loaded with the first call. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type * as Goals from '../self-started/change-goal.ts'
import type { GoalChange, GoalView, NewGoalBody, Refused } from '../self-started/change-goal.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'

export class GoalSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Null when the session has no goal. */
  get(authority: Authority): Promise<GoalView | null | undefined> {
    return this.#with(authority, (goals, session) => goals.viewOf(session))
  }

  set(authority: Authority, body: NewGoalBody): Promise<GoalView | Refused | null | undefined> {
    return this.#with(authority, (goals, session) => goals.setGoal(session, authority, body))
  }

  change(authority: Authority, change: GoalChange): Promise<GoalView | Refused | null | 'no-process' | undefined> {
    return this.#with(authority, (goals, session) => goals.updateGoal(session, authority, change))
  }

  clear(authority: Authority): Promise<boolean | Refused | undefined> {
    return this.#with(authority, (goals, session) => goals.clearGoal(session, authority))
  }

  async #with<T>(authority: Authority, work: (goals: typeof Goals, session: Session) => T): Promise<T | undefined> {
    const goals = await import('../self-started/change-goal.ts')
    return this.#host.with(authority, (session) => work(goals, session))
  }
}
