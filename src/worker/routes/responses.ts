/**
 * `/v1/responses`: OpenAI's newer API, with an agent behind it. A response is a run of a session: its id names
 * both, so that nothing has to be looked up, and the key decides whether they are there.
 */

import * as z from 'zod'
import type { Message } from '../../agent/model/message.ts'
import { renderRunItems, type ResponseHead, renderResponse, resolveStatus } from '../../agent/public-api/responses.ts'
import { toPublicUsage } from '../../agent/public-api/usage.ts'
import type { RequestCommand, RequestTarget } from '../../durable/session/request-intake.ts'
import type { TenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKey } from '../headers.ts'
import { type Ids, idsFor, releasing, replayHeader } from '../idempotency.ts'
import { ignored, ignoredFields } from '../ignored-fields.ts'
import { fork } from '../fork.ts'
import { readInput, responseInput } from '../response-input.ts'
import { responseShape } from '../response-shape.ts'
import { type Call, route } from '../route.ts'
import { knowingOwn } from '../settings-patch.ts'
import { wishesOf, wishFields } from '../turn-options.ts'
import { found, sessionStub } from '../sessions.ts'
import { idempotencyOf, submitAndStream, submitAndWait, submitNow } from '../submit.ts'
import { eventStream } from './chat-completions.ts'
import { begunWith, messagesOf, type Place, placeOf, responseId, storedRun, withRun } from './stored-responses.ts'

const conversationId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'The name of a session has 1 to 128 letters, digits, _ or -.')

