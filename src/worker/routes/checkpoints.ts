/** `/api/sessions/{id}/checkpoints` and `…/rollback`: lists states of the workspace, compares and restores them. */

import * as z from 'zod'
import { maxCheckpointName } from '#agent/core/tool.ts'
import type { CheckpointRef, Unreachable } from '#durable/session/core/checkpoints.ts'
import { AppError } from '../errors.ts'
import { pageByPosition } from '../input/page.ts'
import { route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { busyError } from './sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { checkpointParam, runParam, sessionParam } from '../openapi/path-params.ts'

const tag = 'Checkpoints'
const paths = z.array(z.string())

const checkpointShape = z.object({
  n: z
    .int()
    .describe(
      'The number for rollback. 1 is the newest: the state before the last turn that changed something, or a named one.',
    ),
  at: z.iso.datetime(),
  run_id: z
    .string()
    .nullable()
    .describe('Null for a named one that a person has made, or to which the files went back.'),
  name: z.string().nullable().describe('Null for the state before a turn.'),
  files: paths.describe('The first 200 files that the turn changed.'),
  count: z.int().describe('Number of changed files.'),
  left_out: paths.describe('Files that were too large to keep.'),
})
nameSchemas(
  { Checkpoint: checkpointShape },
  { Checkpoint: { n: 1, run_id: runParam.example, name: null, files: ['report.md'], count: 1, left_out: [] } },
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
const nameField = z
  .string()
  .trim()
  .min(1)
  .max(maxCheckpointName)
  .refine((name) => name.isWellFormed() && /\D/.test(name), 'A name has a character that is no digit.')
const rollbackSchema = z.strictObject({
  n: z.int().min(1).max(1_000).optional().describe('Default: the last turn that changed something.'),
  name: nameField
    .optional()
    .describe('A named checkpoint, in place of n. It restores files and keeps the conversation.'),
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

/** A name is no number. */
const parseRef = (text: string): CheckpointRef => (/^\d+$/.test(text) ? Number(text) : text)

export const checkpointRoutes = [
  route({
    method: 'post',
    path: '/api/sessions/:id/checkpoints',
    id: 'createSessionCheckpoint',
    params: { id: sessionParam },
    scope: 'write',
    tag,
    summary: 'Name the present state of the workspace',
    example: { name: 'before the migration' },
    body: z.strictObject({ name: nameField }),
    responses: created('The name', z.object({ name: z.string() })),
    handle: async ({ env, authority, tenant, param, body: { name } }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const outcome = requireReachable(requireFound(await session.checkpoints.create(authority, name)))
      if (outcome === 'exists')
        throw new AppError(409, 'conflict', `There is a checkpoint "${name}" already.`, { param: 'name' })
      if (outcome === 'unsupported')
        throw new AppError(503, 'unavailable', 'The workspace of this session keeps no checkpoints now.')
      return Response.json({ name }, { status: 201 })
    },
  }),
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
      to: z.string().min(1).max(maxCheckpointName).optional().meta({
        description: 'The number or name of another checkpoint to compare with. Default: the current files.',
        example: '1',
      }),
    }),
    responses: ok('The differences', differenceShape),
    handle: async ({ env, authority, tenant, param, query }) => {
      const session = addressSession(env, tenant.id, param('id'))
      const difference = requireReachable(
        requireFound(
          await session.checkpoints.diff(authority, {
            from: parseRef(param('n')),
            ...(query.to !== undefined && { to: parseRef(query.to) }),
            ...(query.path !== undefined && { path: query.path }),
          }),
        ),
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
