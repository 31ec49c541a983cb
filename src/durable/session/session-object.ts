/**
 * Defines the Durable Object of a session. Its RPC methods are grouped by subject
 * (`stub.files.read(path)` is one call), streams go through `fetch`, and the alarm resumes what is due.
 */

import { DurableObject } from 'cloudflare:workers'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { redactLogs } from '#durable/platform/log-redaction.ts'
import { refuseNewerSchema } from '#durable/platform/schema-version.ts'
import { readSessionSchema } from '#durable/storage/journal.ts'
import { handleAlarm } from './alarm.ts'
import { AccessSubject } from './rpc/access.ts'
import { BrowserSubject } from './rpc/browser.ts'
import { CheckpointsSubject } from './rpc/checkpoints.ts'
import { HistorySubject } from './rpc/history.ts'
import { OpenaiConversationSubject } from './rpc/openai-conversation.ts'
import { InjectedSubject } from './rpc/injected.ts'
import { GoalSubject } from './rpc/goal.ts'
import { FilesSubject } from './rpc/files.ts'
import { InboundSubject } from './rpc/inbound.ts'
import { InfoSubject } from './rpc/info.ts'
import { JobsSubject } from './rpc/jobs.ts'
import { PendingSubject } from './rpc/pending.ts'
import { ResponsesSubject } from './rpc/responses.ts'
import { RunsSubject } from './rpc/runs.ts'
import { SubagentsSubject } from './rpc/subagents.ts'
import { TransferSubject } from './rpc/transfer.ts'
import { SessionHost } from './session-host.ts'
import { serveStream } from './serve-stream.ts'

export class SessionDO extends DurableObject<Env> {
  readonly #host!: SessionHost
  readonly #subjects!: ReturnType<typeof createSubjects>

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, inJurisdiction(env))
    armFailpoints(env.FAILPOINTS)
    redactLogs(env)
    if (refuseNewerSchema(ctx, readSessionSchema(ctx.storage.sql))) return
    this.#host = new SessionHost(ctx, this.env)
    this.#subjects = createSubjects(this.#host)
  }

  // RPC reaches getters of the prototype and nothing that an instance owns.

  get info(): InfoSubject {
    return this.#subjects.info
  }

  get runs(): RunsSubject {
    return this.#subjects.runs
  }

  get openaiConversation(): OpenaiConversationSubject {
    return this.#subjects.openaiConversation
  }

  get responses(): ResponsesSubject {
    return this.#subjects.responses
  }

  get pending(): PendingSubject {
    return this.#subjects.pending
  }

  get inbound(): InboundSubject {
    return this.#subjects.inbound
  }

  get injected(): InjectedSubject {
    return this.#subjects.injected
  }

  get subagents(): SubagentsSubject {
    return this.#subjects.subagents
  }

  get goal(): GoalSubject {
    return this.#subjects.goal
  }

  get history(): HistorySubject {
    return this.#subjects.history
  }

  get transfer(): TransferSubject {
    return this.#subjects.transfer
  }

  get files(): FilesSubject {
    return this.#subjects.files
  }

  get checkpoints(): CheckpointsSubject {
    return this.#subjects.checkpoints
  }

  get browser(): BrowserSubject {
    return this.#subjects.browser
  }

  get access(): AccessSubject {
    return this.#subjects.access
  }

  get jobs(): JobsSubject {
    return this.#subjects.jobs
  }

  override fetch(request: Request): Promise<Response> {
    return serveStream(this.#host, request)
  }

  override webSocketMessage(): void {
    // Sockets only receive events. Messages go through the API, where they are checked and counted.
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
    const { session } = this.#host
    if (session.exists) await session.inTurnContext(() => session.access.unwatch())
  }

  /** Application errors end here; an error of an object that is being reset is rethrown, so that the runtime calls the alarm again. */
  override alarm(): Promise<void> {
    return this.#host.session.inTurnContext(() => this.#runAlarm())
  }

  async #runAlarm(): Promise<void> {
    await this.#host.rearm()
    const { session, incomingCopy } = this.#host
    if (session.turns.isClosing) return
    if (!session.exists) return incomingCopy.handleAlarm()
    await handleAlarm(session)
  }
}

const createSubjects = (host: SessionHost) => ({
  info: new InfoSubject(host),
  runs: new RunsSubject(host),
  responses: new ResponsesSubject(host),
  openaiConversation: new OpenaiConversationSubject(host),
  pending: new PendingSubject(host),
  inbound: new InboundSubject(host),
  injected: new InjectedSubject(host),
  subagents: new SubagentsSubject(host),
  history: new HistorySubject(host),
  goal: new GoalSubject(host),
  transfer: new TransferSubject(host),
  files: new FilesSubject(host),
  checkpoints: new CheckpointsSubject(host),
  browser: new BrowserSubject(host),
  access: new AccessSubject(host),
  jobs: new JobsSubject(host),
})
