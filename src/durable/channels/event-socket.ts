/**
 * Keeps the socket on which a platform sends the events of a connection, for a server that it cannot call (Slack's Socket
 * Mode). An event is accepted before it is acknowledged; the platform repeats the others. Before the platform closes a
 * socket the next one is open. An alarm of at most 25 s opens it again after eviction, restart or failure.
 */

import { log } from '#agent/core/log.ts'
import type { SocketFrame } from '#channels/channel.ts'
import { clock } from '#durable/platform/clock.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { acceptReceived } from './accept-request.ts'
import {
  closeQuietly,
  loadOwn,
  openSocket,
  pauseAfter,
  type ReceiverOwner,
  type ReceiverStatus,
  watchMs,
} from './receiver.ts'

type StoredSocket = {
  readonly owner: ReceiverOwner
  readonly status: 'running' | 'stopped'
  readonly detail: string
  /** Sockets that could not be opened, in a row. */
  readonly failures: number
}

const key = 'event-socket'
/** The least time between two sockets, whatever the platform says. */
const minPauseMs = 1_000
/** An alarm that is so late shows that the machine was suspended: the socket may be dead without a sign of it. */
const suspendedMs = 60_000
/** A socket that is silent for so long may be dead. */
const silenceMs = 900_000
/** Pauses between attempts to accept an event. The platform repeats it later, but not every kind. */
const acceptPausesMs = [0, 300, 1_500]
const closeCode = 1_000

