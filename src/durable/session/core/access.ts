/**
 * Applies the access of the tenant and its keys to a session. A turn or a stream that may not go on ends, and a session
 * of a suspended tenant does nothing until the tenant is active again.
 *
 * A session that runs or streams longer than `checkIntervalMs` registers with the tenant's object, which tells it about
 * changes. One that hibernates with open sockets, or that is paused, is told too.
 */

import { log } from '#agent/core/log.ts'
import { type Access, type AccessRefusal, findRefusal, type Holder, getHolder } from '#agent/core/permission/access.ts'
import { closeCodes } from '#agent/public-api/access-refusal.ts'
import { clock } from '#durable/platform/clock.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import type { Session } from '../session.ts'

export type SessionAccessOptions = {
  readonly session: Session
  readonly tenantStub: () => DurableObjectStub<TenantDO>
  readonly sockets: () => readonly HeldSocket[]
  /** Deletes the session, because its tenant is being deleted. */
  readonly deleteSession: () => Promise<unknown>
}

export type HeldSocket = { readonly socket: WebSocket; readonly reader: Holder }

/** With the age of a cached snapshot this stays below two seconds. Repeated until the session is registered. */
const checkIntervalMs = 750
/** A paused session looks this often by itself, in case nobody told it. */
const pausedIntervalMs = 3_600_000

export class SessionAccess {
  readonly #options: SessionAccessOptions
  #cancelCheck: (() => void) | undefined
  #pausing: Promise<void> | undefined

  constructor(options: SessionAccessOptions) {
    this.#options = options
  }

  /** Whether the tenant may not act now: nothing may begin. */
  get isPaused(): boolean {
    return this.#options.session.tenant.access.status !== 'active'
  }

  /** Has changes reported as long as a turn runs or a stream is open. */
  startChecks(): void {
    const pauseMs = Math.max(checkIntervalMs, this.#options.session.tenant.announcedMs)
    this.#cancelCheck ??= clock.schedule(pauseMs, () => this.#runCheck())
  }

  /** Ends the checks when nothing needs them any more. */
  stopChecks(): void {
    if (this.#isBusy) return
    this.#cancelCheck?.()
    this.#cancelCheck = undefined
  }

  /** Loads the access when the last one is too old, and applies it. Resolves to whether the open turn is stopped. */
  async check(): Promise<boolean> {
    await this.#options.session.tenant.refreshAccess()
    return this.apply()
  }

  /** Applies the access as it is known. Returns whether the open turn is stopped. */
  apply(): boolean {
    const { session, sockets } = this.#options
    const { access } = session.tenant
    session.streams.closeRefused((reader) => findRefusal(access, reader))
    for (const { socket, reader } of sockets()) closeRefused(socket, findRefusal(access, reader))
    this.#stopTurn()
    if (this.isPaused) session.runInBackground(this.#pauseOnce())
    return this.#isTurnStopped
  }

  /** The tenant's object reports a change. Resolves to whether it must report the next one too. */
  async change(access: Access): Promise<boolean> {
    const { session, sockets } = this.#options
    session.tenant.setAccess(access)
    if (session.exists) {
      this.apply()
      if (this.isPaused) return true
      session.turns.continueAfterPause()
      if (this.#isBusy || sockets().some(({ socket }) => socket.readyState === WebSocket.OPEN)) return true
    }
    session.tenant.endAnnouncements()
    return false
  }

  /** Called by the alarm before it starts anything. True when nothing may be started. */
  async pausesAlarm(): Promise<boolean> {
    await this.#options.session.tenant.refreshAccess()
    if (!this.isPaused) return false
    await this.#pauseOnce()
    return true
  }

  /** Asks the tenant's object to report changes to this session, which may hibernate from now on. */
  async watch(): Promise<void> {
    const { session, tenantStub } = this.#options
    session.tenant.setAccess(await tenantStub().access.watch(session.ownAuthority, session.sessionId))
  }

  /** Ends the reports after the last socket has closed. */
  async unwatch(): Promise<void> {
    const { session, tenantStub, sockets } = this.#options
    const isNeeded = () => this.isPaused || sockets().some(({ socket }) => socket.readyState === WebSocket.OPEN)
    if (isNeeded()) return
    try {
      await tenantStub().access.unwatch(session.ownAuthority, session.sessionId)
      // A socket that was opened meanwhile may have registered before.
      if (isNeeded()) await this.watch()
    } catch (error) {
      // The next report finds out that nobody watches.
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the session stays registered.', { error })
    }
  }

  get #isTurnStopped(): boolean {
    const { store } = this.#options.session
    return store.hasOpenTurn && store.turn().stopRequested
  }

  get #isBusy(): boolean {
    const { driver, streams } = this.#options.session
    return driver.isDriving || streams.isOpen
  }

  #runCheck(): void {
    this.#cancelCheck = undefined
    if (!this.#isBusy) return
    const goOn = () => {
      if (this.#isBusy) this.startChecks()
    }
    this.#options.session.runInBackground(this.check().finally(goOn))
  }

  #stopTurn(): void {
    const { store, tenant, turns, driver } = this.#options.session
    if (!store.hasOpenTurn || store.turn().stopRequested) return
    const refusal = findRefusal(tenant.access, getHolder(store.turn().options.authority, 'chat'))
    // A turn that waits stays while the tenant is not active: it may go on later.
    if (refusal && (driver.isDriving || refusal === 'key-revoked' || refusal === 'role-changed')) turns.stop(refusal)
  }

  #pauseOnce(): Promise<void> {
    return (this.#pausing ??= this.#pause().finally(() => (this.#pausing = undefined)))
  }

  /** Sends what has happened to history, and sleeps until the tenant's object reports a change. */
  async #pause(): Promise<void> {
    const { session, deleteSession } = this.#options
    if (session.tenant.access.status === 'deleting') return void (await deleteSession())
    await session.turns.project()
    try {
      await this.watch()
      if (this.isPaused) await session.turns.rearm(clock.now() + pausedIntervalMs)
      else session.turns.continueAfterPause()
    } catch (error) {
      // The alarm that is set tries again.
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the session looks again later.', { error })
    }
  }
}

function closeRefused(socket: WebSocket, refusal: AccessRefusal | undefined): void {
  if (refusal && socket.readyState === WebSocket.OPEN) socket.close(closeCodes[refusal], refusal)
}
