/** Defines the bodies of `/v1/chat/completions`. */

import * as z from 'zod'
import { responseFormat } from '../answer-format.ts'
import { ignored, ignoredFields } from '../input/ignored-fields.ts'
import { audioPart, filePart, imageUrlSchema, maxTextChars } from '../input/input.ts'
import { turnOptionFields } from '../input/turn-options.ts'
import { nameSchemas } from '../schema-names.ts'
import { toolFields } from './tools.ts'

const textSchema = z.string().max(maxTextChars)
// Unknown fields of a part, for example cache marks, are ignored.
const textPart = z.object({ type: z.literal('text'), text: textSchema })
const imagePart = z.object({ type: z.literal('image_url'), image_url: z.object({ url: imageUrlSchema }) })
const refusalPart = z.object({ type: z.literal('refusal'), refusal: textSchema })

const partsOf = <Kind extends z.ZodType>(kind: Kind) => z.union([textSchema, z.array(kind).max(1_000)])
const content = partsOf(z.discriminatedUnion('type', [textPart, imagePart, filePart, audioPart]))
const answerContent = partsOf(z.discriminatedUnion('type', [textPart, refusalPart]))
const textContent = partsOf(z.discriminatedUnion('type', [textPart]))
const toolCall = z.object({
  id: z.string().max(200),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().max(256), arguments: z.string() }),
})

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer']), content: textContent.nullable() }),
  z.looseObject({ role: z.literal('user'), content: content.nullable() }),
  z.looseObject({
    role: z.literal('assistant'),
    content: answerContent.nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string().max(200), content: textContent.nullable() }),
])

export const chatSchema = z.strictObject({
  ...turnOptionFields,
  ...ignoredFields,
  messages: z.array(messageSchema).min(1).max(20_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  reasoning: z
    .looseObject({ effort: z.string().max(20).nullish() })
    .nullish()
    .describe('Same as `reasoning_effort`.'),
  ...toolFields,
  metadata: ignored,
  response_format: responseFormat,
  store: ignored,
  web_search_options: ignored,
})
export type ChatRequest = z.infer<typeof chatSchema>
export type ChatMessage = ChatRequest['messages'][number]
/** A part of a message that has only text. */
export type SpokenPart = z.infer<typeof textPart> | z.infer<typeof refusalPart>

export const completionShape = z.object({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              type: z.literal('function'),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .optional()
          .describe('Calls of tools of the client. The next request brings their results.'),
      }),
      logprobs: z.null(),
      finish_reason: z.enum(['stop', 'length', 'content_filter', 'tool_calls']),
    }),
  ),
  usage: z.object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
  }),
})
nameSchemas(
  { ChatCompletion: completionShape, ChatMessage: messageSchema },
  {
    ChatCompletion: { id: 'chatcmpl-5b1f0c9e8a7d4e62', created: 1_795_341_600, model: 'talaria' },
    ChatMessage: { content: 'Summarise the report.' },
  },
)
