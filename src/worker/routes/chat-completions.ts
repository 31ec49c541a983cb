/**
 * `/v1/chat/completions`: serves OpenAI's Chat Completions API. Without a session header the messages are the history of
 * a new session. With one, the session has the history and only the last message is used.
 */

import * as z from 'zod'
import type { Message } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/turn-options.ts'
import { parseCallArguments } from '../../agent/providers/shared/call-arguments.ts'
import { renderChatCompletion } from '../../agent/public-api/chat-completions.ts'
import type { RequestCommand } from '../../durable/session/intake/request.ts'
import type { TenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { renderAnswerFormat, responseFormat } from '../answer-format.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKeyHeader, sessionIdHeaders, toolsetsHeader } from '../headers.ts'
import { claimIds, replayHeaders } from '../idempotency.ts'
import { ignored, ignoredFields } from '../ignored-fields.ts'
import {
  audioPart,
  filePart,
  imageUrlSchema,
  listFiles,
  maxTextChars,
  parseContentPart,
  requireStorableSize,
  measureMessage,
  joinSystemText,
  parseUserMessage,
} from '../input.ts'
import { limitToolsets } from '../limit-toolsets.ts'
import { type Call, route } from '../route.ts'
import { readWithSessionSettings } from '../settings-patch.ts'
import { parseTurnOptions, turnOptionFields } from '../turn-options.ts'
import { sessionStub } from '../sessions.ts'
import { idempotencyOf, submitAndStream, submitAndWait } from '../submit.ts'
import { resolveFiles } from '../uploads.ts'

const textSchema = z.string().max(maxTextChars)
// Unknown fields of a part, for example cache marks, are ignored.
const textPart = z.object({ type: z.literal('text'), text: textSchema })
const imagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: imageUrlSchema }) })
const refusalPart = z.object({ type: z.literal('refusal'), refusal: textSchema })

const partsOf = <Kind extends z.ZodType>(kind: Kind) => z.union([textSchema, z.array(kind).max(1_000)])
const content = partsOf(z.discriminatedUnion('type', [textPart, imagePart, filePart, audioPart]))
const answerContent = partsOf(z.discriminatedUnion('type', [textPart, refusalPart]))
const textContent = partsOf(z.discriminatedUnion('type', [textPart]))
const toolCall = z.object({
  id: z.string().max(200),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().max(200), arguments: z.string() }),
})

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer']), content: textContent.nullable() }),
  z.looseObject({ role: z.literal('user'), content: content.nullable() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: answerContent.nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string().max(200), content: textContent.nullable() }),
])

const chatSchema = z.strictObject({
  ...turnOptionFields,
  ...ignoredFields,
  messages: z.array(messageSchema).min(1).max(20_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  reasoning: z
    .looseObject({ effort: z.string().max(20).nullish() })
    .nullish()
    .describe('Same as `reasoning_effort`.'),
  tools: z.unknown().optional().describe('Not supported: the agent has its own tools.'),
  functions: z.unknown().optional().describe('Not supported: the agent has its own tools.'),
  n: z.literal(1).nullish(),
  function_call: ignored,
  stop: ignored,
  metadata: ignored,
  presence_penalty: ignored,
  frequency_penalty: ignored,
  seed: ignored,
  logprobs: ignored,
  logit_bias: ignored,
  response_format: responseFormat,
  store: ignored,
  modalities: ignored,
  audio: ignored,
  prediction: ignored,
  verbosity: ignored,
  web_search_options: ignored,
})
type Chat = z.infer<typeof chatSchema>
type ChatCall = Call<unknown, Chat>

const completionShape = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({ role: z.literal('assistant'), content: z.string(), refusal: z.null() }),
      logprobs: z.null(),
      finish_reason: z.string(),
    }),
  ),
  usage: z.object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
  }),
})

