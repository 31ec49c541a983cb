/** Schemas of responses that several routes share, for the OpenAPI document. */

import * as z from 'zod'
import { limitsSchema, settingsSchema } from '#agent/core/settings.ts'
import { nameSchemas } from './schema-names.ts'
import { runParam, sessionParam } from './openapi/path-params.ts'

const time = z.iso.datetime()

export const usageShape = z.object({
  input: z.int(),
  output: z.int(),
  cached_read: z.int(),
  cached_write: z.int(),
  reasoning: z.int(),
  cost_usd: z.number(),
  cost_status: z.enum(['actual', 'estimated', 'unknown', 'included']),
})

/** The possible decisions about a call. */
export const decisionFields = {
  choices: z.array(z.enum(['once', 'session', 'always', 'deny'])),
  rule: z
    .string()
    .optional()
    .describe(
      'What `session` and `always` allow from then on: with `*` every call of the tool, with words of `terminal` every command that begins with them, with a path every call of the tool for it. Absent: neither is offered.',
    ),
}

const activityShape = z.object({ doing: z.string(), since: time.nullable(), until: time.optional() })
export const eventSeq = z
  .int()
  .describe(
    'Listen with `GET …/events?after=` this number: everything before it is in the messages. Deltas behind it belong to no listed message.',
  )

const tallyShape = usageShape.extend({
  model: z.string(),
  task: z.string().nullable().describe('null: the conversation itself.'),
  calls: z.int(),
  cut_calls: z.int().describe('Calls that broke off or reported no usage: estimated.'),
})

export const sessionShape = z.object({
  id: z.string(),
  title: z.string().nullable(),
  source: z.string(),
  status: z.enum(['idle', 'running', 'waiting']),
  model: z.string().nullable(),
  created_at: time,
  updated_at: time,
  parent_id: z.string().nullable(),
  project_id: z.string().nullable().describe('The project that it belongs to.'),
  pinned: z.boolean(),
  archived: z.boolean().describe('Left out of lists that do not ask for it.'),
  has_versions: z.boolean().describe('See GET …/versions.'),
  message_count: z.int().describe('All messages, those of tools included. Undone ones do not count.'),
  tool_call_count: z.int().nullable().describe('null: not counted before the next turn of an older session.'),
  tools: z
    .array(z.object({ name: z.string(), calls: z.int() }))
    .describe('The tools that were called, the most used ones first.'),
  tags: z.array(z.string()),
  summary: z
    .string()
    .nullable()
    .describe('One line: of the newest summary of its conversation, else the beginning of the last answer.'),
  expires_at: time.nullable().describe('When it deletes itself. null: it stays, or a turn is open.'),
  usage: usageShape,
  settings: settingsSchema,
  event_seq: eventSeq.optional(),
  run: z
    .object({
      run_id: z.string(),
      status: z.enum(['running', 'waiting', 'stopping']),
      activity: activityShape,
      started_at: time.nullable(),
    })
    .nullish()
    .describe('The open run. Only in the answer for one session, as the next two.'),
  queued: z
    .array(z.object({ run_id: z.string(), input: z.string().describe('The first 2000 characters.') }))
    .optional()
    .describe('Runs that begin after the open one, in order.'),
  context: z
    .object({ tokens: z.int(), window: z.int() })
    .optional()
    .describe('The tokens of the next request, estimated, and the context window of the model.'),
})

const callShape = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().describe('JSON, as the model wrote it.') }),
})

const partShape = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('image_url'),
    image_url: z.object({
      url: z.string().describe('The address of the image. For an image sent as data: its path in this API.'),
    }),
  }),
])

export const messageShape = z.object({
  id: z.string(),
  seq: z.int(),
  run_id: z.string(),
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(partShape)]).nullable(),
  tool_calls: z.array(callShape).optional(),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  reasoning: z.string().optional(),
  source: z.string().optional(),
  created_at: time,
  compacted: z.boolean(),
  rating: z
    .object({ value: z.enum(['good', 'bad']), note: z.string().nullable() })
    .optional()
    .describe('How a person rates the answer.'),
  truncated: z.boolean().optional().describe('Its texts were cut, as `preview` asked.'),
})

export const runShape = z.object({
  run_id: z.string(),
  session_id: z.string(),
  status: z.enum(['queued', 'running', 'waiting', 'stopping', 'completed', 'failed', 'cancelled']),
  output: z.string().nullable(),
  usage: usageShape,
  usage_by_model: z.array(tallyShape),
  exit_reason: z.string().nullable(),
  completed: z.boolean(),
  error: z.string().nullable(),
  delivery_error: z.string().optional().describe('Why a part of the answer was not delivered to the chat.'),
  activity: activityShape,
  started_at: time.nullable().describe('null: the run is queued.'),
  ended_at: time.nullable(),
  steps: z.int().describe('Model calls that count against the budget.'),
  attempts: z.int().describe('Model calls including retries.'),
  waited_ms: z.number().describe('Pauses between attempts.'),
  notes: z.array(z.object({ at: time, did: z.string(), why: z.string() })).describe('Recovery actions.'),
  attachments: z
    .array(z.object({ path: z.string(), mime: z.string(), bytes: z.int(), url: z.string() }))
    .describe('Files that the answer gives to the user. `url` is a signed link of at most one hour.'),
})

export const acceptedShape = z.object({ run_id: z.string(), session_id: z.string(), status: z.string() })
nameSchemas(
  {
    Usage: usageShape,
    ModelUsage: tallyShape,
    Session: sessionShape,
    MessageToolCall: callShape,
    Message: messageShape,
    Run: runShape,
    AcceptedRun: acceptedShape,
    Settings: settingsSchema,
    Limits: limitsSchema,
  },
  {
    Usage: { input: 1_280, output: 42, cost_usd: 0.0031 },
    Session: {
      id: sessionParam.example,
      title: 'Quarterly report',
      source: 'api',
      model: 'openai/gpt-5.2',
      settings: {},
    },
    Message: { id: 'msg_1', seq: 1, run_id: runParam.example, role: 'user', content: 'Summarise the report.' },
    Run: {
      run_id: runParam.example,
      session_id: sessionParam.example,
      status: 'completed',
      output: 'The report has three findings.',
      exit_reason: 'completed',
      completed: true,
    },
    AcceptedRun: { run_id: runParam.example, session_id: sessionParam.example, status: 'running' },
  },
)

export const listOf = (item: z.ZodType) => z.object({ data: z.array(item), next_cursor: z.string().nullable() })

/** The parameter `limit` of a list. */
export const pageLimit = (max: number) => z.coerce.number().int().min(1).max(max).describe('The most items of a page.')

export const pageQuery = {
  limit: pageLimit(200).default(50),
  cursor: z.string().max(500).optional().describe('The `next_cursor` of the page before.'),
}

/** For lists whose items are small. */
export const longPageQuery = { ...pageQuery, limit: pageLimit(1_000).default(1_000) }

/** Describes a 200 response. */
export const ok = (description: string, schema?: z.ZodType) => ({ 200: { description, ...(schema && { schema }) } })
export const created = (description: string, schema: z.ZodType) => ({ 201: { description, schema } })
