/** `/v1/responses/{id}`: gets, cancels and deletes stored responses, and lists their input items. */

import * as z from 'zod'
import {
  renderInputItems,
  renderRunItems,
  type ResponseHead,
  renderResponse,
  type StoredMessage,
} from '../../agent/public-api/responses.ts'
import type { Authority } from '../../agent/model/authority.ts'
import type { SessionDO } from '../../durable/session/session-object.ts'
import type { RunView } from '../../durable/session/api-views.ts'
import { AppError, notFound } from '../errors.ts'
import { deletedShape, inputItemsShape, responseShape } from '../responses/response-shape.ts'
import { type Call, route } from '../route.ts'
import { ok } from '../shapes.ts'
import { requireFound, sessionStub } from '../sessions.ts'
import { follow } from '../submit.ts'
import { eventStreamHeaders } from './chat-completions.ts'

const tag = 'OpenAI'

/** Not strict: SDKs add `include` in several notations, which has no effect. */
const readQuery = z.object({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: z.coerce.number().int().min(0).optional().describe('The sequence number of the last received event.'),
})
const inputQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(300).optional(),
})

export const storedResponseRoutes = [
  route({
    method: 'get',
    path: '/v1/responses/:id',
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
      if (query.stream === 'true') return followResponse(location, param('id'), query.starting_after)
      return Response.json(await renderStoredResponse(location, param('id')))
    },
  }),
  route({
    method: 'delete',
    path: '/v1/responses/:id',
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
    scope: 'chat',
    tag,
    summary: 'Cancel a response in progress',
    responses: ok('The response as it ended', responseShape),
    handle: async ({ env, authority, param }) => {
      const location = locateResponse({ env, authority }, param('id'))
      await cancelResponse(location)
      return Response.json(await renderStoredResponse(location, param('id')))
    },
  }),
  route({
    method: 'get',
    path: '/v1/responses/:id/input_items',
    scope: 'read',
    tag,
    summary: 'User messages of a response',
    query: inputQuery,
    responses: ok('OpenAI list, newest first', inputItemsShape),
    handle: async ({ env, authority, param, query }) =>
      Response.json(await listInputItems(locateResponse({ env, authority }, param('id')), query)),
  }),
]

/** A run of a session, for the authority that asks. */
type RunLocation = {
  readonly session: DurableObjectStub<SessionDO>
  readonly authority: Authority
  readonly runId: string
}
export type ResponseLocation = RunLocation & { readonly sessionId: string }

/** The id of a response that is not stored contains no session, so it cannot be requested. */
export const createResponseId = (runId: string, sessionId?: string) =>
  `resp_${runId.replace(/^run_/, '')}${sessionId === undefined ? '' : `.${sessionId}`}`

export function locateResponse(
  { env, authority }: Pick<Call<unknown, unknown>, 'env' | 'authority'>,
  id: string,
): ResponseLocation {
  const [, run, sessionId] = /^resp_([\w-]{1,160})\.([\w-]{1,128})$/.exec(id) ?? []
  if (!run || !sessionId) throw notFound()
  return { session: sessionStub(env, authority.tenantId, sessionId), authority, sessionId, runId: `run_${run}` }
}

const pageSize = 200

/** Lists the messages of a run. They are consecutive, and usually the last of the session. */
export async function listRunMessages({ session, authority, runId }: RunLocation): Promise<readonly StoredMessage[]> {
  const own: StoredMessage[] = []
  for (let before: number | undefined; ;) {
    const page = await session.conversation.messages(authority, { limit: pageSize, before })
    own.unshift(...(page?.data.filter((message) => message.run_id === runId) ?? []))
    const isPast = own.length > 0 && page?.data[0]?.run_id !== runId
    if (!page?.next_cursor || isPast) return own
    before = Number(page.next_cursor)
  }
}

