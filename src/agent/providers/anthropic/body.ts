/**
 * Renders the body of a request to the Messages API. The stable part comes first. Cache marks go to the end of the
 * tools, the end of the system prompt and the last messages.
 */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Message } from '#agent/core/message.ts'
import { type CacheMarks, renderAlternatingBody } from '../shared/alternating-body.ts'
import { getBlockRenderer } from './blocks.ts'
import { offerFoundTools, type OfferedTools } from './found-tools.ts'
import { type ImageLimits, limitImages, maxImageSidePx } from '../shared/images/image-limits.ts'
import { listCalledTools } from '../shared/called-tools.ts'
import { selectServerSearch } from '../shared/server-search.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { sanitiseIncrementally } from '../shared/sanitise.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'
import type { MessageCreateParamsStreaming, ToolChoice } from '@anthropic-ai/sdk/resources/messages'
import { clampEffort } from '../shared/effort.ts'
import { canThink, resolveThinkingBudget, toClaudeEffort } from '../shared/claude-thinking.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { toClaudeSampling } from '../shared/parameters/claude-sampling.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { toClosedSchema } from '../shared/parameters/closed-schema.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'

/** Adds a cache mark to the JSON of an object. */
type AddMark = (json: string) => string

/** https://platform.claude.com/docs/en/build-with-claude/vision: 100 images for a context window of 200,000 tokens. */
const imageLimits: ImageLimits = {
  maxImages: 100,
  maxSidePx: maxImageSidePx,
  whenOver: { images: 20, maxSidePx: 2_000 },
}

/** `issuer`: the seal issuer of the model that gets the request. */
export function renderMessagesBody(request: ModelRequest, quirks: Quirks = {}, issuer = 'anthropic'): Uint8Array {
  const transcript = limitImages(sanitiseIncrementally(request.transcript), imageLimits)
  const addMark = request.cache && quirks.cacheMarks !== 'none' ? createAddMark(request.cache) : undefined
  const options = resolveOptions(request, quirks, transcript, issuer)
  const offer = offerFoundTools(request.tools, transcript, quirks)
  const head = renderHead(request, { options: { ...options, ...quirks.body }, quirks, transcript, addMark, offer })
  // The API allows four marks. Without tools, one more message gets a mark.
  const cacheMarks: CacheMarks | undefined = addMark && { addMark, messageCount: request.tools.length ? 2 : 3 }
  const renderer = getBlockRenderer(
    request.repairs,
    acceptsThinking(request.model, quirks, options) ? issuer : undefined,
    selectServerSearch(request, quirks, 'anthropic').hasServerSearch ? issuer : undefined,
    offer.searchTool === undefined
      ? undefined
      : { searchTool: offer.searchTool, tools: offer.found.map(({ name }) => name) },
  )
  const trailing = createTrailingMessages(request)
  return renderAlternatingBody({ head, foot: ']}', transcript, trailing, cacheMarks }, renderer)
}

const createAddMark =
  (ttl: '5m' | '1h'): AddMark =>
  (json) =>
    `${json.slice(0, -1)},"cache_control":{"type":"ephemeral"${ttl === '1h' ? ',"ttl":"1h"' : ''}}}`

const skipMark: AddMark = (json) => json

type HeadParts = {
  readonly options: object
  readonly quirks: Quirks
  readonly transcript: readonly Message[]
  readonly addMark: AddMark | undefined
  readonly offer: OfferedTools
}

/** Returns unfinished JSON that ends before the first message. */
function renderHead(request: ModelRequest, { options, addMark = skipMark, ...parts }: HeadParts): string {
  const { model, system, repairs } = request
  const text = toWellFormed(system)
  const systemJson = /\S/.test(text) ? `,"system":[${addMark(JSON.stringify({ type: 'text', text }))}]` : ''
  const fields = stringifyWellFormed({ model, stream: repairs?.stream !== 'off', ...options }).slice(0, -1)
  return `${fields}${renderTools(request, { ...parts, addMark })}${systemJson},"messages":[`
}

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool: the form that every model accepts. */
const serverSearchJson = '{"type":"web_search_20250305","name":"web_search","max_uses":10}'

function renderTools(
  request: ModelRequest,
  { quirks, transcript, addMark = skipMark, offer }: Omit<HeadParts, 'options'>,
): string {
  const { tools, hasServerSearch } = selectServerSearch({ ...request, tools: offer.tools }, quirks, 'anthropic')
  const render = request.repairs?.schemas ? renderSimplifiedTool : renderTool
  if (request.tools.length) {
    const rendered = [...tools.map(render), ...(hasServerSearch ? [serverSearchJson] : [])]
    const marked = rendered.map((json, at) => (at === rendered.length - 1 ? addMark(json) : json))
    // The API refuses a cache mark of a deferred tool.
    const deferred = offer.found.map((tool) => `${render(tool).slice(0, -1)},"defer_loading":true}`)
    return `,"tools":[${[...marked, ...deferred].join(',')}]`
  }
  // The API requires a definition for every tool that the transcript calls, also when no tool is offered now.
  const calledTools = listCalledTools(transcript).map((name) => ({
    name,
    description: '',
    inputSchema: { type: 'object' },
  }))
  return calledTools.length ? `,"tools":[${calledTools.map(render).join(',')}],"tool_choice":{"type":"none"}` : ''
}

