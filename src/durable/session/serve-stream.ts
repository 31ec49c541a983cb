/**
 * Serves the streams of a session over `fetch`, because a response body is piped without an RPC message per chunk.
 * A POST submits a message and streams its run, or streams a run that exists. A GET upgrades to a WebSocket with all
 * events, which hibernates with the object; `?after=N` resumes behind event N. Its header `authorityHeader` has the
 * authority of the reader.
 */

import { keyOf } from '../../agent/model/access.ts'
import { type Authority, hasScope } from '../../agent/model/authority.ts'
import type { SessionEvent } from '../../agent/model/event.ts'
import { toPublicEvent } from '../../agent/public-api/server-sent-events.ts'
import { type Format, renderOf } from '../events/stream-format.ts'
import { maxSubscribers, type Render } from '../events/streams.ts'
import { personRequests } from '../turn/pending-requests.ts'
import { eventsOf } from './read-session.ts'
import type { RequestCommand } from './intake/request.ts'
import type { SessionHost } from './session-host.ts'
import { isNotAccepted } from './intake/intake.ts'
import { submit } from './submit.ts'

/** Submits a message and streams its run. */
export type StreamRequest = { readonly command: RequestCommand; readonly format: Format }

/** Streams a run that exists, from its first event. */
export type FollowRequest = { readonly authority: Authority; readonly runId: string; readonly format: Format }

/** Names the run in the response of a stream. */
export const runHeader = 'x-talaria-run-id'
/** Carries the authority of a request without a body. Only the worker reaches the object, so it is not signed. */
export const authorityHeader = 'x-talaria-authority'
export const encodeAuthority = (authority: Authority): string => encodeURIComponent(JSON.stringify(authority))
const decodeAuthority = (header: string | null): Authority | undefined =>
  header === null ? undefined : (JSON.parse(decodeURIComponent(header)) as Authority)

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
  session.access.startChecks()
  return new Response(
    session.streams.open(renderFor(session, command.authority, format), past, runId, keyOf(command.authority)),
    { headers },
  )
}

/** Readers who may approve see exactly what they would allow. Stored events have secrets masked. */
function renderFor(session: SessionHost['session'], authority: Authority, format: Format): Render {
  const render = renderOf(format)
  return hasScope(authority, 'approve') ? (event) => render(withExactInput(session, event)) : render
}

function withExactInput(session: SessionHost['session'], event: SessionEvent): SessionEvent {
  if (event.type !== 'approval.request') return event
  const pending = personRequests(session).find(({ id }) => id === event.approval_id)
  return pending?.kind === 'approval' ? { ...event, input: JSON.parse(pending.input) as unknown } : event
}

async function follow(host: SessionHost, { authority, runId, format }: FollowRequest): Promise<Response> {
  const session = host.isOwn(authority) ? await host.find() : undefined
  if (!session) return new Response(null, { status: 404 })
  const body = session.streams.open(
    renderFor(session, authority, format),
    eventsOf(session, runId),
    runId,
    keyOf(authority),
  )
  session.access.startChecks()
  session.turns.resumeIfUndriven()
  return new Response(body)
}

async function openSocket(host: SessionHost, request: Request): Promise<Response> {
  const authority = decodeAuthority(request.headers.get(authorityHeader))
  const session = authority && host.isOwn(authority) ? await host.find() : undefined
  if (!session) return new Response(null, { status: 404 })
  if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
  if (host.ctx.getWebSockets().length >= maxSubscribers) return new Response(null, { status: 429 })
  // Registered first: no change of the access is missed while the object hibernates.
  await session.access.watch()
  const { 0: client, 1: server } = new WebSocketPair()
  host.ctx.acceptWebSocket(server, [keyOf(authority) ?? ''])
  const after = new URL(request.url).searchParams.get('after')
  const seq = after === null ? session.store.lastEventSeq() : Number(after)
  for (const event of session.store.eventsSince(seq)) server.send(JSON.stringify(toPublicEvent(event)))
  session.turns.resumeIfUndriven()
  return new Response(null, { status: 101, webSocket: client })
}