/** Uses the start of the run as creation time once it is known, so that it never changes. */
export const withStartTime = ({ started_at: at }: RunView, head: ResponseHead): ResponseHead =>
  at === null ? head : { ...head, createdAt: Math.floor(Date.parse(at) / 1_000) }

type Stored = { readonly run: RunView; readonly messages: readonly StoredMessage[] }

/** Throws 404 for a run that was undone: it has no messages. */
export async function getStoredRun(location: RunLocation): Promise<Stored> {
  const { session, authority, runId } = location
  const run = requireFound((await session.runs.get(authority, runId)) ?? undefined)
  const messages = await listRunMessages(location)
  if (run.exit_reason !== null && !messages.length) throw notFound()
  return { run, messages }
}

/** Renders a run that may still be in progress. */
export const renderRun = ({ run, messages }: Stored, head: ResponseHead) =>
  renderResponse(withStartTime(run, head), {
    status: resolveRunStatus(run),
    output: renderRunItems(messages),
    usage: run.exit_reason === null ? undefined : run.usage,
    error: run.error,
    exitReason: run.exit_reason,
  })

function resolveRunStatus({ status, completed }: RunView) {
  if (status === 'queued') return 'queued'
  if (status === 'failed' || status === 'cancelled') return status
  if (status !== 'completed') return 'in_progress'
  return completed ? 'completed' : 'incomplete'
}

/** Sessions do not store the metadata and instructions of a request. */
async function getHead({ session, authority }: RunLocation, id: string): Promise<ResponseHead> {
  return {
    id,
    createdAt: Math.floor(Date.now() / 1_000),
    model: (await session.info.get(authority))?.model ?? 'talaria',
    previousId: null,
    conversation: null,
    instructions: null,
    metadata: {},
    background: false,
  }
}

const renderStoredResponse = async (location: RunLocation, id: string) =>
  renderRun(await getStoredRun(location), await getHead(location, id))

/** Streams all events of a response, or those after the given number. */
async function followResponse(location: ResponseLocation, id: string, after?: number): Promise<Response> {
  await getStoredRun(location)
  const { session, authority, runId } = location
  const format = { as: 'response', head: await getHead(location, id), after } as const
  const answer = await follow(session, { authority, runId, format })
  return new Response(answer.body, { headers: eventStreamHeaders })
}

/** Does nothing for an ended response. A queued one cannot be cancelled. */
async function cancelResponse(location: ResponseLocation): Promise<void> {
  const { session, authority, runId } = location
  const { run } = await getStoredRun(location)
  if (run.exit_reason !== null) return
  if (run.status === 'queued')
    throw new AppError(409, 'conflict', 'This response is queued behind another one and cannot be cancelled yet.')
  if (await session.runs.stop(authority, runId)) await session.runs.wait(authority, runId)
}

type Page = { readonly limit: number; readonly order: 'asc' | 'desc'; readonly after?: string | undefined }

/** Lists the user messages of a run, paged like OpenAI does. */
async function listInputItems(location: ResponseLocation, { limit, order, after }: Page) {
  const { messages } = await getStoredRun(location)
  const items = renderInputItems(messages)
  const ordered = order === 'asc' ? items : items.toReversed()
  const rest = ordered.slice(ordered.findIndex(({ id }) => id === after) + 1)
  const data = rest.slice(0, limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > data.length,
  }
}

async function deleteResponse(location: ResponseLocation): Promise<void> {
  const { session, authority, runId } = location
  await getStoredRun(location)
  const page = requireFound(await session.conversation.messages(authority, { limit: pageSize }))
  if (page.data.at(-1)?.run_id !== runId)
    throw new AppError(409, 'conflict', 'Other responses continue from this one. Delete them first.')
  if (!page.next_cursor && page.data.every((message) => message.run_id === runId)) {
    requireFound((await session.info.delete(authority, true)) || undefined)
    return
  }
  const undone = await session.conversation.undo(authority, 1)
  if (!undone) throw new AppError(409, 'conflict', 'This response is not complete yet. Stop it first, or wait.')
}
