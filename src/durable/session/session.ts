/** One session: its identity, its settings, and the parts that store, drive, stream and deliver its turns. */

import type { Machine } from '../../agent/loop/drive.ts'
import type { Entry, SessionRecord } from '../../agent/model/history.ts'
import type { Message } from '../../agent/model/message.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { noUsage } from '../../agent/model/usage.ts'
import { isUnattendedTurn } from '../../agent/policy/unattended.ts'
import { createD1History } from '../../db/history.ts'
import { Delivery } from '../channels/delivery.ts'
import { Streams } from '../events/streams.ts'
import type { SideCall } from '../models/side-call.ts'
import { clock } from '../platform/clock.ts'
import { processRows } from '../processes/process-rows.ts'
import { abandonTurn } from '../storage/abandon-turn.ts'
import { importRunId, Journal } from '../storage/journal.ts'
import { Projection } from '../storage/projection.ts'
import { rebuild } from '../storage/rebuild.ts'
import { createMetadata, type NewSession, type SessionMetadata } from '../storage/session-metadata.ts'
import { addLateUsage, expiresAt, sessionRecord, sessionUsage, runUsage } from '../storage/session-record.ts'
import { SideCallNotes } from '../storage/side-call-notes.ts'
import { storedBytes } from '../storage/storage-usage.ts'
import { SessionStore } from '../storage/store.ts'
import { SessionTenant } from '../tenant/session-tenant.ts'
import { SessionBilling } from '../tenant/session-billing.ts'
import { stricter } from '../tenant/effective-limits.ts'
import { effectiveSettings } from '../tenant/tenant-snapshot.ts'
import { tenantStub } from '../tenant/tenant-stub.ts'
import { Driver } from '../turn/driver.ts'
import { PendingList } from '../turn/pending-list.ts'
import { ToolRuntime } from '../turn/tool-runtime.ts'
import { SessionAccess } from './access.ts'
import { traceTurnEnd } from '../turn/trace.ts'
import { createTurnMachine } from '../turn/turn-machine.ts'
import { recordDecisions } from './record-decisions.ts'
import { Titles } from './title.ts'
import { TurnControl } from './turn-control.ts'

type CopiedRow = {
  readonly n: number
  readonly runId: string
  readonly entries: readonly Entry[]
  readonly turn?: Turn
}

export class Session {
  readonly tenantId: string
  readonly sessionId: string
  readonly sql: SqlStorage
  readonly journal: Journal
  readonly streams: Streams
  readonly tenant: SessionTenant
  readonly toolRuntime: ToolRuntime
  readonly billing: SessionBilling
  readonly pendingList: PendingList
  readonly delivery: Delivery
  readonly titles: Titles
  readonly side: SideCall
  readonly driver: Driver
  readonly projection: Projection
  readonly turns: TurnControl
  readonly access: SessionAccess
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined
  /** Replaced when the session is rebuilt: read it again after each wait. */
  store: SessionStore
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #meta: SessionMetadata | undefined
  #settings: { readonly tenant: Settings; readonly session: Settings; readonly value: Settings } | undefined

