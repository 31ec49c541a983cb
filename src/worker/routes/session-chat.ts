/** Talking to a session: chat, stream, steer, stop, retry; and listening to it. */

import * as z from 'zod'
import type { RequestCommand } from '../../durable/session/request-intake.ts'
import { runHeader } from '../../durable/session/serve-stream.ts'
import { follow } from '../event-bridge.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKey, lastEventId } from '../headers.ts'
import { idsFor, releasing, replayHeader } from '../idempotency.ts'
import { attachment, inputSchema, systemText, userMessage } from '../input.ts'
import { type Call, route } from '../route.ts'
import { found, sessionStub } from '../sessions.ts'
import { accepted, idempotencyOf, submitAndStream, submitAndWait, submitNow } from '../submit.ts'
import { knowingOwn } from '../settings-patch.ts'
import { wishesOf, wishFields } from '../turn-options.ts'
import { acceptedShape, ok, runShape } from '../shapes.ts'
import { eventStream } from './chat-completions.ts'

const chatSchema = z.strictObject({
  input: inputSchema,
  attachments: z.array(attachment).max(20).optional(),
  mode: z.enum(['queue', 'interrupt', 'steer']).optional().describe('What to do while a turn runs.'),
  ...wishFields,
  instructions: z.string().max(50_000).optional(),
  max_turns: z.int().min(1).max(10_000).optional(),
})
type Chat = z.infer<typeof chatSchema>

const tag = 'Talking'
const stoppedShape = z.object({ session_id: z.string(), status: z.enum(['stopping', 'idle']) })
const sse = { 200: { description: 'Server-sent events', type: 'text/event-stream' } }

async function prepare(call: Call<unknown, Chat>) {
  const { env, tenant, body, param } = call
  const sessionId = param('id')
  const session = sessionStub(env, tenant.id, sessionId)
  const wishes = await knowingOwn(session, tenant, (known) => wishesOf(body, env, known))
  const instructions = systemText([{ text: body.instructions ?? '', param: 'instructions' }])
  const message = userMessage(body.input, body.attachments, 'input', instructions)
  const ids = await idsFor(call, sessionId)
  const command: RequestCommand = {
    kind: 'request',
    runId: ids.runId,
    message,
    busyMode: body.mode,
    tenant,
    idempotency: idempotencyOf(ids),
    target: { kind: 'existing' },
    options: {
      ...wishes,
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
    scope: 'chat',
    tag,
    summary: 'Say something and wait for the end of the run',
    headers: [idempotencyKey],
    body: chatSchema,
    responses: ok('The finished run', runShape),
    handle: async (call) => {
      const { session, command, ids } = await prepare(call)
      const { run } = await submitAndWait(session, command, ids)
      return Response.json(run, { headers: replayHeader(ids) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/chat/stream',
    scope: 'chat',
    tag,
    summary: 'Say something and follow the run',
    headers: [idempotencyKey],
    body: chatSchema,
    responses: sse,
    handle: async (call) => {
      const { session, command, ids } = await prepare(call)
      const answer = await submitAndStream(session, { command, format: { as: 'events' } }, ids)
      const run = { [runHeader]: answer.headers.get(runHeader) ?? '' }
      return new Response(answer.body, { headers: { ...eventStream, ...replayHeader(ids), ...run } })
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/events',
    scope: 'read',
    tag,
    summary: 'Follow the session: server-sent events, or a WebSocket on upgrade',
    headers: [lastEventId],
    query: z.strictObject({ after: z.coerce.number().int().min(0).optional() }),
    responses: sse,
    handle: async ({ env, tenant, param, query, web }) => {
      const session = sessionStub(env, tenant.id, param('id'))
      const last = web.req.header('last-event-id')
      if (last !== undefined && !/^\d{1,16}$/.test(last))
        throw invalid('Last-Event-ID must be the id of an event.', 'Last-Event-ID')
      const after = last === undefined ? query.after : Number(last)
      const listen = async (from?: number): Promise<Response> => {
        const url = new URL('https://session/events')
        if (from !== undefined) url.searchParams.set('after', String(from))
        const answer = await session.fetch(new Request(url, { headers: { upgrade: 'websocket' } }))
        if (answer.status === 429)
          throw new AppError(429, 'limit_exceeded', 'Too many listen to this session already.', { retryAfter: 15 })
        return answer
      }
      if (web.req.header('upgrade')?.toLowerCase() === 'websocket') {
        const answer = await listen(after)
        found(answer.webSocket ?? undefined)
        return answer
      }
      const socket = async (from?: number) => (await listen(from)).webSocket ?? undefined
      const source = { page: (from: number) => session.conversation.events(from), socket }
      return found(await follow(source, after, web.req.raw.signal))
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/runs/:run',
    scope: 'read',
    tag,
    summary: 'One run of the session: status, activity, result',
    responses: ok('The run', runShape),
    handle: async ({ env, tenant, param }) =>
      Response.json(found(found(await sessionStub(env, tenant.id, param('id')).runs.get(param('run'))))),
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/stop',
    scope: 'chat',
    tag,
    summary: 'Stop the turn that runs; what was said so far is kept',
    body: z.strictObject({}),
    responses: { 202: { description: 'Stopping, or nothing was running', schema: stoppedShape } },
    handle: async ({ env, tenant, param }) => {
      const stopped = found(await sessionStub(env, tenant.id, param('id')).runs.stop())
      return Response.json({ session_id: param('id'), status: stopped ? 'stopping' : 'idle' }, { status: 202 })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/steer',
    scope: 'chat',
    tag,
    summary: 'Say something into the turn that runs, without stopping it',
    headers: [idempotencyKey],
    body: z.strictObject({ input: inputSchema }),
    responses: { 202: { description: 'Heard', schema: acceptedShape } },
    handle: async (call) => {
      const { env, tenant, param, body } = call
      const session = sessionStub(env, tenant.id, param('id'))
      const message = userMessage(body.input)
      const ids = await idsFor(call, param('id'))
      const command: RequestCommand = {
        kind: 'request',
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
      return Response.json(answer, { status: 202, headers: replayHeader(ids) })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/retry',
    scope: 'chat',
    tag,
    summary: 'Take back the last turn and ask the same again',
    headers: [idempotencyKey],
    body: z.strictObject({}),
    responses: { 202: { description: 'The new run', schema: acceptedShape } },
    handle: async (call) => {
      const { env, tenant, param } = call
      const session = sessionStub(env, tenant.id, param('id'))
      const ids = await idsFor(call, param('id'))
      await releasing(ids, async () => accepted(found(await session.runs.retry(ids.runId, tenant)), 'input'))
      const answer = { run_id: ids.runId, session_id: param('id'), status: 'running' }
      return Response.json(answer, { status: 202, headers: replayHeader(ids) })
    },
  }),
]
