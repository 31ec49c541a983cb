/** Routes that submit messages to a session, stop and retry its runs, and stream its events. */

import * as z from 'zod'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import { authorityHeader, encodeAuthority } from '#durable/platform/authority-header.ts'
import { runHeader } from '#durable/session/serve-stream.ts'
import { readLastEventId, streamEvents } from '../event-bridge.ts'
import { AppError } from '../errors.ts'
import { eventStreamHeaders, idempotencyKeyHeader, lastEventIdHeader, toolsetsHeader } from '../headers.ts'
import { claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { attachmentSchema, inputSchema, joinSystemText, parseUserMessage } from '../input/input.ts'
import { limitToolsets } from '../input/limit-toolsets.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { accepted, idempotencyOf, submitAndStream, submitAndWait, submitNow } from '../submit.ts'
import { readWithSessionSettings } from '../input/settings-patch.ts'
import { resolveFiles } from '../files/uploads.ts'
import { parseTurnOptions, turnOptionFields } from '../input/turn-options.ts'
import { acceptedShape, ok, runShape } from '../shapes.ts'
import { runParam, sessionParam } from '../openapi/path-params.ts'

const chatSchema = z.strictObject({
  input: inputSchema,
  attachments: z.array(attachmentSchema).max(20).optional(),
  mode: z.enum(['queue', 'interrupt', 'steer']).optional().describe('What happens while a turn runs.'),
  ...turnOptionFields,
  instructions: z.string().max(50_000).optional(),
  max_turns: z.int().min(1).max(10_000).optional(),
})
type SessionChat = z.infer<typeof chatSchema>
const waitingChatSchema = chatSchema.extend({
  wait: z.boolean().default(true).describe('false: answers 202 as soon as the message is stored.'),
})

const tag = 'Chat'
const stoppedShape = z.object({ session_id: z.string(), status: z.enum(['stopping', 'idle']) })
const sse = { 200: { description: 'Server-sent events', type: 'text/event-stream' } }

async function prepare(call: RouteCall<unknown, SessionChat>) {
  const { env, tenant, body, param } = call
  const sessionId = param('id')
  const session = addressSession(env, tenant.id, sessionId)
  const authority = await limitToolsets(call, session)
  const sessionOptions = await readWithSessionSettings(session, call, (snapshot) =>
    parseTurnOptions(body, env, snapshot),
  )
  const instructions = joinSystemText([{ text: body.instructions ?? '', param: 'instructions' }])
  const written = parseUserMessage(body.input, body.attachments, 'input', instructions)
  const message = await resolveFiles(written, call, 'attachments')
  const ids = await claimIds(call, sessionId)
  const command: RequestSubmission = {
    kind: 'request',
    authority,
    runId: ids.runId,
    message,
    busyMode: body.mode,
    tenant,
    idempotency: idempotencyOf(ids),
    target: { kind: 'existing' },
    options: {
      ...sessionOptions,
      ...(body.instructions !== undefined && { instructions: body.instructions }),
      ...(body.max_turns !== undefined && { maxTurns: body.max_turns }),
    },
  }
  return { session, command, ids }
}

export const sessionChatRoutes = [
  route({
    method: 'post',
    path: '/api/sessions/:id/chat',
    id: 'sendMessage',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Send a message and wait for the end of the run, or not',
    description:
      'Waits for the end of the run without a time limit. While a turn runs, `mode` decides: ' +
      '`queue` waits, `interrupt` stops it, `steer` adds the message to it.',
    example: { input: 'Summarise report.md in three sentences.' },
    headers: [idempotencyKeyHeader, toolsetsHeader],
    body: waitingChatSchema,
    responses: {
      ...ok('The finished run', runShape),
      202: { description: 'With `wait: false`: the run, which goes on', schema: acceptedShape },
    },
    handle: async (call) => {
      const { session, command, ids } = await prepare(call)
      if (!call.body.wait) {
        const { runId, status } = await submitNow(session, command, ids)
        const answer = { run_id: runId, session_id: call.param('id'), status }
        return Response.json(answer, { status: 202, headers: replayHeaders(ids) })
      }
      const { run } = await submitAndWait(session, command, ids)
      return Response.json(run, { headers: replayHeaders(ids) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/chat/stream',
    id: 'streamMessage',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Send a message and stream the run',
    description: 'The same as `sendMessage`, as a stream of events that ends with the end of the run.',
    example: { input: 'Summarise report.md in three sentences.' },
    headers: [idempotencyKeyHeader, toolsetsHeader],
    body: chatSchema,
    responses: sse,
    handle: async (call) => {
      const { session, command, ids } = await prepare(call)
      const answer = await submitAndStream(session, { command, format: { as: 'events' } }, ids)
      const run = { [runHeader]: answer.headers.get(runHeader) ?? '' }
      return new Response(answer.body, { headers: { ...eventStreamHeaders, ...replayHeaders(ids), ...run } })
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/events',
    id: 'streamSessionEvents',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'Stream events of the session: server-sent events, or a WebSocket on upgrade',
    description:
      'All events of the session, over server-sent events or, on upgrade, a WebSocket. ' +
      '`Last-Event-ID` continues without a gap; without it only new events are sent.',
    headers: [lastEventIdHeader],
    query: z.strictObject({
      after: z.coerce.number().int().min(0).optional().describe('Only events after this number.'),
    }),
    responses: sse,
    handle: async ({ env, authority, tenant, param, query, web }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const after = readLastEventId(web, query.after)
      const listen = async (from?: number): Promise<Response> => {
        const url = new URL('https://session/events')
        if (from !== undefined) url.searchParams.set('after', String(from))
        const answer = await session.fetch(
          new Request(url, { headers: { upgrade: 'websocket', [authorityHeader]: encodeAuthority(authority) } }),
        )
        if (answer.status === 429)
          throw new AppError(429, 'limit_exceeded', 'This session has too many subscribers.', { retryAfter: 15 })
        return answer
      }
      if (web.req.header('upgrade')?.toLowerCase() === 'websocket') {
        const answer = await listen(after)
        requireFound(answer.webSocket ?? undefined)
        return answer
      }
      const socket = async (from?: number) => (await listen(from)).webSocket ?? undefined
      const source = { page: (from: number) => session.history.events(authority, from), socket }
      return requireFound(await streamEvents(source, after, web.req.raw.signal))
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/runs/:run',
    id: 'getSessionRun',
    params: { id: sessionParam, run: runParam },
    scope: 'read',
    tag,
    summary: 'One run of the session: status, activity, result',
    responses: ok('The run', runShape),
    handle: async ({ env, authority, tenant, param }) =>
      Response.json(
        requireFound(requireFound(await addressSession(env, tenant.id, param('id')).runs.get(authority, param('run')))),
      ),
  }),
  route({
    method: 'delete',
    path: '/api/sessions/:id/runs/:run',
    id: 'deleteSessionRun',
    params: { id: sessionParam, run: runParam },
    scope: 'chat',
    tag,
    summary: 'Take a queued run back before it begins',
    responses: { 204: { description: 'Taken back' } },
    handle: async ({ env, authority, tenant, param }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const outcome = requireFound(await session.runs.takeBack(authority, param('run')))
      if (outcome === 'begun')
        throw new AppError(409, 'conflict', 'This run is not queued any more. Stop it with POST …/stop.')
      requireFound(outcome === 'unknown' ? undefined : outcome)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/stop',
    id: 'stopSession',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Stop the running turn; its messages so far are kept',
    body: z.strictObject({}),
    responses: { 202: { description: 'Stopping, or nothing was running', schema: stoppedShape } },
    handle: async ({ env, authority, tenant, param }) => {
      const stopped = requireFound(await addressSession(env, tenant.id, param('id')).runs.stop(authority))
      return Response.json({ session_id: param('id'), status: stopped ? 'stopping' : 'idle' }, { status: 202 })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/steer',
    id: 'steerSession',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Send a message into the running turn without stopping it',
    example: { input: 'Only the first chapter.' },
    headers: [idempotencyKeyHeader],
    body: z.strictObject({ input: inputSchema }),
    responses: { 202: { description: 'Accepted', schema: acceptedShape } },
    handle: async (call) => {
      const { env, authority, tenant, param, body } = call
      const session = addressSession(env, tenant.id, param('id'))
      const message = parseUserMessage(body.input)
      const ids = await claimIds(call, param('id'))
      const command: RequestSubmission = {
        kind: 'request',
        authority,
        runId: ids.runId,
        message,
        busyMode: 'steer',
        options: {},
        tenant,
        idempotency: idempotencyOf(ids),
        target: { kind: 'existing' },
      }
      const { runId, status } = await submitNow(session, command, ids)
      const answer = { run_id: runId, session_id: param('id'), status }
      return Response.json(answer, { status: 202, headers: replayHeaders(ids) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/retry',
    id: 'retryLastTurn',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Undo the last turn and submit its message again',
    headers: [idempotencyKeyHeader],
    body: z.strictObject({}),
    responses: { 202: { description: 'The new run', schema: acceptedShape } },
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const session = addressSession(env, tenant.id, param('id'))
      const ids = await claimIds(call, param('id'))
      await releaseOnError(ids, async () =>
        accepted(requireFound(await session.runs.retry(authority, ids.runId, tenant)), 'input'),
      )
      const answer = { run_id: ids.runId, session_id: param('id'), status: 'running' }
      return Response.json(answer, { status: 202, headers: replayHeaders(ids) })
    },
  }),
]