  /** `deleteSession` is called when the tenant is being deleted. */
  constructor(ctx: DurableObjectState, env: Env, deleteSession: () => Promise<unknown>) {
    this.#ctx = ctx
    this.#env = env
    const [, tenantId = '', sessionId = ''] = /^t\/([^/]+)\/s\/([^/]+)$/.exec(ctx.id.name ?? '') ?? []
    this.tenantId = tenantId
    this.sessionId = sessionId
    this.tenant = new SessionTenant(env, tenantId)
    this.sql = ctx.storage.sql
    this.journal = new Journal(this.sql)
    this.#meta = this.journal.metadata()
    this.streams = new Streams(() => ctx.getWebSockets())
    this.store = this.#openStore()
    this.openAtWake = this.store.hasOpenTurn ? this.store.turn().id : undefined
    this.toolRuntime = this.#createToolRuntime()
    this.pendingList = new PendingList(this, () => tenantStub(env, tenantId))
    this.billing = this.#createBilling()
    this.delivery = new Delivery(this, env)
    this.titles = new Titles(this, env)
    this.turns = new TurnControl(this, ctx.storage)
    this.access = this.#createAccess(deleteSession)
    const machine = createTurnMachine(this, env)
    this.side = machine.side
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

  /** The time at which an ephemeral session is deleted. */
  get expiresAt(): number | undefined {
    return this.#meta && expiresAt(this.#meta, this.store)
  }

  record(): SessionRecord {
    return sessionRecord(this.meta, this.store)
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
    const through = await rebuild(this.journal, createD1History(this.#env.DB, this.tenantId), this.sessionId)
    // It may have been deleted or loaded meanwhile: a turn that began in the other store must not be lost.
    if (this.turns.isClosing) return false
    if (this.#meta) return this.exists
    if (through === undefined) return false
    this.#meta = this.journal.metadata()
    this.store = this.#openStore()
    this.projection.startAt(through)
    return true
  }

  /** Creates the session in memory; its first write stores it. Does nothing when it exists. */
  create(spec: NewSession, history: readonly Message[] = []): void {
    if (this.#meta) return
    this.#meta = createMetadata({ id: this.sessionId, tenantId: this.tenantId }, spec, clock.now())
    this.projection.startAt(0, 'nothing')
    if (!history.length) return
    this.journal.putMetadata(this.#meta)
    this.store.importMessages(importRunId, history)
    this.store.write()
    if (spec.ephemeral) this.turns.arm()
  }

  /** Replaces metadata and rows by those of a copied or imported session. */
  adopt(meta: SessionMetadata, rows: readonly CopiedRow[]): void {
    this.#meta = meta
    this.journal.putMetadata(meta)
    for (const { n, runId, entries, turn } of rows) {
      const texts = entries.map((entry) => JSON.stringify(entry))
      this.journal.putStep({ n, runId, entries: [...entries], texts, events: [] }, turn)
    }
    this.store = this.#openStore()
    this.projection.startAt(0, 'nothing')
  }

  /** Loads the tenant when no request has provided its snapshot. */
  ensureTenant(): Promise<void> {
    return this.tenant.load()
  }

  /** Runs work in the background; the platform keeps the object alive for it. */
  runInBackground(work: Promise<unknown>): void {
    this.#ctx.waitUntil(work)
  }

  /** Resets the object: a fresh one resumes from what is stored. */
  readonly resetObject = (reason: string): void => this.#ctx.abort(reason)

  /** Sets the alarm again after a part has changed its next wake time. */
  arm(): void {
    this.turns.arm()
  }

  #openStore(): SessionStore {
    return new SessionStore(this.journal, {
      sessionId: this.sessionId,
      now: clock.now,
      lastNumbers: this.#meta?.given,
      publish: (events) => {
        this.delivery.handleEvents(events)
        this.streams.publish(events)
        traceTurnEnd(this, this.#env, events)
      },
      publishDecisions: (runId, decisions) =>
        this.runInBackground(recordDecisions(this, this.#env, { runId, decisions })),
      beforeWriteEnds: () => this.billing.confirmSideCalls(this.store.current()),
    })
  }

  #createToolRuntime(): ToolRuntime {
    const { sql, journal, tenantId, sessionId } = this
    return new ToolRuntime({
      env: this.#env,
      sql,
      tenantId,
      sessionId,
      meta: () => this.meta,
      settings: { now: () => this.settings, limits: () => this.tenant.limits, load: () => this.ensureTenant() },
      secrets: () => this.tenant.secrets,
      updateMeta: (change) => this.updateMeta(change),
      runInBackground: (work) => this.runInBackground(work),
      processes: { rows: processRows(sql, journal.hasTable('process')), step: () => this.store.lastMessageSeq() },
    })
  }

  #createBilling(): SessionBilling {
    return new SessionBilling({
      tenant: () => tenantStub(this.#env, this.tenantId),
      limits: () => stricter(this.tenant.limits ?? {}, this.#meta?.settings.limits ?? {}),
      usage: () => (this.#meta ? sessionUsage(this.#meta, this.store) : noUsage),
      notes: new SideCallNotes(this.journal),
      addLateUsage: (run, usage) => this.updateMeta(addLateUsage(this.meta, run, usage)),
      sessionBytes: () => ({ sessionId: this.sessionId, bytes: storedBytes(this.sql) }),
      isUnattended: ({ options }) => isUnattendedTurn(this.meta.source, options.authority),
      runInBackground: (work) => this.runInBackground(work),
    })
  }

  #createAccess(deleteSession: () => Promise<unknown>): SessionAccess {
    return new SessionAccess({
      session: this,
      tenantStub: () => tenantStub(this.#env, this.tenantId),
      sockets: () => this.#ctx.getWebSockets().map((socket) => ({ socket, keyId: this.#ctx.getTags(socket)[0] })),
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
      onStop: (until) => this.turns.handleDriverStop(until),
    })
  }

  #createProjection(): Projection {
    return new Projection({
      journal: this.journal,
      history: () => createD1History(this.#env.DB, this.tenantId),
      record: () => this.record(),
      usageOf: (turn) => runUsage(this.meta, turn),
      publishPending: () => this.pendingList.publish(),
      undone: {
        from: () => this.meta.retractedFrom,
        done: (from) => {
          if (this.meta.retractedFrom === from) this.updateMeta({ retractedFrom: undefined })
        },
      },
    })
  }
}