const renderedTools = new WeakMap<object, string>()

function renderTool(tool: ToolSchema): string {
  let json = renderedTools.get(tool)
  if (json === undefined) renderedTools.set(tool, (json = stringifyWellFormed(toTool(tool))))
  return json
}

const renderSimplifiedTool = (tool: ToolSchema): string =>
  stringifyWellFormed(toTool({ ...tool, inputSchema: simplifySchema(tool.inputSchema) }))

const toTool = ({ name, description, inputSchema, strict }: ToolSchema) => ({
  name: encodeToolName(name),
  ...(description && { description }),
  input_schema: inputSchema,
  ...(strict && { strict }),
})

type Params = MessageCreateParamsStreaming
type OutputOptions = Pick<Params, 'max_tokens' | 'thinking' | 'output_config' | 'tool_choice'> &
  ReturnType<typeof renderSampling>

const defaultMaxTokens = 32_000

/** Resolves the options of a request to the Messages API: output length, thinking, sampling and the answer's format. */
function resolveOptions(
  request: ModelRequest,
  quirks: Quirks,
  transcript: readonly Message[],
  issuer: string,
): OutputOptions {
  const max_tokens = request.maxTokens ?? quirks.defaultMaxTokens ?? defaultMaxTokens
  const thinkingOptions = resolveThinking(request, quirks, max_tokens, canThink(transcript, issuer))
  const isThinking = thinkingOptions.thinking !== undefined && thinkingOptions.thinking.type !== 'disabled'
  const output_config = { ...thinkingOptions.output_config, ...renderOutputFormat(request, quirks).output_config }
  return {
    max_tokens,
    ...thinkingOptions,
    ...(Object.keys(output_config).length && { output_config }),
    ...renderSampling(request, quirks, isThinking),
    ...renderToolRules(request, isThinking),
  }
}

/**
 * Returns whether earlier thinking may be sent back. Without thinking enabled, Claude refuses thinking blocks in the
 * current turn. Models that think by default, and models of other makers, require them.
 */
function acceptsThinking(model: string, { reasoning = 'budget' }: Quirks, { thinking }: OutputOptions): boolean {
  if (thinking) return thinking.type !== 'disabled'
  return reasoning !== 'budget' || !/claude/i.test(model)
}

function resolveThinking(
  request: ModelRequest,
  quirks: Quirks,
  maxTokens: number,
  canThinkNow: boolean,
): ThinkingOptions {
  const { reasoning = 'budget', efforts } = quirks
  const effort = clampEffort(request.reasoningEffort, efforts)
  if (effort === undefined || reasoning === 'none') return {}
  if (reasoning !== 'budget') return renderEffort(effort, reasoning === 'adaptive')
  const budget_tokens = resolveThinkingBudget(effort, maxTokens)
  const isThinkingOff = request.repairs?.thinking === 'left-out' || !canThinkNow
  return budget_tokens === undefined || isThinkingOff ? {} : { thinking: { type: 'enabled', budget_tokens } }
}

type ThinkingOptions = Pick<OutputOptions, 'thinking' | 'output_config'>

function renderEffort(effort: string, isAdaptive: boolean): ThinkingOptions {
  if (effort === 'none') return isAdaptive ? { thinking: { type: 'disabled' } } : {}
  return {
    // Some models do not return their thinking unless `display` is set.
    ...(isAdaptive && { thinking: { type: 'adaptive', display: 'summarized' } }),
    output_config: { effort: toClaudeEffort(effort) as AnthropicEffort },
  }
}

type AnthropicEffort = NonNullable<NonNullable<Params['output_config']>['effort']>

type SamplingParams = MessageCreateParamsStreaming
type SamplingFields = Pick<SamplingParams, 'stop_sequences' | 'metadata' | 'service_tier'> & {
  readonly temperature?: number
  readonly top_p?: number
  readonly top_k?: number
}

/** Renders the parameters of a request as fields of the Messages API. */
function renderSampling(request: ModelRequest, quirks: Quirks, isThinking: boolean): SamplingFields {
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
function renderToolRules(
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
function renderOutputFormat(request: ModelRequest, quirks: Quirks): Pick<SamplingParams, 'output_config'> {
  const format = resolveNativeFormat(request, 'anthropic', quirks)
  const schema = format?.type === 'json_schema' ? toClosedSchema(format.schema) : undefined
  return schema ? { output_config: { format: { type: 'json_schema', schema } } } : {}
}
