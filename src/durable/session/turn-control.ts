/**
 * Starts, resumes and stops the turns of a session, sends their rows to history, and arms the one alarm.
 * Everything that changes the schedule of a session is here.
 */

import { log } from '../../agent/model/log.ts'
import type { AccessRefusal } from '../../agent/model/access.ts'
import { requestStop } from '../../agent/loop/intake.ts'
import { maxTurns } from '../tenant/tenant-snapshot.ts'
import type { Settings } from '../../agent/model/settings.ts'
import { clock } from '../platform/clock.ts'
import { armAlarm, leaseMs } from '../platform/schedule.ts'
import type { Journal } from '../storage/journal.ts'
import type { Projection } from '../storage/projection.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'
import { sessionUsage } from '../storage/session-record.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionTenant } from '../tenant/session-tenant.ts'
import type { SessionBilling } from '../tenant/session-billing.ts'
import type { Driver } from '../turn/driver.ts'
import { nextTurn, type TurnRequest } from '../turn/next-turn.ts'
import type { PendingList } from '../turn/pending-list.ts'
import { isSuspended } from '../turn/pending-requests.ts'
import type { Preparation } from '../turn/prepare-turn.ts'
import { settleRun } from '../turn/run-end.ts'
import * as schedules from './session-schedule.ts'
import { titleFrom, type Titles } from './title.ts'

