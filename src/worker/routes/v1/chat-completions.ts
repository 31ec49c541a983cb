/**
 * `/v1/chat/completions`: serves OpenAI's Chat Completions API. Without a session header the messages are the history of
 * a new session. With one, the session has the history and only the last message is used.
 */

import type { ToolMessage, UserMessage } from '#agent/core/message.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { renderChatCompletion } from '#agent/public-api/chat-completions.ts'
import { toRunFailure } from '#agent/public-api/run-failure.ts'
import type { ContinueSubmission } from '#durable/session/intake/continue.ts'
import type { RequestSubmission } from '#durable/session/intake/request.ts'
import { runHeader } from '#durable/session/serve-stream.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { parseAnswerFormat } from '../../answer-format.ts'
import { isGeneratedSession } from '#agent/core/session-name.ts'
import { completeHistory, type ChatConversation, splitMessages } from '../../chat/messages.ts'
import { type ChatRequest, chatSchema, completionShape } from '../../chat/schema.ts'
import { type ConversationHashes, hashConversation } from '../../chat/conversation-hash.ts'
import { findConversation, type FoundConversation, recordContinuation } from '../../chat/find-conversation.ts'
import { type ClientToolOptions, parseClientTools } from '../../chat/tools.ts'
import { runFailed } from '../../errors.ts'
import { submitInFork } from '../../fork.ts'
import { nameClient } from '../../client-disconnect.ts'
import { eventStreamHeaders, idempotencyKeyHeader, sessionIdHeaders, toolsetsHeader } from '../../headers.ts'
import { claimIds, joinedIds, replayHeaders, type RequestIds } from '../../idempotency.ts'
import { joinUserMessages, parseUserMessage } from '../../input/input.ts'
import { limitToolsets, namedToolsets } from '../../input/limit-toolsets.ts'
import { readWithSessionSettings } from '../../input/settings-patch.ts'
import { maxPauseMs, parseTurnOptions } from '../../input/turn-options.ts'
import { nameFiles, resolveEarlierFiles, resolveFiles } from '../../files/uploads.ts'
import { type RouteCall, route } from '../../route.ts'
import { addressSession } from '../../sessions.ts'
import { idempotencyOf, submitAndStream, submitUntilSegment, Superseded } from '../../submit.ts'

export const chatRoutes = [
  route({
    method: 'post',
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    scope: 'chat',
    tag: 'OpenAI',
    summary: 'Chat with the agent',
    description:
      'The agent answers as one model, `talaria`. It uses its own tools and may take many steps. ' +
      'With `stream: true` the answer is a stream of `ChatCompletionChunk`.',
    example: { model: 'talaria', messages: [{ role: 'user', content: 'Summarise report.md in three sentences.' }] },
    headers: [idempotencyKeyHeader, ...sessionIdHeaders, toolsetsHeader],
    body: chatSchema,
    responses: {
      200: {
        description: 'chat.completion, or chat.completion.chunk events when stream is true',
        schema: completionShape,
        type: 'text/event-stream',
      },
    },
    handle: chat,
  }),
]

type ChatCall = RouteCall<unknown, ChatRequest>

async function chat(call: ChatCall): Promise<Response> {
  const stored = call.web.req.header('x-talaria-session-id') ?? call.web.req.header('x-hermes-session-id')
  const written = splitMessages(call.body.messages)
  const last = parseLast(written)
  const message = last && (await resolveFiles(last, call, 'messages'))
  const hashes = stored === undefined ? hashConversation(call, call.body.messages) : undefined
  const found = hashes && (await findContinued(call, written, hashes))
  const conversation = { ...written, history: await resolveHistory(call, written, found) }
  const asked = { call, clientTools: parseClientTools(call.body), conversation, message }
  if (stored !== undefined) return serve({ ...asked, stored })
  try {
    return await serve({ ...asked, ...(hashes && { hashes }), found })
  } catch (error) {
    if (!(error instanceof Superseded) || found?.kind !== 'continue') throw error
    // Another request continued the conversation at the same moment.
    return serve({ ...asked, ...(hashes && { hashes }), found: { ...found, kind: 'branch' } })
  }
}

/** The files of messages that the session does not have. */
async function resolveHistory(call: ChatCall, { history }: ChatConversation, found: FoundConversation | undefined) {
  const from = found ? history.findLastIndex(({ role }) => role !== 'user') + 1 : 0
  return [...nameFiles(history.slice(0, from)), ...(await resolveEarlierFiles(history.slice(from), call))]
}

/** Results of tools reach only the run that waits for them, not a copy of its session. */
async function findContinued(call: ChatCall, { last }: ChatConversation, hashes: ConversationHashes) {
  const found = await findConversation(call, hashes)
  return found?.kind === 'branch' && last.role === 'tool' ? undefined : found
}

