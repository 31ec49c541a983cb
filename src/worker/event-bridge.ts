/**
 * Server-sent events for somebody who listens for a long time. What was before comes page by page, as fast as it is
 * read. Then the session's end is a hibernating WebSocket, so that an idle listener does not keep the object awake; the
 * comments that keep the connection open come from here.
 */

import type { SessionEvent } from '../agent/model/event.ts'
import type { EventPage } from '../durable/session/read-session.ts'
import { eventStream } from './routes/chat-completions.ts'

const keepAliveMs = 15_000
/** Bytes that may wait for a slow reader; then it is let go, and comes back with Last-Event-ID. */
const patience = 4 * 1024 * 1024
const encoder = new TextEncoder()

/** Undefined where there is no such session. */
export type Source = {
  readonly page: (after: number) => Promise<EventPage | undefined>
  /** Brings what comes after that event, or from now on. */
  readonly socket: (after?: number) => Promise<WebSocket | undefined>
}

/** Undefined when there is no such session: that is told by a status, and not by a stream that ends. */
export async function follow(
  source: Source,
  after: number | undefined,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const first = after === undefined ? await source.socket() : await source.page(after)
  if (!first) return undefined
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  // Headers leave with the first byte; a listener wants to know at once that it is connected.
  writer.write(encoder.encode(': connected\n\n')).catch(() => undefined)
  const begin = async (): Promise<void> => {
    const socket = 'through' in first ? await tellPast(source, first, writer) : first
    if (socket) relay(socket, writer, signal)
    else await writer.close()
  }
  begin().catch((error: unknown) => writer.abort(error).catch(() => undefined))
  return new Response(readable, { headers: eventStream })
}

/** Gives back what brings the rest, unless the session has gone meanwhile. */
async function tellPast(
  source: Source,
  first: EventPage,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<WebSocket | undefined> {
  for (let page: EventPage | undefined = first; page; page = await source.page(page.through)) {
    if (page.text) await writer.write(encoder.encode(page.text))
    if (page.isLast) return source.socket(page.through)
  }
  return undefined
}

function relay(socket: WebSocket, writer: WritableStreamDefaultWriter<Uint8Array>, signal: AbortSignal): void {
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
    const event = JSON.parse(String(data)) as SessionEvent
    put(`id: ${event.seq}\nevent: ${event.type}\ndata: ${String(data)}\n\n`)
  })
  socket.addEventListener('close', end)
  socket.addEventListener('error', end)
  signal.addEventListener('abort', end)
  socket.accept()
  if (signal.aborted) end()
}
