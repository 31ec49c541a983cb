/**
 * Serves the streams of a session over `fetch`, because a response body is piped without an RPC message per chunk.
 * A POST submits a message and streams its run, or streams a run that exists. A GET upgrades to a WebSocket with all
 * events, which hibernates with the object; `?after=N` resumes behind event N. Its header `authorityHeader` has the
 * authority of the reader.
 */

import { getHolder } from '#agent/core/permission/access.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import type { SessionEvent } from '#agent/core/event.ts'
import { toPublicEvent } from '#agent/public-api/server-sent-events.ts'
import { loadRender, type OpenRender, type StreamFormat } from '#durable/events/stream-format.ts'
import { maxSubscribers, type StreamReader, type RenderEvent, type RunPart } from '#durable/events/streams.ts'
import { watchOpening } from '#durable/events/stream-opening.ts'
import { authorityHeader, decodeAuthority } from '#durable/platform/authority-header.ts'
import { listTags } from '#durable/platform/reader-tags.ts'
import { isWaitingForCaller, personRequests } from '#durable/turn/pending-requests.ts'
import type { ContinueSubmission } from './intake/continue.ts'
import type { RequestSubmission } from './intake/request.ts'
import { responseSource } from './views/read-response.ts'
import { describeWaiting, eventsOfPart, waitingEvent } from './views/segments.ts'
import type { SessionHost } from './session-host.ts'
import { isNotAccepted } from './intake/intake.ts'
import { submit } from './submit.ts'

/** Submits a message and streams its run. */
export type StreamRequest = { readonly command: RequestSubmission | ContinueSubmission; readonly format: StreamFormat }

/** Streams a run that exists, or a part of it, from its first event. */
export type FollowRequest = RunPart & { readonly authority: Authority; readonly format: StreamFormat }

/** Names the run in the response of a stream. */
export const runHeader = 'x-talaria-run-id'

/** Marks a response that holds the JSON of a `Submitted` which was not accepted, instead of a stream. */
export const notAcceptedStatus = 409
/** Marks a response that holds the JSON of a `RunFailure`, instead of a stream. */
export const failedRunStatus = 424

export async function serveStream(host: SessionHost, request: Request): Promise<Response> {
  if (request.method !== 'POST') {
    const authority = decodeAuthority(request.headers.get(authorityHeader))
    if (!authority) return new Response(null, { status: 404 })
    return host.asCaller(authority, () => openSocket(host, request, authority))
  }
  const body = (await request.json()) as StreamRequest | FollowRequest
  return 'command' in body
    ? submitAndStream(host, body, request.signal)
    : host.asCaller(body.authority, () => follow(host, body))
}

async function submitAndStream(
  host: SessionHost,
  { command, format }: StreamRequest,
  signal: AbortSignal,
): Promise<Response> {
  const openRender = await loadRender(format)
  const submitted = await submit(host.session, command, host.env.BLOBS)
  if (!submitted) return new Response(null, { status: 404 })
  if (isNotAccepted(submitted)) return Response.json(submitted, { status: notAcceptedStatus })
  const { session } = host
  const { runId, status } = submitted
  const part = { runId, ...(format.as !== 'events' && { segment: submitted.segment ?? 0 }) }
  // A part that began before this request is streamed from its beginning: the request is a repeat.
  const past = status === 'queued' ? blockedEvents(session, part) : eventsOfPart(session, part)
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', [runHeader]: runId }
  session.access.startChecks()
  const render = renderFor(session, command.authority, { openRender, part })
  // The other formats begin with an event that precedes the model call.
  const opening = format.as === 'chat' ? watchOpening(render) : undefined
  const body = session.streams.open(
    opening?.render ?? render,
    past,
    part,
    createReader(session, command, { runId, signal }),
  )
  const failure = await opening?.outcome()
  return failure ? Response.json(failure, { status: failedRunStatus }) : new Response(body, { headers })
}

/** Registers the client of a stream: when it goes away, its run may stop. */
function createReader(
  { clients }: SessionHost['session'],
  { authority, client }: RequestSubmission | ContinueSubmission,
  { runId, signal }: { readonly runId: string; readonly signal: AbortSignal },
): StreamReader {
  const end = clients.enter(runId, client)
  const leave = () => (client === undefined ? end() : clients.leave(client))
  // No write has to fail first if the runtime tells that a request was cancelled.
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  const onClose = (isGone: boolean) => (isGone ? leave() : end())
  return { ...getHolder(authority, 'chat'), isProbed: client !== undefined, onClose }
}

/** A queued run gets nowhere while the run before it waits for its caller. */
function blockedEvents(session: SessionHost['session'], { segment }: RunPart) {
  const turn = session.store.current()
  const event = segment !== undefined && turn && isWaitingForCaller(turn.stage) ? waitingEvent(session) : undefined
  return event ? [event] : []
}

/** Readers who may approve see exactly what they would allow. Stored events have secrets masked. */
function renderFor(
  session: SessionHost['session'],
  authority: Authority,
  { openRender, part }: { readonly openRender: OpenRender; readonly part: RunPart },
): RenderEvent {
  const mayApprove = () => hasScope(narrowByRoles(authority, session.tenant.access.roles), 'approve')
  const source = responseSource(session, { runId: part.runId, segment: part.segment ?? 0 }, mayApprove)
  const render = openRender({ ...source, describeWaiting: () => describeWaiting(session, part, mayApprove()) })
  if (!hasScope(authority, 'approve')) return render
  return (event) => render(mayApprove() ? withExactInput(session, event) : event)
}

function withExactInput(session: SessionHost['session'], event: SessionEvent): SessionEvent {
  if (event.type !== 'approval.request') return event
  const pending = personRequests(session).find(({ id }) => id === event.approval_id)
  if (pending?.kind !== 'approval') return event
  const { input, rule } = pending
  return { ...event, input: JSON.parse(input) as unknown, ...(rule !== undefined && { rule }) }
}

async function follow(host: SessionHost, { authority, runId, segment, format }: FollowRequest): Promise<Response> {
  const openRender = await loadRender(format)
  const session = await host.findFor(authority)
  if (!session) return new Response(null, { status: 404 })
  const body = session.streams.open(
    renderFor(session, authority, { openRender, part: { runId, segment } }),
    eventsOfPart(session, { runId, segment }),
    { runId, segment },
    getHolder(authority, 'read'),
  )
  session.access.startChecks()
  session.turns.resumeIfUndriven()
  return new Response(body)
}

async function openSocket(host: SessionHost, request: Request, authority: Authority): Promise<Response> {
  const session = await host.findFor(authority)
  if (!session) return new Response(null, { status: 404 })
  if (request.headers.get('upgrade') !== 'websocket') return new Response(null, { status: 426 })
  if (host.ctx.getWebSockets().length >= maxSubscribers) return new Response(null, { status: 429 })
  // Registered first: no change of the access is missed while the object hibernates.
  await session.access.watch()
  const { 0: client, 1: server } = new WebSocketPair()
  host.ctx.acceptWebSocket(server, listTags(authority))
  const after = new URL(request.url).searchParams.get('after')
  const seq = after === null ? session.store.lastEventSeq() : Number(after)
  for (const event of session.store.eventsSince(seq)) server.send(JSON.stringify(toPublicEvent(event)))
  session.turns.resumeIfUndriven()
  return new Response(null, { status: 101, webSocket: client })
}
