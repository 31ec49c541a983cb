/**
 * A session: one object, one transcript, at most one turn at a time. It only wires; the loop decides. Which file of
 * this room does what: docs/design/durable.md.
 */

import { DurableObject } from 'cloudflare:workers'
import type { RunEnded } from '../../agent/model/event.ts'
import { patchSettings, type SettingsFault } from '../../agent/model/settings.ts'
import type { ExportFormat } from '../../agent/public-api/export.ts'
import { publicEvent } from '../../agent/public-api/events.ts'
import type { ApprovalAnswer } from '../../agent/model/approval.ts'
import { lookAfter } from './alarm.ts'
import { type Decided, decideApproval } from './approvals.ts'
import { type FromChat, press, type Pressed, takeFromChat } from './inbound.ts'
import { compressNow } from './compress.ts'
import { close, forget } from './deletion.ts'
import { differenceSince, listCheckpoints, reachable, type Rollback, rollback } from './checkpoints.ts'
import { exportSession, type Imported, importSession } from './export.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { armFailpoints } from '../platform/failpoint.ts'
import { Arrival, copySession, type SessionCopy } from './fork.ts'
import { createTurnMachine } from '../turn/turn-machine.ts'
import { Session } from './session.ts'
import type { NewSession } from '../storage/session-metadata.ts'
import {
  type Accepted,
  endOf,
  type EventPage,
  eventsAfter,
  eventsOf,
  listMessages,
  type MessagePage,
  runOf,
  statusOf,
} from './read-session.ts'
import { deliverAnswer, isQuestion, waitingFor, wasCalled } from '../turn/pending-requests.ts'
import { undoTurns, type UndoneTurns } from './undo.ts'
import { accept, type FollowRequest, type Say, type StreamRequest } from './submit.ts'
import { renderOf } from '../events/stream-format.ts'
import { mostListeners } from '../events/streams.ts'
import type { TenantSnapshot } from '../tenant/tenant-snapshot.ts'
import { tenantStub } from '../tenant/tenant-stub.ts'
import type { Admission } from '../tenant/tenant-object.ts'
import { type RunView, type SessionStatus, type SessionView, sessionView } from './api-views.ts'
import { leaseMs } from '../platform/schedule.ts'
import { type FileAnswer, workspace } from './files.ts'
import { clock } from '../platform/clock.ts'

/** Names the run in answers that are streamed. */
export const runHeader = 'x-talaria-run-id'
/** Says what became of the request: Accepted['status']. */
export const statusHeader = 'x-talaria-run-status'
/** Nothing begins, and there is nothing to follow: what the object answers then. */
const notTaken: Partial<Record<Accepted['status'], number>> = { idle: 204, 'too-large': 413, passed: 409 }

/**
 * What the worker calls. Unless they say otherwise, methods answer undefined when there is no such session, neither
 * here nor in history, and reject only when the platform fails or we do. What they tell of is durable by then.
 */
