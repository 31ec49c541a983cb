/**
 * `POST /v1/responses`: serves OpenAI's Responses API. A response is a run of a session. Its id contains both ids, so
 * that nothing else has to be stored or looked up.
 */

import * as z from 'zod'
import type { Message } from '../../agent/model/message.ts'
import { renderRunItems, type ResponseHead, renderResponse, resolveStatus } from '../../agent/public-api/responses.ts'
import { toPublicUsage } from '../../agent/public-api/usage.ts'
import type { RequestCommand, RequestTarget } from '../../durable/session/intake/request.ts'
import type { SessionDO } from '../../durable/session/session-object.ts'
import type { TenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { renderAnswerFormat, textFormat } from '../answer-format.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKeyHeader, toolsetsHeader } from '../headers.ts'
import { type RequestIds, claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { ignored, ignoredFields } from '../ignored-fields.ts'
import { forkSession } from '../fork.ts'
import { parseInput, responseInput } from '../responses/response-input.ts'
import { responseShape } from '../responses/response-shape.ts'
import { limitToolsets } from '../limit-toolsets.ts'
import { type Call, route } from '../route.ts'
import { readWithSessionSettings } from '../settings-patch.ts'
import { parseTurnOptions, turnOptionFields } from '../turn-options.ts'
import { requireFound, sessionStub } from '../sessions.ts'
import { resolveFiles } from '../uploads.ts'
import { idempotencyOf, submitAndStream, submitAndWait, submitNow } from '../submit.ts'
import { eventStreamHeaders } from './chat-completions.ts'
import {
  withStartTime,
  listRunMessages,
  type ResponseLocation,
  locateResponse,
  createResponseId,
  getStoredRun,
  renderRun,
} from './stored-responses.ts'

const conversationId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'The name of a session has 1 to 128 letters, digits, _ or -.')

const { max_tokens: _maxTokens, ...optionFields } = turnOptionFields
const body = z.strictObject({
  ...optionFields,
  ...ignoredFields,
  input: responseInput,
  instructions: z.string().max(50_000).nullish(),
  previous_response_id: z.string().max(300).nullish(),
  conversation: z.union([conversationId, z.looseObject({ id: conversationId })]).nullish(),
  store: z.boolean().nullish().describe('false: the session is deleted after the answer.'),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish().describe('Returns at once; GET shows the progress.'),
  max_output_tokens: z.int().min(1).nullish(),
  reasoning: z.looseObject({ effort: z.string().max(20).nullish() }).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  tools: z.array(z.unknown()).nullish().describe('Not supported: the agent has its own tools.'),
  stream_options: ignored,
  max_tool_calls: ignored,
  context_management: ignored,
  include: ignored,
  text: textFormat,
  truncation: ignored,
})
type Body = z.infer<typeof body>
type CreateCall = Call<unknown, Body>

const tag = 'OpenAI'

export const responseRoutes = [
  route({
    method: 'post',
    path: '/v1/responses',
    scope: 'chat',
    tag,
    summary: 'Ask the agent, or continue a response or conversation',
    headers: [idempotencyKeyHeader, toolsetsHeader],
    body,
    responses: {
      200: {
        description: 'The response, or its events when stream is true',
        schema: responseShape,
        type: 'text/event-stream',
      },
    },
    handle: create,
  }),
]

function create(call: CreateCall): Promise<Response> {
  return submitResponse(call, ({ ids, command, conversation }) => {
    const id = createResponseId(ids.runId, call.body.store === false ? undefined : ids.sessionId)
    return submitAndRender(call, ids, command, createHead(call.body, id, conversation))
  })
}

type SubmittedResponse = {
  readonly ids: RequestIds
  readonly command: RequestCommand
  readonly conversation: string | null
}

/** Parses the request, finds or forks its session, and lets `submitCommand` submit and answer. */
export async function submitResponse(
  call: CreateCall,
  submitCommand: (submitted: SubmittedResponse) => Promise<Response>,
): Promise<Response> {
  const { tenant, body: request } = call
  refuseUnsupported(request)
  const parsed = parseInput(request.input, request.instructions ?? '')
  const isContinuation = Boolean(request.previous_response_id ?? request.conversation)
  if (isContinuation && parsed.history.length)
    throw invalid('Earlier messages are already stored. Send only the new ones.', 'input')
  const continued = findContinued(call)
  const authority = await limitToolsets(call, continued)
  const options = mergeRunOptions(
    request,
    await readTurnOptions(call, continued),
    joinInstructions(parsed.instructions, request),
  )
  const files = await resolveFiles(parsed.files, { env: call.env, tenantId: tenant.id, param: 'input' })
  const { ids, conversation, branchOf, after } = await resolveTarget(call)
  const isStored = request.store !== false
  // A repeated request with an idempotency key must find its answer, so its session stays.
  const ephemeral = !isStored && !ids.repeatable
  const command: RequestCommand = {
    kind: 'request',
    authority,
    runId: ids.runId,
    message: parsed.message,
    files,
    busyMode: 'queue',
    tenant,
    idempotency: idempotencyOf(ids),
    options,
    target: createTarget({
      request,
      after,
      ephemeral,
      history: parsed.history,
      isNewId: !conversation && !ids.replayed,
    }),
  }
  const submitRequest = () => submitCommand({ ids, command, conversation })
  const answer = await (branchOf
    ? submitInFork(call, { from: branchOf, ids, ephemeral }, submitRequest)
    : submitRequest())
  return ephemeral ? deleteAfterResponse(call, ids, answer) : answer
}

const joinInstructions = (instructions: string, { text }: Body): string =>
  [instructions, renderAnswerFormat(text?.format)].filter(Boolean).join('\n\n')

type Target = {
  readonly request: Body
  readonly after: ResponseLocation | undefined
  readonly ephemeral: boolean
  readonly history: readonly Message[]
  readonly isNewId: boolean
}

/** Another request may continue from the same response at the same moment: `after` refuses the later one. */
function createTarget({ request, after, ephemeral, history, isNewId }: Target): RequestTarget {
  if (after) return { kind: 'after', runId: after.runId }
  if (request.previous_response_id) return { kind: 'existing' }
  return { kind: 'create', spec: { source: 'api', ephemeral }, history, isNewId }
}

const createHead = (request: Body, id: string, conversation: string | null): ResponseHead => ({
  id,
  createdAt: Math.floor(Date.now() / 1_000),
  model: request.model ?? 'talaria',
  previousId: request.previous_response_id ?? null,
  conversation,
  instructions: request.instructions ?? null,
  metadata: request.metadata ?? {},
  background: request.background ?? false,
})

function refuseUnsupported({ tools, conversation, previous_response_id: previous, store, background }: Body): void {
  if (tools?.length)
    throw new AppError(400, 'unsupported', 'Tools of the client are not supported: the agent has its own tools.', {
      param: 'tools',
    })
  if (conversation && previous)
    throw invalid('Send either conversation or previous_response_id, not both.', 'previous_response_id')
  if (store === false && (conversation || background))
    throw invalid(`store: false cannot be combined with ${conversation ? 'conversation' : 'background'}.`, 'store')
}

/** The session that the request names, which may not exist. */
function findContinued(call: CreateCall): DurableObjectStub<SessionDO> | undefined {
  const { previous_response_id: previous, conversation } = call.body
  if (previous) return locateResponse(call, previous).session
  return conversation ? sessionStub(call.env, call.tenant.id, getConversationName(conversation)) : undefined
}

/** Uses the settings of a continued session, which may have providers of its own. */
function readTurnOptions(
  call: CreateCall,
  continued: DurableObjectStub<SessionDO> | undefined,
): Promise<RunOptions> | RunOptions {
  const { env, tenant, body: request } = call
  const read = (snapshot: TenantSnapshot) => parseTurnOptions(request, env, snapshot)
  return continued ? readWithSessionSettings(continued, call, read) : read(tenant)
}

const getConversationName = (conversation: NonNullable<Body['conversation']>) =>
  typeof conversation === 'string' ? conversation : conversation.id

type RunOptions = RequestCommand['options']

function mergeRunOptions(request: Body, options: RunOptions, instructions: string): RunOptions {
  const maxTokens = request.max_output_tokens
  const effort = request.reasoning?.effort
  return {
    ...options,
    ...(instructions && { instructions }),
    ...(maxTokens != null && { maxTokens }),
    ...(effort != null && { reasoningEffort: effort }),
  }
}

type ResolvedTarget = {
  readonly ids: RequestIds
  readonly conversation: string | null
  /** The session has to be forked up to this response first. */
  readonly branchOf?: ResponseLocation
  /** This response must still be the last one of its session. */
  readonly after?: ResponseLocation
}

/** Continues in the session of the previous response while that is its last one, else in a fork up to it. */
async function resolveTarget(call: CreateCall): Promise<ResolvedTarget> {
  const { body: request } = call
  const { previous_response_id: previous, conversation } = request
  if (conversation) {
    const name = getConversationName(conversation)
    return { ids: await claimIds(call, name), conversation: name }
  }
  if (!previous) return { ids: await claimIds(call), conversation: null }
  const from = locateResponse(call, previous)
  const ids = await claimIds(call, (await isLastResponse(from, request.store !== false)) ? from.sessionId : undefined)
  return { ids, conversation: null, ...(ids.sessionId === from.sessionId ? { after: from } : { branchOf: from }) }
}

/** Whether the session itself can continue: this is its last response, and the new one is stored. */
async function isLastResponse({ session, authority, runId }: ResponseLocation, isStored: boolean): Promise<boolean> {
  const run = requireFound((await session.runs.get(authority, runId)) ?? undefined)
  if (run.exit_reason === null && !isStored)
    throw new AppError(409, 'conflict', 'The previous response is not complete yet.', { param: 'previous_response_id' })
  const last = (await session.conversation.messages(authority, { limit: 1 }))?.data[0]
  return isStored && (last?.run_id === runId || run.exit_reason === null)
}

type Branch = { readonly from: ResponseLocation; readonly ids: RequestIds; readonly ephemeral: boolean }

/** Submits in a fork, which is deleted when the request is refused. */
async function submitInFork<T>(call: CreateCall, { from, ids, ephemeral }: Branch, submitRequest: () => Promise<T>) {
  const { env, authority, tenant } = call
  const to = sessionStub(env, tenant.id, ids.sessionId)
  // A repeated request finds the fork of the first one.
  if (await to.info.get(authority)) return submitRequest()
  const spec = { source: 'api', parentId: from.sessionId, ephemeral }
  await releaseOnError(ids, () => forkSession(call, from.session, to, { spec, upTo: from.runId }))
  try {
    return await submitRequest()
  } catch (error) {
    if (error instanceof AppError) await to.info.delete(authority)
    throw error
  }
}

async function submitAndRender(call: CreateCall, ids: RequestIds, command: RequestCommand, head: ResponseHead) {
  const session = sessionStub(call.env, call.tenant.id, ids.sessionId)
  const headers = { 'x-talaria-session-id': ids.sessionId, 'x-talaria-run-id': ids.runId, ...replayHeaders(ids) }
  if (call.body.stream) {
    const answer = await submitAndStream(session, { command, format: { as: 'response', head } }, ids)
    return new Response(answer.body, { headers: { ...headers, ...eventStreamHeaders } })
  }
  if (call.body.background) {
    await submitNow(session, command, ids)
    return Response.json(
      renderRun(await getStoredRun({ session, authority: call.authority, runId: ids.runId }), head),
      { headers },
    )
  }
  const { end, run } = await submitAndWait(session, command, ids)
  const whole = renderResponse(withStartTime(run, head), {
    status: resolveStatus(end),
    output: renderRunItems(await listRunMessages({ session, authority: call.authority, runId: ids.runId })),
    usage: toPublicUsage(end.usage),
    error: end.error,
    exitReason: end.exit_reason,
  })
  return Response.json(whole, { headers })
}

/**
 * Deletes the session after the response was sent or the reader disconnected. When the isolate stops before that, the
 * ephemeral session expires at its time.
 */
function deleteAfterResponse(
  { web, env, authority, tenant }: CreateCall,
  { sessionId }: RequestIds,
  answer: Response,
): Response {
  const deleteSession = async () => void (await sessionStub(env, tenant.id, sessionId).info.delete(authority))
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream') || !answer.body) {
    web.executionCtx.waitUntil(deleteSession())
    return answer
  }
  const { readable, writable } = new TransformStream()
  // The pipe also ends when the reader disconnects.
  web.executionCtx.waitUntil(answer.body.pipeTo(writable).then(deleteSession, deleteSession))
  return new Response(readable, answer)
}
