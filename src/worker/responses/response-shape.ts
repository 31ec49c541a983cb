/** Describes the response objects of `/v1/responses` for the OpenAPI document. */

import * as z from 'zod'

const status = z.enum(['in_progress', 'completed', 'incomplete'])

const itemShape = z.discriminatedUnion('type', [
  z.object({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    status,
    content: z.array(
      z.object({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.unknown()).max(0) }),
    ),
  }),
  z.object({
    id: z.string(),
    type: z.literal('reasoning'),
    summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })),
  }),
  z.object({
    id: z.string(),
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
    status,
  }),
  z.object({
    id: z.string(),
    type: z.literal('function_call_output'),
    call_id: z.string(),
    output: z.string(),
    status,
  }),
])

export const responseShape = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().describe('Seconds since 1970.'),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.boolean(),
  error: z.object({ code: z.literal('server_error'), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.enum(['max_messages', 'max_output_tokens']) }).nullable(),
  instructions: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  model: z.string(),
  output: z.array(itemShape).describe('What the agent said and did. Its calls have run already.'),
  parallel_tool_calls: z.literal(true),
  previous_response_id: z.string().nullable(),
  conversation: z.object({ id: z.string() }).nullable(),
  temperature: z.null(),
  text: z.object({ format: z.object({ type: z.literal('text') }) }),
  tool_choice: z.literal('auto'),
  tools: z.array(z.unknown()).max(0),
  top_p: z.null(),
  truncation: z.literal('disabled'),
  usage: z
    .object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
      total_tokens: z.int(),
    })
    .optional()
    .describe('Present once it has ended.'),
})

export const deletedShape = z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })

const inputPart = z.union([
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({ type: z.literal('input_image'), image_url: z.string(), detail: z.literal('auto') }),
])

export const inputItemsShape = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      id: z.string(),
      type: z.literal('message'),
      role: z.literal('user'),
      status: z.literal('completed'),
      content: z.array(inputPart),
    }),
  ),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})
