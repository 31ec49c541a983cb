/**
 * The living parts of one session and how they hold together: journal, store, driver, listeners,
 * history. Everything that begins or moves a turn goes through here.
 */

import type { Machine } from '../../agent/loop/drive.ts'
import type { Message, UserMessage } from '../../agent/model/message.ts'
import type { Entry, SessionRecord } from '../../agent/model/history.ts'
import type { Settings } from '../../agent/model/settings.ts'
import { requestStop } from '../../agent/loop/intake.ts'
import { nextTurn, type TurnRequest } from '../turn/next-turn.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { d1History } from '../../db/history.ts'
import { abandon } from '../storage/abandon-turn.ts'
import { SessionBilling } from '../tenant/session-billing.ts'
import { Delivery } from '../channels/delivery.ts'
import { Driver } from '../turn/driver.ts'
import { importRun, Journal } from '../storage/journal.ts'
import { KnownTenant } from '../tenant/known-tenant.ts'
import { metered, newMeter } from '../platform/metering.ts'
import { Projection } from '../storage/projection.ts'
import { processRows } from '../processes/process-rows.ts'
import { rebuild } from '../storage/rebuild.ts'
import { settleRun } from '../turn/run-end.ts'
import { newMetadata, type NewSession, type SessionMetadata } from '../storage/session-metadata.ts'
import { bookedAfter, expiresAt, sessionRecord, sessionUsage, usageOf } from '../storage/session-record.ts'
import { SideNotes } from '../storage/side-call-notes.ts'
import type { Side } from '../models/side-task.ts'
import { SessionStore } from '../storage/store.ts'
import { storedBytes } from '../storage/storage-usage.ts'
import { Streams } from '../events/streams.ts'
import { effective, maxTurns, stricter } from '../tenant/tenant-snapshot.ts'
import { tenantStub } from '../tenant/tenant-stub.ts'
import { isAway } from './api-views.ts'
import { titleOf, Titles } from './title.ts'
import { WaitingList } from '../turn/pending-list.ts'
import { leaseMs, projectionDelay, wakeAt } from '../platform/schedule.ts'
import { ToolRuntime } from '../turn/tool-runtime.ts'
import { clock } from '../platform/clock.ts'

type SessionMachine = Machine & { readonly side: Side }

export class Session {
  readonly tenantId: string
  readonly sessionId: string
  readonly meter = { session: newMeter(), history: newMeter() }
  readonly sql: ReturnType<typeof metered>
  readonly journal: Journal
  readonly streams: Streams
  readonly driver: Driver
  readonly toolRuntime: ToolRuntime
  readonly projection: Projection
  readonly billing: SessionBilling
  readonly titles: Titles
  readonly waiting: WaitingList
  readonly delivery: Delivery
  readonly known: KnownTenant
  readonly side: Side
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined
  store: SessionStore
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #meta: SessionMetadata | undefined
  #settings: { readonly tenant: Settings; readonly session: Settings; readonly value: Settings } | undefined
  #restsUntil: number | undefined
  #projectAt: number | undefined
  /** As far as this life of the object knows. */
  #isArmed = false
  #failures = 0
  /** The tenant is being asked for; then the drive begins. */
  #starting = false
  #closing = false
  /** History has got everything, or is getting it, and the tenant has heard of it, since the object woke. */
  #sent = false

