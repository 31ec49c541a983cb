/**
 * Publishes events to the subscribers of a session: byte streams that follow one run and end with it, WebSockets that
 * receive all events, and callers that wait for the end of a run. A stream that is not read is closed before its buffer
 * grows too large.
 */

import type { AccessRefusal, Holder } from '#agent/core/permission/access.ts'
import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import { renderRefusalEvent } from '#agent/public-api/access-refusal.ts'
import { toPublicEvent } from '#agent/public-api/server-sent-events.ts'
import { clock } from '#durable/platform/clock.ts'

export type RenderEvent = (event: SessionEvent) => string

/** A run, or its part with this number: the stream of a part ends when the run waits for its caller. */
export type RunPart = { readonly runId: string; readonly segment?: number | undefined }

type Waiter = { readonly part: RunPart; readonly resolve: () => void }

/**
 * `isProbed`: its leaving must be noticed soon. `onClose`: called when the stream closes; `isGone` when the reader went
 * away before its end.
 */
export type StreamReader = Holder & { readonly isProbed?: boolean; readonly onClose?: (isGone: boolean) => void }

type Subscriber = {
  readonly render: RenderEvent
  readonly part: RunPart
  readonly reader: StreamReader
  /** When something was written last, in milliseconds since 1970. */
  writtenAt: number
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  /** Bytes of past events that are still unread. They do not count against the buffer limit. */
  pastBytes: number
  /** Text that waits for `timer`, or for the next word of an answer. */
  queued: string
  timer?: ReturnType<typeof setTimeout> | undefined
}

const encoder = new TextEncoder()
const keepAliveMs = 15_000
/** A reader whose leaving must be noticed is written to after this pause: locally, only a failed write tells. */
const probeMs = 1_000
/** Events that follow within this time of a write are written together: each write of its own costs more than its event. */
const gatherMs = 20
const maxQueuedChars = 64 * 1024
/** A client that has left reconnects with the number of its last event. */
const ignoreClosed = (): void => {}
/** A slow reader is disconnected above this. */
const maxBufferedBytes = 4 * 1024 * 1024
/** Of streams in one session; of sockets as many again. */
export const maxSubscribers = 200

export class Streams {
  readonly #subscribers = new Set<Subscriber>()
  readonly #waiters = new Set<Waiter>()
  readonly #sockets: () => readonly WebSocket[]
  #keepAlive: { readonly timer: ReturnType<typeof setInterval>; readonly everyMs: number } | undefined

  constructor(sockets: () => readonly WebSocket[]) {
    this.#sockets = sockets
  }

