/** Holds the session of one object, and replaces it when its storage was emptied. */

import { log } from '#agent/core/log.ts'
import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { inject } from './inject.ts'
import { clock } from '#durable/platform/clock.ts'
import { logIdsOf, withLogContext } from '#durable/platform/log-context.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { leaseMs } from '#durable/platform/schedule.ts'
import { sessionView, type SessionView } from './views/api-views.ts'
import { isForTenant, mayOpen } from './core/check-caller.ts'
import { deleteOutside, endSession } from './core/deletion.ts'
import { IncomingCopy } from './copies/fork.ts'
import { getStatus } from '#durable/turn/pending-requests.ts'
import { Session } from './session.ts'
import { listSaid } from './views/match-conversation.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

/** The maximum wait until history contains a created session, so that lists show it at once. */
const projectionWaitMs = 1_000

export class SessionHost {
  readonly ctx: DurableObjectState
  readonly env: Env
  readonly incomingCopy: IncomingCopy
  #session: Session

  constructor(ctx: DurableObjectState, env: Env) {
    this.ctx = ctx
    this.env = env
    this.#session = this.#newSession()
    const forgetMemory = () => this.#forgetMemory()
    this.incomingCopy = new IncomingCopy({
      session: () => this.#session,
      storage: ctx.storage,
      blobs: env.BLOBS,
      forgetMemory,
    })
  }

  #newSession(): Session {
    return new Session(this.ctx, this.env, {
      deleteSession: () => this.expire(),
      deliver: (authority, message) => inject(this.#session, authority, message),
    })
  }

  /** Read it again after each wait: it is replaced when the session was deleted. */
  get session(): Session {
    return this.#session
  }

  /** Returns undefined when neither this object nor history has the session. */
  async find(): Promise<Session | undefined> {
    return this.#session.exists || (await this.#session.load()) ? this.#session : undefined
  }

  /** Whether a call is for the tenant of this object. Every other call is answered as if there were no session. */
  isOwn(authority: Authority): boolean {
    return isForTenant(this.#session, authority)
  }

  /** Calls `work` with the session; undefined when there is none that this authority may open. */
  async with<T>(authority: Authority, work: (session: Session) => T | Promise<T>): Promise<T | undefined> {
    return this.withAny(authority, (session) => (mayOpen(session, authority) ? work(session) : undefined))
  }

  /** Calls `work` with a session of the tenant, for what does not depend on whose session it is. */
  async withAny<T>(authority: Authority, work: (session: Session) => T | Promise<T>): Promise<T | undefined> {
    return this.asCaller(authority, async () => {
      const session = this.isOwn(authority) ? await this.find() : undefined
      return session && work(session)
    })
  }

  /** Returns the session when this authority may open it. */
  async findFor(authority: Authority): Promise<Session | undefined> {
    const session = this.isOwn(authority) ? await this.find() : undefined
    return session && mayOpen(session, authority) ? session : undefined
  }

  /** Calls `work`, whose log entries have the ids of the call. */
  asCaller<T>(authority: Authority, work: () => T): T {
    const ids = { ...logIdsOf(authority), session_id: this.#session.sessionId }
    return withLogContext(() => ids, work)
  }

  /** Returns the session for the API, after a short wait for history. */
  async view(): Promise<SessionView> {
    await withTimeout(this.#session.turns.project(), projectionWaitMs, () => undefined)
    return sessionView(this.#session.record(), getStatus(this.#session))
  }

  /**
   * Stops the runs and deletes all data of the session, the object's storage last: after a failure or
   * a crash the session still exists and can be deleted again. False when there was none. `actor`: who asked for it.
   * `mayDelete` decides in the same synchronous stretch in which the session closes: nothing can begin in between.
   */
  async delete(actor?: string, mayDelete: (session: Session) => boolean = () => true): Promise<boolean> {
    const session = await this.find()
    if (!session || !mayDelete(session)) return false
    try {
      await endSession(this.#session)
      await deleteOutside(this.#session, this.env, actor)
      await this.ctx.storage.deleteAlarm()
      await this.ctx.storage.deleteAll()
    } catch (error) {
      // The alarm retries the deletion of an ephemeral session.
      await this.#session.turns.rearm()
      throw error
    } finally {
      for (const socket of this.ctx.getWebSockets()) socket.close(1000, 'The session was deleted.')
      this.#forgetMemory()
    }
    return true
  }

  /** Deletes an expired ephemeral session. A failure is retried by the alarm. */
  async expire(): Promise<void> {
    try {
      if ((this.#session.expiresAt ?? Infinity) <= clock.now()) await retireConversation(this.#session, this.env)
      await this.delete()
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('session.undeleted', 'The session cannot be deleted now; the alarm tries again.', { error })
    }
  }

  /** Sets the next alarm before the current one does anything that can fail. */
  async rearm(): Promise<void> {
    await this.#session.turns.rearm(clock.now() + leaseMs)
  }

  /** Replaces the session, because its storage is empty. A driver that still runs is ended with the object. */
  #forgetMemory(): void {
    if (this.#session.driver.isDriving)
      this.ctx.waitUntil(clock.wait(10).then(() => this.ctx.abort('The session was deleted.')))
    else this.#session = this.#newSession()
  }
}

/**
 * Leaves with the tenant what tells the conversation of an expiring session from others with the same words: whoever had
 * it may come back, and must not get the session of somebody else (docs/design/continuity.md).
 */
async function retireConversation(session: Session, env: Env): Promise<void> {
  const { store, meta, tenantId, sessionId } = session
  const turn = store.current()
  if (!meta.oneShot || !turn) return
  const texts = listSaid(session, turn).parts.flatMap(({ text }) => text || [])
  const said = await Promise.all([texts.join(''), texts.at(-1) ?? ''].map((text) => sha256Base64(text)))
  // Files on a host that is gone are never equal to others.
  const state = await import('./copies/state-hash.ts')
    .then(({ hashState }) => hashState(session, turn.id))
    .catch((error: unknown) => {
      log.warn('conversation.unhashed', 'The files of an expiring session cannot be read.', { error })
      return undefined
    })
  const authority = systemAuthority(tenantId, { kind: 'session', id: sessionId })
  const place = { sessionId, runId: turn.id }
  await tenantStub(env, tenantId).conversations.retire(authority, place, { said, state: state ?? '' })
}
