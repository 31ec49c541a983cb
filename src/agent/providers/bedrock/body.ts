/**
 * Renders the body of a request to ConverseStream. The stable part comes first. Cache marks are blocks of their own
 * (`cachePoint`), placed after the blocks that they mark.
 */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Message } from '#agent/core/message.ts'
import { type CacheMarks, renderAlternatingBody } from '../shared/alternating-body.ts'
import { sealIssuer, getBlockRenderer } from './blocks.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { toClaudeSampling } from '../shared/parameters/claude-sampling.ts'
import { toClosedSchema } from '../shared/parameters/closed-schema.ts'
import { clampEffort } from '../shared/effort.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'
import { limitImages, type ImageLimits, maxImageSidePx } from '../shared/images/image-limits.ts'
import { listCalledTools } from '../shared/called-tools.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { sanitiseIncrementally } from '../shared/sanitise.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'
import { toClaudeEffort, canThink, resolveThinkingBudget } from '../shared/claude-thinking.ts'

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html; the limit in bytes is in blocks.ts. */
const imageLimits: ImageLimits = { maxImages: 20, maxSidePx: maxImageSidePx }

const isClaude = (model: string) => /claude/.test(model)
const isNova = (model: string) => /nova/.test(model)

export function renderConverseBody(request: ModelRequest, quirks: Quirks = {}): Uint8Array {
  const { model, cache, tools } = request
  const transcript = limitImages(sanitiseIncrementally(request.transcript), imageLimits)
  const cachePoint = cache && quirks.cacheMarks === 'native' ? renderCachePoint(cache) : undefined
  // The API allows four marks. Only Claude caches the tools separately.
  const toolCachePoint = cachePoint && tools.length > 0 && isClaude(model) ? cachePoint : undefined
  const cacheMarks: CacheMarks | undefined = cachePoint
    ? { addMark: (json) => `${json},${cachePoint}`, messageCount: toolCachePoint ? 2 : 3 }
    : undefined
  const thinking = resolveThinking(request, quirks, transcript)
  const head = `{${[
    ...renderOptions(request, quirks, thinking),
    ...renderTools(request, transcript, { cachePoint: toolCachePoint, choice: renderToolChoice(request, thinking) }),
    ...renderSystem(request.system, cachePoint),
    '"messages":[',
  ].join(',')}`
  const renderer = getBlockRenderer(request.repairs, {
    // Without thinking enabled, Claude refuses thinking blocks in the current turn.
    hasThinking: thinking !== undefined || !isClaude(model) || resolveReasoningMode(model, quirks) === 'adaptive',
    hasStatus: isClaude(model) || isNova(model),
  })
  const trailing = createTrailingMessages(request)
  return renderAlternatingBody({ head, foot: ']}', transcript, trailing, cacheMarks }, renderer)
}

const renderCachePoint = (ttl: '5m' | '1h'): string =>
  JSON.stringify({ cachePoint: { type: 'default', ...(ttl === '1h' && { ttl }) } })

function renderOptions(request: ModelRequest, quirks: Quirks, thinking: object | undefined): readonly string[] {
  const { additionalModelRequestFields: more, ...others } = quirks.body ?? {}
  const options = {
    inferenceConfig: omitEmpty(renderInferenceConfig(request, quirks, thinking)),
    additionalModelRequestFields: omitEmpty({
      ...(more as object | undefined),
      ...renderTopK(request, quirks, thinking),
      ...thinking,
    }),
    ...renderOutputFormat(request, quirks),
    ...renderServiceTier(request, quirks),
    ...others,
  }
  const json = stringifyWellFormed(options).slice(1, -1)
  return json ? [json] : []
}

const omitEmpty = (fields: object): object | undefined => (Object.keys(fields).length ? fields : undefined)

function renderInferenceConfig(request: ModelRequest, quirks: Quirks, thinking: object | undefined): object {
  const requested = request.maxTokens ?? quirks.defaultMaxTokens
  const maxTokens = requested ?? (thinking && 'thinking' in thinking ? defaultMaxTokens : undefined)
  const { temperature, topP, stop } = resolveSampling(request, quirks, thinking)
  return {
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop && { stopSequences: stop }),
  }
}

/** The API has no seed, penalties or token biases. All its models accept temperatures up to 1. */
const resolveSampling = (request: ModelRequest, quirks: Quirks, thinking: object | undefined) =>
  toClaudeSampling(resolveParameters(request, quirks), thinking !== undefined)

/** Only Claude has the field at this place. */
function renderTopK(request: ModelRequest, quirks: Quirks, thinking: object | undefined): object {
  const { topK } = resolveSampling(request, quirks, thinking)
  return topK !== undefined && isClaude(request.model) ? { top_k: topK } : {}
}

