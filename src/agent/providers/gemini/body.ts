/** Renders the body of a request to the Gemini API. The stable part comes first. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { toGeminiSchema } from '../openai/gemini-schema.ts'
import { renderAlternatingBody } from '../shared/alternating-body.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { clampEffort } from '../shared/effort.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'
import { sanitiseIncrementally } from '../shared/sanitise.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { stringifyWellFormed } from '../shared/well-formed.ts'
import { getPartRenderer } from './parts.ts'

/** The name of the model may follow that of a publisher. */
const isGemini3 = (model: string): boolean => /gemini-([3-9]|\d\d)/.test(model)

export function renderGeminiBody(request: ModelRequest, quirks: Quirks = {}): Uint8Array {
  const { tools, system, toolChoice, model, repairs } = request
  const head = stringifyWellFormed({
    ...(/\S/.test(system) && { systemInstruction: { parts: [{ text: system }] } }),
    ...(toolChoice !== undefined && tools.length && { toolConfig: renderToolChoice(toolChoice) }),
    generationConfig: renderConfig(request, quirks),
    ...quirks.body,
  }).slice(0, -1)
  const declarations = tools.map(repairs?.schemas ? renderSimplifiedTool : renderTool).join(',')
  return renderAlternatingBody(
    {
      head: `${head}${tools.length ? `,"tools":[{"functionDeclarations":[${declarations}]}]` : ''},"contents":[`,
      foot: ']}',
      transcript: sanitiseIncrementally(request.transcript),
      trailing: createTrailingMessages(request),
    },
    getPartRenderer(repairs, isGemini3(model)),
  )
}

const renderToolChoice = (choice: NonNullable<ModelRequest['toolChoice']>): object => ({
  functionCallingConfig: {
    mode: 'ANY',
    ...(choice !== 'required' && { allowedFunctionNames: [encodeToolName(choice.name)] }),
  },
})

function renderConfig(request: ModelRequest, quirks: Quirks): object {
  const { temperature, parameters } = resolveParameters(request, quirks)
  const { topP, topK, stop, seed, presencePenalty, frequencyPenalty } = parameters
  const config = {
    maxOutputTokens: request.maxTokens ?? quirks.defaultMaxTokens,
    temperature,
    topP,
    topK,
    seed,
    presencePenalty,
    frequencyPenalty,
    stopSequences: stop,
    thinkingConfig: renderThinking(request, quirks),
    ...renderFormat(request, quirks),
  }
  return config
}

function renderFormat(request: ModelRequest, quirks: Quirks): object {
  const format = resolveNativeFormat(request, 'gemini', quirks)
  if (!format) return {}
  return {
    responseMimeType: 'application/json',
    ...(format.type === 'json_schema' && { responseSchema: toGeminiSchema(format.schema) }),
  }
}

/** Models before Gemini 3 have a budget in tokens. */
const budgets: Readonly<Record<string, number>> = { none: 0, minimal: 512, low: 1_024, medium: 8_192 }
const largeBudget = 24_576

function renderThinking(request: ModelRequest, quirks: Quirks): object | undefined {
  const effort = clampEffort(request.reasoningEffort, quirks.efforts)
  if (effort === undefined || quirks.reasoning === 'none') return undefined
  if (!isGemini3(request.model))
    return { includeThoughts: effort !== 'none', thinkingBudget: budgets[effort] ?? largeBudget }
  // These models cannot stop thinking.
  const level = effort === 'none' || effort === 'minimal' || effort === 'low' ? 'low' : effort
  return { includeThoughts: true, thinkingLevel: level === 'low' || level === 'medium' ? level : 'high' }
}

const renderedTools = new WeakMap<ToolSchema, string>()

function renderTool(tool: ToolSchema): string {
  let json = renderedTools.get(tool)
  if (json === undefined) renderedTools.set(tool, (json = renderDeclaration(tool)))
  return json
}

const renderSimplifiedTool = (tool: ToolSchema): string =>
  renderDeclaration({ ...tool, inputSchema: simplifySchema(tool.inputSchema) })

const renderDeclaration = ({ name, description, inputSchema }: ToolSchema): string =>
  stringifyWellFormed({ name: encodeToolName(name), description, parameters: toGeminiSchema(inputSchema) })
