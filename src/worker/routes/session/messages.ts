/** `/api/sessions/{id}/messages`: pages of a conversation, and one message in full. */

import * as z from 'zod'
import { invalid, notFound } from '../../errors.ts'
import { route } from '../../route.ts'
import { requireFound, addressSession } from '../../sessions.ts'
import { eventSeq, listOf, messageShape, ok, pageQuery } from '../../shapes.ts'
import { messageNumberParam, sessionParam } from '../../openapi/path-params.ts'

const tag = 'Sessions'
const seq = z.coerce.number().int().min(0)

const query = z.strictObject({
  ...pageQuery,
  cursor: seq.min(1).optional().describe('The `next_cursor` of the page before.'),
  after: seq.optional().describe('The oldest messages after this number; `newer_cursor` is the next one.'),
  around: seq.min(1).optional().describe('Messages before and after this number, for a hit of the search.'),
  preview: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe('Cuts longer texts to so many characters and marks the message as `truncated`.'),
})

const pageShape = listOf(messageShape).extend({
  newer_cursor: z.string().nullable().describe('The `after` of the next page with newer messages.'),
  event_seq: eventSeq,
})

export const sessionMessageRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/messages',
    id: 'listSessionMessages',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'Messages, newest last; the cursor leads to older ones',
    query,
    responses: ok('A page of messages', pageShape),
    handle: async ({ env, authority, tenant, param, query: { limit, cursor, after, around, preview } }) => {
      if ([cursor, after, around].filter((one) => one !== undefined).length > 1)
        throw invalid('Give one of `cursor`, `after` and `around`.', 'after')
      const page = { limit, before: cursor, after, around, preview }
      const session = addressSession(env, tenant.id, param('id'))
      return Response.json(requireFound(await session.history.messages(authority, page)))
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/messages/:seq',
    id: 'getSessionMessage',
    params: { id: sessionParam, seq: messageNumberParam },
    scope: 'read',
    tag,
    summary: 'One message in full',
    responses: ok('The message', messageShape),
    handle: async ({ env, authority, tenant, param }) => {
      const session = addressSession(env, tenant.id, param('id'))
      if (!/^\d{1,15}$/.test(param('seq'))) throw notFound()
      const found = await session.history.message(authority, Number(param('seq')))
      return Response.json(requireFound(found ?? undefined))
    },
  }),
]
