/**
 * Publishes events to the subscribers of a session: byte streams that follow one run and end with it, WebSockets that
 * receive all events, and callers that wait for the end of a run. A stream that is not read is closed before its buffer
 * grows too large.
 */

import type { AccessRefusal } from '../../agent/model/access.ts'
import { isRunEnd, type SessionEvent } from '../../agent/model/event.ts'
import { renderRefusalEvent } from '../../agent/public-api/access-refusal.ts'
import { toPublicEvent } from '../../agent/public-api/server-sent-events.ts'

export type Render = (event: SessionEvent) => string

type Subscriber = {
  readonly render: Render
  /** The stream ends with this run. */
  readonly runId: string
  /** The key that reads the stream. */
  readonly keyId: string | undefined
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  /** Bytes of past events that are still unread. They do not count against the buffer limit. */
  pastBytes: number
}

const encoder = new TextEncoder()
const keepAliveMs = 15_000
/** A client that has left reconnects with the number of its last event. */
const ignoreClosed = (): void => {}
/** A slow reader is disconnected above this. */
const maxBufferedBytes = 4 * 1024 * 1024
/** Of streams in one session; of sockets as many again. */
export const maxSubscribers = 200

export class Streams {
  readonly #subscribers = new Set<Subscriber>()
  readonly #waiters = new Map<string, Set<() => void>>()
  readonly #sockets: () => readonly WebSocket[]
  #keepAlive: ReturnType<typeof setInterval> | undefined

  constructor(sockets: () => readonly WebSocket[]) {
    this.#sockets = sockets
  }

  /** Opens a stream of one run. `past` comes first; a run that is over ends the stream at once. */
  open(render: Render, past: readonly SessionEvent[], runId: string, keyId?: string): ReadableStream<Uint8Array> {
    // The runtime pipes an identity stream natively; a JavaScript source would be called for every chunk.
    const { readable, writable } = new IdentityTransformStream({ highWaterMark: maxBufferedBytes })
    const writer = writable.getWriter() as WritableStreamDefaultWriter<Uint8Array>
    const subscriber: Subscriber = { render, runId, keyId, writer, pastBytes: 0 }
    this.#makeRoom()
    this.#subscribers.add(subscriber)
    this.#keepAlive ??= setInterval(() => this.#sendKeepAlive(), keepAliveMs)
    writer.closed.catch(() => this.#remove(subscriber))
    for (const event of past) {
      this.#send(subscriber, event)
      subscriber.pastBytes = unreadBytes(subscriber)
    }
    return readable
  }

  publish(events: readonly SessionEvent[]): void {
    for (const event of events) {
      for (const subscriber of this.#subscribers) this.#send(subscriber, event)
      const sockets = this.#sockets()
      if (sockets.length) {
        const text = JSON.stringify(toPublicEvent(event))
        for (const socket of sockets) sendIfOpen(socket, text)
      }
      if (isRunEnd(event)) this.#runEnded(event.run_id)
    }
  }

  /** Resolves when the run ends. The caller has checked that it is not over. */
  ended(runId: string): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(runId) ?? new Set()
      waiters.add(resolve)
      this.#waiters.set(runId, waiters)
    })
  }

  /** Ends all streams and resolves all waiters, because the session is being deleted. */
  end(): void {
    for (const runId of this.#waiters.keys()) this.#runEnded(runId)
    for (const subscriber of this.#subscribers) this.#close(subscriber)
  }

  get isOpen(): boolean {
    return this.#subscribers.size > 0
  }

  /** Ends the streams whose readers may not read any more, with an error as the last frame. */
  closeRefused(refusalOf: (keyId: string | undefined) => AccessRefusal | undefined): void {
    for (const subscriber of this.#subscribers) {
      const refusal = refusalOf(subscriber.keyId)
      if (refusal && this.#write(subscriber, renderRefusalEvent(refusal))) this.#close(subscriber)
    }
  }

  #runEnded(runId: string) {
    for (const resolve of this.#waiters.get(runId) ?? []) resolve()
    this.#waiters.delete(runId)
  }

  /** Disconnects the oldest subscriber; its client reconnects if it is still there. */
  #makeRoom() {
    const [oldest] = this.#subscribers
    if (!oldest || this.#subscribers.size < maxSubscribers) return
    this.#remove(oldest)
    oldest.writer.abort(new Error('Too many subscribers. Reconnect with Last-Event-ID.')).catch(ignoreClosed)
  }

  #send(subscriber: Subscriber, event: SessionEvent) {
    if (event.run_id !== subscriber.runId) return
    const text = subscriber.render(event)
    if (text && !this.#write(subscriber, text)) return
    if (isRunEnd(event)) this.#close(subscriber)
  }

  #close(subscriber: Subscriber) {
    this.#remove(subscriber)
    subscriber.writer.close().catch(ignoreClosed)
  }

  #write(subscriber: Subscriber, text: string): boolean {
    const unread = unreadBytes(subscriber)
    subscriber.pastBytes = Math.min(subscriber.pastBytes, unread)
    if (unread - subscriber.pastBytes >= maxBufferedBytes) {
      this.#remove(subscriber)
      subscriber.writer.abort(new Error('The reader is too slow. Reconnect with Last-Event-ID.')).catch(ignoreClosed)
      return false
    }
    subscriber.writer.write(encoder.encode(text)).catch(() => this.#remove(subscriber))
    return true
  }

  #sendKeepAlive() {
    for (const subscriber of this.#subscribers) this.#write(subscriber, ': idle\n\n')
  }

  #remove(subscriber: Subscriber) {
    this.#subscribers.delete(subscriber)
    if (this.#subscribers.size) return
    if (this.#keepAlive !== undefined) clearInterval(this.#keepAlive)
    this.#keepAlive = undefined
  }
}

const unreadBytes = ({ writer }: Subscriber): number => maxBufferedBytes - (writer.desiredSize ?? 0)

/** Skips a socket that is closing: its client reconnects with the number of the last event. */
function sendIfOpen(socket: WebSocket, text: string) {
  if (socket.readyState === WebSocket.OPEN) socket.send(text)
}
