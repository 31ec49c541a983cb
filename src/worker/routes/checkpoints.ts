/** `/api/sessions/{id}/checkpoints` and `…/rollback`: how the workspace was before a turn, and going back there. */

import * as z from 'zod'
import type { Unreachable } from '../../durable/session/checkpoints.ts'
import { AppError } from '../errors.ts'
import { route } from '../route.ts'
import { found, sessionStub } from '../sessions.ts'
import { busy } from './sessions.ts'
import { listOf, ok } from '../shapes.ts'

const tag = 'Checkpoints'
const paths = z.array(z.string())

const checkpointShape = z.object({
  n: z.int().describe('As rollback takes it: 1 stands before the last turn that changed something.'),
  at: z.iso.datetime(),
  run_id: z.string(),
  files: paths.describe('What the turn changed, the first 200.'),
  count: z.int().describe('How many files it changed.'),
  left_out: paths.describe('What was too large to keep.'),
})
const differenceShape = z.object({ diff: z.string(), binary: paths, left_out: paths, truncated: z.boolean() })
const rollbackShape = z.object({
  restored: paths,
  kept: paths.describe('Changed by a person since: left as they are.'),
  left_out: paths,
  undone: z.int().describe('Turns that left the conversation.'),
  messages: paths.describe('What people had said in them, newest first.'),
})
const wish = z.strictObject({
  n: z.int().min(1).max(1_000).default(1),
  path: z.string().min(1).max(1_024).optional().describe('This file or directory alone; the conversation stays.'),
  all: z.boolean().optional().describe('Also what a person changed since.'),
})

const missing = () => new AppError(404, 'not_found', 'There is no such checkpoint.', { param: 'n' })

function reached<T>(answer: T): Exclude<T, Unreachable> {
  if (typeof answer !== 'object' || answer === null || !('unreachable' in answer))
    return answer as Exclude<T, Unreachable>
  throw new AppError(503, 'unavailable', String(answer.unreachable), { retryAfter: 30 })
}

export const checkpointRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/checkpoints',
    scope: 'read',
    tag,
    summary: 'States of the workspace before turns that changed it, newest first',
    responses: ok('The checkpoints', listOf(checkpointShape)),
    handle: async ({ env, tenant, param }) => {
      const data = reached(found(await sessionStub(env, tenant.id, param('id')).checkpoints.list()))
      return Response.json({ data, next_cursor: null })
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/checkpoints/:n/diff',
    scope: 'read',
    tag,
    summary: 'What has changed since a checkpoint, as a unified diff',
    responses: ok('The differences', differenceShape),
    handle: async ({ env, tenant, param }) => {
      const session = sessionStub(env, tenant.id, param('id'))
      const difference = reached(found(await session.checkpoints.diff(Number(param('n')) || 0)))
      if (!difference) throw missing()
      return Response.json(difference)
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/rollback',
    scope: 'write',
    tag,
    summary: 'Go back to before a turn, files and conversation',
    body: wish,
    responses: ok('What was put back', rollbackShape),
    handle: async ({ env, tenant, param, body }) => {
      const { is, ...done } = reached(found(await sessionStub(env, tenant.id, param('id')).checkpoints.rollback(body)))
      if (is === 'busy') throw busy()
      if (is === 'missing') throw missing()
      return Response.json(done)
    },
  }),
]