export class EventSocket {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #stored: StoredSocket | undefined
  #socket: WebSocket | undefined
  /** Changes with `start` and `stop`. Work that was waiting then must change nothing. */
  #epoch = 0
  #opening: Promise<void> | undefined
  #heardAt = 0
  #openedAt = 0
  #alarmAt = Infinity
  /** Frames are handled one after another. */
  #frames: Promise<void> = Promise.resolve()

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#stored = ctx.storage.kv.get<StoredSocket>(key)
  }

  async start(owner: ReceiverOwner): Promise<void> {
    // Its secrets may be new.
    forgetConnection(owner.id)
    this.#close()
    this.#store({ owner, status: 'running', detail: 'connecting', failures: 0 })
    await this.#arm(0)
  }

  async stop(detail: string): Promise<void> {
    this.#close()
    if (this.#stored) this.#store({ ...this.#stored, status: 'stopped', detail })
    await this.#ctx.storage.deleteAlarm()
  }

  getStatus(): ReceiverStatus {
    const { status = 'stopped', detail = '' } = this.#stored ?? {}
    return { status, detail, isOpen: this.#socket !== undefined && detail === 'connected' }
  }

  /** The next alarm is armed first, so that nothing can leave the socket closed. */
  async handleAlarm(): Promise<void> {
    if (this.#stored?.status !== 'running') return
    const wasSuspended = clock.now() - this.#alarmAt > suspendedMs
    await this.#arm(watchMs)
    const isSilent = clock.now() - this.#heardAt > silenceMs
    const isUsable = this.#socket && this.#stored.detail === 'connected'
    if (!isUsable || isSilent || wasSuspended) await this.#replace()
    else await this.#loadConnection(this.#currentEpoch())
  }

  /** Opens a socket, then closes the one before it. */
  async #replace(): Promise<void> {
    const opening = (this.#opening ??= this.#open())
    await opening
    // A new start may have begun to open another one.
    if (this.#opening === opening) this.#opening = undefined
  }

  async #open(): Promise<void> {
    const isCurrent = this.#currentEpoch()
    const earlyMs = this.#openedAt + minPauseMs - clock.now()
    if (earlyMs > 0) await clock.wait(earlyMs)
    this.#openedAt = clock.now()
    try {
      const connection = await this.#loadConnection(isCurrent)
      const found = await connection?.channel.openSocket?.(connection)
      if (!connection || !isCurrent()) return
      if (found?.kind !== 'found')
        return await this.#fail(found ?? { detail: 'the platform has no sockets', isFinal: true })
      const socket = await openSocket(found.address)
      if (!isCurrent()) return socket.close(closeCode, '')
      this.#listen(socket)
    } catch (error) {
      log.warn('socket.open_failed', 'The socket of a channel could not be opened.', { error })
      if (isCurrent()) await this.#fail({ detail: 'the socket could not be opened' })
    }
  }

  #listen(socket: WebSocket): void {
    const isCurrent = this.#currentEpoch()
    const before = this.#socket
    this.#socket = socket
    this.#heardAt = clock.now()
    const enqueue = (handle: () => Promise<void>) => {
      this.#frames = this.#frames.then(() => (isCurrent() ? handle() : undefined))
    }
    const end = () => enqueue(() => this.#handleClose(socket))
    socket.addEventListener('message', ({ data }) => enqueue(() => this.#handleFrame(socket, String(data))))
    socket.addEventListener('close', end)
    socket.addEventListener('error', end)
    socket.accept()
    // Events on their way on the old one are repeated on the new one, unless they were acknowledged.
    closeQuietly(before, closeCode)
  }

  /** Never rejects: the queue of frames must go on. */
  async #handleFrame(socket: WebSocket, text: string): Promise<void> {
    const isCurrent = this.#currentEpoch()
    this.#heardAt = clock.now()
    try {
      const connection = await this.#loadConnection(isCurrent)
      const frame = connection?.channel.readFrame?.(text, clock.now())
      if (connection && frame && isCurrent()) await this.#perform(socket, connection, frame)
    } catch (error) {
      log.warn('socket.frame_failed', 'A frame of a socket could not be handled.', { error })
    }
  }

  async #perform(socket: WebSocket, connection: LoadedConnection, frame: SocketFrame): Promise<void> {
    switch (frame.kind) {
      case 'ignored':
        return
      case 'ready':
        return this.#update({ detail: 'connected', failures: 0 })
      case 'closing':
        // The one before it has a successor already.
        return socket === this.#socket ? this.#ctx.waitUntil(this.#replace()) : undefined
      case 'ended':
        return this.stop(frame.detail)
      case 'events': {
        const accepted = await this.#accept(connection, frame.events)
        // Without an acknowledgement the platform sends it again.
        if (accepted !== undefined) socket.send(frame.acknowledge(accepted === 0 && frame.events.length > 0))
      }
    }
  }

  /** Returns how many events were not ignored; undefined when they could not be stored. */
  async #accept(
    connection: LoadedConnection,
    events: Extract<SocketFrame, { kind: 'events' }>['events'],
  ): Promise<number | undefined> {
    const context = { env: this.#env, runInBackground: (work: Promise<unknown>) => this.#ctx.waitUntil(work) }
    for (const pauseMs of acceptPausesMs) {
      if (pauseMs) await clock.wait(pauseMs)
      try {
        return await acceptReceived(context, connection, events)
      } catch (error) {
        log.warn('socket.event_failed', 'An event could not be accepted.', { error })
      }
    }
    return undefined
  }

  /** The platform or the network has closed the socket. One that was replaced does not count. */
  async #handleClose(socket: WebSocket): Promise<void> {
    if (socket !== this.#socket) return
    this.#socket = undefined
    await this.#fail({ detail: 'the socket was closed' })
  }

  /** A connection that was removed or lost its secrets ends the socket for good. A paused one hears `/pause off`. */
  async #loadConnection(isCurrent: () => boolean): Promise<LoadedConnection | undefined> {
    const connection = await loadOwn(this.#env, this.#stored?.owner)
    if (connection?.settings.delivery === 'socket') return connection
    if (isCurrent()) await this.stop('the connection was changed or removed')
    return undefined
  }

  async #fail(failure: { readonly detail: string; readonly waitMs?: number; readonly isFinal?: true }): Promise<void> {
    const { detail, waitMs, isFinal } = failure
    if (isFinal) return this.stop(detail)
    const failures = (this.#stored?.failures ?? 0) + 1
    this.#update({ detail, failures })
    await this.#arm(Math.max(waitMs ?? pauseAfter(failures), minPauseMs))
  }

  #currentEpoch(): () => boolean {
    const epoch = this.#epoch
    return () => epoch === this.#epoch && this.#stored?.status === 'running'
  }

  #close(): void {
    this.#epoch++
    this.#opening = undefined
    const socket = this.#socket
    this.#socket = undefined
    closeQuietly(socket, closeCode)
  }

  #update(change: Partial<StoredSocket>): void {
    if (this.#stored) this.#store({ ...this.#stored, ...change })
  }

  #store(stored: StoredSocket): void {
    this.#stored = stored
    this.#ctx.storage.kv.put(key, stored)
  }

  #arm(pauseMs: number): Promise<void> {
    this.#alarmAt = clock.now() + pauseMs
    return this.#ctx.storage.setAlarm(this.#alarmAt)
  }
}
