/** Renders the parameters of a request as fields of the Messages API. */

import type { MessageCreateParamsStreaming, ToolChoice } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { toClaudeSampling } from '../shared/parameters/claude-sampling.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { toClosedSchema } from '../shared/parameters/closed-schema.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'

type SamplingParams = MessageCreateParamsStreaming
type SamplingFields = Pick<SamplingParams, 'stop_sequences' | 'metadata' | 'service_tier'> & {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
}

export function renderSampling(request: ModelRequest, quirks: Quirks, isThinking: boolean): SamplingFields {
  const { temperature, topP, topK, stop, user, serviceTier } = toClaudeSampling(
    resolveParameters(request, quirks),
    isThinking,
  )
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && { top_k: topK }),
    ...(stop && { stop_sequences: [...stop] }),
    ...(user !== undefined && { metadata: { user_id: user } }),
    ...renderServiceTier(serviceTier),
  }
}

/** OpenAI's tiers by the names of the API. Others have no equal here. */
function renderServiceTier(tier: string | undefined): Pick<SamplingParams, 'service_tier'> {
  if (tier === 'auto' || tier === 'priority') return { service_tier: 'auto' }
  return tier === 'default' || tier === 'standard_only' ? { service_tier: 'standard_only' } : {}
}

/** The API refuses a forced call together with thinking. */
export function renderToolRules(
  { tools, toolChoice, parallelToolCalls }: ModelRequest,
  isThinking: boolean,
): { readonly tool_choice?: ToolChoice } {
  const isOneByOne = parallelToolCalls === false
  if (!tools.length || (!isOneByOne && (toolChoice === undefined || isThinking))) return {}
  const single = isOneByOne && { disable_parallel_tool_use: true }
  if (toolChoice === undefined || isThinking) return { tool_choice: { type: 'auto', ...single } }
  if (toolChoice === 'required') return { tool_choice: { type: 'any', ...single } }
  return { tool_choice: { type: 'tool', name: encodeToolName(toolChoice.name), ...single } }
}

/** The API has no format without a schema. */
export function renderOutputFormat(request: ModelRequest, quirks: Quirks): Pick<SamplingParams, 'output_config'> {
  const format = resolveNativeFormat(request, 'anthropic', quirks)
  const schema = format?.type === 'json_schema' ? toClosedSchema(format.schema) : undefined
  return schema ? { output_config: { format: { type: 'json_schema', schema } } } : {}
}
