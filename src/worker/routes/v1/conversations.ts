/** `/v1/conversations`: sessions as conversations of OpenAI's API, which responses name and continue. */

import * as z from 'zod'
import { AppError, invalid } from '../../errors.ts'
import { resolveEarlierFiles } from '../../files/uploads.ts'
import { respondWithData } from '../../responses/item-data.ts'
import { pageItems, pageQuery } from '../../responses/item-page.ts'
import { parseItems, type responseInput } from '../../responses/response-items.ts'
import { parseAllMessages } from '../../responses/response-input.ts'
import { resolveReferences } from '../../responses/resolve-references.ts'
import { conversationItemShape, conversationItemsShape } from '../../responses/response-shape.ts'
import { type RouteCall, route } from '../../route.ts'
import { ok } from '../../shapes.ts'
import { requireFound, addressSession } from '../../sessions.ts'
import { conversationParam, itemParam } from '../../openapi/path-params.ts'

const tag = 'OpenAI'
const metadata = z.record(z.string().max(64), z.string().max(512)).nullish()
const items = z.array(z.looseObject({})).max(20).nullish()
const conversationShape = z.object({
  id: z.string(),
  object: z.literal('conversation'),
  created_at: z.int().describe('Seconds since 1970.'),
  metadata: z.record(z.string(), z.string()),
})
const deletedShape = z.object({ id: z.string(), object: z.literal('conversation.deleted'), deleted: z.literal(true) })

export const conversationRoutes = [
  route({
    method: 'post',
    path: '/v1/conversations',
    id: 'createConversation',
    scope: 'chat',
    tag,
    summary: 'Create a conversation, with its first items',
    body: z.strictObject({ metadata, items }),
    responses: ok('The conversation', conversationShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      const id = `conv_${crypto.randomUUID().replaceAll('-', '')}`
      const messages = body.items?.length ? await parseMessages(call, body.items) : []
      const { openaiConversation } = addressSession(env, tenant.id, id)
      const made = await openaiConversation.create(authority, tenant, { labels: body.metadata ?? {}, messages })
      return Response.json(requireFound(made))
    },
  }),
  route({
    method: 'get',
    path: '/v1/conversations/:id',
    id: 'getConversation',
    params: { id: conversationParam },
    scope: 'read',
    tag,
    summary: 'One conversation',
    responses: ok('The conversation', conversationShape),
    handle: async (call) => Response.json(requireFound(await subject(call).get(call.authority))),
  }),
  route({
    method: 'post',
    path: '/v1/conversations/:id',
    id: 'updateConversation',
    params: { id: conversationParam },
    scope: 'write',
    tag,
    summary: 'Replace the metadata of a conversation',
    body: z.strictObject({ metadata }),
    responses: ok('The conversation', conversationShape),
    handle: async (call) =>
      Response.json(requireFound(await subject(call).setLabels(call.authority, call.body.metadata ?? {}))),
  }),
  route({
    method: 'delete',
    path: '/v1/conversations/:id',
    id: 'deleteConversation',
    params: { id: conversationParam },
    scope: 'write',
    tag,
    summary: 'Delete a conversation: its session with runs and files',
    responses: ok('Deleted', deletedShape),
    handle: async ({ env, authority, tenant, param }) => {
      const id = param('id')
      requireFound((await addressSession(env, tenant.id, id).info.delete(authority, true)) || undefined)
      return Response.json({ id, object: 'conversation.deleted', deleted: true })
    },
  }),
  route({
    method: 'get',
    path: '/v1/conversations/:id/items',
    id: 'listConversationItems',
    params: { id: conversationParam },
    scope: 'read',
    tag,
    summary: 'Items of a conversation, newest first',
    query: pageQuery,
    responses: ok('OpenAI list', conversationItemsShape),
    handle: async (call) => respondWithData(call, pageItems(await listItems(call), call.query)),
  }),
  route({
    method: 'post',
    path: '/v1/conversations/:id/items',
    id: 'createConversationItems',
    params: { id: conversationParam },
    scope: 'chat',
    tag,
    summary: 'Add items to a conversation without an answer',
    query: z.object({}),
    body: z.strictObject({ items: z.array(z.looseObject({})).min(1).max(20) }),
    responses: ok('The added items', conversationItemsShape),
    handle: async (call) => {
      const added = await subject(call).append(call.authority, await parseMessages(call, call.body.items))
      if (added === null) throw busy()
      const data = JSON.parse(requireFound(added)) as readonly Item[]
      return respondWithData(call, pageItems(data, { limit: 100, order: 'asc' }))
    },
  }),
  route({
    method: 'get',
    path: '/v1/conversations/:id/items/:item',
    id: 'getConversationItem',
    params: { id: conversationParam, item: itemParam },
    scope: 'read',
    tag,
    summary: 'One item of a conversation',
    responses: ok('The item', conversationItemShape),
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const { responses } = addressSession(env, tenant.id, param('id'))
      return respondWithData(call, JSON.parse(requireFound(await responses.item(authority, param('item')))))
    },
  }),
  route({
    method: 'delete',
    path: '/v1/conversations/:id/items/:item',
    id: 'deleteConversationItem',
    params: { id: conversationParam, item: itemParam },
    scope: 'write',
    tag,
    summary: 'Delete the last item that was added, or the last turn by one of its items',
    responses: ok('The conversation', conversationShape),
    handle: async (call) => {
      const outcome = requireFound(await subject(call).deleteItem(call.authority, call.param('item')))
      if (outcome === 'kept') throw notLast()
      return Response.json(requireFound(await subject(call).get(call.authority)))
    },
  }),
]

type Item = { readonly id: string }

const subject = ({ env, tenant, param }: RouteCall<unknown, unknown>) =>
  addressSession(env, tenant.id, param('id')).openaiConversation

async function listItems(call: RouteCall<unknown, unknown>): Promise<readonly Item[]> {
  return JSON.parse(requireFound(await subject(call).items(call.authority))) as readonly Item[]
}

/** System text belongs to requests: a session keeps its own. */
async function parseMessages(call: RouteCall<unknown, unknown>, given: readonly object[]) {
  const parsed = await resolveReferences(call, parseItems(given as z.infer<typeof responseInput>))
  const { messages, system } = parseAllMessages(parsed, '')
  if (system) throw invalid('Messages of role system are not stored. Send instructions with each response.', 'items')
  return resolveEarlierFiles(messages, call)
}

const busy = () => new AppError(409, 'conflict', 'A response of this conversation is in progress.')

const notLast = () =>
  new AppError(
    409,
    'conflict',
    'Only the last added item and items of the last turn can be deleted, while no response is in progress.',
  )
