/** Describes the chunks of a chat completion and the events of a response, as OpenAI names them. */

import * as z from 'zod'
import { itemShape, responseShape } from '../responses/response-shape.ts'

const toolProgress = {
  tool: z.string().optional().describe('With `event: hermes.tool.progress`: the tool that runs.'),
  call_id: z.string().optional(),
  status: z.enum(['running', 'completed', 'failed']).optional(),
  output: z.string().optional().describe('What the tool prints.'),
}

export const chunkShape = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        delta: z.object({
          role: z.literal('assistant').optional(),
          content: z.string().nullish(),
          reasoning_content: z.string().optional(),
          tool_calls: z
            .array(
              z.object({
                index: z.int(),
                id: z.string().optional(),
                type: z.literal('function').optional(),
                function: z.object({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
              }),
            )
            .optional(),
        }),
        finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter']).nullable(),
      }),
    ),
    usage: z
      .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
      .loose()
      .nullish()
      .describe('On the last chunk, with `stream_options.include_usage`.'),
    ...toolProgress,
  })
  .describe('A part of a streamed chat completion. The stream ends with `data: [DONE]`.')

const item = { output_index: z.int(), item: itemShape }
const text = { item_id: z.string(), output_index: z.int(), content_index: z.int() }
const summary = { item_id: z.string(), output_index: z.int(), summary_index: z.int() }
const call = { item_id: z.string(), output_index: z.int() }
const logprobs = z.array(z.unknown())
const textPart = z
  .object({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.unknown()) })
  .loose()
const summaryPart = z.object({ type: z.literal('summary_text'), text: z.string() })
const whole = { response: responseShape }

const fieldsByName: Readonly<Record<string, z.ZodRawShape>> = {
  'response.created': whole,
  'response.queued': whole,
  'response.in_progress': whole,
  'response.completed': whole,
  'response.incomplete': whole,
  'response.failed': whole,
  'response.output_item.added': item,
  'response.output_item.done': item,
  'response.content_part.added': { ...text, part: textPart },
  'response.content_part.done': { ...text, part: textPart },
  'response.output_text.delta': { ...text, delta: z.string(), logprobs },
  'response.output_text.done': { ...text, text: z.string(), logprobs },
  'response.reasoning_summary_part.added': { ...summary, part: summaryPart },
  'response.reasoning_summary_part.done': { ...summary, part: summaryPart },
  'response.reasoning_summary_text.delta': { ...summary, delta: z.string() },
  'response.reasoning_summary_text.done': { ...summary, text: z.string() },
  'response.function_call_arguments.delta': { ...call, delta: z.string() },
  'response.function_call_arguments.done': { ...call, arguments: z.string() },
  'response.mcp_call_arguments.delta': { ...call, delta: z.string() },
  'response.mcp_call_arguments.done': { ...call, arguments: z.string() },
  'response.mcp_call.in_progress': call,
  'response.mcp_call.completed': call,
  'response.mcp_call.failed': call,
}

/** The schema of each event of a response by its name. */
export const responseEvents = Object.fromEntries(
  Object.entries(fieldsByName).map(([type, fields]) => [
    type,
    z.object({ type: z.literal(type), sequence_number: z.int(), ...fields }),
  ]),
)
