/** `/api/sessions/{id}/messages`: pages of a conversation, and one message in full. */

import * as z from 'zod'
import { AppError, invalid, notFound } from '../../errors.ts'
import { busyError } from '../sessions.ts'
import { type RouteCall, route } from '../../route.ts'
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

const versionGroupShape = z.object({
  message_id: z.string().describe('The first message of the current version.'),
  versions: z
    .array(
      z.object({
        id: z.string(),
        at: z.iso.datetime(),
        preview: z.string().describe('The beginning of its first message.'),
        current: z.boolean(),
      }),
    )
    .describe('Oldest first.'),
})

export const sessionMessageRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/versions',
    id: 'listSessionVersions',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'The parts of the conversation that a repeated or changed message has replaced',
    responses: ok('Each part with its versions', z.object({ data: z.array(versionGroupShape) })),
    handle: async ({ env, authority, tenant, param }) =>
      Response.json({
        data: requireFound(await addressSession(env, tenant.id, param('id')).history.versions(authority)),
      }),
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/versions',
    id: 'chooseSessionVersion',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Put a version in the place of the current one, which becomes a version itself',
    example: { version: 'msg_5' },
    body: z.strictObject({ version: z.string().min(1).max(40) }),
    responses: ok('The versions', z.object({ data: z.array(versionGroupShape) })),
    handle: async ({ env, authority, tenant, param, body }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const outcome = requireFound(await session.history.chooseVersion(authority, body.version))
      if (outcome === 'busy') throw busyError()
      if (outcome === 'missing') throw new AppError(404, 'not_found', 'There is no such version.', { param: 'version' })
      return Response.json({ data: requireFound(await session.history.versions(authority)) })
    },
  }),
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
  route({
    method: 'put',
    path: '/api/sessions/:id/messages/:seq/rating',
    id: 'replaceMessageRating',
    params: { id: sessionParam, seq: messageNumberParam },
    scope: 'chat',
    tag,
    summary: 'Rate an answer; exports and the next review of the conversation have it',
    example: { value: 'bad', note: 'The dates are of last year.' },
    body: z.strictObject({
      value: z.enum(['good', 'bad']),
      note: z.string().trim().min(1).max(1_000).optional().describe('Why.'),
    }),
    responses: { 204: { description: 'Rated' } },
    handle: async (call) => {
      const { value, note } = call.body
      return rate(call, { value, ...(note !== undefined && { note }) })
    },
  }),
  route({
    method: 'delete',
    path: '/api/sessions/:id/messages/:seq/rating',
    id: 'deleteMessageRating',
    params: { id: sessionParam, seq: messageNumberParam },
    scope: 'chat',
    tag,
    summary: 'Remove the rating of an answer',
    responses: { 204: { description: 'Removed, or there was none' } },
    handle: async (call) => rate(call, undefined),
  }),
]

type GivenRating = { readonly value: 'good' | 'bad'; readonly note?: string }

async function rate(
  { env, authority, tenant, param }: Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'tenant' | 'param'>,
  rating: GivenRating | undefined,
): Promise<Response> {
  const session = addressSession(env, tenant.id, param('id'))
  if (!/^\d{1,15}$/.test(param('seq'))) throw notFound()
  if (requireFound(await session.history.rate(authority, Number(param('seq')), rating)) === 'missing') throw notFound()
  return new Response(null, { status: 204 })
}
