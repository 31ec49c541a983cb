/**
 * Asks a platform for the messages of a connection, for a server that the platform cannot call. Events are accepted before
 * their cursor is stored, and the next question confirms them with it: after a crash they come again, and sessions drop
 * what they know. One alarm asks for minutes; the alarm behind it goes on after eviction, restart or failure.
 */

import { log } from '#agent/core/log.ts'
import type { PollAnswer, PolledEvents } from '#channels/channel.ts'
import { clock } from '#durable/platform/clock.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { acceptReceived } from './accept-request.ts'
import { loadOwn, pauseAfter, type ReceiverOwner, type ReceiverStatus, watchMs } from './receiver.ts'

type StoredPoll = {
  readonly owner: ReceiverOwner
  readonly status: 'running' | 'stopped'
  readonly detail: string
  /** Questions that failed, in a row. */
  readonly failures: number
  readonly cursor?: string
  /** When the cursor moved. */
  readonly cursorAt?: number
  /** How often the events at the cursor could not be accepted. */
  readonly rejections?: number
}

const pollKey = 'poll'

const roundMs = 600_000
const maxRejections = 5
/** The least time between questions that bring nothing, for a platform or proxy that answers without waiting. */
const minQuestionMs = 1_000
/** Telegram begins its numbers anew after a week without messages: an old cursor would hide them. */
const cursorLifetimeMs = 6 * 86_400_000

export class UpdatePoller {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #stored: StoredPoll | undefined
  /** Changes with `start` and `stop`. Work that was waiting then must change nothing. */
  #epoch = 0
  #isAsking = false

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#stored = ctx.storage.kv.get<StoredPoll>(pollKey)
  }

  async start(owner: ReceiverOwner): Promise<void> {
    // Its secrets may be new.
    forgetConnection(owner.id)
    this.#epoch++
    const { cursor, cursorAt } = this.#stored ?? {}
    const place = { ...(cursor !== undefined && { cursor }), ...(cursorAt !== undefined && { cursorAt }) }
    this.#store({ owner, status: 'running', detail: 'connecting', failures: 0, ...place })
    await this.#arm(0)
  }

  async stop(detail: string): Promise<void> {
    this.#epoch++
    if (this.#stored) this.#store({ ...this.#stored, status: 'stopped', detail })
    await this.#ctx.storage.deleteAlarm()
  }

  getStatus(): ReceiverStatus {
    const { status = 'stopped', detail = '' } = this.#stored ?? {}
    return { status, detail, isOpen: status === 'running' && detail === 'connected' }
  }

  /** The next alarm is armed first, so that nothing can end the questions. */
  async handleAlarm(): Promise<void> {
    if (this.#stored?.status !== 'running' || this.#isAsking) return
    await this.#arm(watchMs)
    this.#isAsking = true
    try {
      await this.#askUntil(clock.now() + roundMs)
    } finally {
      this.#isAsking = false
    }
  }

  async #askUntil(end: number): Promise<void> {
    const epoch = this.#epoch
    const isCurrent = () => epoch === this.#epoch && this.#stored?.status === 'running'
    while (isCurrent() && clock.now() < end) {
      const [cursor, askedAt] = [this.#stored?.cursor, clock.now()]
      const wantedMs = await this.#ask(isCurrent)
      const isInVain = this.#stored?.cursor === cursor && clock.now() - askedAt < minQuestionMs
      const pauseMs = isInVain ? Math.max(wantedMs, minQuestionMs) : wantedMs
      if (pauseMs && isCurrent()) return this.#arm(pauseMs)
    }
    // A new start has armed the alarm, too.
    if (isCurrent()) await this.#arm(0)
  }

  /** Returns the pause before the next question. */
  async #ask(isCurrent: () => boolean): Promise<number> {
    try {
      const connection = await this.#loadConnection(isCurrent)
      if (!connection || !isCurrent()) return 0
      const { poll } = connection.channel
      const answer: PollAnswer = poll
        ? await poll(connection, this.#findCursor())
        : { kind: 'failed', detail: 'the platform cannot be asked for messages', isFinal: true }
      if (!isCurrent()) return 0
      return answer.kind === 'failed' ? await this.#fail(answer) : await this.#accept(connection, answer, isCurrent)
    } catch (error) {
      log.warn('poll.failed', 'A platform could not be asked for messages.', { error })
      return isCurrent() ? this.#fail({ detail: 'the platform could not be asked' }) : 0
    }
  }

  /** A connection that was removed or lost its secrets ends the questions for good. A paused one hears `/pause off`. */
  async #loadConnection(isCurrent: () => boolean): Promise<LoadedConnection | undefined> {
    const connection = await loadOwn(this.#env, this.#stored?.owner)
    if (connection?.settings.delivery === 'polling') return connection
    if (isCurrent()) await this.stop('the connection was changed or removed')
    return undefined
  }

  #findCursor(): string | undefined {
    const { cursor, cursorAt = 0 } = this.#stored ?? {}
    return clock.now() - cursorAt < cursorLifetimeMs ? cursor : undefined
  }

  async #fail({ detail, waitMs, isFinal }: Omit<Extract<PollAnswer, { kind: 'failed' }>, 'kind'>): Promise<number> {
    if (isFinal) {
      await this.stop(detail)
      return 0
    }
    const { failures } = this.#update({ detail, failures: (this.#stored?.failures ?? 0) + 1 })
    return waitMs ?? pauseAfter(failures)
  }

  async #accept(
    connection: LoadedConnection,
    { batches }: Extract<PollAnswer, { kind: 'polled' }>,
    isCurrent: () => boolean,
  ): Promise<number> {
    for (const batch of batches) {
      const isAccepted = await this.#acceptBatch(connection, batch)
      if (!isCurrent()) return 0
      if (!isAccepted) return this.#fail({ detail: 'a message could not be accepted' })
      const { rejections: _rejections, ...rest } = this.#stored ?? this.#missing()
      this.#store({ ...rest, cursor: batch.cursor, cursorAt: clock.now() })
    }
    if (this.#stored?.detail !== 'connected' || this.#stored.failures)
      this.#update({ detail: 'connected', failures: 0 })
    return 0
  }

  /** Returns false when the events must come again. Those that never succeed must not block all others. */
  async #acceptBatch(connection: LoadedConnection, { events }: PolledEvents): Promise<boolean> {
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#ctx.waitUntil(work) }
    try {
      await acceptReceived(context, connection, events)
      return true
    } catch (error) {
      const { rejections = 0 } = this.#update({ rejections: (this.#stored?.rejections ?? 0) + 1 })
      log.warn('poll.event_failed', 'An event could not be accepted, and is asked for again.', { error })
      if (rejections < maxRejections) return false
      log.error('poll.event_dropped', 'An event was given up.', { attempts: rejections })
      return true
    }
  }

  #missing(): never {
    throw new Error('The state of the questions is gone.')
  }

  #update(change: Partial<StoredPoll>): StoredPoll {
    const stored = { ...(this.#stored ?? this.#missing()), ...change }
    this.#store(stored)
    return stored
  }

  #store(stored: StoredPoll): void {
    this.#stored = stored
    this.#ctx.storage.kv.put(pollKey, stored)
  }

  #arm = (pauseMs: number): Promise<void> => this.#ctx.storage.setAlarm(clock.now() + pauseMs)
}
