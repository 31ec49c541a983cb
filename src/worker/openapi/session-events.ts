/** Describes the events of a session, one component each, for the OpenAPI document. */

import { elicitationFields } from './elicitation.ts'
import * as z from 'zod'
import type { PublicEvent } from '#agent/core/event.ts'
import { subagentStatuses } from '#agent/core/subagent.ts'
import { risks } from '#agent/core/permission/approval.ts'
import { decisionFields, usageShape } from '../shapes.ts'

const position = {
  seq: z.int().describe('Counts the events of the session; also the `id` of the server-sent event.'),
  at: z.iso.datetime(),
  run_id: z.string(),
  session_id: z.string(),
}

const callId = z.string()
const tool = z.string().describe('The name of the tool.')
const parent = { parent_call_id: z.string().optional().describe('The call of the program that made this call.') }
const step = {
  step: z.int().optional().describe('The number of the reply. Calls are unique by `run_id`, `step` and `call_id`.'),
}
const call = { call_id: callId, tool, ...parent }
const piece = { delta: z.string().describe('The next piece of text.') }
const delta = { ...piece, ...step }
const requestId = { request_id: z.string().optional().describe('The run id of the request.') }
const end = {
  output: z.string().describe('The answer.'),
  usage: usageShape,
  exit_reason: z.string(),
  completed: z.boolean(),
  error: z.string().optional(),
  retry_after: z.number().optional().describe('Seconds after which another try is allowed.'),
}

const descriptions: Readonly<Record<PublicEvent['type'], readonly [description: string, fields: z.ZodRawShape]>> = {
  'run.started': ['A run begins.', { input: z.string().describe('The first 2000 characters of the message.') }],
  'message.delta': ['A piece of the answer.', delta],
  'reasoning.delta': ['A piece of the reasoning.', delta],
  'tool.generating': [
    'The model writes the arguments of a long call. It is not stored.',
    { tool: z.string(), ...piece, chars: z.int().describe('Characters of the arguments so far.') },
  ],
  'tool.started': ['A tool call starts, or continues after an approval.', { ...call, ...step, input: z.unknown() }],
  'tool.progress': ['What a running call prints. It is not stored.', { ...call, ...piece }],
  'tool.completed': [
    'A tool call has its result.',
    {
      ...call,
      ...step,
      failed: z.boolean(),
      duration_ms: z.number(),
      preview: z.string().describe('At most 200 characters.'),
    },
  ],
  'approval.request': [
    'A tool call waits for an approval.',
    {
      approval_id: z.string().describe('For `POST /api/approvals/{id}`.'),
      call_id: callId,
      tool,
      input: z.unknown().describe('Secrets are masked.'),
      risk: z.enum(risks),
      reasons: z.array(z.string()),
      ...decisionFields,
      created_at: z.iso.datetime(),
    },
  ],
  'approval.responded': ['An approval was decided.', { approval_id: z.string(), decision: z.enum(['allow', 'deny']) }],
  'question.request': [
    'The agent asks a question.',
    {
      question_id: z.string().describe('For `POST /api/questions/{id}`.'),
      question: z.string(),
      choices: z.array(z.string()),
      multi_select: z.boolean(),
      ...elicitationFields,
    },
  ],
  'subagent.start': [
    'A subagent starts.',
    {
      subagent_id: z.string().describe('The id of its session.'),
      delegation_id: z.string(),
      task_index: z.int(),
      goal: z.string().describe('At most 200 characters.'),
      role: z.enum(['leaf', 'orchestrator']),
      depth: z.int().describe('1 below a conversation.'),
    },
  ],
  'subagent.complete': [
    'A subagent has ended.',
    {
      subagent_id: z.string(),
      delegation_id: z.string(),
      task_index: z.int(),
      status: z.enum(subagentStatuses),
      summary: z.string().describe('At most 200 characters.'),
      duration_ms: z.number(),
      cost_usd: z.number(),
    },
  ],
  'question.answered': ['A question was answered.', { question_id: z.string(), ...requestId }],
  'client_call.request': [
    'The agent calls a tool of the client, which has to send the result.',
    { call_id: callId, tool, input: z.string().describe('JSON.'), step: z.int().optional() },
  ],
  'client_call.completed': [
    'A call of a tool of the client has its result.',
    { call_id: callId, tool, failed: z.boolean(), preview: z.string().describe('At most 200 characters.') },
  ],
  'run.waiting': [
    'The run waits for its caller.',
    {
      segment: z.int().describe('The number of the part of the run that has ended.'),
      waits_for: z.array(z.enum(['client', 'approval', 'question'])),
      usage: usageShape.describe('Of the run so far.'),
    },
  ],
  status: [
    'The state of the run apart from its answer.',
    {
      state: z.enum(['waiting', 'compressing', 'resumed', 'recovering', 'warning', 'goal']),
      detail: z.string().optional(),
      until: z.iso.datetime().optional().describe('The end of the pause in the state `waiting`.'),
      attempt: z.int().optional().describe('The number of the model call after the pause.'),
      attempts: z.int().optional().describe('How many calls there are at most.'),
    },
  ],
  'provider.fallback': [
    'Another model continues.',
    { from: z.string().describe('provider/model'), to: z.string().describe('provider/model'), reason: z.string() },
  ],
  'context.compressed': ['A summary has replaced older messages.', {}],
  'turn.restarted': [
    'A partly streamed answer is discarded; another one follows.',
    { from_seq: z.int().describe('Deltas between this number and `seq` are to be dropped.'), reason: z.string() },
  ],
  'run.queued': [
    'A message waits behind the open run. `run_id` is that of its own run.',
    { input: z.string().describe('The first 2000 characters of the message.') },
  ],
  'run.dequeued': ['A queued run was taken back; it never begins.', {}],
  'run.steered': [
    'A message joined the running turn.',
    { input: z.string(), mode: z.enum(['steer', 'redirect']), ...requestId },
  ],
  'run.completed': ['The run has ended.', end],
  'run.failed': ['The run has failed.', end],
  'run.cancelled': ['The run was stopped.', end],
}

/** The schema of each event by its name. */
export const sessionEvents = Object.fromEntries(
  Object.entries(descriptions).map(([type, [description, fields]]) => [
    type,
    z.object({ type: z.literal(type), ...position, ...fields }).describe(description),
  ]),
)
