/** Describes the response objects of `/v1/responses` for the OpenAPI document. */

import * as z from 'zod'
import { nameSchemas } from '../schema-names.ts'

const status = z.enum(['in_progress', 'completed', 'incomplete'])
const textPart = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()).max(0),
  logprobs: z.array(z.unknown()).max(0),
})
const messageShape = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  status,
  content: z.array(textPart),
})
const reasoningShape = z.object({
  id: z.string(),
  type: z.literal('reasoning'),
  summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })),
})
const functionCallShape = z.object({
  id: z.string(),
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status,
})
const mcpCallShape = z.object({
  id: z.string(),
  type: z.literal('mcp_call'),
  server_label: z.literal('talaria'),
  name: z.string(),
  arguments: z.string(),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  output: z.string().nullable().describe('At most 100,000 characters.'),
  error: z
    .object({
      type: z.literal('mcp_tool_execution_error'),
      content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
    })
    .nullable(),
  approval_request_id: z.string().nullable(),
})
const approvalRequestShape = z.object({
  id: z.string(),
  type: z.literal('mcp_approval_request'),
  server_label: z.literal('talaria'),
  name: z.string(),
  arguments: z.string(),
})

export const itemShape = z.discriminatedUnion('type', [
  messageShape,
  reasoningShape,
  mcpCallShape.describe('A tool of the agent. It has run already.'),
  functionCallShape.describe('A tool of the client, which runs it and sends the result.'),
  approvalRequestShape.describe('Answered by an item `mcp_approval_response`.'),
])

export const responseUsageShape = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
})

const functionToolShape = z.object({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.looseObject({}),
  strict: z.boolean(),
})

export const responseShape = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.int().describe('Seconds since 1970.'),
  completed_at: z.int().nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.boolean(),
  error: z.object({ code: z.enum(['server_error', 'rate_limit_exceeded']), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.enum(['max_messages', 'max_output_tokens']) }).nullable(),
  instructions: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
  model: z.string(),
  output: z.array(itemShape).describe('What the agent said and did, and what it asks the client for.'),
  previous_response_id: z.string().nullable(),
  conversation: z.object({ id: z.string() }).nullable(),
  usage: responseUsageShape.nullable().describe('Null until it has ended.'),
  store: z.boolean(),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.literal(0),
  max_output_tokens: z.int().nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  truncation: z.enum(['auto', 'disabled']),
  service_tier: z.string(),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  user: z.string().optional(),
  tools: z.array(functionToolShape).describe('The tools of the client.'),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  parallel_tool_calls: z.boolean(),
  max_tool_calls: z.int().nullable(),
})

export const deletedShape = z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })

const inputPart = z.union([
  z.object({ type: z.literal('input_text'), text: z.string() }),
  z.object({
    type: z.literal('input_image'),
    image_url: z.string(),
    detail: z.enum(['auto', 'low', 'high', 'original']),
  }),
  z.object({
    type: z.literal('input_file'),
    filename: z.string().optional(),
    file_id: z.string().optional(),
    file_url: z.string().optional(),
    file_data: z.string().optional().describe('As it was sent.'),
  }),
  z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string(), format: z.string() }),
  }),
])
const userMessageShape = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('user'),
  status: z.literal('completed'),
  content: z.array(inputPart),
})
const resultShape = z.object({
  id: z.string(),
  type: z.literal('function_call_output'),
  call_id: z.string(),
  output: z.union([z.string(), z.array(inputPart)]),
  status: z.literal('completed'),
})
export const conversationItemShape = z.union([
  userMessageShape,
  messageShape,
  reasoningShape,
  mcpCallShape,
  functionCallShape,
  resultShape,
  approvalRequestShape,
])

const listOfItems = (item: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
export const inputItemsShape = listOfItems(conversationItemShape)
export const conversationItemsShape = listOfItems(conversationItemShape)

nameSchemas(
  {
    Response: responseShape,
    ResponseItem: itemShape,
    DeletedResponse: deletedShape,
    ResponseInputItemList: inputItemsShape,
    ConversationItem: conversationItemShape,
    ConversationItemList: conversationItemsShape,
  },
  {
    Response: {
      id: `resp_5b1f0c9e8a7d4e62.ses_0f8d6c7b2a9e4d31b5c0a7e9d2f4b681`,
      created_at: 1_795_341_600,
      model: 'talaria',
    },
  },
)
