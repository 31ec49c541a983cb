/** `/v1/responses/{id}`: gets, cancels and deletes stored responses, and lists their input items. */

import * as z from 'zod'
import type { RenderedResponse } from '#durable/session/rpc/responses.ts'
import { AppError } from '../../errors.ts'
import { eventStreamHeaders } from '../../headers.ts'
import { locateResponse, type ResponseLocation } from '../../responses/continued-run.ts'
import { respondWithData } from '../../responses/item-data.ts'
import { pageItems, pageQuery } from '../../responses/item-page.ts'
import { jsonResponse } from '../../responses/respond.ts'
import { deletedShape, inputItemsShape, responseShape } from '../../responses/response-shape.ts'
import { route } from '../../route.ts'
import { ok } from '../../shapes.ts'
import { requireFound } from '../../sessions.ts'
import { follow } from '../../submit.ts'
import { responseParam } from '../../openapi/path-params.ts'

const tag = 'OpenAI'

/** Not strict: SDKs add `include` in several notations, which has no effect. */
const readQuery = z.object({
  stream: z.enum(['true', 'false']).optional().describe('Answers with server-sent events.'),
  starting_after: z.coerce.number().int().min(0).optional().describe('The sequence number of the last received event.'),
})
export const storedResponseRoutes = [
  route({
    method: 'get',
    path: '/v1/responses/:id',
    id: 'getResponse',
    params: { id: responseParam },
    scope: 'read',
    tag,
    summary: 'A stored response, or its events from the beginning',
    query: readQuery,
    responses: {
      200: {
        description: 'The response, or its events when stream is true',
        schema: responseShape,
        type: 'text/event-stream',
      },
    },
    handle: async ({ env, authority, param, query }) => {
      const location = locateResponse({ env, authority }, param('id'))
      if (query.stream === 'true') return followResponse(location, query.starting_after)
      return jsonResponse((await getResponse(location)).json)
    },
  }),
  route({
    method: 'delete',
    path: '/v1/responses/:id',
    id: 'deleteResponse',
    params: { id: responseParam },
    scope: 'write',
    tag,
    summary: 'Delete the last response of a conversation',
    responses: ok('Deleted', deletedShape),
    handle: async ({ env, authority, param }) => {
      await deleteResponse(locateResponse({ env, authority }, param('id')))
      return Response.json({ id: param('id'), object: 'response', deleted: true })
    },
  }),
  route({
    method: 'post',
    path: '/v1/responses/:id/cancel',
    id: 'cancelResponse',
    params: { id: responseParam },
    scope: 'chat',
    tag,
    summary: 'Cancel a response in progress',
    responses: ok('The response as it ended', responseShape),
    handle: async ({ env, authority, param }) => {
      const location = locateResponse({ env, authority }, param('id'))
      await cancelResponse(location)
      return jsonResponse((await getResponse(location)).json)
    },
  }),
  route({
    method: 'get',
    path: '/v1/responses/:id/input_items',
    id: 'listResponseInputItems',
    params: { id: responseParam },
    scope: 'read',
    tag,
    summary: 'The input of a response',
    query: pageQuery,
    responses: ok('OpenAI list, newest first', inputItemsShape),
    handle: async (call) => {
      const { env, authority, param, query } = call
      return respondWithData(call, await listInputItems(locateResponse({ env, authority }, param('id')), query))
    },
  }),
]

/** Throws 404 for a run that was undone. */
const getResponse = async ({ session, authority, runId, segment }: ResponseLocation): Promise<RenderedResponse> =>
  requireFound(await session.responses.get(authority, { runId, segment }))

/** Streams all events of a response, or those after the given number. */
async function followResponse(location: ResponseLocation, after?: number): Promise<Response> {
  await getResponse(location)
  const { session, authority, runId, segment } = location
  const answer = await follow(session, { authority, runId, segment, format: { as: 'response', after } })
  return new Response(answer.body, { headers: eventStreamHeaders })
}

/** Does nothing for an ended response. A queued one is taken back. */
async function cancelResponse(location: ResponseLocation): Promise<void> {
  const { session, authority, runId, segment } = location
  const { status } = await getResponse(location)
  if (status !== 'queued' && status !== 'in_progress') return
  if (await session.runs.stop(authority, runId)) await session.runs.waitForSegment(authority, { runId, segment })
}

async function deleteResponse({ session, authority, runId, segment }: ResponseLocation): Promise<void> {
  const outcome = requireFound(await session.responses.delete(authority, { runId, segment }))
  if (outcome === 'followed')
    throw new AppError(409, 'conflict', 'Other responses continue from this one. Delete them first.')
  if (outcome === 'open')
    throw new AppError(409, 'conflict', 'This response is not complete yet. Stop it first, or wait.')
}

async function listInputItems(
  { session, authority, runId, segment }: ResponseLocation,
  page: z.infer<typeof pageQuery>,
) {
  const items = await session.responses.inputItems(authority, { runId, segment })
  return pageItems(JSON.parse(requireFound(items)) as { readonly id: string }[], page)
}
