/**
 * Who is listening: byte streams that follow one run and end with it, WebSockets that get all events of the session,
 * and whoever waits for the end of a run. A stream that is not read is let go before it costs memory.
 */

import { isEnd, type PlacedEvent } from '../../agent/model/event.ts'
import { publicEvent } from '../../agent/public-api/events.ts'

export type Render = (event: PlacedEvent) => string

type Listener = {
  readonly render: Render
  /** Ends with the end of this run. */
  readonly runId: string
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  /** Bytes of what was before that may still wait: nobody has had the time to read them. */
  past: number
}

const encoder = new TextEncoder()
const keepAliveMs = 15_000
/** Whoever has left comes back and asks for what it missed. */
const nobodyReads = (): void => {}
/** Bytes that may wait for a slow reader. */
const patience = 4 * 1024 * 1024
/** Streams of one session, and as many sockets. */
export const mostListeners = 200

export class Streams {
  readonly #listeners = new Set<Listener>()
  readonly #ends = new Map<string, Set<() => void>>()
  readonly #sockets: () => readonly WebSocket[]
  #keepAlive: ReturnType<typeof setInterval> | undefined

  constructor(sockets: () => readonly WebSocket[]) {
    this.#sockets = sockets
  }

  /** `past` has been sent before and comes first. A run that is over ends the stream at once. */
  open(render: Render, past: readonly PlacedEvent[], runId: string): ReadableStream<Uint8Array> {
    // The platform moves these bytes by itself; a stream with a source in JavaScript would be called for every piece.
    const { readable, writable } = new IdentityTransformStream({ highWaterMark: patience })
    const writer = writable.getWriter() as WritableStreamDefaultWriter<Uint8Array>
    const listener: Listener = { render, runId, writer, past: 0 }
    this.#makeRoom()
    this.#listeners.add(listener)
    this.#keepAlive ??= setInterval(() => this.#comment(), keepAliveMs)
    writer.closed.catch(() => this.#drop(listener)) // as every failed write does: nobody else has to hear of it
    for (const event of past) {
      this.#send(listener, event)
      listener.past = waitingFor(listener)
    }
    return readable
  }

  publish(events: readonly PlacedEvent[]): void {
    for (const event of events) {
      for (const listener of this.#listeners) this.#send(listener, event)
      const sockets = this.#sockets()
      if (sockets.length) {
        const text = JSON.stringify(publicEvent(event))
        for (const socket of sockets) sendQuietly(socket, text)
      }
      if (isEnd(event)) this.#runEnded(event.run_id)
    }
  }

  /** Resolves when the run ends. The caller has seen that it is not over. */
  ended(runId: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#ends.get(runId) ?? new Set()
      waiting.add(resolve)
      this.#ends.set(runId, waiting)
    })
  }

  /** Nothing more comes, of no run: whoever waits or listens is let go. */
  end(): void {
    for (const runId of this.#ends.keys()) this.#runEnded(runId)
    for (const listener of this.#listeners) this.#close(listener)
  }

  #runEnded(runId: string) {
    for (const resolve of this.#ends.get(runId) ?? []) resolve()
    this.#ends.delete(runId)
  }

  /** The one that has listened for longest comes back, if anybody is there, and asks for what it missed. */
  #makeRoom() {
    const [oldest] = this.#listeners
    if (!oldest || this.#listeners.size < mostListeners) return
    this.#drop(oldest)
    oldest.writer.abort(new Error('Too many listen. Reconnect with Last-Event-ID.')).catch(nobodyReads)
  }

  #send(listener: Listener, event: PlacedEvent) {
    if (event.run_id !== listener.runId) return
    const text = listener.render(event)
    if (text && !this.#put(listener, text)) return
    if (isEnd(event)) this.#close(listener)
  }

  #close(listener: Listener) {
    this.#drop(listener)
    listener.writer.close().catch(nobodyReads)
  }

  #put(listener: Listener, text: string): boolean {
    const waiting = waitingFor(listener)
    listener.past = Math.min(listener.past, waiting)
    if (waiting - listener.past >= patience) {
      this.#drop(listener)
      listener.writer.abort(new Error('The reader is too slow. Reconnect with Last-Event-ID.')).catch(nobodyReads)
      return false
    }
    listener.writer.write(encoder.encode(text)).catch(() => this.#drop(listener))
    return true
  }

  #comment() {
    for (const listener of this.#listeners) this.#put(listener, ': idle\n\n')
  }

  #drop(listener: Listener) {
    this.#listeners.delete(listener)
    if (this.#listeners.size) return
    if (this.#keepAlive !== undefined) clearInterval(this.#keepAlive)
    this.#keepAlive = undefined
  }
}

/** Bytes that it has not read yet. */
const waitingFor = ({ writer }: Listener): number => patience - (writer.desiredSize ?? 0)

/** A socket that closes this very moment is no error: its owner comes back and asks for what it missed. */
function sendQuietly(socket: WebSocket, text: string) {
  if (socket.readyState === WebSocket.OPEN) socket.send(text)
}
