/** One session: its identity, its settings, and the parts that store, drive, stream and deliver its turns. */

import { memoryOf } from '#durable/tenant/memory/memory.ts'
import { allMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import type { Machine } from '#agent/loop/drive.ts'
import type { Entry, SessionRecord } from '#agent/core/history.ts'
import { log } from '#agent/core/log.ts'
import type { Message } from '#agent/core/message.ts'
import { type Authority, holderOf, systemAuthority } from '#agent/core/permission/authority.ts'
import { listEarlierRights } from '#agent/core/permission/contribution.ts'
import type { PromptMaterial } from '#agent/core/prompt-layer.ts'
import type { Settings } from '#agent/core/settings.ts'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { isUnattendedTurn } from '#agent/policy/unattended.ts'
import type { Route } from '#agent/routing/route.ts'
import { queueIsolates } from '#backends/isolate-queue.ts'
import { openHistory } from '#db/history.ts'
import { ChatOutbox } from '#durable/channels/chat-outbox.ts'
import { HookFeed } from '#durable/events/hook-feed.ts'
import { SessionAnnouncer } from '#durable/events/session-announcer.ts'
import { Streams } from '#durable/events/streams.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { clock } from '#durable/platform/clock.ts'
import { PartSchedule } from '#durable/platform/part-schedule.ts'
import { createReader } from '#durable/platform/reader-tags.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { withLogContext } from '#durable/platform/log-context.ts'
import { processRows } from '#durable/processes/process-rows.ts'
import { abandonTurn } from '#durable/storage/abandon-turn.ts'
import { importRunId, Journal } from '#durable/storage/journal.ts'
import { Projection } from '#durable/storage/projection.ts'
import { rebuild } from '#durable/storage/rebuild.ts'
import {
  createMetadata,
  memoryProjectOf,
  type NewSession,
  type SessionMetadata,
} from '#durable/storage/session-metadata.ts'
import { addLateUsage, expiresAt, runUsage, sessionRecord, sessionUsage } from '#durable/storage/session-record.ts'
import { InjectedMessages } from '#durable/storage/injected-messages.ts'
import { SideCallNotes } from '#durable/storage/side-call-notes.ts'
import { hasWorkspaceFiles, storedBytes } from '#durable/storage/storage-usage.ts'
import { SessionStore } from '#durable/storage/store.ts'
import { SessionTenant } from '#durable/tenant/session-tenant.ts'
import { SessionBilling } from '#durable/tenant/billing/session-billing.ts'
import { stricter } from '#durable/tenant/effective-limits.ts'
import { effectiveSettings } from '#durable/tenant/tenant-snapshot.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import { markRepeated } from '#agent/untrusted/result-marks.ts'
import { typedBy } from '#agent/untrusted/typed-text.ts'
import { fetchPromptMaterial, loadPromptMaterial } from '#durable/tenant/fetch-prompt-material.ts'
import { Driver } from '#durable/turn/driver.ts'
import { PendingList } from '#durable/turn/pending-list.ts'
import { turnAuthority } from '#durable/turn/turn-authority.ts'
import { ToolRuntime } from '#durable/turn/tool-runtime.ts'
import { reportFailure, scheduledParts, type WakeReason } from './alarm.ts'
import { SessionAccess } from './core/access.ts'
import { QueuedRuns } from './core/queued-runs.ts'
import { RunClients } from './core/run-clients.ts'
import { recallContext } from '#durable/turn/recall/outside-memory.ts'
import { storeAnsweredTurn } from '#durable/turn/recall/store-answered-turn.ts'
import { observeEvents } from '#durable/turn/observe-events.ts'
import { traceTurnEnd } from '#durable/turn/trace.ts'
import { createTurnMachine, type TurnMachine } from '#durable/turn/turn-machine.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'
import type { DeliverMessage } from './subagents/parent-session.ts'
import { SessionSubagents } from './subagents/subagents.ts'
import { recordDecisions } from './core/record-decisions.ts'
import { SelfStartTimer } from './core/self-start-timer.ts'
import { Titles } from './core/title.ts'
import { TurnControl } from './core/turn-control.ts'
import type { MediaSession } from '#durable/turn/media/media-host.ts'
import { parseSessionAddress, tenantStub } from '#durable/platform/addresses.ts'

type CopiedRow = {
  readonly n: number
  readonly runId: string
  readonly entries: readonly Entry[]
  readonly turn?: Turn
}

/** `deleteSession` is called when the tenant is being deleted, and when an ephemeral session expires. */
type SessionCallbacks = { readonly deleteSession: () => Promise<void>; readonly deliver: DeliverMessage }

const loadCheckpoints = () => import('./core/checkpoints.ts')

export class Session implements TurnSession {
  readonly tenantId: string
  readonly sessionId: string
  readonly sql: SqlStorage
  readonly journal: Journal
  readonly streams: Streams
  readonly tenant: SessionTenant
  readonly toolRuntime: ToolRuntime
  readonly billing: SessionBilling
  readonly pendingList: PendingList
  readonly chatOutbox: ChatOutbox
  readonly injected: InjectedMessages
  readonly selfStart: SelfStartTimer
  readonly subagents: SessionSubagents
  readonly titles: Titles
  readonly side: SideCall
  readonly summariser: TurnMachine['summariser']
  readonly routesOf: TurnMachine['routesOf']
  readonly driver: Driver
  readonly projection: Projection
  readonly turns: TurnControl
  readonly parts: PartSchedule<WakeReason>
  readonly access: SessionAccess
  readonly announcer: SessionAnnouncer
  readonly hookFeed: HookFeed
  readonly queue: QueuedRuns
  readonly clients: RunClients
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined
  /** Replaced when the session is rebuilt: read it again after each wait. */
  store: SessionStore
  /** The bindings and the storage of the object, for what commands do beyond the session. */
  readonly outside: { readonly env: Env; readonly storage: DurableObjectStorage }
  /** Loaded with the first run that is kept. */
  readonly trajectories = {
    keep: async () => (await import('./copies/trajectories.ts')).keepTrajectories(this),
    delete: async () => (await import('./copies/trajectories.ts')).deleteTrajectories(this),
  }
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #meta: SessionMetadata | undefined
  /** Whether there was a run before this one. */
  #earlierRun: { readonly of: string; readonly exists: boolean } | undefined
  #settings: { readonly tenant: Settings; readonly session: Settings; readonly value: Settings } | undefined

  constructor(ctx: DurableObjectState, env: Env, { deleteSession, deliver }: SessionCallbacks) {
    this.#ctx = ctx
    this.#env = env
    this.outside = { env, storage: ctx.storage }
    const { tenantId, sessionId } = parseSessionAddress(ctx.id.name)
    this.tenantId = tenantId
    this.sessionId = sessionId
    const loader = env.LOADER && queueIsolates(env.LOADER)
    this.tenant = new SessionTenant(env, tenantId, {
      watchAccess: () => this.tenantObject().access.watchWhileBusy(this.ownAuthority, sessionId),
      ...(loader && { loader }),
    })
    this.sql = ctx.storage.sql
    this.journal = new Journal(this.sql)
    this.#meta = this.journal.metadata()
    this.streams = new Streams(() => ctx.getWebSockets())
    this.store = this.#openStore()
    this.openAtWake = this.store.hasOpenTurn ? this.store.turn().id : undefined
    this.toolRuntime = this.#createToolRuntime(loader)
    this.pendingList = new PendingList(this, () => tenantStub(env, tenantId))
    this.billing = this.#createBilling()
    this.chatOutbox = new ChatOutbox(this, env)
    this.injected = new InjectedMessages(this.sql, this.journal.hasTable('delivered'))
    this.selfStart = new SelfStartTimer(this)
    this.titles = new Titles(this, env)
    this.subagents = new SessionSubagents({ session: this, env, deliver })
    const parts = scheduledParts(this, deleteSession)
    this.parts = new PartSchedule(() => parts, reportFailure)
    this.turns = new TurnControl(this, ctx.storage, () => this.parts.wakes())
    this.access = this.#createAccess(deleteSession)
    this.announcer = new SessionAnnouncer(this)
    this.hookFeed = new HookFeed(this, env)
    this.queue = new QueuedRuns(this)
    this.clients = new RunClients(this)
    const machine = createTurnMachine(this, env)
    this.side = machine.side
    this.summariser = machine.summariser
    this.routesOf = machine.routesOf
    this.driver = this.#createDriver(machine)
    this.projection = this.#createProjection()
  }

  /** False also while a copy is arriving and while the session is being deleted. */
  get exists(): boolean {
    return this.#meta !== undefined && !this.#meta.arriving && !this.turns.isClosing
  }

  get meta(): SessionMetadata {
    if (!this.#meta) throw new Error('The session does not exist.')
    return this.#meta
  }

  /** The effective settings: the session's own over the tenant's. */
  get settings(): Settings {
    const tenant = this.tenant.snapshot?.settings ?? {}
    const { settings: session, isPolicyChecked = false } = this.meta
    if (this.#settings?.tenant !== tenant || this.#settings.session !== session)
      this.#settings = { tenant, session, value: effectiveSettings(tenant, session, isPolicyChecked) }
    return this.#settings.value
  }

  /** The time at which the session deletes itself. */
  get expiresAt(): number | undefined {
    const meta = this.#meta
    if (!meta) return undefined
    return expiresAt(meta, this.store, {
      hasFiles: () => meta.machine !== undefined || hasWorkspaceFiles(this.sql),
      hasEarlierRun: () => this.#hasEarlierRun(this.store.current()?.id ?? ''),
    })
  }

  /** Runs are never removed, so the answer changes with the run alone. */
  #hasEarlierRun(run: string): boolean {
    const known = this.#earlierRun
    if (known && (known.exists || known.of === run)) return known.exists
    const exists = this.journal.hasOtherRun(run)
    this.#earlierRun = { of: run, exists }
    return exists
  }

  record(): SessionRecord {
    return sessionRecord(this.meta, this.store, this.expiresAt)
  }

  updateMeta(change: Partial<SessionMetadata>): void {
    this.#meta = { ...this.meta, ...change }
    this.journal.putMetadata(this.#meta)
  }

  // --- loading and creating
  /** Rebuilds the session from history when the storage of this object is empty. False when history has no such session. */
  async load(): Promise<boolean> {
    if (this.turns.isClosing) return false
    if (this.#meta) return this.exists
    const through = await rebuild(this.journal, openHistory(this.#env, this.tenantId), this.sessionId)
    // It may have been deleted or loaded meanwhile: a turn that began in the other store must not be lost.
    if (this.turns.isClosing) return false
    if (this.#meta) return this.exists
    if (through === undefined) return false
    this.#meta = this.journal.metadata()
    this.store = this.#openStore()
    this.projection.startAt(through)
    return true
  }

  /** Creates the session in memory; its first write stores it. `history`: what the request of a client repeats. */
  create(spec: NewSession, by: Authority, history: readonly Message[] = []): void {
    if (this.#meta) return
    const { sessionId: id, tenantId } = this
    const rights = spec.settings ? listEarlierRights(by) : []
    const created = createMetadata({ id, tenantId }, spec, { owner: holderOf(by), now: clock.now() })
    this.#meta = { ...created, ...(rights.length > 0 && { settingsBy: rights }) }
    this.projection.startAt(0, 'nothing')
    this.addHistory(history)
    if (history.length && spec.ephemeral) this.turns.arm()
  }

  /** Adds what the request of a client repeats, before the first message of the session. */
  addHistory(history: readonly Message[]): void {
    if (!history.length || this.store.lastMessageSeq() > 0) return
    this.updateMeta({ repeatedThrough: history.length })
    this.store.importMessages(importRunId, history.map(markRepeated))
    this.store.write()
  }

  /** Replaces metadata and rows by those of a copied or imported session. */
  adopt(meta: SessionMetadata, rows: readonly CopiedRow[]): void {
    this.#meta = meta
    this.#earlierRun = undefined
    this.journal.putMetadata(meta)
    for (const { n, runId, entries, turn } of rows) {
      this.journal.putStep({ n, runId, entries: [...entries], texts: [], events: [] }, turn)
    }
    this.store = this.#openStore()
    this.projection.startAt(0, 'nothing')
  }

  /** The object of the tenant. */
  tenantObject(): DurableObjectStub<TenantDO> {
    return tenantStub(this.#env, this.tenantId)
  }

  /** Loads the tenant when no request has provided its snapshot. */
  ensureTenant(): Promise<void> {
    return this.tenant.load()
  }

  /** The tenant's material for the prompt (fetch-prompt-material.ts). */
  promptMaterial(isFresh: boolean): PromptMaterial | undefined | Promise<PromptMaterial | undefined> {
    if (isFresh) return loadPromptMaterial(this.#env, this.ownAuthority)
    return fetchPromptMaterial(this.#env, this.ownAuthority, this.tenant.snapshot?.promptVersion)
  }

  /** The first model of a turn that names `model`, or none. */
  promptModel(model: string | undefined): Route | undefined {
    return this.routesOf(newTurn('', 0, 0, model === undefined ? {} : { model }))[0]
  }

  /** Whether the workspace has files that can be read without starting a host. */
  hasReadableFiles(): boolean {
    const { kind } = this.toolRuntime.backend
    return (this.meta.machine?.kind ?? 'virtual') === kind && (kind !== 'virtual' || hasWorkspaceFiles(this.sql))
  }

  /** For whom the open or last turn acts. */
  asker(): Authority {
    return turnAuthority(this)
  }

  /** The entries of a store that an authority reaches: its profile, or the memory of the session's project. */
  async storedMemory(
    authority: Authority,
    target: 'user' | 'project',
  ): Promise<{ readonly entries: readonly string[]; readonly marks: Marks }> {
    const result = await memoryOf(this.tenantObject()).read(authority, target, memoryProjectOf(this.meta))
    return result.kind === 'done'
      ? { entries: result.view.entries, marks: result.marks ?? allMarks }
      : { entries: [], marks: noMarks }
  }

  /** The findings of the tenant's memory service for a message, for the model alone. */
  recall(authority: Authority, query: string): Promise<string | undefined> | undefined {
    return recallContext(this, this.#env, { authority, query })
  }

  /** Whether the session has memory. Jobs and subagents have none. */
  hasMemory(): boolean {
    return this.toolRuntime.toolbox(this.settings, {}).has('memory')
  }

  redact(text: string): string {
    return redactorFor(this.#env, this.tenantId).redact(text)
  }

  /** Of the session itself, for what it reports to the tenant's object. It names the request of the current turn. */
  get ownAuthority(): Authority {
    const requestId = this.store.current()?.options.authority?.requestId
    const own = systemAuthority(this.tenantId, { kind: 'session', id: this.sessionId })
    return requestId === undefined ? own : { ...own, requestId }
  }

  /** Runs work of the current turn, whose log entries have its ids. */
  inTurnContext<T>(work: () => T): T {
    const { tenantId: tenant_id, sessionId: session_id } = this
    const readIds = () => {
      const turn = this.store.current()
      return { tenant_id, session_id, run_id: turn?.id, request_id: turn?.options.authority?.requestId }
    }
    return withLogContext(readIds, work)
  }

  /** Searches in the background for what the conversation teaches, when it is time. */
  startReview(): void {
    const onFailure = (error: unknown) =>
      log.warn('learning.unstarted', 'A review of a conversation could not be started.', { error })
    const review = async () => (await import('./core/learn-from-turn.ts')).learnFromTurn(this, this.#env)
    this.runInBackground(review().catch(onFailure))
  }

  /** The platform keeps the object alive for the work. */
  runInBackground(work: Promise<unknown>): void {
    this.#ctx.waitUntil(work)
  }

  /** Resets the object: a fresh one resumes from what is stored. */
  readonly resetObject = (reason: string): void => this.#ctx.abort(reason)

  /** Sets the alarm again after a part has changed its next wake time. */
  readonly arm = (): void => this.turns.arm()

  #openStore(): SessionStore {
    return new SessionStore(this.journal, {
      sessionId: this.sessionId,
      now: clock.now,
      lastNumbers: this.#meta?.given,
      conversation: () => this.#meta ?? {},
      redact: (text) => this.redact(text),
      publish: (events) => {
        this.chatOutbox.handleEvents(events)
        this.streams.publish(events)
        this.announcer.handleEvents(events)
        this.hookFeed.handleEvents(events)
        traceTurnEnd(this, this.#env, events)
        storeAnsweredTurn(this, this.#env, events)
        observeEvents(this, events)
      },
      publishDecisions: (runId, decisions) =>
        this.runInBackground(recordDecisions(this, this.#env, { runId, decisions })),
      beforeWriteEnds: () => this.billing.confirmSideCalls(this.store.current()),
    })
  }

  #createToolRuntime(loader: WorkerLoader | undefined): ToolRuntime {
    const { sql, journal, tenantId, sessionId } = this
    return new ToolRuntime({
      env: this.#env,
      loader,
      sql,
      tenantId,
      sessionId,
      meta: () => this.meta,
      settings: { now: () => this.settings, limits: () => this.tenant.limits, load: () => this.ensureTenant() },
      keys: () => this.tenant.keys,
      secrets: () => this.tenant.secrets,
      updateMeta: (change) => this.updateMeta(change),
      subagents: () => this.subagents,
      checkpoints: {
        create: async (name) => (await loadCheckpoints()).createNamed(this, name, this.store.current()?.id),
        restore: async (name, path) => (await loadCheckpoints()).restoreNamed(this, this.#ctx.storage, { name, path }),
      },
      runInBackground: (work) => this.runInBackground(work),
      processes: { rows: processRows(sql, journal.hasTable('process')), step: () => this.store.lastMessageSeq() },
      media: mediaSessionOf(this),
      browser: { ...mediaSessionOf(this), hasTable: journal.hasTable('browser') },
      tenantTools: () => this.tenant.tools,
      deferTools: () => this.tenant.mcp?.defer ?? this.tenant.plugins?.defer,
      hooks: () => this.tenant.hooks,
      typed: () => typedBy(this.store.transcript()),
      window: () =>
        this.promptModel(this.store.current()?.options.model ?? this.meta.model ?? undefined)?.contextWindow,
    })
  }

  #createBilling(): SessionBilling {
    return new SessionBilling({
      tenant: () => tenantStub(this.#env, this.tenantId),
      authority: () => this.ownAuthority,
      limits: () => stricter(this.tenant.limits ?? {}, this.#meta?.settings.limits ?? {}),
      usage: () => (this.#meta ? sessionUsage(this.#meta, this.store) : noUsage),
      notes: new SideCallNotes(this.journal),
      addLateUsage: (run, usage) => this.updateMeta(addLateUsage(this.meta, run, usage)),
      sessionBytes: () => ({ sessionId: this.sessionId, bytes: storedBytes(this.sql) }),
      isUnattended: ({ options }) => isUnattendedTurn(this.meta.source, options.authority),
      hasHardLimit: () => this.#meta?.source === 'batch',
      runInBackground: (work) => this.runInBackground(work),
    })
  }

  #createAccess(deleteSession: () => Promise<void>): SessionAccess {
    return new SessionAccess({
      session: this,
      tenantStub: () => tenantStub(this.#env, this.tenantId),
      sockets: () =>
        this.#ctx.getWebSockets().map((socket) => ({ socket, reader: createReader(this.#ctx.getTags(socket)) })),
      deleteSession,
    })
  }

  #createDriver(machine: Machine): Driver {
    return new Driver({
      machine,
      store: () => this.store,
      openNext: () => this.turns.openQueued(),
      abandon: (turn) => abandonTurn(turn, (this.store = this.#openStore()), clock.now()),
      resetObject: (reason) => this.resetObject(reason),
      onStop: (until) => {
        this.turns.handleDriverStop(until)
        this.runInBackground(this.subagents.handleDriverStop())
      },
    })
  }

  #createProjection(): Projection {
    return new Projection({
      journal: this.journal,
      history: () => openHistory(this.#env, this.tenantId),
      record: () => this.record(),
      usageOf: (turn) => runUsage(this.meta, turn),
      repeatedThrough: () => this.meta.repeatedThrough ?? 0,
      publishPending: () => this.pendingList.publish(),
      undone: {
        from: () => this.meta.retractedFrom,
        restored: () => this.meta.restoredRuns ?? [],
        done: (from) => {
          if (this.meta.retractedFrom === from) this.updateMeta({ retractedFrom: undefined, restoredRuns: undefined })
        },
      },
    })
  }
}

/** The parts of the session. */
type Owner = Readonly<{
  billing: ReturnType<MediaSession['billing']>
  side: ReturnType<MediaSession['side']>
  store: SessionStore
  meta: { readonly origin?: { readonly platform: string } }
  journal: { readonly hasTable: (table: 'media_call') => boolean }
  arm: () => void
}>

/** Provides what paid media calls need from their session. Read at each use: parts of the session are made later. */
const mediaSessionOf = (session: Owner): MediaSession => ({
  billing: () => session.billing,
  openTurn: () => (session.store.hasOpenTurn ? session.store.current() : undefined),
  side: () => session.side,
  step: () => session.store.lastMessageSeq(),
  platform: () => session.meta.origin?.platform,
  arm: () => session.arm(),
  hasTable: session.journal.hasTable('media_call'),
})
