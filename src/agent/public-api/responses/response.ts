/** Renders the object `response` of OpenAI's Responses API with the values that applied. */

import type OpenAI from 'openai'
import type { RunEnded } from '#agent/core/event.ts'
import type { ResponseRequest } from '#agent/core/request/response-request.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import type { Counts } from '#agent/core/usage.ts'
import type { OutputItem } from './items.ts'

export type ResponseHead = {
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly options: TurnOptions
}

type SdkResponse = OpenAI.Responses.Response
type Nullable<T> = { [Field in keyof T]: T[Field] | null }
/** Without the fields that the SDK adds itself, and without those of other OpenAI products. */
export type ResponseObject = Omit<SdkResponse, 'output_text' | 'access_programs' | 'status' | 'usage' | 'user'> &
  Nullable<Pick<SdkResponse, 'usage'>> & {
    readonly status: ResponseStatus
    readonly store: boolean
    readonly presence_penalty: number
    readonly frequency_penalty: number
    readonly user?: string
  }

type ResponseFields = Partial<ResponseRequest>
export type ResponseStatus = NonNullable<SdkResponse['status']>

export type ResponseState = {
  readonly status: ResponseStatus
  readonly output: readonly OutputItem[]
  /** Of this response alone. */
  readonly usage?: Counts | undefined
  readonly error?: string | null | undefined
  readonly exitReason?: string | null | undefined
  /** Milliseconds since 1970. */
  readonly endedAt?: number | undefined
}

export function renderResponse(head: ResponseHead, state: ResponseState): ResponseObject {
  const { options } = head
  const request: ResponseFields = options.response ?? {}
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    ...renderState(state),
    ...renderRequest(options, request),
    ...renderSampling(options),
    ...renderTools(options, request),
  }
}

const renderState = ({ status, output, usage, error, exitReason, endedAt }: ResponseState) => ({
  completed_at: status === 'completed' && endedAt !== undefined ? Math.floor(endedAt / 1_000) : null,
  status,
  error: status === 'failed' ? renderFailure(error, exitReason) : null,
  incomplete_details: status === 'incomplete' ? { reason: resolveIncompleteReason(exitReason) } : null,
  output: [...output],
  usage: usage ? renderUsage(usage) : null,
})

const renderRequest = (options: TurnOptions, request: ResponseFields) => ({
  background: request.isBackground ?? false,
  instructions: request.instructionChars ? (options.instructions ?? '').slice(0, request.instructionChars) : null,
  metadata: { ...request.metadata },
  model: request.model ?? 'talaria',
  previous_response_id: request.previousId ?? null,
  conversation: request.conversation === undefined ? null : { id: request.conversation },
  store: !request.isUnstored,
  text: { format: { type: 'text' as const }, ...(parseField(request.text) as object | undefined) },
  truncation: request.truncation ?? ('disabled' as const),
  safety_identifier: request.safetyIdentifier ?? null,
  prompt_cache_key: request.promptCacheKey ?? null,
  reasoning: renderReasoning(options, request),
  ...(request.user !== undefined && { user: request.user }),
})

const renderReasoning = ({ reasoningEffort: effort }: TurnOptions, { reasoningSummary: summary }: ResponseFields) => ({
  effort: (effort ?? null) as OpenAI.ReasoningEffort,
  summary: (summary ?? null) as NonNullable<OpenAI.Reasoning['summary']>,
})

/** The specification wants numbers: without a value of the request, these are the defaults of providers. */
const renderSampling = ({ temperature, maxTokens, parameters = {} }: TurnOptions) => ({
  temperature: temperature ?? 1,
  top_p: parameters.topP ?? 1,
  presence_penalty: parameters.presencePenalty ?? 0,
  frequency_penalty: parameters.frequencyPenalty ?? 0,
  top_logprobs: 0,
  max_output_tokens: maxTokens ?? null,
  service_tier: (parameters.serviceTier ?? 'default') as OpenAI.Responses.ServiceTier,
})

const parseField = (json: string | undefined): object | string | undefined =>
  json === undefined ? undefined : (JSON.parse(json) as object | string)

const renderTools = (options: TurnOptions, request: ResponseFields) => ({
  tools: (options.clientTools ?? []).map(({ name, description, inputSchema, strict }) => ({
    type: 'function' as const,
    name,
    description: description || null,
    parameters: inputSchema as Record<string, unknown>,
    strict: strict ?? false,
  })),
  tool_choice: (parseField(request.toolChoice) ?? 'auto') as SdkResponse['tool_choice'],
  parallel_tool_calls: request.parallelToolCalls ?? options.parallelToolCalls ?? true,
  max_tool_calls: request.maxToolCalls ?? null,
})

const rateLimits: readonly unknown[] = ['failed_rate', 'failed_upstream_rate', 'failed_limit']

const renderFailure = (error: string | null | undefined, exitReason: string | null | undefined) => ({
  code: rateLimits.includes(exitReason) ? ('rate_limit_exceeded' as const) : ('server_error' as const),
  message: error ?? exitReason ?? 'The run failed.',
})

/** OpenAI's `max_messages` stands for a used step budget. Any other incomplete run was truncated. */
const resolveIncompleteReason = (exitReason: string | null | undefined) =>
  exitReason === 'out_of_budget' ? ('max_messages' as const) : ('max_output_tokens' as const)

export function resolveStatus({ type, completed }: Pick<RunEnded, 'type' | 'completed'>): ResponseStatus {
  if (type === 'run.failed') return 'failed'
  if (type === 'run.cancelled') return 'cancelled'
  return completed ? 'completed' : 'incomplete'
}

/** Counts as OpenAI does: cached tokens, read or written, are part of the input. */
export function renderUsage(usage: Counts): OpenAI.Responses.ResponseUsage {
  const input = usage.input + usage.cachedRead + usage.cachedWrite
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedRead, cache_write_tokens: usage.cachedWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  }
}