export class SessionDO extends DurableObject<Env> {
  #core: Session
  readonly #arrival: Arrival

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    armFailpoints(env.FAILPOINTS)
    this.#core = new Session(ctx, env, createTurnMachine)
    const forgetMemory = () => this.#forgetMemory()
    this.#arrival = new Arrival({ core: () => this.#core, storage: ctx.storage, blobs: env.BLOBS, forgetMemory })
  }

  // --- the session

  async describe(): Promise<SessionView | undefined> {
    if (!(await this.#found())) return undefined
    return sessionView(this.#core.record(), statusOf(this.#core))
  }

  /** Cheaply, for lists: an object that has nothing is asked for nothing. */
  status(): SessionStatus {
    return this.#core.exists ? statusOf(this.#core) : 'idle'
  }

  /** Whether a turn may begin, as far as the money for the whole session goes. */
  async admits(usd: number): Promise<Admission> {
    if (!(await this.#found()) || this.#core.record().usage.costUsd < usd) return { ok: true }
    return { ok: false, limit: 'usd_per_session', retryAfter: 86_400 }
  }

  /** Creating it twice is creating it once. */
  async create(spec: NewSession, tenant: TenantSnapshot): Promise<SessionView> {
    await this.#core.known.know(tenant)
    this.#core.create(spec)
    this.#core.updateMeta({})
    return this.#shown()
  }

  /** What is not named stays. `settings` is a patch: null takes a value back. */
  async update(change: {
    title?: string | null
    model?: string | null
    settings?: object
  }): Promise<{ is: 'updated'; view: SessionView } | SettingsFault | undefined> {
    if (!(await this.#found())) return undefined
    const patched = change.settings && patchSettings(this.#core.meta.settings, change.settings)
    if (patched?.is === 'wrong') return patched
    this.#core.updateMeta({ ...change, settings: patched ? patched.settings : this.#core.meta.settings })
    return { is: 'updated', view: await this.#shown() }
  }

  /**
   * Ends what runs and removes everything there is of the session, here last of all: after a failure or a
   * crash it is still there, and can be deleted again.
   */
  async remove(): Promise<boolean> {
    if (!(await this.#found())) return false
    try {
      await close(this.#core)
      await forget(this.#core, this.env)
      await this.ctx.storage.deleteAlarm()
      await this.ctx.storage.deleteAll()
    } catch (error) {
      // What goes by itself tries again.
      await this.ctx.storage.setAlarm(clock.now() + leaseMs)
      throw error
    } finally {
      for (const socket of this.ctx.getWebSockets()) socket.close(1000, 'The session was deleted.')
      this.#forgetMemory()
    }
    return true
  }

  /** Memory must not outlive the storage. Only what cannot be stopped in time takes the object with it. */
  #forgetMemory(): void {
    if (this.#core.driver.isDriving)
      this.ctx.waitUntil(clock.wait(10).then(() => this.ctx.abort('The session was deleted.')))
    else this.#core = new Session(this.ctx, this.env, createTurnMachine)
  }

  // --- talking

  async say(request: Say): Promise<Accepted | undefined> {
    return accept(this.#core, request, this.env.BLOBS)
  }

  /** Says it and waits for the end of the run. */
  async sayAndWait(
    request: Say,
  ): Promise<{ accepted: Accepted; end: RunEnded | undefined; run: RunView | undefined } | undefined> {
    const accepted = await this.say(request)
    if (!accepted) return undefined
    if (notTaken[accepted.status]) return { accepted, run: undefined, end: undefined }
    const run = await this.wait(accepted.runId)
    const end = endOf(this.#core, accepted.runId)
    return run && end && { accepted, run, end }
  }

  /** Stops what runs, or only this run. False when it does not run. */
  async stop(runId?: string): Promise<boolean | undefined> {
    if (!(await this.#found())) return undefined
    const { store } = this.#core
    if (runId !== undefined && !(store.hasOpenTurn && store.turn().id === runId)) return false
    return this.#core.stop()
  }

  /** A person's answer to a question. False when nobody asks it any more, undefined when nobody ever did. */
  async answer(request: string, answer: string): Promise<boolean | undefined> {
    if (!(await this.#found())) return undefined
    const core = this.#core
    await core.ensureTenant()
    const item = waitingFor(core, request)
    const isTaken = item !== undefined && isQuestion(item)
    if (isTaken) deliverAnswer(core, item, answer)
    await core.waiting.tell()
    return isTaken || (wasCalled(core.journal, request) ? false : undefined)
  }

  /** A person's decision about a call. Undefined also when there never was such a call. */
  async decide(request: string, answer: ApprovalAnswer): Promise<Decided | undefined> {
    if (!(await this.#found())) return undefined
    const core = this.#core
    await core.ensureTenant()
    const decided = await decideApproval(core, tenantStub(this.env, core.tenantId), request, answer)
    await core.waiting.tell()
    return decided === 'gone' && !wasCalled(core.journal, request) ? undefined : decided
  }

  /** What a chat tells. It makes the session when there is none; undefined only while that is being deleted. */
  async hear(said: FromChat) {
    return this.#core.isClosing ? undefined : takeFromChat(this.#core, said)
  }

  /** A press of a button under a message of ours. */
  async press(pressed: Pressed) {
    return (await this.#found()) ? press(this.#core, pressed, this) : undefined
  }

  // --- reading

  async messages(page: MessagePage) {
    return (await this.#found()) ? listMessages(this.#core, page) : undefined
  }

  /** What a listener has missed who has heard everything up to `after`. */
  async events(after: number): Promise<EventPage | undefined> {
    return (await this.#found()) ? eventsAfter(this.#core, after) : undefined
  }

  /** A run in whatever state. Undefined also when the session has no such run. */
  async run(runId: string): Promise<RunView | undefined> {
    return (await this.#found()) ? runOf(this.#core, runId) : undefined
  }

  /** The run once it is over; a queued one is waited for too. */
  async wait(runId: string): Promise<RunView | undefined> {
    if (!(await this.#found())) return undefined
    const run = runOf(this.#core, runId)
    if (!run) return undefined
    if (run.exit_reason === null) {
      // Before the turn is taken up: it may come to its end at once.
      const ended = this.#core.streams.ended(runId)
      this.#core.takeUp()
      await ended
    }
    return runOf(this.#core, runId)
  }

  /**
   * What is streamed goes by `fetch` and not by RPC, because a response body is piped without a message for each piece.
   * POST says something and follows the run, or only follows it; GET upgrades to a WebSocket of all events, which
   * hibernates with the object and goes on after `?after=N`.
   */
  override async fetch(request: Request): Promise<Response> {
    if (request.method === 'POST') {
      const asked = (await request.json()) as StreamRequest | FollowRequest
      return 'say' in asked ? this.#sayAndStream(asked) : this.#follow(asked)
    }
    if (!(await this.#found())) return new Response(null, { status: 404 })
    if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
    if (this.ctx.getWebSockets().length >= mostListeners) return new Response(null, { status: 429 })
    const { 0: client, 1: server } = new WebSocketPair()
    this.ctx.acceptWebSocket(server)
    const asked = new URL(request.url).searchParams.get('after')
    const after = asked === null ? this.#core.store.lastEventSeq() : Number(asked)
    for (const event of this.#core.store.eventsSince(after)) server.send(JSON.stringify(publicEvent(event)))
    this.#core.takeUp()
    return new Response(null, { status: 101, webSocket: client })
  }

  async #sayAndStream({ say, format }: StreamRequest): Promise<Response> {
    const accepted = await this.say(say)
    if (!accepted) return new Response(null, { status: 404 })
    const status = notTaken[accepted.status]
    if (status) return new Response(null, { status })
    // A run that began before this request is told from its beginning: somebody asks for it a second time.
    const past = accepted.status === 'queued' ? [] : eventsOf(this.#core, accepted.runId)
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      [runHeader]: accepted.runId,
      [statusHeader]: accepted.status,
    }
    return new Response(this.#core.streams.open(renderOf(format), past, accepted.runId), { headers })
  }

  async #follow({ runId, format }: FollowRequest): Promise<Response> {
    if (!(await this.#found())) return new Response(null, { status: 404 })
    const told = this.#core.streams.open(renderOf(format), eventsOf(this.#core, runId), runId)
    this.#core.takeUp()
    return new Response(told)
  }

  override webSocketMessage(): void {
    // Listeners only listen: what is to be said goes through the API, where it is checked and counted.
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  // --- changing what was said

  /** Takes back the last n turns. False while a turn is open. */
  async undo(n: number): Promise<UndoneTurns | false | undefined> {
    if (!(await this.#found())) return undefined
    if (this.#core.store.hasOpenTurn) return false
    return undoTurns(this.#core, n)
  }

  /** Takes back the last turn and asks the same again. False when there is nothing to ask again, or a turn is open. */
  async retry(runId: string, tenant: TenantSnapshot): Promise<boolean | undefined> {
    if (!(await this.#found())) return undefined
    await this.#core.known.know(tenant)
    if (runOf(this.#core, runId)) return true
    if (this.#core.store.hasOpenTurn) return false
    const last = undoTurns(this.#core, 1).turns[0]
    if (!last) return false
    this.#core.begin({ runId, message: last.message, options: last.options })
    return true
  }

  /** Shortens the context: now between turns, else before the next call of the model. */
  async compress(focus?: string) {
    return (await this.#found()) ? compressNow(this.#core, focus) : undefined
  }

  /** What `become` of another session takes, up to a run when one is named. Its streams have to be read or cancelled. */
  async copy(upTo?: string): Promise<SessionCopy | undefined> {
    return (await this.#found()) ? copySession(this.#core, upTo) : undefined
  }

  /** Becomes the copy, with `spec` over it. Once a copy is complete, repeating it changes nothing. */
  async become(copy: SessionCopy, spec: NewSession): Promise<SessionView> {
    await this.#arrival.take(copy, spec)
    return this.#shown()
  }

  async export(format: ExportFormat) {
    return (await this.#found()) ? exportSession(this.#core, format, this.env.BLOBS) : undefined
  }

  async import(
    given: Imported,
    tenant: TenantSnapshot,
  ): Promise<{ is: 'imported'; view: SessionView } | { is: 'too-large'; message: number }> {
    await this.#core.known.know(tenant)
    const message = await importSession(this.#core, given, this.env.BLOBS)
    return message === undefined ? { is: 'imported', view: await this.#shown() } : { is: 'too-large', message }
  }

  // --- files

  /** The bytes of a file, or the entries of a directory. */
  async file(path: string): Promise<FileAnswer | undefined> {
    return (await this.#found()) ? workspace(this.#core).read(path) : undefined
  }

  async putFile(path: string, bytes: Uint8Array): Promise<FileAnswer | undefined> {
    return (await this.#found()) ? workspace(this.#core).write(path, bytes) : undefined
  }

  async deleteFile(path: string): Promise<FileAnswer | undefined> {
    return (await this.#found()) ? workspace(this.#core).remove(path) : undefined
  }

  async checkpoints() {
    return (await this.#found()) ? reachable(() => listCheckpoints(this.#core)) : undefined
  }

  /** What has changed since checkpoint `n`, 1 being the newest. */
  async difference(n: number) {
    return (await this.#found()) ? reachable(() => differenceSince(this.#core, n)) : undefined
  }

  async rollback(wish: Rollback) {
    return (await this.#found()) ? reachable(() => rollback(this.#core, this.ctx.storage, wish)) : undefined
  }

  // --- waking

  /** Re-arms first; then looks after whatever is due. Application errors end here, a dying object does not. */
  override async alarm(): Promise<void> {
    await this.ctx.storage.setAlarm(clock.now() + leaseMs)
    const core = this.#core
    if (core.isClosing) return
    if (!core.exists) return this.#arrival.lookAfter()
    if ((core.expiresAt ?? Infinity) <= clock.now()) return this.#expire()
    await lookAfter(core, this.ctx.storage)
  }

  /** Rows written and read since the object woke, for the benchmark. */
  rows() {
    const { sql, meter } = this.#core
    sql.settle()
    return { session: meter.session, d1: meter.history }
  }

  // --- inside

  async #expire(): Promise<void> {
    try {
      await this.remove()
    } catch (error) {
      if (isOwnReset(error)) throw error
      console.warn('The session cannot be removed now; it will be tried again.', error)
    }
  }

  /** Waits a moment for history, so that lists have it. */
  async #shown(): Promise<SessionView> {
    await Promise.race([this.#core.project(), clock.wait(1_000)])
    return sessionView(this.#core.record(), statusOf(this.#core))
  }

  async #found(): Promise<boolean> {
    if (this.#core.exists) return true
    return this.#core.load()
  }
}
