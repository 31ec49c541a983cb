/** Lists the tools of the MCP server. Each is a route of this API, with the scope of that route. */

import * as z from 'zod'
import { newJobSchema } from '#agent/schedule/job/job.ts'
import { decisionSchema } from '../approvals.ts'
import type { ApiCall } from './api-calls.ts'

export type McpTool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  /** The operation of the API, whose scope the tool needs. */
  readonly operation: string
  readonly annotations: { readonly readOnlyHint: boolean; readonly [hint: string]: boolean }
  /** Absent: the server runs the tool itself. */
  readonly toCall?: (input: never) => ApiCall
}

type Definition<Input extends z.ZodObject> = Omit<McpTool, 'input' | 'toCall'> & {
  readonly input: Input
  readonly toCall?: (input: z.infer<Input>) => ApiCall
}

const define = <Input extends z.ZodObject>(tool: Definition<Input>): McpTool => tool as McpTool

const reads = { readOnlyHint: true, openWorldHint: false } as const
const changes = { readOnlyHint: false, destructiveHint: false, openWorldHint: false } as const
const acts = { readOnlyHint: false, destructiveHint: true, openWorldHint: true } as const

const page = {
  limit: z.int().min(1).max(200).optional(),
  cursor: z.string().optional().describe('The next_cursor of another page.'),
}

const query = (values: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : ''
}

/** Half of a pair of UTF-16 units names nothing. */
export const part = (text: string): string => encodeURIComponent(text.toWellFormed())
const pathOf = (path: string): string => path.split('/').map(part).join('/')
export const filePath = (session: string, path: string): string =>
  `/api/sessions/${part(session)}/files/${pathOf(path)}`
export const messagesPath = (session: string, of: Readonly<Record<string, string | number | undefined>> = {}): string =>
  `/api/sessions/${part(session)}/messages${query(of)}`
export const skillPath = (name: string): string => `/api/skills/${part(name)}`

export const maxWaitSeconds = 50

export const chatInput = z.strictObject({
  message: z.string().min(1).describe('What the agent should do or answer.'),
  session_id: z.string().optional().describe('Continues this conversation. Absent: a new one.'),
  wait: z
    .number()
    .min(0)
    .max(maxWaitSeconds)
    .optional()
    .describe(`Seconds to wait for the answer. Default: ${maxWaitSeconds}. A run that takes longer goes on.`),
})

export const approvalInput = z.strictObject({
  approval_id: z.string(),
  decision: decisionSchema.shape.decision,
  reason: decisionSchema.shape.reason,
})

