/** `/api/sessions/{id}/goal`: the goal that a session works towards by itself. */

import * as z from 'zod'
import { maxCriteria, maxGateChars, maxGates, maxGoalChars } from '#agent/schedule/goal/goal.ts'
import { AppError } from '../../errors.ts'
import { route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { requireFound, addressSession } from '../../sessions.ts'
import { ok } from '../../shapes.ts'
import { sessionParam } from '../../openapi/path-params.ts'

const part = z.string().max(maxGoalChars)
const contract = z
  .strictObject({
    outcome: part.optional(),
    verification: part.optional(),
    constraints: part.optional(),
    boundaries: part.optional(),
    stop_when: part.optional(),
  })
  .describe('What holds at the end, how it is shown, and what must not be done.')
const line = z.string().trim().min(1).max(maxGateChars)
const text = z.string().trim().min(1).max(maxGoalChars)
const criteria = z.array(line).max(maxCriteria).describe('Further criteria.')
const gates = z
  .array(line)
  .max(maxGates)
  .describe('Shell commands that must succeed before the goal counts as reached.')

const newGoal = z.strictObject({
  text,
  contract: contract.optional(),
  criteria: criteria.optional(),
  gates: gates.optional(),
  state: z.enum(['draft', 'active']).optional().describe('Default: active, which starts a turn.'),
})
const change = z.strictObject({
  text: text.optional(),
  contract: contract.optional(),
  criteria: criteria.optional(),
  gates: gates.optional(),
  state: z
    .enum(['active', 'paused', 'waiting'])
    .optional()
    .describe('active: goes on with fresh counters. waiting: until the process has ended.'),
  process: z.string().max(200).optional().describe('For the state waiting: the id of a running background process.'),
})

const goalShape = z.object({
  text: z.string(),
  state: z.enum(['draft', 'active', 'waiting', 'paused', 'done']),
  reason: z.string().nullable().describe('Why it is paused or reached.'),
  process: z.string().nullable(),
  contract,
  criteria: z.array(z.string()),
  gates: z.array(z.string()),
  turns: z.int().describe('Turns that the goal has started since it was set or resumed.'),
  max_turns: z.int(),
  last: z
    .object({ verdict: z.enum(['done', 'continue', 'wait']), reason: z.string() })
    .nullable()
    .describe('The last verdict of the judge.'),
})
nameSchemas({ Goal: goalShape })

const path = '/api/sessions/:id/goal'
const tag = 'Sessions'

const noGoal = () => new AppError(404, 'not_found', 'The session has no goal. PUT sets one.')

/** Throws when the goal is that of somebody else. */
function requireOwn<T>(result: T): Exclude<T, { readonly refusal: string }> {
  if (isRefused(result)) throw new AppError(403, 'insufficient_scope', result.refusal, { param: 'write' })
  return result as Exclude<T, { readonly refusal: string }>
}

const isRefused = (result: unknown): result is { readonly refusal: string } =>
  typeof result === 'object' && result !== null && 'refusal' in result

export const sessionGoalRoutes = [
  route({
    method: 'get',
    path,
    id: 'getSessionGoal',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'The goal of the session',
    responses: ok('The goal', goalShape),
    handle: async ({ env, authority, tenant, param }) => {
      const goal = await addressSession(env, tenant.id, param('id')).goal.get(authority)
      if (goal === null) throw noGoal()
      return Response.json(requireFound(goal))
    },
  }),
  route({
    method: 'put',
    path,
    id: 'replaceSessionGoal',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Set the goal: the session works towards it over several turns',
    example: { text: 'All tests pass.' },
    body: newGoal,
    responses: ok('The goal', goalShape),
    handle: async ({ env, authority, tenant, param, body }) => {
      const goal = requireOwn(await addressSession(env, tenant.id, param('id')).goal.set(authority, body))
      return Response.json(requireFound(goal))
    },
  }),
  route({
    method: 'patch',
    path,
    id: 'updateSessionGoal',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Change, pause or resume the goal',
    body: change,
    responses: ok('The goal', goalShape),
    handle: async ({ env, authority, tenant, param, body }) => {
      const goal = requireOwn(await addressSession(env, tenant.id, param('id')).goal.change(authority, body))
      if (goal === null) throw noGoal()
      if (goal === 'no-process')
        throw new AppError(400, 'invalid_request', 'No background process with this id runs.', { param: 'process' })
      return Response.json(requireFound(goal))
    },
  }),
  route({
    method: 'delete',
    path,
    id: 'deleteSessionGoal',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Clear the goal',
    responses: { 204: { description: 'There is no goal any more' } },
    handle: async ({ env, authority, tenant, param }) => {
      requireFound(requireOwn(await addressSession(env, tenant.id, param('id')).goal.clear(authority)))
      return new Response(null, { status: 204 })
    },
  }),
]
