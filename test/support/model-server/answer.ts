/** Sends one reply: at once, in timed chunks, cut off, as an error, or never. */

import type { ServerResponse } from 'node:http'
import { framesOf, tokensOf, usageFrame, wholeCompletion } from './frames.ts'
import { now, type Entry } from './journal.ts'
import type { Reply } from './reply.ts'

export type Delivery = {
  readonly response: ServerResponse
  readonly entry: Entry
  readonly id: string
  readonly stream: boolean
  readonly usage: boolean
}

const streamHead = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'insufficient_quota',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

export const sendJson = (response: ServerResponse, status: number, json: string, headers = {}): void => {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': new TextEncoder().encode(json).length,
    ...headers,
  })
  response.end(json)
}

const sendError = ({ response }: Delivery, reply: Reply, status: number): void => {
  const error = {
    message: reply.message ?? `the script answers ${status}`,
    type: errorTypes[status] ?? 'server_error',
    code: reply.code ?? null,
    param: null,
  }
  const retry = reply.retryAfter === undefined ? {} : { 'retry-after': String(reply.retryAfter) }
  sendJson(response, status, JSON.stringify({ error }), retry)
}

const cut = ({ response, entry }: Delivery): void => {
  entry.cut = true
  response.socket?.destroy()
}

const sendTail = ({ response, entry, id, usage }: Delivery, reply: Reply, before: string): void => {
  const last = usage ? usageFrame(id, tokensOf(reply, entry.bytes)) : ''
  response.end(`${before}${framesOf(reply).finish.join(id)}${last}data: [DONE]\n\n`)
  entry.ended = now()
}

/** Sends the first chunk at once and the others together, so that buffering clients are noticed. */
const sendAtOnce = (delivery: Delivery, reply: Reply): void => {
  const frames = framesOf(reply)
  delivery.response.write(frames.chunks[0]?.join(delivery.id) ?? '')
  delivery.entry.firstByte = now()
  setImmediate(() => sendTail(delivery, reply, frames.rest.join(delivery.id)))
}

/** Sends each chunk at its own due time, so that a late timer does not delay later chunks. */
const sendPaced = (delivery: Delivery, reply: Reply): void => {
  const { response, entry, id } = delivery
  const { chunks } = framesOf(reply)
  const start = now() + (reply.ttft ?? 0)
  const stopAt = Math.min(reply.dropAfter ?? Infinity, chunks.length)
  let sent = 0
  const tick = (): void => {
    if (entry.cut) return
    entry.firstByte ??= now()
    while (sent < stopAt && now() >= start + sent * (reply.gap ?? 0)) response.write(chunks[sent++]?.join(id) ?? '')
    if (sent < stopAt) setTimeout(tick, Math.max(0, start + sent * (reply.gap ?? 0) - now()))
    else if (reply.dropAfter === undefined) sendTail(delivery, reply, '')
    else response.write(': the line is cut here\n\n', () => setTimeout(() => cut(delivery), 2))
  }
  response.flushHeaders()
  setTimeout(tick, reply.ttft ?? 0)
}

export const send = (delivery: Delivery, reply: Reply): void => {
  const { response, entry, id, stream } = delivery
  if (reply.hang) return
  entry.status = reply.status ?? 200
  if (reply.status !== undefined && reply.status >= 400) return sendError(delivery, reply, reply.status)
  if (reply.dropAfter === 0 || (reply.dropAfter !== undefined && !stream)) return cut(delivery)
  if (!stream) {
    const whole = wholeCompletion(reply, id, tokensOf(reply, entry.bytes))
    const total = (reply.ttft ?? 0) + (reply.gap ?? 0) * framesOf(reply).chunks.length
    if (total) setTimeout(() => sendJson(response, 200, whole), total)
    else sendJson(response, 200, whole)
    return
  }
  response.writeHead(200, streamHead)
  if (reply.ttft || reply.gap || reply.dropAfter !== undefined) sendPaced(delivery, reply)
  else sendAtOnce(delivery, reply)
}