export const chatRoutes = [
  route({
    method: 'post',
    path: '/v1/chat/completions',
    scope: 'chat',
    tag: 'OpenAI',
    summary: 'Chat with the agent',
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

async function chat(call: ChatCall): Promise<Response> {
  const { env, tenant, body } = call
  refuseTools(body)
  const stored = call.web.req.header('x-talaria-session-id') ?? call.web.req.header('x-hermes-session-id')
  const { history, instructions, last } = splitMessages(body.messages)
  const message = parseUserMessage(last, [], 'messages', instructions)
  const files = await resolveFiles(listFiles(last), { env, tenantId: tenant.id, param: 'messages' })
  const named = stored === undefined ? undefined : sessionStub(env, tenant.id, stored)
  const authority = await limitToolsets(call, named)
  const read = (snapshot: TenantSnapshot) => parseTurnOptions(body, env, snapshot)
  const wishes = named ? await readWithSessionSettings(named, call, read) : read(tenant)
  // Elsewhere the path names the session. Here it is a header, so it becomes part of the hashed body.
  const ids = await claimIds(
    { ...call, bodyText: stored === undefined ? call.bodyText : `${stored}\n${call.bodyText}` },
    stored,
  )
  const session = named ?? sessionStub(env, tenant.id, ids.sessionId)
  const command: RequestCommand = {
    kind: 'request',
    authority,
    runId: ids.runId,
    message,
    files,
    busyMode: 'queue',
    options: mergeTurnOptions(body, wishes, joinInstructions(instructions, body)),
    tenant,
    idempotency: idempotencyOf(ids),
    target:
      stored === undefined
        ? { kind: 'create', spec: { source: 'api' }, isNewId: !ids.replayed, history }
        : { kind: 'existing' },
  }
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
    const answer = await submitAndStream(session, { command, format }, ids, 'messages')
    return new Response(answer.body, { headers: { ...headers, ...eventStreamHeaders } })
  }
  const { end, run } = await submitAndWait(session, command, ids, 'messages')
  const whole = renderChatCompletion({ ...head, created: toUnixSeconds(run.started_at) ?? head.created }, end)
  return Response.json(whole, { headers })
}

const joinInstructions = (instructions: string, { response_format: format }: Chat): string =>
  [instructions, renderAnswerFormat(format)].filter(Boolean).join('\n\n')

function refuseTools({ tools, functions }: Chat): void {
  for (const [param, list] of Object.entries({ tools, functions }))
    if (list != null && !(Array.isArray(list) && !list.length))
      throw new AppError(400, 'unsupported', 'Tools of the client are not supported: the agent has its own tools.', {
        param,
      })
}

const toUnixSeconds = (time: string | null) => (time === null ? undefined : Math.floor(Date.parse(time) / 1_000))

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
}

function mergeTurnOptions(body: Chat, wishes: TurnOptions, instructions: string): TurnOptions {
  const maxTokens = body.max_completion_tokens ?? wishes.maxTokens
  const effort = wishes.reasoningEffort ?? body.reasoning?.effort
  return {
    ...wishes,
    ...(instructions && { instructions }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(effort != null && { reasoningEffort: effort }),
  }
}

type ChatMessage = Chat['messages'][number]

type SystemMessage = Extract<ChatMessage, { role: 'system' | 'developer' }>
type ConversationMessage = Exclude<ChatMessage, SystemMessage>
const isSystem = (one: ChatMessage): one is SystemMessage => one.role === 'system' || one.role === 'developer'

/** Splits the messages of a request into history, system text and the message to answer. */
function splitMessages(messages: readonly ChatMessage[]) {
  const placed = messages.map((one, i) => ({ one, param: `messages.${i}.content` }))
  const instructions = joinSystemText(
    placed.flatMap(({ one, param }) => (isSystem(one) ? [{ text: joinText(one.content), param }] : [])),
  )
  const spoken = placed.flatMap(({ one, param }) => (isSystem(one) ? [] : [{ one, param }]))
  const last = spoken.at(-1)?.one
  if (last?.role !== 'user') throw invalid('The last message must have the role user.', 'messages')
  const names = new Map<string, string>()
  const history = spoken.slice(0, -1).map(({ one, param }) => {
    const made = parseMessage(one, names)
    const isCalls = one.role === 'assistant' && one.tool_calls?.length
    requireStorableSize(measureMessage(made), isCalls ? param.replace('content', 'tool_calls') : param)
    return made
  })
  return { history, instructions, last: last.content ?? '' }
}

type Part = z.infer<typeof textPart> | z.infer<typeof refusalPart>

const joinText = (value: string | readonly Part[] | null | undefined): string =>
  typeof value === 'string'
    ? value
    : (value ?? []).map((part) => (part.type === 'text' ? part.text : part.refusal)).join('')

function parseMessage(one: ConversationMessage, names: Map<string, string>): Message {
  if (one.role === 'user') {
    const input = one.content ?? ''
    const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
    return { role: 'user', content: parts.map(parseContentPart) }
  }
  if (one.role === 'tool') {
    const { tool_call_id: callId } = one
    const text = { type: 'text' as const, text: joinText(one.content) }
    return { role: 'tool', callId, name: names.get(callId) ?? 'tool', content: [text], failed: false }
  }
  const calls = (one.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => {
    names.set(id, name)
    return { type: 'call' as const, id, name, ...parseCallArguments(json) }
  })
  const text = joinText(one.content)
  return {
    role: 'assistant',
    content: [...(text ? [{ type: 'text' as const, text }] : []), ...calls],
    stop: calls.length ? 'tools' : 'end',
  }
}
