/**
 * Serves the streams of a session over `fetch`, because a response body is piped without an RPC message per chunk.
 * A POST submits a message and streams its run, or streams a run that exists. A GET upgrades to a WebSocket with all
 * events, which hibernates with the object; `?after=N` resumes behind event N.
 */

import { toPublicEvent } from '../../agent/public-api/server-sent-events.ts'
import { type Format, renderOf } from '../events/stream-format.ts'
import { maxSubscribers } from '../events/streams.ts'
import { eventsOf } from './read-session.ts'
import type { RequestCommand } from './intake/request.ts'
import type { SessionHost } from './session-host.ts'
import { isNotAccepted } from './intake/intake.ts'
import { submit } from './submit.ts'

/** Submits a message and streams its run. */
export type StreamRequest = { readonly command: RequestCommand; readonly format: Format }

/** Streams a run that exists, from its first event. */
export type FollowRequest = { readonly runId: string; readonly format: Format }

/** Names the run in the response of a stream. */
export const runHeader = 'x-talaria-run-id'
/** Marks a response that holds the JSON of a `Submitted` which was not accepted, instead of a stream. */
export const notAcceptedStatus = 409

export async function serveStream(host: SessionHost, request: Request): Promise<Response> {
  if (request.method !== 'POST') return openSocket(host, request)
  const body = (await request.json()) as StreamRequest | FollowRequest
  return 'command' in body ? submitAndStream(host, body) : follow(host, body)
}

async function submitAndStream(host: SessionHost, { command, format }: StreamRequest): Promise<Response> {
  const submitted = await submit(host.session, command, host.env.BLOBS)
  if (!submitted) return new Response(null, { status: 404 })
  if (isNotAccepted(submitted)) return Response.json(submitted, { status: notAcceptedStatus })
  const { session } = host
  const { runId, status } = submitted
  // A run that began before this request is streamed from its beginning: the request is a repeat.
  const past = status === 'queued' ? [] : eventsOf(session, runId)
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', [runHeader]: runId }
  return new Response(session.streams.open(renderOf(format), past, runId), { headers })
}

async function follow(host: SessionHost, { runId, format }: FollowRequest): Promise<Response> {
  const session = await host.find()
  if (!session) return new Response(null, { status: 404 })
  const body = session.streams.open(renderOf(format), eventsOf(session, runId), runId)
  session.turns.resumeIfUndriven()
  return new Response(body)
}

async function openSocket(host: SessionHost, request: Request): Promise<Response> {
  const session = await host.find()
  if (!session) return new Response(null, { status: 404 })
  if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
  if (host.ctx.getWebSockets().length >= maxSubscribers) return new Response(null, { status: 429 })
  const { 0: client, 1: server } = new WebSocketPair()
  host.ctx.acceptWebSocket(server)
  const after = new URL(request.url).searchParams.get('after')
  const seq = after === null ? session.store.lastEventSeq() : Number(after)
  for (const event of session.store.eventsSince(seq)) server.send(JSON.stringify(toPublicEvent(event)))
  session.turns.resumeIfUndriven()
  return new Response(null, { status: 101, webSocket: client })
}
