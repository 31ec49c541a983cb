/**
 * Starts, resumes and stops the turns of a session, sends their rows to history, and arms the one alarm.
 * Everything that changes the schedule of a session is here.
 */

import { pendingTasks } from '#durable/turn/pending-requests.ts'
import { log } from '#agent/core/log.ts'
import type { AccessRefusal } from '#agent/core/permission/access.ts'
import { requestStop } from '#agent/loop/turn-changes.ts'
import { maxTurns } from '#durable/tenant/tenant-snapshot.ts'
import { callerCalls, isSuspended, isWaitingForSubagents } from '#agent/core/turn.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { armAlarm, leaseMs, nextWake, type WakeSchedule } from '#durable/platform/schedule.ts'
import { beginConversation, isCurrent } from '#durable/storage/conversation-span.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import { nextTurn, type TurnRequest } from '#durable/turn/next-turn.ts'
import { openingCalls } from '#durable/turn/opening-calls.ts'
import type { Preparation } from '#durable/turn/prepare-turn.ts'
import { settleRun } from '#durable/turn/run-end.ts'
import type { TurnAuthority } from '#agent/core/permission/contribution.ts'
import { joinConversation, recordContribution } from './contributions.ts'
import { appendInjected } from './append-injected.ts'
import * as schedules from './session-schedule.ts'
import { titleFrom } from './title.ts'
import type { Session } from '../session.ts'

/** Turns in quick succession are sent to history together: nobody reads what the next one replaces a moment later. */
const historyIntervalMs = 1_000

export class TurnControl {
  readonly #session: Session
  readonly #storage: DurableObjectStorage
  readonly #wakes: () => WakeSchedule['wakes']
  #schedule = schedules.newSchedule
  #injectionAfter = 0
  /** The time at which an ended turn was sent to history last, and whether another one waits. */
  #projectedAt = 0
  #isProjectionDue = false

  /** `wakes`: the times of all reasons to wake. */
  constructor(session: Session, storage: DurableObjectStorage, wakes: () => WakeSchedule['wakes']) {
    this.#session = session
    this.#storage = storage
    this.#wakes = wakes
  }

  // --- turns

  /** Opens a turn and drives it up to its first request in one synchronous stretch: one write, no wait before the model. Or stores it, and begins it later. */
  start(request: TurnRequest, preparation: Preparation): void {
    const { meta, titles, journal } = this.#session
    if (preparation.prompt !== undefined && (meta.prompt === undefined || journal.isBlank)) {
      titles.isUntitled = meta.title === null
      this.#session.updateMeta({ title: meta.title ?? titleFrom(request.message), ...preparation })
    }
    this.#open(request)
    if (request.startsAfterMs) this.#resumeAfter(request.startsAfterMs)
    else this.resume()
  }

