/**
 * Fetches the events of a connection whose platform only reports that there are some. Rings while it fetches make one more
 * fetch. Events are accepted before their cursor is stored: after a crash they come again, and sessions drop what they
 * know. A ring is stored before it is acknowledged, and only a ring that is not answered yet has an alarm.
 */

import { log } from '#agent/core/log.ts'
import type { PullAnswer } from '#channels/channel.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { acceptReceived } from './accept-request.ts'
import { loadOwn, pauseAfter, type ReceiverOwner, type ReceiverStatus, watchMs } from './receiver.ts'

type StoredPull = {
  readonly owner: ReceiverOwner
  readonly status: 'running' | 'stopped'
  readonly detail: string
  /** Fetches that failed, in a row. */
  readonly failures: number
  /** There may be events. */
  readonly isRung: boolean
  readonly cursor?: string
  /** Names the account that the cursor belongs to. */
  readonly account?: string
  /** How often the events at the cursor could not be accepted. */
  readonly rejections?: number
}

type Pulled = Extract<PullAnswer, { kind: 'pulled' }>

const pullKey = 'pull'
const maxRejections = 5
const maxPauseMs = 3_600_000

export class EventPuller {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #stored: StoredPull | undefined
  #isPulling = false
  /** Rings since the fetch began. */
  #rings = 0

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#stored = ctx.storage.kv.get<StoredPull>(pullKey)
  }

  /** Fetches once, so that a new connection has its cursor before the platform rings. */
  async start(owner: ReceiverOwner): Promise<void> {
    // Its secrets may be new.
    forgetConnection(owner.id)
    this.#begin(owner)
    await this.#arm(watchMs)
    await this.handleAlarm()
  }

  async ring(owner: ReceiverOwner): Promise<void> {
    this.#rings++
    if (this.#stored?.isRung && this.#stored.status === 'running') return
    this.#begin(owner)
    await this.#arm(0)
  }

  async stop(detail: string): Promise<void> {
    if (this.#stored) this.#store({ ...this.#stored, status: 'stopped', detail, isRung: false })
    await this.#ctx.storage.deleteAlarm()
  }

  getStatus(): ReceiverStatus {
    const { status = 'stopped', detail = '' } = this.#stored ?? {}
    return { status, detail, isOpen: status === 'running' && detail === 'connected' }
  }

  /** The next alarm is armed first, so that a crash cannot end the fetch. */
  async handleAlarm(): Promise<void> {
    if (!this.#isActive() || this.#isPulling) return
    await this.#arm(watchMs)
    this.#isPulling = true
    try {
      await this.#pullAll()
    } finally {
      this.#isPulling = false
    }
  }

  #begin(owner: ReceiverOwner): void {
    const { cursor, account, rejections } = this.#stored ?? {}
    this.#store({
      owner,
      status: 'running',
      detail: this.#stored?.detail === 'connected' ? 'connected' : 'connecting',
      failures: 0,
      isRung: true,
      ...(cursor !== undefined && { cursor }),
      ...(account !== undefined && { account }),
      ...(rejections !== undefined && { rejections }),
    })
  }

  #isActive = (): boolean => this.#stored?.status === 'running' && this.#stored.isRung

  async #pullAll(): Promise<void> {
    for (;;) {
      const rings = this.#rings
      const step = await this.#pullOnce()
      if (!this.#isActive()) return
      if (typeof step === 'number') return this.#arm(step)
      if (step === 'more' || rings !== this.#rings) continue
      this.#update({ isRung: false, detail: 'connected', failures: 0 })
      return this.#ctx.storage.deleteAlarm()
    }
  }

  /** Returns the pause after a failure. */
  async #pullOnce(): Promise<'more' | 'done' | number> {
    try {
      const connection = await this.#loadConnection()
      if (!connection?.channel.pull) return 'done'
      const account = await sha256Hex(JSON.stringify([connection.apiBase, connection.secrets]), 16)
      const cursor = this.#stored?.account === account ? this.#stored.cursor : undefined
      const answer = await connection.channel.pull(connection, cursor)
      if (!this.#isActive()) return 'done'
      if (answer.kind === 'failed') return await this.#fail(answer)
      if (!(await this.#accept(connection, answer)))
        return await this.#fail({ detail: 'a message could not be accepted' })
      const { rejections: _rejections, ...rest } = this.#stored ?? this.#missing()
      this.#store({ ...rest, cursor: answer.cursor, account })
      return answer.hasMore ? 'more' : 'done'
    } catch (error) {
      log.warn('pull.failed', 'The events of a platform could not be fetched.', { error })
      return this.#isActive() ? this.#fail({ detail: 'the platform could not be asked' }) : 'done'
    }
  }

  /** A connection that was removed or lost its secrets ends it for good. */
  async #loadConnection(): Promise<LoadedConnection | undefined> {
    const connection = await loadOwn(this.#env, this.#stored?.owner)
    if (!connection?.channel.pull) await this.stop('the connection was changed or removed')
    return connection
  }

  /** Refused secrets are not tried again by themselves: the next ring or test does it. */
  async #fail({ detail, waitMs, isFinal }: Omit<Extract<PullAnswer, { kind: 'failed' }>, 'kind'>): Promise<number> {
    if (isFinal) await this.stop(detail)
    else this.#update({ detail, failures: (this.#stored?.failures ?? 0) + 1 })
    const failures = this.#stored?.failures ?? 1
    return waitMs ?? Math.min(pauseAfter(Math.max(failures, 1)) * Math.max(1, failures - 5), maxPauseMs)
  }

  /** Returns false when the events must come again. Those that never succeed must not block all others. */
  async #accept(connection: LoadedConnection, { events }: Pulled): Promise<boolean> {
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#ctx.waitUntil(work) }
    try {
      await acceptReceived(context, connection, events)
      return true
    } catch (error) {
      const { rejections = 0 } = this.#update({ rejections: (this.#stored?.rejections ?? 0) + 1 })
      log.warn('pull.event_failed', 'An event could not be accepted, and is fetched again.', { error })
      if (rejections < maxRejections) return false
      log.error('pull.event_dropped', 'Events were given up.', { attempts: rejections })
      return true
    }
  }

  #missing(): never {
    throw new Error('The state of the fetches is gone.')
  }

  #update(change: Partial<StoredPull>): StoredPull {
    const stored = { ...(this.#stored ?? this.#missing()), ...change }
    this.#store(stored)
    return stored
  }

  #store(stored: StoredPull): void {
    this.#stored = stored
    this.#ctx.storage.kv.put(pullKey, stored)
  }

  #arm = (pauseMs: number): Promise<void> => this.#ctx.storage.setAlarm(clock.now() + pauseMs)
}
