/**
 * Streams the events of a session as server-sent events. Past events are read page by page. New events arrive over a
 * hibernating WebSocket, so that an idle subscriber does not keep the object awake; keep-alive comments are written here.
 */

import { closeCodes, renderRefusalEvent } from '#agent/public-api/access-refusal.ts'
import type { AccessRefusal } from '#agent/core/permission/access.ts'
import type { EventPage } from '#durable/session/views/read-session.ts'
import { invalid } from './errors.ts'
import type { RequestContext } from './route.ts'
import { eventStreamHeaders } from './headers.ts'

const keepAliveMs = 15_000
/** A reader with more unread bytes is disconnected. It can reconnect with Last-Event-ID. */
const maxPendingBytes = 4 * 1024 * 1024
const encoder = new TextEncoder()

/** The event after which a stream continues: the header, else the query parameter `after`. */
export function readLastEventId({ req }: RequestContext, after: number | undefined): number | undefined {
  const last = req.header('last-event-id')
  if (last === undefined) return after
  if (!/^\d{1,15}$/.test(last)) throw invalid('Last-Event-ID must be the id of an event.', 'Last-Event-ID')
  return Number(last)
}

/** Both return undefined when the session does not exist. */
export type SessionEventSource = {
  readonly page: (after: number) => Promise<EventPage | undefined>
  /** Opens a socket for the events after this one, or for new events only. */
  readonly socket: (after?: number) => Promise<WebSocket | undefined>
}

/** Returns undefined when the session does not exist, so that the caller can answer with a status. */
export async function streamEvents(
  source: SessionEventSource,
  after: number | undefined,
  signal: AbortSignal,
): Promise<Response | undefined> {
  const first = after === undefined ? await source.socket() : await source.page(after)
  if (!first) return undefined
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  // The runtime sends headers with the first byte, and clients wait for them.
  writer.write(encoder.encode(': connected\n\n')).catch(() => undefined)
  const start = async (): Promise<void> => {
    const socket = 'through' in first ? await writePastEvents(source, first, writer) : first
    if (socket) relaySocket(socket, writer, signal)
    else await writer.close()
  }
  start().catch((error: unknown) => writer.abort(error).catch(() => undefined))
  return new Response(readable, { headers: eventStreamHeaders })
}

/** Returns the socket for the following events, or undefined when the session was deleted meanwhile. */
async function writePastEvents(
  source: SessionEventSource,
  first: EventPage,
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<WebSocket | undefined> {
  for (let page: EventPage | undefined = first; page; page = await source.page(page.through)) {
    if (page.text) await writer.write(encoder.encode(page.text))
    if (page.isLast) return source.socket(page.through)
  }
  return undefined
}

/** Finds why the session has closed the socket, if its reader may not read any more. */
const refusalOf = (reason: string) => (Object.keys(closeCodes) as AccessRefusal[]).find((refusal) => refusal === reason)

function relaySocket(socket: WebSocket, writer: WritableStreamDefaultWriter<Uint8Array>, signal: AbortSignal): void {
  const keepAlive = setInterval(() => write(': idle\n\n'), keepAliveMs)
  const end = () => {
    clearInterval(keepAlive)
    if (socket.readyState === WebSocket.OPEN) socket.close(1000)
    // Closing fails when the reader has already disconnected.
    writer.close().catch(() => undefined)
  }
  let pendingBytes = 0
  const write = (text: string) => {
    const bytes = encoder.encode(text)
    pendingBytes += bytes.byteLength
    if (pendingBytes > maxPendingBytes) {
      end()
      // Aborting drops the bytes that the reader has not read.
      writer.abort(new Error('The reader is too slow.')).catch(() => undefined)
      return
    }
    writer.write(bytes).then(() => (pendingBytes -= bytes.byteLength), end)
  }
  socket.addEventListener('message', ({ data }) => {
    const { type, seq } = JSON.parse(String(data)) as { readonly type: string; readonly seq?: number }
    write(`${seq === undefined ? '' : `id: ${seq}\n`}event: ${type}\ndata: ${String(data)}\n\n`)
  })
  socket.addEventListener('close', ({ reason }) => {
    const refusal = refusalOf(reason)
    if (refusal) write(renderRefusalEvent(refusal))
    end()
  })
  socket.addEventListener('error', end)
  signal.addEventListener('abort', end)
  socket.accept()
  if (signal.aborted) end()
}
