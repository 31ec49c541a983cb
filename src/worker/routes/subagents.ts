/** `GET /api/sessions/{id}/tree`: the subagents of a session and theirs, with what they do now, and its forks. */

import * as z from 'zod'
import { subagentStatuses } from '#agent/core/subagent.ts'
import { openHistory } from '#db/history.ts'
import { route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { ok } from '../shapes.ts'
import { sessionParam } from '../openapi/path-params.ts'

const time = z.iso.datetime()

const subagentShape = z.object({
  session_id: z.string().describe('The session of the subagent, with its messages and events.'),
  run_id: z.string(),
  delegation_id: z.string().describe('The call that has started it, with others or alone.'),
  task_index: z.int(),
  depth: z.int().describe('1 below a conversation.'),
  goal: z.string().describe('At most 200 characters.'),
  role: z.enum(['leaf', 'orchestrator']),
  status: z.enum(['queued', 'running', ...subagentStatuses]),
  activity: z.string().nullable().describe('What it did when it was asked last, or the limit that it waits for.'),
  api_calls: z.int(),
  cost_usd: z.number().describe('With its own subagents, once it has ended.'),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  error: z.string().nullable(),
  get children() {
    return z.array(subagentShape).describe('Its own subagents.')
  },
})
nameSchemas({ Subagent: subagentShape }, { Subagent: { goal: 'Find the newest figures.', role: 'leaf', children: [] } })

const branchShape = z.object({
  session_id: z.string(),
  parent_id: z.string().nullable(),
  title: z.string().nullable(),
  created_at: time,
  updated_at: time,
})

const treeShape = z.object({
  session_id: z.string(),
  children: z.array(subagentShape).describe('The last 200, in the order in which they were started.'),
  branches: z
    .array(branchShape)
    .describe('The forks, their forks and what they were forked from, oldest first; itself too.'),
})

export const subagentRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/tree',
    id: 'getSubagentTree',
    params: { id: sessionParam },
    scope: 'read',
    tag: 'Sessions',
    summary: 'The tree of subagents below a session, and its branches',
    responses: ok('The tree', treeShape),
    handle: async ({ env, authority, tenant, param }) => {
      const id = param('id')
      const children = requireFound(await addressSession(env, tenant.id, id).subagents.tree(authority))
      const branches = await openHistory(env, tenant.id).listBranches(id)
      return Response.json({ session_id: id, children, branches })
    },
  }),
]