  /** Stores the turn, and begins it later. The alarm resumes it if this object is evicted before. */
  #resumeAfter(ms: number): void {
    this.#session.store.write()
    this.#schedule = schedules.turnResumed(this.#schedule)
    this.arm()
    this.#session.runInBackground(clock.wait(ms).then(() => this.resumeIfUndriven()))
  }

  /**
   * Cancels the open turn: a model call at once, a tool as soon as it reacts. False when no turn is open. `reason` is
   * given when the tenant or the key may not go on.
   */
  stop(reason?: AccessRefusal): boolean {
    const { store, driver } = this.#session
    if (!store.hasOpenTurn) return false
    const tasks = pendingTasks(this.#session)
    if (tasks.length) this.#session.runInBackground(this.#session.tenant.cancelTasks(this.#session.sessionId, tasks))
    store.save(requestStop(store.turn(), reason))
    store.write()
    driver.abort()
    this.resume()
    return true
  }

  /** Continues the open turn, if there is one, and arms the alarm that resumes it if this object is evicted. */
  resume(): void {
    if (this.#session.store.hasOpenTurn) this.#session.inTurnContext(() => this.#resume())
  }

  #resume(): void {
    this.#schedule = schedules.turnResumed(this.#schedule)
    if (this.#session.tenant.snapshot)
      this.#drive().catch((error: unknown) => log.warn('turn.reset', 'The driver was reset.', { error }))
    else if (!this.#schedule.isStarting) this.#session.runInBackground(this.#startAfterTenantLoad())
    this.arm()
  }

  /** Called by every alarm: resumes the open turn, or reports the last one to the tenant. */
  continue(): void {
    if (this.isSettled) return
    if (this.#session.store.hasOpenTurn) this.resume()
    else this.settle()
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
    const { store, access, subagents } = this.#session
    const ended = store.current()
    if (ended) this.settle(ended.id)
    appendInjected(this.#session)
    subagents.dropLate()
    if (access.isPaused) return false
    const next = nextTurn(this.#session)
    if (next) this.#open(next)
    return next !== undefined
  }

  /** Called when the driver has stopped. */
  handleDriverStop(until: number | undefined): void {
    this.#session.access.stopChecks()
    this.#session.chatOutbox.pauseDisplays()
    const hasTurn = this.#session.store.current() !== undefined
    if (until === undefined && !hasTurn) return this.arm()
    this.#schedule = schedules.driverStopped(this.#schedule, until, clock.now())
    this.releaseWhileWaiting()
    if (until === undefined) this.#session.runInBackground(this.#projectEndedTurn())
    else this.arm()
  }

  /** Releases the slot of a turn that waits for its caller, who may never come, or for subagents, which need slots. */
  releaseWhileWaiting(): void {
    const turn = this.#session.store.current()
    if (turn && (callerCalls(turn.stage).length || isWaitingForSubagents(turn.stage)))
      this.#settle(this.#session.billing.settle(turn.id, undefined))
  }

  #open({ runId, message, options, drain, calls }: TurnRequest): void {
    const { meta, settings, store } = this.#session
    this.#schedule = schedules.turnChanged(this.#schedule)
    if (meta.startsAnew) {
      this.#session.updateMeta(beginConversation(meta, { lastSeq: store.lastMessageSeq(), now: clock.now() }))
      store.dropContext()
    }
    // Earlier runs were not asked for. Later ones may end before the first of them is kept.
    if (settings.sessions?.trajectory_days && meta.trajectoriesThrough === undefined)
      this.#session.updateMeta({ trajectoriesThrough: store.lastMessageSeq() })
    const authority = this.#contribute(options.authority)
    const owned = { ...options, authority }
    store.openTurn(runId, [message], {
      options: meta.model && !options.model ? { ...owned, model: meta.model } : owned,
      limit: maxTurns(settings, options.maxTurns, meta.source),
      usageBefore: sessionUsage(meta, store),
      drain,
    })
    if (calls?.length) store.save(openingCalls(store.turn(), calls, this.#session.driver.view()))
  }

  /** Records who contributes to the conversation, also to the turn before, and returns the authority of the turn. */
  #contribute(authority: TurnAuthority): TurnAuthority {
    const session = this.#session
    // Answers and subagents may have narrowed it since it began.
    const last = session.store.lastTurn()
    const before = last && isCurrent(session.meta, last.n) && last.turn?.options.authority
    if (before) recordContribution(session, before)
    const joint = joinConversation(session, authority)
    recordContribution(session, authority)
    return joint
  }

  /** When the tenant cannot be read, the alarm tries again. */
  async #startAfterTenantLoad(): Promise<void> {
    const { tenant, store } = this.#session
    this.#schedule = schedules.starting(this.#schedule, true)
    try {
      await tenant.load()
    } finally {
      this.#schedule = schedules.starting(this.#schedule, false)
    }
    if (store.hasOpenTurn) await this.#drive()
  }

  #drive(): Promise<void> {
    const { driver, chatOutbox } = this.#session
    if (!driver.isDriving) chatOutbox.showWork()
    return driver.start()
  }

  // --- the alarm

  /**
   * Sets the alarm to the earliest reason to wake. Storage orders it with the writes of this stretch. While a turn runs
   * or its rows are sent, an alarm that is earlier stays: moving it costs a row, and its handler sets it exactly.
   */
  arm(): void {
    const { armed, backsOffUntil } = this.#schedule
    const isWorking = backsOffUntil === undefined && !this.isSettled
    const isKept = isWorking && typeof armed === 'number' && armed > clock.now()
    const wakes = this.#wakes()
    if (!isKept || (nextWake({ wakes, armed })?.at ?? Infinity) < armed) this.armExactly(wakes)
  }

  armExactly(wakes = this.#wakes()): void {
    const armed = armAlarm(this.#storage, { wakes, armed: this.#schedule.armed })
    this.#schedule = { ...this.#schedule, armed }
  }

  /** When a turn that runs or could run is looked at again: one lease from now. */
  get leaseEnd(): number | undefined {
    return schedules.leaseEnd(this.#schedule, this.#facts(), clock.now())
  }

  /** When the open turn may call the model again. */
  get backsOffUntil(): number | undefined {
    return this.#schedule.backsOffUntil
  }

  /** When history or the tenant is tried again. */
  get projectionRetryAt(): number | undefined {
    return this.#schedule.projection.retryAt
  }

  /** When a turn is tried with the messages that were injected. */
  get injectionAt(): number | undefined {
    const { store, injected } = this.#session
    const isDue = !store.hasOpenTurn && injected.waiting().length > 0
    return isDue ? Math.max(clock.now(), this.#injectionAfter) : undefined
  }

  /** Called first by every alarm: the next one is set before anything else can fail. */
  async rearm(at = clock.now() + leaseMs): Promise<void> {
    this.#schedule = { ...this.#schedule, armed: at }
    await this.#storage.setAlarm(at)
  }

  #facts(): schedules.TurnFacts {
    const { store, driver } = this.#session
    const turn = store.current()
    const isWaiting = turn !== undefined && isSuspended(turn.stage)
    return { hasOpenTurn: store.hasOpenTurn, isSuspended: isWaiting, isDriving: driver.isDriving }
  }

  /** Postpones the turn with what waits, because it cannot start now. */
  postponeInjection(ms: number): void {
    this.#injectionAfter = clock.now() + ms
    this.#session.toolRuntime.processes.postponeNotice(ms)
    this.arm()
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
    const undoneFrom = this.#session.meta.retractedFrom
    try {
      await Promise.all([projection.run(), billing.flush(), keepTrajectories(this.#session)])
      this.#schedule = schedules.projectionSucceeded(this.#schedule)
      this.#session.announcer.changed()
      this.#requestRecall(undoneFrom)
    } catch (error) {
      log.warn('history.unreachable', 'History cannot be reached; the session sends it later.', { error })
      this.#schedule = schedules.projectionFailed(this.#schedule, clock.now())
    }
    // The storage of a closing session may already belong to a new session.
    if (!this.isClosing) this.armExactly()
  }

  /** The tenant's object embeds the text later. A lost request is found by its daily comparison. */
  #requestRecall(undoneFrom: number | undefined): void {
    const { store, tenant, tenantId, sessionId, ownAuthority, outside } = this.#session
    if (!tenant.snapshot?.settings.search?.embedding_model || store.hasOpenTurn) return
    const requested = tenantStub(outside.env, tenantId).recall.changed(ownAuthority, sessionId, undoneFrom)
    const onFailure = (error: unknown) => log.warn('recall.unrequested', 'New text is embedded later.', { error })
    this.#session.runInBackground(requested.catch(onFailure))
  }

  /** Publishes pending requests first, then waits for the title so that one page of history holds both. */
  async #projectEndedTurn(): Promise<void> {
    const { store, driver, pendingList, titles } = this.#session
    void reportJobEnd(this.#session)
    await pendingList.tryPublish()
    if (!store.hasOpenTurn) await titles.create()
    if (!store.hasOpenTurn) this.#session.startReview()
    if (this.#isProjectionDue) return
    this.#isProjectionDue = true
    const waitMs = this.#projectedAt + historyIntervalMs - clock.now()
    if (waitMs > 0) await clock.wait(waitMs)
    this.#isProjectionDue = false
    // The end of a turn that has begun meanwhile sends all rows. The alarm is set until then.
    if (driver.isDriving) return
    this.#projectedAt = clock.now()
    await this.project()
  }

  /** Reports the cost of an ended run to the tenant and releases its slot. The alarm retries a failure. */
  settle(runId = this.#session.store.current()?.id ?? ''): void {
    this.#settle(settleRun(this.#session, runId))
  }

  #settle(settling: Promise<void>): void {
    const onFailure = (error: unknown) => {
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the run is settled later.', { error })
      if (this.isClosing) return
      this.#schedule = schedules.settlementFailed(this.#schedule, clock.now())
      this.arm()
    }
    this.#session.runInBackground(settling.catch(onFailure))
  }

  /** Whether the session is being deleted. For every caller it does not exist any more. */
  get isClosing(): boolean {
    return this.#schedule.isClosing
  }

  close(): void {
    this.#schedule = schedules.closed(this.#schedule)
  }
}

/** Reports to the tenant's object that the turn of a job's run, or of a prompt of a batch, is over. A lost report is made up for: the object also looks. */
async function reportJobEnd(session: Session): Promise<void> {
  if (session.meta.jobRun === undefined || session.store.hasOpenTurn) return
  const { ownAuthority, sessionId } = session
  try {
    if (session.meta.source === 'batch')
      await session.tenantObject().batches.run(ownAuthority, 'reportEnd', [sessionId])
    else await session.tenantObject().jobs.reportEnd(ownAuthority, sessionId)
  } catch (error) {
    log.warn('tenant.unreachable', 'The end of a job could not be reported; the tenant will look for it.', { error })
  }
}

/** Rejects when one could not be stored: history is sent again then, and they with it. */
async function keepTrajectories(session: Session): Promise<void> {
  const { settings, meta } = session
  if (settings.sessions?.trajectory_days || meta.trajectoriesThrough !== undefined) await session.trajectories.keep()
}
