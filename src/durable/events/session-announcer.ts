/**
 * Reports to the tenant's object what those who watch all sessions want to know: that a run has begun, waits or has ended, and
 * that the line of the session in a list has changed. Nothing is sent before the first word of an answer, and nothing at
 * all while nobody watches.
 */

import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import { log } from '#agent/core/log.ts'
import type { TenantEvent } from '#durable/tenant/events/tenant-event.ts'
import { getStatus } from '#durable/turn/pending-requests.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'

export class SessionAnnouncer {
  readonly #session: TurnSession
  /** A run has begun and has said nothing yet. */
  #isStarting = false
  #isChanged = false
  #isSending = false
  #ended: TenantEvent[] = []

  constructor(session: TurnSession) {
    this.#session = session
  }

  handleEvents(events: readonly SessionEvent[]): void {
    for (const event of events) this.#handle(event)
  }

  /**
   * The line of the session in a list may have changed. `isAsked`: by a request. That is rare, so it is sent although nobody
   * watched a moment ago: who began to watch since then is not known here.
   */
  changed(isAsked = false): void {
    if (!isAsked && (this.#isStarting || !this.#session.tenant.mayBeWatched)) return
    this.#isChanged = true
    if (this.#isSending) return
    this.#isSending = true
    this.#session.runInBackground(this.#send())
  }

  /** The session is being deleted. Never rejects: lists that are read again do not have it. */
  async removed(isAsked: boolean): Promise<void> {
    const { sessionId, tenant } = this.#session
    if (isAsked || tenant.mayBeWatched) await this.#publish([{ type: 'session.removed', id: sessionId }])
  }

  #handle(event: SessionEvent): void {
    if (event.type === 'run.started') {
      this.#isStarting = true
      return
    }
    const isFirst = this.#isStarting && event.type !== 'status'
    if (isFirst) this.#isStarting = false
    if (isRunEnd(event) && this.#session.tenant.mayBeWatched) this.#ended.push(toEnded(event))
    if (isFirst || isRunEnd(event) || changesStatus(event)) this.changed()
  }

  async #send(): Promise<void> {
    // All that happens in the same stretch is one change.
    await Promise.resolve()
    try {
      while (this.#isChanged && this.#session.exists) {
        this.#isChanged = false
        await this.#publish([...this.#ended.splice(0), getChange(this.#session)])
      }
    } finally {
      this.#isSending = false
    }
  }

  async #publish(events: readonly TenantEvent[]): Promise<void> {
    const session = this.#session
    try {
      const isWatched = await session.tenantObject().events.publish(session.ownAuthority, events)
      session.tenant.noteWatched(isWatched)
    } catch (error) {
      log.warn('session.unannounced', 'A change of a session could not be announced.', { error })
    }
  }
}

function getChange(session: TurnSession): TenantEvent {
  const { id, title, source, updatedAt } = session.record()
  const updated_at = new Date(updatedAt).toISOString()
  return { type: 'session.changed', id, title, status: getStatus(session), source, updated_at }
}

const changesStatus = ({ type }: SessionEvent): boolean =>
  type === 'approval.request' ||
  type === 'question.request' ||
  type === 'approval.responded' ||
  type === 'question.answered' ||
  type === 'client_call.request'

const toEnded = ({ type, session_id, run_id, exit_reason }: Extract<SessionEvent, { exit_reason: string }>) =>
  ({
    type: 'run.ended',
    session_id,
    run_id,
    status: type === 'run.completed' ? 'completed' : type === 'run.failed' ? 'failed' : 'cancelled',
    exit_reason,
  }) as const satisfies TenantEvent
