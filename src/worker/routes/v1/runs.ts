/** `/v1/runs`: starts runs that outlive their request, and reads, follows, steers, approves and stops any run by its id. */

import * as z from 'zod'
import { sessionNameHint, sessionNamePattern } from '#agent/core/session-name.ts'
import type { RunView } from '#durable/session/views/api-views.ts'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { isApproval } from '#durable/turn/pending-requests.ts'
import { sessionOfRun } from '#durable/platform/ids.ts'
import { AppError, notFound } from '../../errors.ts'
import { readLastEventId } from '../../event-bridge.ts'
import { eventStreamHeaders, idempotencyKeyHeader, lastEventIdHeader, toolsetsHeader } from '../../headers.ts'
import { claimIds, replayHeaders } from '../../idempotency.ts'
import { inputSchema, maxTextChars, parseUserMessage } from '../../input/input.ts'
import { responseInput } from '../../responses/response-items.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound, addressSession } from '../../sessions.ts'
import { acceptedShape, runShape, ok } from '../../shapes.ts'
import { follow, idempotencyOf, submitNow } from '../../submit.ts'
import { turnOptionFields } from '../../input/turn-options.ts'
import { decideApproval, decisionSchema } from '../approvals.ts'
import { submitResponse } from '../../responses/submit-response.ts'
import { runParam } from '../../openapi/path-params.ts'

const tag = 'Runs'
const sse = { 200: { description: 'Server-sent events', type: 'text/event-stream' } }

const sessionName = z.string().regex(sessionNamePattern, sessionNameHint)
const historyItem = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string().max(maxTextChars),
})

const newRun = z.strictObject({
  ...turnOptionFields,
  input: responseInput,
  instructions: z.string().max(50_000).nullish().describe('For this run only.'),
  session_id: sessionName.nullish().describe('Continues this session, or creates it. Absent: a new session.'),
  conversation_history: z.array(historyItem).max(20_000).nullish().describe('Earlier messages of a new session.'),
  previous_response_id: z.string().max(300).nullish(),
})

const stoppedShape = z.object({ run_id: z.string(), session_id: z.string(), status: z.string() })
const decidedShape = z.object({ run_id: z.string(), approval_id: z.string(), decision: z.string() })

export const runRoutes = [
  route({
    method: 'post',
    path: '/v1/runs',
    id: 'createRun',
    scope: 'chat',
    tag,
    summary: 'Start a run and return at once',
    description: 'Returns as soon as the message is stored. Follow the run with its events, or ask for it by its id.',
    example: { input: 'Summarise report.md in three sentences.' },
    headers: [idempotencyKeyHeader, toolsetsHeader],
    body: newRun,
    responses: { 202: { description: 'The run', schema: acceptedShape } },
    handle: startRun,
  }),
  route({
    method: 'get',
    path: '/v1/runs/:id',
    id: 'getRun',
    params: { id: runParam },
    scope: 'read',
    tag,
    summary: 'One run: status, activity, result',
    responses: ok('The run', runShape),
    handle: async (call) => Response.json((await findRun(call)).run),
  }),
  route({
    method: 'get',
    path: '/v1/runs/:id/events',
    id: 'streamRunEvents',
    params: { id: runParam },
    scope: 'read',
    tag,
    summary: 'Stream the events of a run from its beginning to its end',
    description: 'Each event has a name and a number. `Last-Event-ID` continues without a gap.',
    headers: [lastEventIdHeader],
    query: z.strictObject({
      after: z.coerce.number().int().min(0).optional().describe('Only events after this number.'),
    }),
    responses: sse,
    handle: async (call) => {
      const after = readLastEventId(call.web, call.query.after)
      const { session, run } = await findRun(call)
      const answer = await follow(session, {
        authority: call.authority,
        runId: run.run_id,
        format: { as: 'events', after },
      })
      return new Response(answer.body, { headers: eventStreamHeaders })
    },
  }),
  route({
    method: 'post',
    path: '/v1/runs/:id/stop',
    id: 'stopRun',
    params: { id: runParam },
    scope: 'chat',
    tag,
    summary: 'Stop a run; its messages so far are kept. A queued run is taken back',
    body: z.strictObject({}),
    responses: { 202: { description: 'Stopping, or it had ended', schema: stoppedShape } },
    handle: async (call) => {
      const { session, run } = await findRun(call)
      const isStopped = await session.runs.stop(call.authority, run.run_id)
      const stopped = run.status === 'queued' ? 'cancelled' : 'stopping'
      const answer = { run_id: run.run_id, session_id: run.session_id, status: isStopped ? stopped : run.status }
      return Response.json(answer, { status: 202 })
    },
  }),
  route({
    method: 'post',
    path: '/v1/runs/:id/steer',
    id: 'steerRun',
    params: { id: runParam },
    scope: 'chat',
    tag,
    summary: 'Send a message into a run without stopping it',
    example: { input: 'Only the first chapter.' },
    headers: [idempotencyKeyHeader],
    body: z.strictObject({ input: inputSchema }),
    responses: { 202: { description: 'Accepted', schema: acceptedShape } },
    handle: steerRun,
  }),
  route({
    method: 'post',
    path: '/v1/runs/:id/approval',
    id: 'decideRunApproval',
    params: { id: runParam },
    scope: 'approve',
    tag,
    summary: 'Allow or deny a call of a run that waits for approval',
    example: { decision: 'once' },
    body: decisionSchema.extend({
      approval_id: z.string().max(500).optional().describe('Needed when several calls wait.'),
    }),
    responses: ok('Decided', decidedShape),
    handle: async (call) => {
      const { run } = await findRun(call)
      const { approval_id: named, ...answer } = call.body
      const id = named ?? (await findOnlyApproval(call, run.run_id))
      if (!id.startsWith(`${run.session_id}.${run.run_id}.`)) throw notFound()
      await decideApproval(call, id, answer)
      return Response.json({ run_id: run.run_id, approval_id: id, decision: answer.decision })
    },
  }),
]

