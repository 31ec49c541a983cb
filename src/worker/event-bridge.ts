/**
 * Server-sent events for somebody who listens for a long time. The session's end is a hibernating
 * WebSocket, so that an idle listener does not keep the object awake; the comments that keep
 * the connection open come from here.
 */

import type { PlacedEvent } from '../agent/model/event.ts'
import { eventStream } from './routes/chat-completions.ts'

const keepAliveMs = 15_000
/** Bytes that may wait for a slow reader; then it is let go, and comes back with Last-Event-ID. */
const patience = 4 * 1024 * 1024
const encoder = new TextEncoder()

export function eventsFromSocket(socket: WebSocket, signal: AbortSignal): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const keepAlive = setInterval(() => put(': idle\n\n'), keepAliveMs)
  const end = () => {
    clearInterval(keepAlive)
    if (socket.readyState === WebSocket.OPEN) socket.close(1000)
    // The reader may have gone before us; then there is nothing left to close.
    writer.close().catch(() => undefined)
  }
  let waiting = 0
  const put = (text: string) => {
    const bytes = encoder.encode(text)
    waiting += bytes.byteLength
    if (waiting > patience) {
      end()
      // What waits is not sent any more: it is what the reader did not take.
      writer.abort(new Error('The reader is too slow.')).catch(() => undefined)
      return
    }
    writer.write(bytes).then(() => (waiting -= bytes.byteLength), end)
  }
  socket.addEventListener('message', ({ data }) => {
    const event = JSON.parse(String(data)) as PlacedEvent
    put(`id: ${event.seq}\nevent: ${event.type}\ndata: ${String(data)}\n\n`)
  })
  socket.addEventListener('close', end)
  socket.addEventListener('error', end)
  signal.addEventListener('abort', end)
  socket.accept()
  // Headers leave with the first byte; a listener wants to know at once that it is connected.
  put(': connected\n\n')
  return new Response(readable, { headers: eventStream })
}
