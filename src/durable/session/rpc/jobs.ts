/** RPC subject `jobs`: what the runs of jobs ask of sessions. The first call creates the session of a run. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type {
  ChatNotice,
  JobOutcome,
  JobPrompt,
  JobScript,
  JobSession,
  NoticeState,
  ScriptOutcome,
  SessionJobs,
  StartOutcome,
} from '#durable/tenant/jobs/session-port.ts'
import { notifyChat } from '../jobs/notify-chat.ts'
import { openJobSession, readOutcome, startJob } from '../jobs/job-session.ts'
import { runScript } from '../jobs/run-script.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'

export class JobsSubject extends RpcTarget implements SessionJobs {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Undefined when the session belongs to something else. */
  runScript(authority: Authority, session: JobSession, script: JobScript): Promise<ScriptOutcome | undefined> {
    return this.#open(authority, session, (opened) => runScript(opened, this.#host.env, script))
  }

  /** Starts the turn of the run. A repeated call with the same run changes nothing. */
  start(authority: Authority, session: JobSession, prompt: JobPrompt): Promise<StartOutcome | undefined> {
    return this.#open(authority, session, (opened) => startJob(opened, this.#host.env, authority, prompt))
  }

  async outcome(authority: Authority, runId: string): Promise<JobOutcome> {
    return (await this.#host.with(authority, (session) => readOutcome(session, runId))) ?? { kind: 'unknown' }
  }

  /** Deletes the session of a run that started no turn. */
  async discard(authority: Authority, jobRun: string): Promise<void> {
    await this.#host.asCaller(authority, async () => {
      const { session } = this.#host
      if (!this.#host.isOwn(authority) || !session.exists || session.meta.jobRun !== jobRun) return
      if (!session.store.current()) await this.#host.delete()
    })
  }

  /** Sends a text to the chat of this session, once per key. Undefined when the session cannot be used. */
  notify(authority: Authority, notice: ChatNotice): Promise<NoticeState | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      await this.#host.find()
      return notifyChat(this.#host.session, notice)
    })
  }

  #open<T>(authority: Authority, spec: JobSession, work: (session: Session) => Promise<T>): Promise<T | undefined> {
    return this.#host.asCaller(authority, async () => {
      const session = this.#host.isOwn(authority) ? await openJobSession(this.#host, spec) : undefined
      return session && work(session)
    })
  }
}