  constructor(ctx: DurableObjectState, env: Env, machineOf: (core: Session, env: Env) => SessionMachine) {
    this.#ctx = ctx
    this.#env = env
    const [, tenantId = '', sessionId = ''] = /^t\/([^/]+)\/s\/([^/]+)$/.exec(ctx.id.name ?? '') ?? []
    this.tenantId = tenantId
    this.sessionId = sessionId
    this.known = new KnownTenant(env, tenantId)
    const sql = (this.sql = metered(ctx.storage.sql, this.meter.session))
    this.journal = new Journal(sql)
    this.#meta = this.journal.meta()
    this.streams = new Streams(() => ctx.getWebSockets())
    this.store = this.#openStore()
    this.openAtWake = this.store.hasOpenTurn ? this.store.turn().id : undefined
    this.toolRuntime = new ToolRuntime({
      env,
      sql,
      meter: this.meter.history,
      tenantId,
      sessionId,
      meta: () => this.meta,
      settings: { now: () => this.settings, limits: () => this.known.limits, known: () => this.ensureTenant() },
      updateMeta: (change) => this.updateMeta(change),
      processes: { rows: processRows(sql, this.journal.had('process')), step: () => this.store.lastMessageSeq() },
    })
    const tenant = () => tenantStub(env, this.tenantId)
    this.waiting = new WaitingList(this, tenant)
    this.billing = new SessionBilling({
      tenant,
      limits: () => stricter(this.known.limits ?? {}, this.#meta?.settings.limits ?? {}),
      usage: () => sessionUsage(this.meta, this.store),
      notes: new SideNotes(this.journal),
      book: (run, usage) => this.updateMeta(bookedAfter(this.meta, run, usage)),
      stored: () => ({ sessionId, bytes: storedBytes(sql) }),
    })
    this.delivery = new Delivery(this, env)
    this.titles = new Titles(this, env)
    const machine = machineOf(this, env)
    this.side = machine.side
    this.driver = new Driver({
      machine,
      store: () => this.store,
      openNext: () => this.#openQueued(),
      abandon: (turn) => abandon(turn, (this.store = this.#openStore()), clock.now()),
      die: (reason) => this.die(reason),
      rested: (until) => this.#rested(until),
    })
    this.projection = new Projection({
      journal: this.journal,
      history: () => d1History(env.DB, tenantId, this.meter.history),
      record: () => this.record(),
      usageOf: (turn) => usageOf(this.meta, turn),
      announceWaiting: () => this.waiting.announce(),
      retracted: {
        from: () => this.meta.retractedFrom,
        done: (from) => {
          if (this.meta.retractedFrom === from) this.updateMeta({ retractedFrom: undefined })
        },
      },
    })
  }

  // --- what it is

  get exists(): boolean {
    return this.#meta !== undefined && !this.#meta.arriving && !this.#closing
  }

  /** The session is being deleted: to everybody it is gone. */
  get isClosing(): boolean {
    return this.#closing
  }

  get meta(): SessionMetadata {
    if (!this.#meta) throw new Error('The session does not exist.')
    return this.#meta
  }

  get settings(): Settings {
    const tenant = this.known.snapshot?.settings ?? {}
    const session = this.meta.settings
    if (this.#settings?.tenant !== tenant || this.#settings.session !== session)
      this.#settings = { tenant, session, value: effective(tenant, session) }
    return this.#settings.value
  }

  /** When an ephemeral session is to be removed. */
  get expiresAt(): number | undefined {
    return this.#meta && expiresAt(this.#meta, this.store)
  }

  record(): SessionRecord {
    return sessionRecord(this.meta, this.store)
  }

  /** False when there is no such session, neither here nor in history. */
  async load(): Promise<boolean> {
    if (this.#closing) return false
    if (this.#meta) return this.exists
    const through = await rebuild(this.journal, d1History(this.#env.DB, this.tenantId), this.sessionId)
    // Meanwhile it may be gone, or somebody else have loaded it: what they have begun lives in their store.
    if (this.#closing) return false
    if (this.#meta) return this.exists
    if (through === undefined) return false
    this.#meta = this.journal.meta()
    this.store = this.#openStore()
    this.projection.startsAt(through)
    return true
  }

  create(spec: NewSession, history: readonly Message[] = []): void {
    if (this.#meta) return
    this.#meta = newMetadata({ id: this.sessionId, tenantId: this.tenantId }, spec, clock.now())
    this.projection.startsAt(0, 'nothing')
    if (!history.length) return
    this.journal.putMeta(this.#meta)
    this.store.preload(importRun, history)
    this.store.write()
    if (spec.ephemeral) this.arm()
  }

  /** Becomes a copy of another session. */
  adopt(
    meta: SessionMetadata,
    rows: readonly { n: number; runId: string; entries: readonly Entry[]; turn?: Turn }[],
  ): void {
    this.#meta = meta
    this.journal.putMeta(meta)
    for (const { n, runId, entries, turn } of rows) {
      const texts = entries.map((entry) => JSON.stringify(entry))
      this.journal.putStep({ n, runId, entries: [...entries], texts, events: [] }, turn)
    }
    this.store = this.#openStore()
    this.projection.startsAt(0, 'nothing')
  }

  updateMeta(change: Partial<SessionMetadata>): void {
    this.#meta = { ...this.meta, ...change }
    this.journal.putMeta(this.#meta)
  }

  // --- turns

  /** Opens a turn and drives it, up to its first request, in one stretch: one write, no wait before the model. */
  begin(request: TurnRequest): void {
    this.#prepare(request.message)
    this.#open(request)
    this.move()
  }

  /** Cancels what runs: the model call at once, a tool as soon as it listens. False when nothing ran. */
  stop(): boolean {
    if (!this.store.hasOpenTurn) return false
    this.store.save(requestStop(this.store.turn()))
    this.store.write()
    this.driver.abort()
    this.move()
    return true
  }

  /** To everybody it is gone from here on. */
  shut(): void {
    this.#closing = true
  }

  /** Goes on with the turn, if there is one and it can. The alarm looks after it from now on. */
  move(): void {
    if (!this.store.hasOpenTurn) return
    this.#sent = false
    this.#restsUntil = undefined
    // Where an object went away, the alarm takes the turn up again.
    if (this.known.snapshot) this.driver.start().catch((error: unknown) => console.warn('The drive broke off.', error))
    else if (!this.#starting) this.#ctx.waitUntil(this.#startLater())
    this.arm()
  }

  /** A turn that nobody drives although it could go on: the object died and was woken by a request. */
  takeUp(): void {
    if (this.#isDue && !this.driver.isDriving && !this.#closing) this.move()
  }

  get #isDue(): boolean {
    return this.store.hasOpenTurn && this.#restsUntil === undefined && !this.isWaiting
  }

  get isWaiting(): boolean {
    const turn = this.store.current()
    return turn !== undefined && isAway(turn.stage)
  }

  /** One alarm for all reasons. Storage orders it with the writes of this stretch. */
  arm(): void {
    const driving = this.driver.isDriving || this.#starting || this.#isDue
    const lookAt = this.#closing ? undefined : this.toolRuntime.processes.lookAt(!this.store.hasOpenTurn)
    const now = clock.now()
    const sendAt = this.delivery.wakeAt(now)
    const reasons = { driving, restsUntil: this.#restsUntil, projectAt: this.#projectAt, lookAt, sendAt }
    const at = wakeAt({ ...reasons, expiresAt: this.expiresAt }, now)
    this.#isArmed = at !== undefined
    if (at === undefined) void this.#ctx.storage.deleteAlarm()
    else void this.#ctx.storage.setAlarm(at)
  }

  /** There is nothing to send and nothing to move: whoever wakes the object only looks after processes. */
  get isQuiet(): boolean {
    return this.#sent && this.#projectAt === undefined && (!this.store.hasOpenTurn || this.isWaiting)
  }

  /** Sends what history lacks. The alarm stays set until it has arrived. */
  async project(): Promise<void> {
    if (this.#closing) return
    this.#projectAt = clock.now() + projectionDelay(this.#failures + 4)
    this.#sent = true
    if (!this.#isArmed) this.arm()
    try {
      await Promise.all([this.projection.run(), this.billing.flush()])
      this.#failures = 0
      // A turn that began meanwhile has more to send.
      if (this.#sent) this.#projectAt = undefined
    } catch (error) {
      console.warn('History cannot be reached; it will be sent later.', error)
      this.#sent = false
      this.#failures++
      this.#projectAt = clock.now() + projectionDelay(this.#failures)
    }
    // The storage may be another session's by now.
    if (!this.#closing) this.arm()
  }

  /** Announces pending requests before the slower title and history. */
  async #projectSoon(): Promise<void> {
    await this.waiting.tell()
    if (!this.store.hasOpenTurn) await this.titles.give()
    if (!this.driver.isDriving) await this.project()
  }

  ensureTenant(): Promise<void> {
    return this.known.ensure()
  }

  /** Work that nobody waits for; the platform keeps the object for it. */
  later(work: Promise<unknown>): void {
    this.#ctx.waitUntil(work)
  }

  readonly die = (reason: string): void => this.#ctx.abort(reason)

  /** If the tenant cannot be asked, the alarm tries again. */
  async #startLater(): Promise<void> {
    this.#starting = true
    try {
      await this.ensureTenant()
    } finally {
      this.#starting = false
    }
    if (this.store.hasOpenTurn) await this.driver.start()
  }

  #open({ runId, message, options, drain }: TurnRequest): void {
    this.#sent = false
    this.store.open(runId, [message], {
      options: this.meta.model && !options.model ? { ...options, model: this.meta.model } : options,
      limit: maxTurns(this.settings, options.maxTurns, this.meta.source),
      usageBefore: sessionUsage(this.meta, this.store),
      drain,
    })
  }

  #openStore(): SessionStore {
    return new SessionStore(this.journal, {
      sessionId: this.sessionId,
      now: clock.now,
      given: this.#meta?.given,
      publish: (events) => {
        this.delivery.hear(events)
        this.streams.publish(events)
      },
      written: () => this.billing.written(this.store.current()),
    })
  }

  /** What the first turn of a session settles: its title, and the prompt that is replayed from then on. */
  #prepare(message: UserMessage): void {
    const meta = this.meta
    if (meta.prompt !== undefined && !this.journal.isBlank) return
    this.titles.isUntitled = meta.title === null
    this.updateMeta({
      title: meta.title ?? titleOf(message),
      prompt: meta.prompt ?? this.toolRuntime.systemPrompt(this.settings, meta.createdAt),
    })
  }

  /** Called when a turn has ended, with or without another one behind it. */
  #openQueued(): boolean {
    this.release(this.store.turn().id)
    const next = nextTurn(this.store)
    if (!next) return false
    this.#open(next)
    return true
  }

  /** A turn that has ended gives back its place and says what it cost; at the latest the alarm sees to that. */
  release(runId = this.store.current()?.id ?? ''): void {
    const unheard = (error: unknown) => {
      console.warn('The tenant cannot be reached.', error)
      if (this.#closing) return
      this.#projectAt ??= clock.now() + projectionDelay(this.#failures)
      this.arm()
    }
    this.later(settleRun(this, runId).catch(unheard))
  }

  #rested(until: number | undefined): void {
    this.#restsUntil = until
    if (until === undefined && this.store.current()) {
      this.#projectAt ??= clock.now() + leaseMs
      this.#ctx.waitUntil(this.#projectSoon())
    } else this.arm()
  }
}
