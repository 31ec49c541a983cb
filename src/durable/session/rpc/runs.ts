/** RPC subject `runs`: submits messages, and waits for, reads and stops runs. */

import { RpcTarget } from 'cloudflare:workers'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import type { RunEnded } from '#agent/core/event.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { RunView } from '../views/api-views.ts'
import { endOf, runOf } from '../views/read-session.ts'
import type { ContinueSubmission } from '../intake/continue.ts'
import type { RequestSubmission } from '../intake/request.ts'
import { isNotAccepted, type Submitted } from '../intake/intake.ts'
import type { RunPart } from '#durable/events/streams.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { blockingPart, describeWaiting, segmentOf, type SegmentView } from '../views/segments.ts'
import { submit } from '../submit.ts'
import type { SessionHost } from '../session-host.ts'
import { BackendError } from '#agent/core/backend.ts'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import { type AnswerFile, findAttachmentPaths } from '#agent/public-api/answer-attachments.ts'
import { clock } from '#durable/platform/clock.ts'
import { createLink } from '#durable/platform/signed-links.ts'
import { findAttachmentProblem } from '#durable/turn/judge-attachment.ts'
import type { Session } from '../session.ts'

export class RunsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  submit(command: RequestSubmission | ContinueSubmission): Promise<Submitted | undefined> {
    return submit(this.#host.session, command, this.#host.env.BLOBS)
  }

  /** Submits a message and waits for the end of its run. Without `run` and `end` it was not accepted. */
  async submitAndWait(
    command: RequestSubmission,
  ): Promise<{ submitted: Submitted; run?: RunView; end?: RunEnded } | undefined> {
    const submitted = await this.submit(command)
    if (!submitted) return undefined
    if (isNotAccepted(submitted)) return { submitted }
    const leave = this.#host.session.clients.enter(submitted.runId, command.client)
    const run = await this.wait(command.authority, submitted.runId).finally(leave)
    const end = endOf(this.#host.session, submitted.runId)
    return run && end && { submitted, run, end }
  }

  /**
   * Submits a message or answers of the caller, and waits until the run ends or waits for its caller. Without `run` and
   * `segment` it was not accepted.
   */
  async submitUntilSegment(
    command: RequestSubmission | ContinueSubmission,
  ): Promise<{ submitted: Submitted; run?: RunView; segment?: SegmentView } | undefined> {
    const submitted = await this.submit(command)
    if (!submitted) return undefined
    if (isNotAccepted(submitted)) return { submitted }
    const leave = this.#host.session.clients.enter(submitted.runId, command.client)
    const answer = await this.waitForSegment(command.authority, submitted).finally(leave)
    return answer && { submitted, ...answer }
  }

  /**
   * The part of a run once it has ended, with the run. The last part of the run before it when a queued run cannot begin,
   * because that one waits for its caller.
   */
  waitForSegment(
    authority: Authority,
    { runId, segment = 0 }: RunPart,
  ): Promise<{ run: RunView; segment: SegmentView } | undefined> {
    return this.#host.with(authority, async (session) => {
      const part = { runId, segment }
      const find = () => segmentOf(session, part) ?? blockingPart(session, part)
      if (!find()) {
        // Subscribes before the turn is resumed: it may end at once.
        const ended = session.streams.ended(part)
        session.turns.resumeIfUndriven()
        await ended
      }
      const found = find()
      const run = found && (await this.#find(found.runId))
      if (!run) return undefined
      const mayApprove = hasScope(narrowByRoles(authority, session.tenant.access.roles), 'approve')
      const notice = !found.end && { notice: describeWaiting(session, part, mayApprove) }
      return { run, segment: { ...found, ...notice } }
    })
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
      const ended = session.streams.ended({ runId })
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

  /** Stops the open turn and all subagents, or only this run. A queued run is taken back. False when it is over. */
  stop(authority: Authority, runId?: string): Promise<boolean | undefined> {
    return this.#host.with(authority, ({ store, turns, queue, subagents }) => {
      const stopped = runId === undefined ? (subagents.stop() ?? 0) : 0
      if (stopped > 0) return turns.stop() || true
      if (runId === undefined || (store.hasOpenTurn && store.turn().id === runId)) return turns.stop()
      return queue.takeBack(runId)
    })
  }

  /** Takes a queued run back. `begun`: it runs or has ended. */
  takeBack(authority: Authority, runId: string): Promise<'taken' | 'begun' | 'unknown' | undefined> {
    return this.#host.with(authority, (session) => {
      if (session.queue.takeBack(runId) || session.queue.wasTakenBack(runId)) return 'taken'
      return runOf(session, runId) ? 'begun' : 'unknown'
    })
  }

  /** The client with this name has gone away: nobody waits for its run any more. */
  async leave(authority: Authority, client: string): Promise<void> {
    if (this.#host.isOwn(authority)) this.#host.session.clients.leave(client)
  }

  /** Undoes the last turn and submits its message again. `busy`, `nothing`: a turn is open, or there is none to repeat. */
  retry(authority: Authority, runId: string, tenant: TenantSnapshot): Promise<Submitted | undefined> {
    return submit(this.#host.session, { kind: 'retry', authority, runId, tenant })
  }
}

/** Adds the files to a run that has ended. A run that names none needs no request to its backend. */
async function withAnswerFiles(session: Session, env: Env, run: RunView): Promise<RunView> {
  if (run.exit_reason === null) return run
  const messages = session.journal.entriesOfRun(run.run_id).map(({ message }) => message)
  const paths = findAttachmentPaths(messages)
  if (!paths.length) return run
  const found = await Promise.all(paths.map((path) => describeFile(session, env, path)))
  const files = found.filter((file) => typeof file === 'object')
  const problems = found.filter((file) => typeof file === 'string')
  const output = [...(run.output === null ? [] : [run.output]), ...problems].join('\n\n')
  const attachments = [...new Map(files.map((file) => [file.path, file])).values()]
  return { ...run, ...(problems.length > 0 && { output }), attachments }
}

/**
 * Undefined for a path that is no file of the workspace, or while the backend cannot be reached. A text says why a file
 * is not attached.
 */
async function describeFile(session: Session, env: Env, path: string): Promise<AnswerFile | string | undefined> {
  const { backend } = session.toolRuntime
  const root = backend.resolve('.')
  const resolved = backend.resolve(path)
  if (!resolved.startsWith(`${root}/`)) return undefined
  const stat = await backend.userFiles.stat(resolved).catch((error: unknown) => {
    if (error instanceof BackendError) return undefined
    throw error
  })
  if (stat?.type !== 'file') return undefined
  const problem = await findAttachmentProblem(session, path)
  if (problem !== undefined) return problem
  const relative = resolved.slice(root.length + 1)
  const { tenantId, sessionId } = session
  const url = await createLink(env, { tenantId, sessionId, path: relative }, clock.now())
  return { path: relative, mime: mediaTypeOf(relative), bytes: stat.size, url: url ?? '' }
}