type CompletionRequest = {
  readonly call: ChatCall
  readonly clientTools: ClientToolOptions
  readonly conversation: ChatConversation
  readonly message: UserMessage | undefined
  /** The session that the header names. */
  readonly stored?: string
  readonly hashes?: ConversationHashes
  readonly found?: FoundConversation | undefined
}

async function serve(asked: CompletionRequest): Promise<Response> {
  const { call, found } = asked
  const { env, tenant } = call
  const { authority, sessionOptions } = await readSessionOptions(asked)
  const ids = await listIds(asked)
  const session = addressSession(env, tenant.id, ids.sessionId)
  const client = nameClient(call, session, ids)
  const request = {
    authority,
    runId: ids.runId,
    options: {
      ...mergeTurnOptions(call.body, sessionOptions, asked.conversation.instructions),
      ...asked.clientTools,
      ...namedToolsets(call),
    },
    tenant,
    idempotency: found?.kind === 'join' ? ('repeat' as const) : idempotencyOf(ids),
    ...(client && { client }),
  }
  const command = createCommand(asked, request, ids)
  const submit = () => answer(asked, { session, command, ids })
  if (found?.kind !== 'branch') return submit()
  const source = addressSession(env, tenant.id, found.sessionId)
  const spec = { source: 'api', parentId: found.sessionId }
  return submitInFork(call, { source, ids, spec, upTo: found.runId, withEarlierFiles: true }, submit)
}

/** The settings of the session that goes on count, too. */
async function readSessionOptions({ call, stored, found }: CompletionRequest) {
  const { env, tenant, body } = call
  const known = stored ?? found?.sessionId
  const session = known === undefined ? undefined : addressSession(env, tenant.id, known)
  const authority = await limitToolsets(call, session)
  const read = (snapshot: TenantSnapshot) => parseTurnOptions(body, env, snapshot, { openAiNames: true })
  return { authority, sessionOptions: session ? await readWithSessionSettings(session, call, read) : read(tenant) }
}

function listIds({ call, stored, found }: CompletionRequest): Promise<RequestIds> | RequestIds {
  if (found?.kind === 'join') return joinedIds(found)
  // Elsewhere the path names the session. Here it is a header, so it becomes part of the hashed body.
  if (stored !== undefined) return claimIds({ ...call, bodyText: `${stored}\n${call.bodyText}` }, stored)
  return claimIds(call, found?.kind === 'continue' ? found.sessionId : undefined)
}

function createCommand(
  asked: CompletionRequest,
  request: CompletionFields,
  ids: RequestIds,
): RequestSubmission | ContinueSubmission {
  const { stored, found } = asked
  if (stored !== undefined) return commandByName(asked, request)
  return found && !ids.replayed ? commandByWords(asked, request, found) : commandOfNew(asked, request, ids)
}

/** A session that the client names is created when it does not exist. A generated id is only found. */
function commandByName({ conversation, message, stored = '' }: CompletionRequest, request: CompletionFields) {
  if (conversation.results.length) return continueRun(request, conversation, message)
  const target = isGeneratedSession(stored) ? undefined : { isNewId: false }
  return startRun(request, conversation, { message, target })
}

/** A new session expires when nothing continues it. */
const commandOfNew = (
  { conversation, message, found }: CompletionRequest,
  request: CompletionFields,
  { replayed }: RequestIds,
) => startRun(request, conversation, { message, target: { isNewId: !replayed, oneShot: !found } })

/** The session that was found continues, or its copy does. */
function commandByWords(
  asked: CompletionRequest,
  request: CompletionFields,
  found: FoundConversation,
): RequestSubmission | ContinueSubmission {
  const { conversation } = asked
  const message = latestMessage(asked)
  const isContinued = found.kind === 'continue'
  if (isContinued && (found.segment !== undefined || conversation.results.length))
    return continueRun(request, conversation, message, found.runId)
  const command = startRun(request, conversation, { message, target: undefined })
  return isContinued ? { ...command, target: { kind: 'after', runId: found.runId } } : command
}

/** Everything that the user said since the last answer, because the session has only what came before. */
function latestMessage({ conversation: { history }, message }: CompletionRequest): UserMessage | undefined {
  const from = history.findLastIndex(({ role }) => role !== 'user') + 1
  const earlier = history.slice(from).filter((one) => one.role === 'user')
  return message && earlier.length ? joinUserMessages([...earlier, message]) : message
}

type CompletionFields = Omit<RequestSubmission, 'kind' | 'message' | 'busyMode' | 'target'>

/**
 * Continues the run that waits for these results. A run that was found without a session header is named by `continues`;
 * otherwise it is the last one of the session.
 */