function renderServiceTier(request: ModelRequest, quirks: Quirks): object {
  const { serviceTier } = resolveParameters(request, quirks).parameters
  return serviceTiers.has(serviceTier) ? { serviceTier: { type: serviceTier } } : {}
}
const serviceTiers: ReadonlySet<unknown> = new Set(['priority', 'default', 'flex'])

/** The API takes a schema as text, and no format without one. */
function renderOutputFormat(request: ModelRequest, quirks: Quirks): object {
  const format = resolveNativeFormat(request, 'bedrock-converse', quirks)
  const schema = format?.type === 'json_schema' ? toClosedSchema(format.schema) : undefined
  if (format?.type !== 'json_schema' || !schema) return {}
  const { name, description } = format
  const jsonSchema = { schema: JSON.stringify(schema), name, ...(description && { description }) }
  return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
}

/** Claude refuses a forced call together with thinking. */
function renderToolChoice({ tools, toolChoice }: ModelRequest, thinking: object | undefined): object | undefined {
  if (!tools.length || toolChoice === undefined || thinking) return undefined
  return toolChoice === 'required' ? { any: {} } : { tool: { name: encodeToolName(toolChoice.name) } }
}

/** A thinking budget requires a larger `maxTokens`, so a request with a budget must have one. */
const defaultMaxTokens = 32_000

/** The Converse API has no field for effort. Each model maker has its own additional fields. */
function resolveThinking(request: ModelRequest, quirks: Quirks, transcript: readonly Message[]): object | undefined {
  const { model } = request
  const reasoning = resolveReasoningMode(model, quirks)
  const effort = clampEffort(request.reasoningEffort, quirks.efforts)
  if (effort === undefined || effort === 'none' || reasoning === 'none') return undefined
  if (reasoning === 'adaptive')
    return { thinking: { type: 'adaptive' }, output_config: { effort: toClaudeEffort(effort) } }
  if (reasoning !== 'budget') return renderEffort(effort, model)
  if (request.repairs?.thinking === 'left-out' || !canThink(transcript, sealIssuer)) return undefined
  return renderBudget(effort, request.maxTokens ?? quirks.defaultMaxTokens)
}

const resolveReasoningMode = (model: string, { reasoning }: Quirks) =>
  reasoning ?? (isClaude(model) ? 'budget' : 'none')

function renderBudget(effort: string, maxTokens = defaultMaxTokens): object | undefined {
  const budget_tokens = resolveThinkingBudget(effort, maxTokens)
  return budget_tokens === undefined ? undefined : { thinking: { type: 'enabled', budget_tokens } }
}

function renderEffort(effort: string, model: string): object {
  if (isClaude(model)) return { output_config: { effort: toClaudeEffort(effort) } }
  if (isNova(model)) return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
  return { reasoning_effort: effort }
}

function renderTools(
  { tools, repairs }: ModelRequest,
  transcript: readonly Message[],
  { cachePoint, choice }: { readonly cachePoint: string | undefined; readonly choice: object | undefined },
): readonly string[] {
  const definitions: readonly ToolSchema[] = tools.length
    ? tools
    : // The API requires a definition for every tool that the transcript calls, also when no tool is offered now.
      listCalledTools(transcript).map((name) => ({
        name,
        description: unavailableToolText,
        inputSchema: { type: 'object' },
      }))
  if (!definitions.length) return []
  const rendered = definitions.map((tool) => (repairs?.schemas ? renderSimplifiedTool(tool) : renderTool(tool)))
  const choiceJson = choice ? `,"toolChoice":${JSON.stringify(choice)}` : ''
  return [`"toolConfig":{"tools":[${[...rendered, ...(cachePoint ? [cachePoint] : [])].join(',')}]${choiceJson}}`]
}

const unavailableToolText = 'Not available any more.'

const renderedTools = new WeakMap<object, string>()

function renderTool(tool: ToolSchema): string {
  let json = renderedTools.get(tool)
  if (json === undefined) renderedTools.set(tool, (json = renderToolSpec(tool)))
  return json
}

const renderSimplifiedTool = (tool: ToolSchema): string =>
  renderToolSpec({ ...tool, inputSchema: simplifySchema(tool.inputSchema) })

const renderToolSpec = ({ name, description, inputSchema }: ToolSchema): string =>
  stringifyWellFormed({
    toolSpec: { name: encodeToolName(name), ...(description && { description }), inputSchema: { json: inputSchema } },
  })

function renderSystem(system: string, cachePoint: string | undefined): readonly string[] {
  const text = toWellFormed(system)
  if (!/\S/.test(text)) return []
  return [`"system":[${[JSON.stringify({ text }), ...(cachePoint ? [cachePoint] : [])].join(',')}]`]
}
