/** `/v1/responses/compact` and `/v1/responses/input_tokens`: summarises a conversation, and counts the tokens of a request. */

import * as z from 'zod'
import { encodeCompaction } from '#agent/public-api/responses/compaction.ts'
import { renderUsage } from '#agent/public-api/responses/response.ts'
import { newSessionId } from '#durable/platform/ids.ts'
import type { Location } from '#durable/session/views/locate-response.ts'
import { AppError, invalid } from '../../errors.ts'
import { nameFiles } from '../../files/uploads.ts'
import { parseTurnOptions } from '../../input/turn-options.ts'
import { locateResponse } from '../../responses/continued-run.ts'
import { getConversationName, responseBody } from '../../responses/response-body.ts'
import { parseItems, responseInput } from '../../responses/response-items.ts'
import { parseAllMessages } from '../../responses/response-input.ts'
import { parseClientTools } from '../../responses/client-tools.ts'
import { resolveReferences } from '../../responses/resolve-references.ts'
import { responseUsageShape } from '../../responses/response-shape.ts'
import { type RouteCall, route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { ok } from '../../shapes.ts'
import { requireFound, addressSession } from '../../sessions.ts'

const tag = 'OpenAI'
const shared = responseBody.partial({ input: true })
const compactBody = shared.extend({ model: z.string().max(300) })

const compactionShape = z.object({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: z.int().describe('Seconds since 1970.'),
  output: z.array(z.object({ id: z.string(), type: z.literal('compaction'), encrypted_content: z.string() })),
  usage: responseUsageShape,
})
const countShape = z.object({ object: z.literal('response.input_tokens'), input_tokens: z.int() })

// Four requests have it.
nameSchemas({ ResponseInput: responseInput })

type ToolListCall = RouteCall<unknown, z.infer<typeof shared>>

export const responseToolRoutes = [
  route({
    method: 'post',
    path: '/v1/responses/compact',
    id: 'compactResponse',
    scope: 'chat',
    tag,
    summary: 'Summarise a conversation as an item that begins another one',
    example: { model: 'talaria', input: 'Where were we?' },
    body: compactBody,
    responses: ok('The summary', compactionShape),
    handle: compact,
  }),
  route({
    method: 'post',
    path: '/v1/responses/input_tokens',
    id: 'countResponseInputTokens',
    scope: 'read',
    tag,
    summary: 'Estimate the tokens of a request: prompt, tools, history and input',
    body: shared,
    responses: ok('The estimate', countShape),
    handle: countInput,
  }),
]

async function compact(call: ToolListCall): Promise<Response> {
  const { authority, body } = call
  const { session, of, messages } = await readConversation(call)
  if (!messages.length && !body.previous_response_id && !body.conversation)
    throw invalid('Send input, previous_response_id or conversation.', 'input')
  const focus = body.instructions ?? undefined
  const { text, usage } = requireFound(await session.responses.summarise(authority, of, { messages, focus }))
  call.web.executionCtx.waitUntil(session.info.deleteUnstored(authority))
  const id = crypto.randomUUID().replaceAll('-', '')
  return Response.json({
    id: `cmpres_${id}`,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1_000),
    output: [{ id: `cmp_${id}`, type: 'compaction', encrypted_content: encodeCompaction(text) }],
    usage: renderUsage(usage),
  })
}

async function countInput(call: ToolListCall): Promise<Response> {
  const { session, of, messages, system } = await readConversation(call)
  const tools = parseClientTools(call.body).clientTools ?? []
  const tokens = await session.responses.countTokens(call.authority, of, { messages, system, tools })
  return Response.json({ object: 'response.input_tokens', input_tokens: requireFound(tokens) })
}

/** The session that the request names or would start, and what the request adds to it. */
async function readConversation(call: ToolListCall) {
  const { env, tenant, body } = call
  const { model } = parseTurnOptions(body, env, tenant, { openAiNames: true })
  const items = await resolveReferences(call, body.input === undefined ? [] : parseItems(body.input))
  const { messages, system } = parseAllMessages(items, body.instructions ?? '')
  const of = { tenant, spec: { model: model ?? null } }
  return { session: await findSession(call), of, messages: nameFiles(messages), system }
}

async function findSession(call: ToolListCall) {
  const { env, authority, tenant, body } = call
  const { previous_response_id: previous, conversation } = body
  if (conversation) {
    const session = addressSession(env, tenant.id, getConversationName(conversation))
    requireFound(await session.info.get(authority))
    return session
  }
  if (!previous) return addressSession(env, tenant.id, newSessionId())
  const { session, runId } = locateResponse(call, previous)
  const at: Location = requireFound(await session.responses.locate(authority, { runId, callIds: [], approvalIds: [] }))
  if (!at.isLast)
    throw new AppError(409, 'conflict', 'Other responses continue from this one. Name the last one.', {
      param: 'previous_response_id',
    })
  return session
}