const continueRun = (
  request: CompletionFields,
  { results }: ChatConversation,
  message: UserMessage | undefined,
  continues?: string,
): ContinueSubmission => ({
  kind: 'continue',
  ...request,
  busyMode: undefined,
  ...(continues !== undefined && { continues }),
  results,
  approvals: [],
  ...(message && { message }),
})

type CompletionStart = {
  readonly message: UserMessage | undefined
  /** Absent: the session exists. */
  readonly target: { readonly isNewId: boolean; readonly oneShot?: boolean } | undefined
}

/** Starts a run with the last message. The messages before it are the history of a new session. */
function startRun(
  request: CompletionFields,
  conversation: ChatConversation,
  { message, target }: CompletionStart,
): RequestSubmission {
  const { history, opening } = completeHistory(conversation, 'messages')
  return {
    kind: 'request',
    ...request,
    message: message ?? (opening as ToolMessage),
    busyMode: 'queue',
    readsParts: true,
    target: target ? { kind: 'create', spec: specOf(target), isNewId: target.isNewId, history } : { kind: 'existing' },
  }
}

/** Undefined when the client brings results only. */
const parseLast = ({ last, instructions }: ChatConversation): UserMessage | undefined =>
  last.role === 'user' ? parseUserMessage(last.content, [], 'messages', instructions) : undefined

const specOf = ({ oneShot = false }: { readonly oneShot?: boolean }) => ({ source: 'api', ...(oneShot && { oneShot }) })

/** Remembers the run while it begins. A failure costs the continuity of this conversation, not the answer. */
async function recordStart(
  { call, hashes, found }: CompletionRequest,
  { sessionId, runId }: RequestIds,
): Promise<void> {
  const isLater = found?.kind === 'join' || (found?.kind === 'continue' && found.segment !== undefined)
  if (hashes && !isLater) await recordContinuation(call, hashes, { sessionId, runId, segment: 0 })
}

/** A message to a waiting run is answered by that run, or by one that is queued behind it: only the session knows. */
async function recordContinued(
  { call, hashes, found, message }: CompletionRequest,
  ids: RequestIds,
  runId: string,
): Promise<void> {
  if (!hashes || !message || found?.kind !== 'continue' || found.segment === undefined) return
  const segment = runId === found.runId ? found.segment : 0
  await recordContinuation(call, hashes, { sessionId: ids.sessionId, runId, segment })
}

type AnsweredChat = {
  readonly session: DurableObjectStub<SessionDO>
  readonly command: RequestSubmission | ContinueSubmission
  readonly ids: RequestIds
}

async function answer(asked: CompletionRequest, { session, command, ids }: AnsweredChat): Promise<Response> {
  const { body } = asked.call
  const head = {
    id: `chatcmpl-${ids.runId.slice('run_'.length)}`,
    created: Math.floor(Date.now() / 1_000),
    model: body.model ?? 'talaria',
  }
  const headers = {
    'x-talaria-session-id': ids.sessionId,
    'x-hermes-session-id': ids.sessionId,
    'x-talaria-run-id': ids.runId,
    ...replayHeaders(ids),
  }
  if (body.stream) {
    const usage = body.stream_options?.include_usage ?? false
    const format = { as: 'chat' as const, head, usage }
    const streaming = submitAndStream(session, { command, format }, ids, { param: 'messages', headers })
    const [streamed] = await Promise.all([streaming, recordStart(asked, ids)])
    const runId = streamed.headers.get(runHeader) ?? ids.runId
    await recordContinued(asked, ids, runId)
    const run = { 'x-talaria-run-id': runId }
    return new Response(streamed.body, { headers: { ...headers, ...run, ...eventStreamHeaders } })
  }
  const answering = submitUntilSegment(session, command, ids, 'messages')
  const [{ segment, run }] = await Promise.all([answering, recordStart(asked, ids)])
  await recordContinued(asked, ids, run.run_id)
  const failure = segment.end && toRunFailure(segment.end)
  if (failure) throw runFailed(failure, headers)
  const created = segment.index === 0 ? toUnixSeconds(run.started_at) : undefined
  const whole = renderChatCompletion({ ...head, created: created ?? head.created }, segment)
  return Response.json(whole, { headers: { ...headers, 'x-talaria-run-id': run.run_id } })
}

const toUnixSeconds = (time: string | null) => (time === null ? undefined : Math.floor(Date.parse(time) / 1_000))

function mergeTurnOptions(body: ChatRequest, sessionOptions: TurnOptions, instructions: string): TurnOptions {
  const maxTokens = body.max_completion_tokens ?? sessionOptions.maxTokens
  const effort = sessionOptions.reasoningEffort ?? body.reasoning?.effort
  const answerFormat = parseAnswerFormat(body.response_format, 'response_format')
  return {
    ...sessionOptions,
    maxPauseMs,
    ...(instructions && { instructions }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(effort != null && { reasoningEffort: effort }),
    ...(answerFormat && { answerFormat }),
  }
}
