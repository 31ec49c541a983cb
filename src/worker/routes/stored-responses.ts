/** `/v1/responses/{id}`: what became of a response, what was said for it, and how it is ended or taken back. */

import * as z from 'zod'
import {
  renderInputItems,
  renderRunItems,
  type ResponseHead,
  renderResponse,
  type StoredMessage,
} from '../../agent/public-api/responses.ts'
import type { SessionDO } from '../../durable/session/session-object.ts'
import type { RunView } from '../../durable/session/api-views.ts'
import { AppError, notFound } from '../errors.ts'
import { deletedShape, inputItemsShape, responseShape } from '../response-shape.ts'
import { route } from '../route.ts'
import { ok } from '../shapes.ts'
import { found, sessionStub } from '../sessions.ts'
import { follow } from '../submit.ts'
import { eventStream } from './chat-completions.ts'

const tag = 'OpenAI'

/** SDKs add `include`, in several notations: there is nothing more to include. */
const readQuery = z.object({
  stream: z.enum(['true', 'false']).optional(),
  starting_after: z.coerce.number().int().min(0).optional().describe('The sequence number of the last event heard.'),
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
    handle: async ({ env, tenant, param, query }) => {
      const place = placeOf(env, tenant.id, param('id'))
      if (query.stream === 'true') return followed(place, param('id'), query.starting_after)
      return Response.json(await storedResponse(place.session, place.runId, param('id')))
    },
  }),
  route({
    method: 'delete',
    path: '/v1/responses/:id',
    scope: 'write',
    tag,
    summary: 'Take a response out of its conversation; only the last can be',
    responses: ok('Deleted', deletedShape),
    handle: async ({ env, tenant, param }) => {
      await remove(placeOf(env, tenant.id, param('id')))
      return Response.json({ id: param('id'), object: 'response', deleted: true })
    },
  }),
  route({
    method: 'post',
    path: '/v1/responses/:id/cancel',
    scope: 'chat',
    tag,
    summary: 'Stop a response that is under way',
    responses: ok('The response as it ended', responseShape),
    handle: async ({ env, tenant, param }) => {
      const place = placeOf(env, tenant.id, param('id'))
      await cancel(place)
      return Response.json(await storedResponse(place.session, place.runId, param('id')))
    },
  }),
  route({
    method: 'get',
    path: '/v1/responses/:id/input_items',
    scope: 'read',
    tag,
    summary: 'What was said for a response',
    query: inputQuery,
    responses: ok('OpenAI list, newest first', inputItemsShape),
    handle: async ({ env, tenant, param, query }) =>
      Response.json(await inputOf(placeOf(env, tenant.id, param('id')), query)),
  }),
]

type Session = DurableObjectStub<SessionDO>
export type Place = { readonly session: Session; readonly sessionId: string; readonly runId: string }

/** What is not stored has no session in its id, so that nobody asks for it. */
export const responseId = (runId: string, sessionId?: string) =>
  `resp_${runId.replace(/^run_/, '')}${sessionId === undefined ? '' : `.${sessionId}`}`

export function placeOf(env: Env, tenantId: string, id: string): Place {
  const [, run, sessionId] = /^resp_([\w-]{1,64})\.([\w-]{1,128})$/.exec(id) ?? []
  if (!run || !sessionId) throw notFound()
  return { session: sessionStub(env, tenantId, sessionId), sessionId, runId: `run_${run}` }
}

const pageSize = 200

/** All messages of a run. They stand together, and most often at the end. */
export async function messagesOf(session: Session, runId: string): Promise<readonly StoredMessage[]> {
  const own: StoredMessage[] = []
  for (let before: number | undefined; ;) {
    const page = await session.conversation.messages({ limit: pageSize, before })
    own.unshift(...(page?.data.filter((message) => message.run_id === runId) ?? []))
    const isPast = own.length > 0 && page?.data[0]?.run_id !== runId
    if (!page?.next_cursor || isPast) return own
    before = Number(page.next_cursor)
  }
}

/** The same time whenever it is told: that of the run, once it has begun. */
export const begunWith = ({ started_at: at }: RunView, head: ResponseHead): ResponseHead =>
  at === null ? head : { ...head, createdAt: Math.floor(Date.parse(at) / 1_000) }

type Stored = { readonly run: RunView; readonly messages: readonly StoredMessage[] }

/** A run that was taken back has no messages any more. */
export async function storedRun(session: Session, runId: string): Promise<Stored> {
  const run = found((await session.runs.get(runId)) ?? undefined)
  const messages = await messagesOf(session, runId)
  if (run.exit_reason !== null && !messages.length) throw notFound()
  return { run, messages }
}

/** What a run is now, which may be still under way. */
export const withRun = ({ run, messages }: Stored, head: ResponseHead) =>
  renderResponse(begunWith(run, head), {
    status: statusOfRun(run),
    output: renderRunItems(messages),
    usage: run.exit_reason === null ? undefined : run.usage,
    error: run.error,
    exitReason: run.exit_reason,
  })

function statusOfRun({ status, completed }: RunView) {
  if (status === 'queued') return 'queued'
  if (status === 'failed' || status === 'cancelled') return status
  if (status !== 'completed') return 'in_progress'
  return completed ? 'completed' : 'incomplete'
}

/** Of what was asked only what a session keeps is known: no metadata, no instructions. */
async function headOf(session: Session, id: string): Promise<ResponseHead> {
  return {
    id,
    createdAt: Math.floor(Date.now() / 1_000),
    model: (await session.info.get())?.model ?? 'talaria',
    previousId: null,
    conversation: null,
    instructions: null,
    metadata: {},
    background: false,
  }
}

const storedResponse = async (session: Session, runId: string, id: string) =>
  withRun(await storedRun(session, runId), await headOf(session, id))

/** From its first event on, or behind the one of that number. */
async function followed({ session, runId }: Place, id: string, after?: number): Promise<Response> {
  await storedRun(session, runId)
  const answer = await follow(session, { runId, format: { as: 'response', head: await headOf(session, id), after } })
  return new Response(answer.body, { headers: eventStream })
}

/** What has ended stays as it is; what waits for another run cannot be taken out of the queue. */
async function cancel({ session, runId }: Place): Promise<void> {
  const { run } = await storedRun(session, runId)
  if (run.exit_reason !== null) return
  if (run.status === 'queued') throw new AppError(409, 'conflict', 'This response waits for the one before it.')
  if (await session.runs.stop(runId)) await session.runs.wait(runId)
}

type Page = { readonly limit: number; readonly order: 'asc' | 'desc'; readonly after?: string | undefined }

/** What was said for this run, as OpenAI pages it. */
async function inputOf({ session, runId }: Place, { limit, order, after }: Page) {
  const { messages } = await storedRun(session, runId)
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

async function remove({ session, runId }: Place): Promise<void> {
  await storedRun(session, runId)
  const page = found(await session.conversation.messages({ limit: pageSize }))
  if (page.data.at(-1)?.run_id !== runId)
    throw new AppError(409, 'conflict', 'Other responses go on from this one. Delete them first.')
  if (!page.next_cursor && page.data.every((message) => message.run_id === runId)) {
    found((await session.info.delete()) || undefined)
    return
  }
  const undone = await session.conversation.undo(1)
  if (!undone) throw new AppError(409, 'conflict', 'This response is not complete yet. Stop it first, or wait.')
}