const { max_tokens: _maxTokens, ...wishes } = wishFields
const body = z.strictObject({
  ...wishes,
  ...ignoredFields,
  input: responseInput,
  instructions: z.string().max(50_000).nullish(),
  previous_response_id: z.string().max(300).nullish(),
  conversation: z.union([conversationId, z.looseObject({ id: conversationId })]).nullish(),
  store: z.boolean().nullish().describe('false: the session is removed once it has answered.'),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish().describe('Answers at once; GET shows the progress.'),
  max_output_tokens: z.int().min(1).nullish(),
  reasoning: z.looseObject({ effort: z.string().max(20).nullish() }).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  tools: z.array(z.unknown()).nullish().describe('Not supported: the agent has its own tools.'),
  stream_options: ignored,
  max_tool_calls: ignored,
  context_management: ignored,
  include: ignored,
  text: ignored,
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
    summary: 'Ask the agent; go on with a response or a conversation',
    headers: [idempotencyKey],
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

async function create(call: CreateCall): Promise<Response> {
  const { tenant, body: asked } = call
  refuseUnsupported(asked)
  const said = readInput(asked.input, asked.instructions ?? '')
  const goesOn = Boolean(asked.previous_response_id ?? asked.conversation)
  if (goesOn && said.history.length)
    throw invalid('The earlier messages are stored already: send only the new ones.', 'input')
  const options = optionsOf(asked, await wishesIn(call), said.instructions)
  const { ids, conversation, branchOf, after } = await whereFor(call)
  const isKept = asked.store !== false
  // Whoever repeats a request with its key wants the same answer again.
  const ephemeral = !isKept && !ids.repeatable
  const command: RequestCommand = {
    kind: 'request',
    runId: ids.runId,
    message: said.message,
    busyMode: 'queue',
    tenant,
    idempotency: idempotencyOf(ids),
    options,
    target: targetOf({ asked, after, ephemeral, history: said.history, isNewId: !conversation && !ids.replayed }),
  }
  const head = headOf(asked, responseId(ids.runId, isKept ? ids.sessionId : undefined), conversation)
  const ask = () => submitFor(call, ids, command, head)
  const answer = await (branchOf ? inBranch(call, { from: branchOf, ids, ephemeral }, ask) : ask())
  return ephemeral ? andForget(call, ids, answer) : answer
}

type Target = {
  readonly asked: Body
  readonly after: Place | undefined
  readonly ephemeral: boolean
  readonly history: readonly Message[]
  readonly isNewId: boolean
}

/** Another request may continue from the same response at the same moment: `after` refuses the later one. */
function targetOf({ asked, after, ephemeral, history, isNewId }: Target): RequestTarget {
  if (after) return { kind: 'after', runId: after.runId }
  if (asked.previous_response_id) return { kind: 'existing' }
  return { kind: 'create', spec: { source: 'api', ephemeral }, history, isNewId }
}

const headOf = (asked: Body, id: string, conversation: string | null): ResponseHead => ({
  id,
  createdAt: Math.floor(Date.now() / 1_000),
  model: asked.model ?? 'talaria',
  previousId: asked.previous_response_id ?? null,
  conversation,
  instructions: asked.instructions ?? null,
  metadata: asked.metadata ?? {},
  background: asked.background ?? false,
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

/** A session that is gone on with may have providers of its own. */
function wishesIn({ env, tenant, body: asked }: CreateCall): Promise<Wishes> | Wishes {
  const read = (known: TenantSnapshot) => wishesOf(asked, env, known)
  const { previous_response_id: previous, conversation } = asked
  if (previous) return knowingOwn(placeOf(env, tenant.id, previous).session, tenant, read)
  return conversation ? knowingOwn(sessionStub(env, tenant.id, nameOf(conversation)), tenant, read) : read(tenant)
}

const nameOf = (conversation: NonNullable<Body['conversation']>) =>
  typeof conversation === 'string' ? conversation : conversation.id

type Wishes = RequestCommand['options']

function optionsOf(asked: Body, wished: Wishes, instructions: string): Wishes {
  const maxTokens = asked.max_output_tokens
  const effort = asked.reasoning?.effort
  return {
    ...wished,
    ...(instructions && { instructions }),
    ...(maxTokens != null && { maxTokens }),
    ...(effort != null && { reasoningEffort: effort }),
  }
}

type Where = {
  readonly ids: Ids
  readonly conversation: string | null
  /** The response up to which the session has yet to be copied. */
  readonly branchOf?: Place
  /** The response that has to be the last in its session. */
  readonly after?: Place
}

/** The session that is gone on with: that of the response, while it is the last in there; else a copy up to it. */
async function whereFor(call: CreateCall): Promise<Where> {
  const { env, tenant, body: asked } = call
  const { previous_response_id: previous, conversation } = asked
  if (conversation) {
    const name = nameOf(conversation)
    return { ids: await idsFor(call, name), conversation: name }
  }
  if (!previous) return { ids: await idsFor(call), conversation: null }
  const from = placeOf(env, tenant.id, previous)
  const ids = await idsFor(call, (await isLast(from, asked.store !== false)) ? from.sessionId : undefined)
  return { ids, conversation: null, ...(ids.sessionId === from.sessionId ? { after: from } : { branchOf: from }) }
}

/** Whether the session may go on from here: nothing came behind it, and what comes is to be kept. */
async function isLast({ session, runId }: Place, isKept: boolean): Promise<boolean> {
  const run = found((await session.runs.get(runId)) ?? undefined)
  if (run.exit_reason === null && !isKept)
    throw new AppError(409, 'conflict', 'That response is not complete yet.', { param: 'previous_response_id' })
  const last = (await session.conversation.messages({ limit: 1 }))?.data[0]
  return isKept && (last?.run_id === runId || run.exit_reason === null)
}

type Branch = { readonly from: Place; readonly ids: Ids; readonly ephemeral: boolean }

/** Asks in a copy, which goes again when the question is refused. */
async function inBranch<T>(call: CreateCall, { from, ids, ephemeral }: Branch, asking: () => Promise<T>) {
  const { env, tenant } = call
  const to = sessionStub(env, tenant.id, ids.sessionId)
  // A repeat finds the copy of the first try.
  if (await to.info.get()) return asking()
  const spec = { source: 'api', parentId: from.sessionId, ephemeral }
  await releasing(ids, () => fork(call, from.session, to, { spec, upTo: from.runId }))
  try {
    return await asking()
  } catch (error) {
    if (error instanceof AppError) await to.info.delete()
    throw error
  }
}

async function submitFor(call: CreateCall, ids: Ids, command: RequestCommand, head: ResponseHead) {
  const session = sessionStub(call.env, call.tenant.id, ids.sessionId)
  const headers = { 'x-talaria-session-id': ids.sessionId, 'x-talaria-run-id': ids.runId, ...replayHeader(ids) }
  if (call.body.stream) {
    const answer = await submitAndStream(session, { command, format: { as: 'response', head } }, ids)
    return new Response(answer.body, { headers: { ...headers, ...eventStream } })
  }
  if (call.body.background) {
    await submitNow(session, command, ids)
    return Response.json(withRun(await storedRun(session, ids.runId), head), { headers })
  }
  const { end, run } = await submitAndWait(session, command, ids)
  const whole = renderResponse(begunWith(run, head), {
    status: resolveStatus(end),
    output: renderRunItems(await messagesOf(session, ids.runId)),
    usage: toPublicUsage(end.usage),
    error: end.error,
    exitReason: end.exit_reason,
  })
  return Response.json(whole, { headers })
}

/** Removes the session once the answer has gone out, to its end or not. A reader that leaves early may end this: then the session goes by itself. */
function andForget({ web, env, tenant }: CreateCall, { sessionId }: Ids, answer: Response): Response {
  const forget = async () => void (await sessionStub(env, tenant.id, sessionId).info.delete())
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream') || !answer.body) {
    web.executionCtx.waitUntil(forget())
    return answer
  }
  const { readable, writable } = new TransformStream()
  // A reader that goes away ends the stream as well.
  web.executionCtx.waitUntil(answer.body.pipeTo(writable).then(forget, forget))
  return new Response(readable, answer)
}