type ControlledSession = {
  readonly meta: SessionMetadata
  readonly settings: Settings
  readonly journal: Journal
  readonly store: SessionStore
  readonly tenant: SessionTenant
  readonly driver: Driver
  readonly billing: SessionBilling
  readonly projection: Projection
  readonly pendingList: PendingList
  readonly titles: Titles
  readonly access: { readonly isPaused: boolean; readonly stopChecks: () => void }
  readonly delivery: { readonly getNextWake: (now: number) => number | undefined }
  readonly toolRuntime: { readonly processes: { readonly getNextWake: (isIdle: boolean) => number | undefined } }
  readonly expiresAt: number | undefined
  readonly openAtWake: string | undefined
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

export class TurnControl {
  readonly #session: ControlledSession
  readonly #storage: DurableObjectStorage
  #schedule = schedules.newSchedule

  constructor(session: ControlledSession, storage: DurableObjectStorage) {
    this.#session = session
    this.#storage = storage
  }

  // --- turns

  /** Opens a turn and drives it up to its first request in one synchronous stretch: one write, no wait before the model. */
  start(request: TurnRequest, preparation: Preparation): void {
    const { meta, titles, journal } = this.#session
    if (preparation.prompt !== undefined && (meta.prompt === undefined || journal.isBlank)) {
      titles.isUntitled = meta.title === null
      this.#session.updateMeta({ title: meta.title ?? titleFrom(request.message), prompt: preparation.prompt })
    }
    this.#open(request)
    this.resume()
  }

  /**
   * Cancels the open turn: a model call at once, a tool as soon as it reacts. False when no turn is open. `reason` is
   * given when the tenant or the key may not go on.
   */
  stop(reason?: AccessRefusal): boolean {
    const { store, driver } = this.#session
    if (!store.hasOpenTurn) return false
    store.save(requestStop(store.turn(), reason))
    store.write()
    driver.abort()
    this.resume()
    return true
  }

  /** Continues the open turn, if there is one, and arms the alarm that resumes it if this object is evicted. */
  resume(): void {
    const { store, tenant, driver } = this.#session
    if (!store.hasOpenTurn) return
    this.#schedule = schedules.turnResumed(this.#schedule)
    if (tenant.snapshot)
      driver
        .start()
        .catch((error: unknown) => log.warn('turn.reset', 'The driver was reset.', { error, ...this.#logIds() }))
    else if (!this.#schedule.isStarting) this.#session.runInBackground(this.#startAfterTenantLoad())
    this.arm()
  }

  /** Resumes a turn that can go on but has no driver, because the object was evicted and a request restarted it. */
  resumeIfUndriven(): void {
    const isIdle = !this.#session.driver.isDriving && !this.isClosing
    if (isIdle && schedules.canDrive(this.#schedule, this.#facts())) this.resume()
  }

  /** Starts what a suspension of the tenant held back: the open turn or the queue now, everything else by the alarm. */
  continueAfterPause(): void {
    const { store } = this.#session
    if (this.isClosing) return
    if (!store.hasOpenTurn && store.queued().length) this.openQueued()
    this.resumeIfUndriven()
    this.#session.runInBackground(this.rearm(clock.now()))
  }

  /** Opens the next turn of the queue after one has ended. False when there is none, or while the tenant is suspended. */
  openQueued(): boolean {
    const { store, access } = this.#session
    const ended = store.current()
    if (ended) this.settle(ended.id)
    if (access.isPaused) return false
    const next = nextTurn(store)
    if (next) this.#open(next)
    return next !== undefined
  }

  /** Called when the driver has stopped. */
  handleDriverStop(until: number | undefined): void {
    this.#session.access.stopChecks()
    const hasTurn = this.#session.store.current() !== undefined
    if (until === undefined && !hasTurn) return this.arm()
    this.#schedule = schedules.driverStopped(this.#schedule, until, clock.now())
    if (until === undefined) this.#session.runInBackground(this.#projectEndedTurn())
    else this.arm()
  }

  #open({ runId, message, options, drain }: TurnRequest): void {
    const { meta, settings, store } = this.#session
    this.#schedule = schedules.turnChanged(this.#schedule)
    store.openTurn(runId, [message], {
      options: meta.model && !options.model ? { ...options, model: meta.model } : options,
      limit: maxTurns(settings, options.maxTurns, meta.source),
      usageBefore: sessionUsage(meta, store),
      drain,
    })
  }

  /** When the tenant cannot be read, the alarm tries again. */
  async #startAfterTenantLoad(): Promise<void> {
    const { tenant, store, driver } = this.#session
    this.#schedule = schedules.starting(this.#schedule, true)
    try {
      await tenant.load()
    } finally {
      this.#schedule = schedules.starting(this.#schedule, false)
    }
    if (store.hasOpenTurn) await driver.start()
  }

  // --- the alarm

  /** Sets the alarm to the earliest reason to wake. Storage orders it with the writes of this stretch. */
  arm(): void {
    const now = clock.now()
    const armed = armAlarm(this.#storage, schedules.wakesOf(this.#schedule, this.#facts(), now))
    this.#schedule = { ...this.#schedule, armed }
  }

  /** Called first by every alarm: the next one is set before anything else can fail. */
  async rearm(at = clock.now() + leaseMs): Promise<void> {
    this.#schedule = { ...this.#schedule, armed: at }
    await this.#storage.setAlarm(at)
  }

  #facts(): schedules.SessionFacts {
    const { store, driver, toolRuntime, delivery, expiresAt } = this.#session
    const turn = store.current()
    return {
      hasOpenTurn: store.hasOpenTurn,
      isSuspended: turn !== undefined && isSuspended(turn.stage),
      isDriving: driver.isDriving,
      processesAt: this.isClosing ? undefined : toolRuntime.processes.getNextWake(!store.hasOpenTurn),
      deliveryAt: delivery.getNextWake(clock.now()),
      expiresAt,
    }
  }

  // --- after a turn

  /** Whether nothing must be sent and no turn must be resumed: an alarm then only polls processes. */
  get isSettled(): boolean {
    return schedules.isSettled(this.#schedule, this.#facts())
  }

  /** Sends the missing rows to history. The alarm stays armed until they have arrived. */
  async project(): Promise<void> {
    if (this.isClosing) return
    const { projection, billing } = this.#session
    this.#schedule = schedules.projectionStarted(this.#schedule, clock.now())
    if (typeof this.#schedule.armed !== 'number') this.arm()
    try {
      await Promise.all([projection.run(), billing.flush()])
      this.#schedule = schedules.projectionSucceeded(this.#schedule)
    } catch (error) {
      log.warn('history.unreachable', 'History cannot be reached; the session sends it later.', {
        error,
        ...this.#logIds(),
      })
      this.#schedule = schedules.projectionFailed(this.#schedule, clock.now())
    }
    // The storage of a closing session may already belong to a new session.
    if (!this.isClosing) this.arm()
  }

  /** Publishes pending requests first, then waits for the title so that one page of history holds both. */
  async #projectEndedTurn(): Promise<void> {
    const { store, driver, pendingList, titles } = this.#session
    await pendingList.tryPublish()
    if (!store.hasOpenTurn) await titles.create()
    if (!driver.isDriving) await this.project()
  }

  /** Reports the cost of an ended run to the tenant and releases its slot. The alarm retries a failure. */
  settle(runId = this.#session.store.current()?.id ?? ''): void {
    const onFailure = (error: unknown) => {
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the run is settled later.', {
        error,
        ...this.#logIds(),
      })
      if (this.isClosing) return
      this.#schedule = schedules.settlementFailed(this.#schedule, clock.now())
      this.arm()
    }
    this.#session.runInBackground(settleRun(this.#session, runId).catch(onFailure))
  }

  #logIds() {
    const { meta, store } = this.#session
    return { tenant_id: meta.tenantId, session_id: meta.id, run_id: store.current()?.id }
  }

  /** Whether the session is being deleted. For every caller it does not exist any more. */
  get isClosing(): boolean {
    return this.#schedule.isClosing
  }

  close(): void {
    this.#schedule = schedules.closed(this.#schedule)
  }
}
