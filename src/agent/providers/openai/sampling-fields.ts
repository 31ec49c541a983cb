/** Renders the parameters of a request as fields of chat completions. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { AnswerFormat, ModelParameters } from '#agent/core/request/model-parameters.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'

/** Fields with the same value in chat completions, the binding of Workers AI and compatible servers. */
const fieldNames: Readonly<Partial<Record<keyof ModelParameters, string>>> = {
  topP: 'top_p',
  stop: 'stop',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  verbosity: 'verbosity',
  serviceTier: 'service_tier',
  user: 'user',
  topK: 'top_k',
  topA: 'top_a',
  minP: 'min_p',
  typicalP: 'typical_p',
  repetitionPenalty: 'repetition_penalty',
}

/** `names`: the parameters that the API has. */
export function renderSamplingFields(
  request: ModelRequest,
  quirks: Quirks,
  names = Object.keys(fieldNames) as readonly (keyof ModelParameters)[],
): Readonly<Record<string, unknown>> {
  const { temperature, parameters } = resolveParameters(request, quirks)
  if (!request.parameters) return temperature === undefined ? {} : { temperature }
  const fields = names.flatMap((name) => {
    const field = fieldNames[name]
    return field !== undefined && parameters[name] !== undefined ? [[field, parameters[name]] as const] : []
  })
  return { ...(temperature !== undefined && { temperature }), ...Object.fromEntries(fields) }
}

/** Rules for calls of tools; nothing without tools, where the APIs refuse them. */
export const renderToolRules = ({ tools, toolChoice, parallelToolCalls }: ModelRequest): object => ({
  ...(tools.length && toolChoice !== undefined && { tool_choice: renderToolChoice(toolChoice) }),
  ...(tools.length && parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
})

const renderToolChoice = (choice: NonNullable<ModelRequest['toolChoice']>) =>
  choice === 'required' ? choice : { type: 'function', function: { name: encodeToolName(choice.name) } }

export function renderResponseFormat(format: AnswerFormat | undefined): object {
  if (!format) return {}
  if (format.type === 'json_object') return { response_format: format }
  const { type, ...json_schema } = format
  return { response_format: { type, json_schema } }
}
