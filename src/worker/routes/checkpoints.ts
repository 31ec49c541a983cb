/** `/api/sessions/{id}/checkpoints` and `…/rollback`: lists states of the workspace, compares and restores them. */

import * as z from 'zod'
import type { Unreachable } from '#durable/session/core/checkpoints.ts'
import { AppError } from '../errors.ts'
import { pageByPosition } from '../input/page.ts'
import { route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { busyError } from './sessions.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { checkpointParam, runParam, sessionParam } from '../openapi/path-params.ts'

const tag = 'Checkpoints'
const paths = z.array(z.string())

const checkpointShape = z.object({
  n: z.int().describe('The number for rollback. 1 is the state before the last turn that changed something.'),
  at: z.iso.datetime(),
  run_id: z.string(),
  files: paths.describe('The first 200 files that the turn changed.'),
  count: z.int().describe('Number of changed files.'),
  left_out: paths.describe('Files that were too large to keep.'),
})
nameSchemas(
  { Checkpoint: checkpointShape },
  { Checkpoint: { n: 1, run_id: runParam.example, files: ['report.md'], count: 1, left_out: [] } },
)
const differenceShape = z.object({
  files: z
    .array(z.object({ path: z.string(), added: z.int(), removed: z.int() }))
    .describe('Changed texts, with lines.'),
  diff: z.string(),
  binary: paths,
  left_out: paths,
  truncated: z.boolean(),
})
const rollbackShape = z.object({
  restored: paths,
  kept: paths.describe('Files that a person has changed since. They stay as they are.'),
  left_out: paths,
  undone: z.int().describe('Turns removed from the conversation.'),
  messages: paths.describe('Their user messages, newest first.'),
})
const rollbackSchema = z.strictObject({
  n: z.int().min(1).max(1_000).default(1),
  path: z
    .string()
    .min(1)
    .max(1_024)
    .refine((path) => path.isWellFormed())
    .optional()
    .describe('Restores only this file or directory and keeps the conversation.'),
  all: z.boolean().optional().describe('Also restores files that a person has changed since.'),
})

const checkpointNotFound = () => new AppError(404, 'not_found', 'There is no such checkpoint.', { param: 'n' })

function requireReachable<T>(answer: T): Exclude<T, Unreachable> {
  if (typeof answer !== 'object' || answer === null || !('unreachable' in answer))
    return answer as Exclude<T, Unreachable>
  throw new AppError(503, 'unavailable', String(answer.unreachable), { retryAfter: 30 })
}

export const checkpointRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/checkpoints',
    id: 'listSessionCheckpoints',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'States of the workspace before turns that changed it, newest first',
    query: z.strictObject(pageQuery),
    responses: ok('The checkpoints', listOf(checkpointShape)),
    handle: async ({ env, authority, tenant, param, query }) => {
      const data = requireReachable(
        requireFound(await addressSession(env, tenant.id, param('id')).checkpoints.list(authority)),
      )
      return Response.json(pageByPosition(data, query))
    },
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/checkpoints/:n/diff',
    id: 'getCheckpointDiff',
    params: { id: sessionParam, n: checkpointParam },
    scope: 'read',
    tag,
    summary: 'Changes since a checkpoint, as a unified diff',
    query: z.strictObject({
      path: z
        .string()
        .min(1)
        .max(1_024)
        .optional()
        .meta({ description: 'Only this file or directory.', example: 'report.md' }),
      to: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .describe('A newer checkpoint to compare with. Default: the current files.'),
    }),
    responses: ok('The differences', differenceShape),
    handle: async ({ env, authority, tenant, param, query }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const difference = requireReachable(
        requireFound(await session.checkpoints.diff(authority, { n: Number(param('n')) || 0, ...query })),
      )
      if (!difference) throw checkpointNotFound()
      return Response.json(difference)
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/rollback',
    id: 'rollbackSession',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Restore files and conversation to the state before a turn',
    example: { n: 1 },
    body: rollbackSchema,
    responses: ok('The restored files and removed turns', rollbackShape),
    handle: async ({ env, authority, tenant, param, body }) => {
      const { kind, ...result } = requireReachable(
        requireFound(await addressSession(env, tenant.id, param('id')).checkpoints.rollback(authority, body)),
      )
      if (kind === 'busy') throw busyError()
      if (kind === 'missing') throw checkpointNotFound()
      return Response.json(result)
    },
  }),
]
