/** Shapes that several routes answer with, as schemas for the OpenAPI document. */

import * as z from 'zod'
import { settingsSchema } from '../agent/model/settings.ts'

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

const tallyShape = usageShape.extend({
  model: z.string(),
  task: z.string().nullable().describe('null: the conversation itself.'),
  calls: z.int(),
  cut_calls: z.int().describe('Calls that broke off or never said what they cost: estimated.'),
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
  usage: usageShape,
  settings: settingsSchema,
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
      url: z
        .string()
        .describe('The address of the image; in place of one that was sent as data, its type in parentheses.'),
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
  delivery_error: z.string().optional().describe('What of the answer did not reach the chat of the session.'),
  activity: z.object({ doing: z.string(), since: time.nullable(), until: time.optional() }),
  started_at: time.nullable().describe('null: it waits for the turn before it.'),
  ended_at: time.nullable(),
  steps: z.int().describe('Calls of the model that the budget counts.'),
  attempts: z.int().describe('How often a model was asked.'),
  waited_ms: z.number().describe('Pauses between attempts.'),
  notes: z.array(z.object({ at: time, did: z.string(), why: z.string() })).describe('What was done to recover.'),
})

export const acceptedShape = z.object({ run_id: z.string(), session_id: z.string(), status: z.string() })

export const listOf = (item: z.ZodType) => z.object({ data: z.array(item), next_cursor: z.string().nullable() })

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(500).optional(),
}

/** How a status is described when there is nothing more to say. */
export const ok = (description: string, schema?: z.ZodType) => ({ 200: { description, ...(schema && { schema }) } })
export const created = (description: string, schema: z.ZodType) => ({ 201: { description, schema } })