export const tools: readonly McpTool[] = [
  define({
    name: 'chat',
    title: 'Give the agent a task',
    description:
      'Sends a message to the agent and waits for its answer. If `status` is not `completed`, ask with run_status later.',
    input: chatInput,
    operation: 'createRun',
    annotations: acts,
  }),
  define({
    name: 'run_status',
    title: 'How far a run is',
    description: 'Status, activity and result of a run.',
    input: z.strictObject({ run_id: z.string() }),
    operation: 'getRun',
    annotations: reads,
    toCall: ({ run_id: id }) => ({ method: 'GET', path: `/v1/runs/${part(id)}` }),
  }),
  define({
    name: 'run_stop',
    title: 'Stop a run',
    description: 'Stops a run. What it has done stays.',
    input: z.strictObject({ run_id: z.string() }),
    operation: 'stopRun',
    annotations: changes,
    toCall: ({ run_id: id }) => ({ method: 'POST', path: `/v1/runs/${part(id)}/stop`, body: {} }),
  }),
  define({
    name: 'sessions_list',
    title: 'Conversations',
    description: 'Conversations of the agent, newest first.',
    input: z.strictObject({ ...page, q: z.string().max(200).optional().describe('Words of the title.') }),
    operation: 'listSessions',
    annotations: reads,
    toCall: (input) => ({ method: 'GET', path: `/api/sessions${query(input)}` }),
  }),
  define({
    name: 'session_messages',
    title: 'Messages of a conversation',
    description: 'The messages of a conversation. The cursor leads to older ones.',
    input: z.strictObject({ session_id: z.string(), ...page }),
    operation: 'listSessionMessages',
    annotations: reads,
    toCall: ({ session_id: id, ...of }) => ({ method: 'GET', path: messagesPath(id, of) }),
  }),
  define({
    name: 'search',
    title: 'Search all conversations',
    description: 'Finds messages of all conversations.',
    input: z.strictObject({ query: z.string().min(1), limit: z.int().min(1).max(20).optional() }),
    operation: 'searchMessages',
    annotations: reads,
    toCall: ({ query: q, limit }) => ({ method: 'GET', path: `/api/search${query({ q, limit })}` }),
  }),
  define({
    name: 'memory_get',
    title: 'What the agent remembers',
    description: 'The memory of the tenant, and the profile of the person who asks.',
    input: z.strictObject({}),
    operation: 'getMemory',
    annotations: reads,
    toCall: () => ({ method: 'GET', path: '/api/memory' }),
  }),
  define({
    name: 'memory_add',
    title: 'Remember something',
    description: 'Adds an entry to the memory.',
    input: z.strictObject({ target: z.enum(['memory', 'user']), content: z.string().min(1) }),
    operation: 'updateMemory',
    annotations: changes,
    toCall: ({ target, content }) => ({
      method: 'PATCH',
      path: '/api/memory',
      body: { target, operations: [{ action: 'add', content }] },
    }),
  }),
  define({
    name: 'jobs_list',
    title: 'Scheduled jobs',
    description: 'Jobs that run at their times.',
    input: z.strictObject(page),
    operation: 'listJobs',
    annotations: reads,
    toCall: (input) => ({ method: 'GET', path: `/api/jobs${query(input)}` }),
  }),
  define({
    name: 'jobs_create',
    title: 'Schedule a job',
    description: 'Creates a job that runs at its times.',
    input: newJobSchema as unknown as z.ZodObject,
    operation: 'createJob',
    annotations: acts,
    toCall: (body) => ({ method: 'POST', path: '/api/jobs', body }),
  }),
  define({
    name: 'jobs_run',
    title: 'Run a job now',
    description: 'Runs a job at once, besides its schedule.',
    input: z.strictObject({ job_id: z.string() }),
    operation: 'runJob',
    annotations: acts,
    toCall: ({ job_id: id }) => ({ method: 'POST', path: `/api/jobs/${part(id)}/run`, body: {} }),
  }),
  define({
    name: 'skills_list',
    title: 'Skills',
    description: 'Skills that the agent has.',
    input: z.strictObject({}),
    operation: 'listOfferedSkills',
    annotations: reads,
    toCall: () => ({ method: 'GET', path: '/v1/skills' }),
  }),
  define({
    name: 'skills_view',
    title: 'One skill',
    description: 'The instructions of a skill.',
    input: z.strictObject({ name: z.string() }),
    operation: 'getSkill',
    annotations: reads,
    toCall: ({ name }) => ({ method: 'GET', path: skillPath(name) }),
  }),
  define({
    name: 'approvals_list',
    title: 'Calls that wait for approval',
    description: 'Tool calls of the agent that wait for a person.',
    input: z.strictObject(page),
    operation: 'listApprovals',
    annotations: reads,
    toCall: (input) => ({ method: 'GET', path: `/api/approvals${query(input)}` }),
  }),
  define({
    name: 'approval_answer',
    title: 'Allow or deny a call',
    description: 'Answers an approval. Not for runs that this key has begun itself.',
    input: approvalInput,
    operation: 'decideApproval',
    annotations: acts,
  }),
  define({
    name: 'files_read',
    title: 'Read a file of a conversation',
    description: 'A file of the workspace of a conversation, or the entries of a directory.',
    input: z.strictObject({ session_id: z.string(), path: z.string() }),
    operation: 'getSessionFile',
    annotations: reads,
    toCall: ({ session_id: id, path }) => ({ method: 'GET', path: filePath(id, path) }),
  }),
]
