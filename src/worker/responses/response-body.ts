/** Defines the body of `POST /v1/responses`, and reads the options of its turn. */

import * as z from 'zod'
import type { ResponseRequest } from '#agent/core/request/response-request.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { sessionNameHint, sessionNamePattern } from '#agent/core/session-name.ts'
import { parseAnswerFormat, textFormat } from '../answer-format.ts'
import { invalid } from '../errors.ts'
import { ignored, ignoredFields } from '../input/ignored-fields.ts'
import { turnOptionFields } from '../input/turn-options.ts'
import type { RouteCall } from '../route.ts'
import { parseClientTools, toolChoiceSchema, toolsSchema } from './client-tools.ts'
import { responseInput } from './response-items.ts'

const conversationId = z.string().regex(sessionNamePattern, sessionNameHint)

const { max_tokens: _maxTokens, ...optionFields } = turnOptionFields
export const responseBody = z.strictObject({
  ...optionFields,
  ...ignoredFields,
  input: responseInput,
  instructions: z.string().max(50_000).nullish(),
  previous_response_id: z.string().max(300).nullish(),
  conversation: z.union([conversationId, z.looseObject({ id: conversationId })]).nullish(),
  store: z.boolean().nullish().describe('false: the session is deleted after the answer.'),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish().describe('Returns at once; GET shows the progress.'),
  max_output_tokens: z.int().min(1).nullish(),
  reasoning: z.looseObject({ effort: z.string().max(20).nullish(), summary: z.string().max(20).nullish() }).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  tools: toolsSchema,
  tool_choice: toolChoiceSchema,
  parallel_tool_calls: z.boolean().nullish(),
  stream_options: ignored,
  max_tool_calls: z.int().min(1).nullish(),
  context_management: ignored,
  include: ignored,
  text: textFormat,
  truncation: z.enum(['auto', 'disabled']).nullish(),
  prompt_cache_key: z.string().max(512).nullish(),
})
export type ResponseBody = z.infer<typeof responseBody>

/**
 * `unstored`: the sessions of responses that only this connection can continue, by the ids of the responses.
 * `keptToolsets`: offered beside the tools of the client, where no header names others.
 */
export type CreateCall = RouteCall<unknown, ResponseBody> & {
  readonly unstored?: ReadonlyMap<string, string>
  readonly keptToolsets?: readonly string[] | undefined
}

/** `instructions`: all system text of the request, which begins with its field of that name. */
export function mergeResponseOptions(request: ResponseBody, options: TurnOptions, instructions: string): TurnOptions {
  const maxTokens = request.max_output_tokens
  const effort = request.reasoning?.effort
  const answerFormat = parseAnswerFormat(request.text?.format, 'text.format')
  const verbosity = request.text?.verbosity
  return {
    ...options,
    ...parseClientTools(request),
    response: toResponseRequest(request),
    ...(instructions && { instructions }),
    ...(maxTokens != null && { maxTokens }),
    ...(effort != null && { reasoningEffort: effort }),
    ...(answerFormat && { answerFormat }),
    ...(verbosity && { parameters: { ...options.parameters, verbosity } }),
  }
}

/** The longest JSON of the fields that are stored to be repeated. The schema of a format is stored twice. */
const maxRepeatedChars = 100_000

function toResponseRequest(request: ResponseBody): ResponseRequest {
  const { conversation, text, reasoning } = request
  if (JSON.stringify(text ?? {}).length > maxRepeatedChars)
    throw invalid(`text: at most ${maxRepeatedChars} characters of JSON.`, 'text')
  const found: { readonly [Name in keyof ResponseRequest]-?: ResponseRequest[Name] | null | undefined } = {
    createdAt: Date.now(),
    model: request.model,
    instructionChars: request.instructions?.length,
    metadata: request.metadata,
    previousId: request.previous_response_id,
    conversation: conversation && getConversationName(conversation),
    isBackground: request.background === true ? true : null,
    isUnstored: request.store === false ? true : null,
    text: text && JSON.stringify(text),
    parallelToolCalls: request.parallel_tool_calls === false ? false : null,
    toolChoice: request.tool_choice && JSON.stringify(request.tool_choice),
    reasoningSummary: reasoning?.summary,
    truncation: request.truncation,
    maxToolCalls: request.max_tool_calls,
    user: request.user,
    safetyIdentifier: request.safety_identifier,
    promptCacheKey: request.prompt_cache_key,
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value != null)) as ResponseRequest
}

export const getConversationName = (conversation: NonNullable<ResponseBody['conversation']>): string =>
  typeof conversation === 'string' ? conversation : conversation.id