type FoundRun = { readonly session: DurableObjectStub<SessionDO>; readonly run: RunView }

/** Throws the same 404 for an unknown run, a malformed id and a run of another tenant. */
async function findRun({ env, authority, tenant, param }: RouteCall<unknown, unknown>): Promise<FoundRun> {
  const id = param('id')
  const sessionId = sessionOfRun(id)
  if (sessionId === undefined) throw notFound()
  const session = addressSession(env, tenant.id, sessionId)
  return { session, run: requireFound((await session.runs.get(authority, id)) ?? undefined) }
}

function startRun(call: RouteCall<unknown, z.infer<typeof newRun>>): Promise<Response> {
  const { input, conversation_history: history, session_id: name, max_tokens: maxTokens, ...options } = call.body
  const items = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input
  const body = {
    ...options,
    input: history ? [...history, ...items] : input,
    ...(maxTokens != null && { max_output_tokens: maxTokens }),
    ...(name != null && { conversation: name }),
  }
  return submitResponse({ ...call, body }, async ({ ids, command }) => {
    const session = addressSession(call.env, call.tenant.id, ids.sessionId)
    const { runId, status } = await submitNow(session, command, ids)
    const answer = { run_id: runId, session_id: ids.sessionId, status: await statusOf(call, session, runId, status) }
    return Response.json(answer, { status: 202, headers: replayHeaders(ids) })
  })
}

/** A request that is repeated finds a run that may have ended. */
async function statusOf(
  { authority }: Pick<RouteCall<unknown, unknown>, 'authority'>,
  session: DurableObjectStub<SessionDO>,
  runId: string,
  submitted: string,
): Promise<string> {
  if (submitted === 'running' || submitted === 'queued') return submitted
  const run = await session.runs.get(authority, runId)
  return run?.status ?? submitted
}

async function steerRun(call: RouteCall<unknown, { readonly input: z.infer<typeof inputSchema> }>): Promise<Response> {
  const { session, run } = await findRun(call)
  if (run.exit_reason !== null || run.status === 'queued')
    throw new AppError(409, 'conflict', 'This run is not running. Send the message to its session.')
  const ids = await claimIds(call, run.session_id)
  const command: RequestSubmission = {
    kind: 'request',
    authority: call.authority,
    runId: ids.runId,
    message: parseUserMessage(call.body.input),
    busyMode: 'steer',
    options: {},
    tenant: call.tenant,
    idempotency: idempotencyOf(ids),
    target: { kind: 'existing' },
  }
  const { runId, status } = await submitNow(session, command, ids)
  const answer = { run_id: runId, session_id: run.session_id, status }
  return Response.json(answer, { status: 202, headers: replayHeaders(ids) })
}

/** Throws when the run does not wait for exactly one approval. */
async function findOnlyApproval(
  { env, authority, tenant }: RouteCall<unknown, unknown>,
  runId: string,
): Promise<string> {
  const waiting = (await tenantStub(env, tenant.id).pending.list(authority)).filter(
    (item) => isApproval(item) && item.run_id === runId,
  )
  const [only, another] = waiting
  if (!only) throw new AppError(409, 'conflict', 'This run does not wait for an approval.')
  if (another)
    throw new AppError(409, 'conflict', 'Several calls of this run wait. Name one of them.', { param: 'approval_id' })
  return only.id
}
