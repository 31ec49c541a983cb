/**
 * Reports what happens in a session to the tenant's object, for outgoing webhooks. The session remembers how far it has
 * reported, so that a crash between an event and its report loses nothing; a repeated report adds nothing.
 */

import type { SessionEvent } from '#agent/core/event.ts'
import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { outgoingOf } from '#durable/tenant/outgoing/outgoing-row.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'

const retryMs = 10_000
const maxEvents = 100

/** Pieces of answers and progress are never reported. */
const isReported = ({ type }: SessionEvent): boolean =>
  !['message.delta', 'reasoning.delta', 'tool.generating', 'tool.progress'].includes(type)

export class HookFeed {
  readonly #session: TurnSession
  readonly #env: Env
  /** The last event that was published, and so is stored. Undefined: all stored ones. */
  #published: number | undefined
  #sending: Promise<void> | undefined
  #dueAt: number | undefined

  constructor(session: TurnSession, env: Env) {
    this.#session = session
    this.#env = env
  }

  handleEvents(events: readonly SessionEvent[]): void {
    const session = this.#session
    const found = events.filter(isReported)
    const [first, last] = [found[0], found.at(-1)]
    if (!first || !last || !session.tenant.snapshot?.outgoingEvents?.length) return
    if (session.meta.hooksThrough === undefined) session.updateMeta({ hooksThrough: first.seq - 1 })
    this.#published = last.seq
    session.runInBackground(this.send())
  }

  /** When the alarm has to report what is left. */
  getNextWake(): number | undefined {
    const { meta, store } = this.#session
    const through = meta.hooksThrough
    const last = this.#published ?? store.lastEventSeq()
    if (through === undefined || last <= through) this.#dueAt = undefined
    else this.#dueAt ??= clock.now() + (this.#published === undefined ? 0 : retryMs)
    return this.#dueAt
  }

  /** Never rejects, except when the object ends. */
  send(): Promise<void> {
    return (this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined)))
  }

  async #sendAll(): Promise<void> {
    try {
      // All that happens in the same stretch is one report.
      await Promise.resolve()
      while (this.#session.exists && (await this.#sendNext()));
      this.#dueAt = undefined
    } catch (error) {
      if (isOwnReset(error)) throw error
      log.warn('hooks.unreported', 'Events could not be reported for webhooks; the alarm tries it again.', { error })
      this.#dueAt = clock.now() + retryMs
      this.#session.arm()
    }
  }

  /** Whether more may be left. */
  async #sendNext(): Promise<boolean> {
    const session = this.#session
    const { hooksThrough: through } = session.meta
    const published = (this.#published ??= session.store.lastEventSeq())
    if (through === undefined || through >= published) return false
    const events = [...session.store.eventsSince(through)].filter(({ seq }) => seq <= published)
    const next = events.filter(isReported).slice(0, maxEvents)
    const { observe } = await import('#agent/plugins/observed-events.ts')
    const found = next.flatMap((event) => {
      const { seq, at, run_id: runId } = event
      return observe(event).map((one) => ({ ...one, seq, at, runId }))
    })
    if (found.length) {
      await failpoint('hook-reporting')
      await outgoingOf(this.#env, session.tenantId).accept(session.ownAuthority, session.sessionId, found)
    }
    const done = next.length === maxEvents ? (next.at(-1)?.seq ?? published) : published
    if (session.exists) session.updateMeta({ hooksThrough: done })
    return done < (this.#published ?? 0)
  }
}
