/** RPC subject `runs`: submits messages, and waits for, reads and stops runs. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '../../../agent/model/authority.ts'
import type { RunEnded } from '../../../agent/model/event.ts'
import type { TenantSnapshot } from '../../tenant/tenant-snapshot.ts'
import type { RunView } from '../api-views.ts'
import { withAnswerFiles } from '../answer-files.ts'
import { endOf, runOf } from '../read-session.ts'
import type { RequestCommand } from '../intake/request.ts'
import { isNotAccepted, type Submitted } from '../intake/intake.ts'
import { submit } from '../submit.ts'
import type { SessionHost } from '../session-host.ts'

export class RunsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  submit(command: RequestCommand): Promise<Submitted | undefined> {
    return submit(this.#host.session, command, this.#host.env.BLOBS)
  }

  /** Submits a message and waits for the end of its run. Without `run` and `end` it was not accepted. */
  async submitAndWait(
    command: RequestCommand,
  ): Promise<{ submitted: Submitted; run?: RunView; end?: RunEnded } | undefined> {
    const submitted = await this.submit(command)
    if (!submitted) return undefined
    if (isNotAccepted(submitted)) return { submitted }
    const run = await this.wait(command.authority, submitted.runId)
    const end = endOf(this.#host.session, submitted.runId)
    return run && end && { submitted, run, end }
  }

  /** A run in any state. Undefined also when the session has no such run. */
  get(authority: Authority, runId: string): Promise<RunView | undefined> {
    return this.#host.with(authority, () => this.#find(runId))
  }

  /** The run once it has ended; also a queued one. */
  wait(authority: Authority, runId: string): Promise<RunView | undefined> {
    return this.#host.with(authority, async (session) => {
      const run = runOf(session, runId)
      if (run?.exit_reason !== null) return this.#find(runId)
      // Subscribes before the turn is resumed: it may end at once.
      const ended = session.streams.ended(runId)
      session.turns.resumeIfUndriven()
      await ended
      return this.#find(runId)
    })
  }

  async #find(runId: string): Promise<RunView | undefined> {
    const { session, env } = this.#host
    const run = runOf(session, runId)
    return run && withAnswerFiles(session, env, run)
  }

  /** Stops the open turn, or only this run. False when it is not running. */
  stop(authority: Authority, runId?: string): Promise<boolean | undefined> {
    return this.#host.with(authority, ({ store, turns }) => {
      if (runId !== undefined && !(store.hasOpenTurn && store.turn().id === runId)) return false
      return turns.stop()
    })
  }

  /** Undoes the last turn and submits its message again. `busy`, `nothing`: a turn is open, or there is none to repeat. */
  retry(authority: Authority, runId: string, tenant: TenantSnapshot): Promise<Submitted | undefined> {
    return submit(this.#host.session, { kind: 'retry', authority, runId, tenant })
  }
}