  /** Opens a stream of a run or a part of it. `past` comes first; if that contains the end, the stream ends at once. */
  open(
    render: RenderEvent,
    past: readonly SessionEvent[],
    part: RunPart,
    reader: StreamReader = {},
  ): ReadableStream<Uint8Array> {
    // The runtime pipes an identity stream natively; a JavaScript source would be called for every chunk.
    const { readable, writable } = new IdentityTransformStream({ highWaterMark: maxBufferedBytes })
    const writer = writable.getWriter() as WritableStreamDefaultWriter<Uint8Array>
    const subscriber: Subscriber = { render, part, reader, writer, pastBytes: 0, writtenAt: clock.now(), queued: '' }
    this.#makeRoom()
    this.#subscribers.add(subscriber)
    this.#startKeepAlive(reader.isProbed ? probeMs : keepAliveMs)
    writer.closed.catch(() => this.#readerLeft(subscriber))
    for (const event of past) {
      this.#send(subscriber, event)
      this.#flush(subscriber)
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
      for (const waiter of this.#waiters) if (endsPart(event, waiter.part)) this.#resolve(waiter)
    }
  }

  /** Resolves when the run, or this part of it, ends. The caller has checked that it is not over. */
  ended(part: RunPart): Promise<void> {
    return new Promise((resolve) => this.#waiters.add({ part, resolve }))
  }

  /** Ends all streams and resolves all waiters, because the session is being deleted. */
  end(): void {
    for (const waiter of this.#waiters) this.#resolve(waiter)
    for (const subscriber of this.#subscribers) this.#close(subscriber)
  }

  get isOpen(): boolean {
    return this.#subscribers.size > 0
  }

  /** Ends the streams whose readers may not read any more, with an error as the last frame. */
  closeRefused(refusalOf: (reader: Holder) => AccessRefusal | undefined): void {
    for (const subscriber of this.#subscribers) {
      const refusal = refusalOf(subscriber.reader)
      if (!refusal) continue
      subscriber.queued += renderRefusalEvent(refusal)
      this.#close(subscriber)
    }
  }

  #resolve(waiter: Waiter) {
    this.#waiters.delete(waiter)
    waiter.resolve()
  }

  /** Disconnects the oldest subscriber; its client reconnects if it is still there. */
  #makeRoom() {
    const [oldest] = this.#subscribers
    if (!oldest || this.#subscribers.size < maxSubscribers) return
    this.#remove(oldest)
    oldest.writer.abort(new Error('Too many subscribers. Reconnect with Last-Event-ID.')).catch(ignoreClosed)
  }

  #send(subscriber: Subscriber, event: SessionEvent) {
    const isEnd = endsPart(event, subscriber.part)
    if (event.run_id !== subscriber.part.runId && !isEnd) return
    subscriber.queued += subscriber.render(event)
    if (isEnd) this.#close(subscriber)
    else if (isUrgent(subscriber, event)) this.#flush(subscriber)
    else if (subscriber.queued) subscriber.timer ??= setTimeout(() => this.#flush(subscriber), gatherMs)
  }

  #close(subscriber: Subscriber) {
    if (!this.#flush(subscriber)) return
    this.#remove(subscriber)
    subscriber.writer.close().catch(ignoreClosed)
  }

  /** Writes what was queued. False when the reader is not a subscriber any more. */
  #flush(subscriber: Subscriber): boolean {
    const { queued, timer } = subscriber
    subscriber.queued = ''
    subscriber.timer = undefined
    if (timer !== undefined) clearTimeout(timer)
    return queued === '' || this.#write(subscriber, queued)
  }

  #write(subscriber: Subscriber, text: string): boolean {
    const unread = unreadBytes(subscriber)
    subscriber.pastBytes = Math.min(subscriber.pastBytes, unread)
    if (unread - subscriber.pastBytes >= maxBufferedBytes) {
      this.#remove(subscriber)
      subscriber.writer.abort(new Error('The reader is too slow. Reconnect with Last-Event-ID.')).catch(ignoreClosed)
      return false
    }
    subscriber.writtenAt = clock.now()
    subscriber.writer.write(encoder.encode(text)).catch(() => this.#readerLeft(subscriber))
    return true
  }

  /** The interval is the shortest that any subscriber needs. */
  #startKeepAlive(everyMs: number) {
    if (this.#keepAlive && this.#keepAlive.everyMs <= everyMs) return
    if (this.#keepAlive) clearInterval(this.#keepAlive.timer)
    this.#keepAlive = { timer: setInterval(() => this.#sendKeepAlive(), everyMs), everyMs }
  }

  #sendKeepAlive() {
    const now = clock.now()
    for (const subscriber of this.#subscribers) {
      // A tick that comes a little early counts as well.
      const idleMs = (subscriber.reader.isProbed ? probeMs : keepAliveMs) - probeMs / 2
      if (now - subscriber.writtenAt >= idleMs) this.#write(subscriber, ': idle\n\n')
    }
  }

  /** A stream that was closed from here is not a subscriber any more. */
  #readerLeft(subscriber: Subscriber) {
    if (!this.#subscribers.has(subscriber)) return
    this.#remove(subscriber, true)
  }

  #remove(subscriber: Subscriber, isGone = false) {
    if (subscriber.timer !== undefined) clearTimeout(subscriber.timer)
    if (this.#subscribers.delete(subscriber)) subscriber.reader.onClose?.(isGone)
    if (this.#subscribers.size) return
    if (this.#keepAlive) clearInterval(this.#keepAlive.timer)
    this.#keepAlive = undefined
  }
}

/** Words of an answer are gathered before they get here (delta-buffer.ts). */
const isUrgent = ({ writtenAt, queued }: Subscriber, { type }: SessionEvent): boolean =>
  type === 'message.delta' ||
  type === 'reasoning.delta' ||
  queued.length > maxQueuedChars ||
  clock.now() - writtenAt >= gatherMs

/** A queued run gets nowhere while the run before it waits for its caller. */
const endsPart = (event: SessionEvent, { runId, segment }: RunPart): boolean =>
  event.run_id === runId
    ? isRunEnd(event) || (event.type === 'run.waiting' && segment !== undefined && event.segment >= segment)
    : event.type === 'run.waiting' && segment !== undefined

const unreadBytes = ({ writer }: Subscriber): number => maxBufferedBytes - (writer.desiredSize ?? 0)

/** Skips a socket that is closing: its client reconnects with the number of the last event. */
function sendIfOpen(socket: WebSocket, text: string) {
  if (socket.readyState === WebSocket.OPEN) socket.send(text)
}
