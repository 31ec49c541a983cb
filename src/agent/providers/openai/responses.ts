/**
 * Implements the dialect `openai-responses`: the streamed Responses API without storage at the provider. Every request
 * has the whole conversation with its encrypted reasoning. The official SDK builds requests and parses errors. The body
 * is rendered here, because a long turn sends the same beginning hundreds of times.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { rethrowAsAbort } from '../shared/abort-error.ts'
import type OpenAI from 'openai'
import type { Dialect, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Message } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import { derivePromptCacheKey } from '../shared/prompt-cache-key.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { encodeToolName } from '../shared/call-id.ts'
import { clampEffort } from '../shared/effort.ts'
import { resolveParameters } from '../shared/parameters/resolve-parameters.ts'
import { PrefixCache } from '../shared/prefix-cache.ts'
import { Utf8Builder } from '../shared/utf8-builder.ts'
import type { GetClient } from './client.ts'
import { renderInputItems } from './responses-input.ts'
import { readResponsesStream } from './responses-stream.ts'
import { selectServerSearch } from '../shared/server-search.ts'
import { requestBodies } from '../shared/request-bodies.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { sanitiseIncrementally, appendMessages } from '../shared/sanitise.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'

export const createOpenaiResponses = (getClient: GetClient): Dialect => ({
  async call(request, endpoint, { signal, send, ...readOptions }) {
    const host = URL.parse(endpoint.baseUrl)?.hostname
    const response = await requestBodies
      .send(
        () => renderResponsesBody(request, endpoint.quirks, host),
        (body) => getClient(endpoint).openStream('/responses', { body, signal, send }),
        readOptions.sleep,
      )
      .catch(rethrowAsAbort(signal))
    return readResponsesStream(response, readOptions, host)
  },
})

type ResponsesFields = Omit<OpenAI.Responses.ResponseCreateParams, 'input' | 'tools'>

/**
 * Returns the request as UTF-8 JSON. The stable part comes first, and of a growing transcript only new messages are
 * rendered and encoded.
 */
export function renderResponsesBody(request: ModelRequest, quirks: Quirks = {}, host?: string): Uint8Array {
  const transcript = sanitiseIncrementally(request.transcript)
  const render = getItemRenderer(request.repairs, host)
  const systemItem = renderSystemItem(request.system, quirks)
  const head = `${renderHead(request, quirks, transcript[0])},"input":[${systemItem}`
  const prefix = encodeStablePrefix({ head, hasItems: systemItem !== '', transcript, render })
  const end = appendMessages(transcript.slice(-1), createTrailingMessages(request)).map(render).filter(Boolean)
  const items = prefix.hasItems ? end : end.map((item, at) => (at ? item : item.slice(1)))
  return stablePrefixes.render(transcript, prefix, [...items, ']}'])
}

/** Limits the tools that the provider runs in one call. */
const maxServerSearches = 10

/** Returns unfinished JSON with all fields except `input`. */
function renderHead(request: ModelRequest, quirks: Quirks, first: Message | undefined): string {
  const { model, system, repairs } = request
  const { tools, hasServerSearch } = selectServerSearch(request, quirks, 'openai-responses')
  const head: ResponsesFields = {
    model,
    stream: repairs?.stream !== 'off',
    store: false,
    ...renderOptions(request, quirks),
    ...(hasServerSearch && { max_tool_calls: maxServerSearches }),
    ...(quirks.cacheMarks !== 'none' && { prompt_cache_key: derivePromptCacheKey(system, first) }),
    ...(system && !quirks.systemRole && { instructions: toWellFormed(system) }),
    ...quirks.body,
  }
  const rendered = [
    ...tools.map(repairs?.schemas ? renderSimplifiedTool : renderTool),
    ...(hasServerSearch ? ['{"type":"web_search"}'] : []),
  ]
  const toolsJson = rendered.length ? `,"tools":[${rendered.join(',')}]` : ''
  return `${stringifyWellFormed(head).slice(0, -1)}${toolsJson}`
}

function renderOptions(request: ModelRequest, quirks: Quirks): Partial<ResponsesFields> {
  const { repairs, maxTokens = quirks.defaultMaxTokens } = request
  const shouldReturnReasoning = quirks.reasoning !== 'none' && repairs?.thinking === undefined
  return {
    ...(shouldReturnReasoning && { include: ['reasoning.encrypted_content'] }),
    ...renderReasoning(request, quirks),
    ...(maxTokens !== undefined &&
      quirks.outputLimit !== 'omitted' && { max_output_tokens: Math.max(minOutputTokens, maxTokens) }),
    ...renderSampling(request, quirks),
    ...renderText(request, quirks),
    ...renderToolRules(request),
  }
}

const renderToolChoice = (
  choice: NonNullable<ModelRequest['toolChoice']>,
): NonNullable<ResponsesFields['tool_choice']> =>
  choice === 'required' ? choice : { type: 'function', name: encodeToolName(choice.name) }

/** The API refuses a lower limit. */
const minOutputTokens = 16

/** The API has no stop sequences, seed, penalties or token biases. */
function renderSampling(request: ModelRequest, quirks: Quirks): Partial<ResponsesFields> {
  const { temperature, parameters } = resolveParameters(request, quirks)
  const { topP, user, serviceTier } = parameters
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(user !== undefined && { safety_identifier: user }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as NonNullable<ResponsesFields['service_tier']> }),
  }
}

/** JSON mode is left to the system text: the API requires the word in the input, where the user's words are. */
function renderText(request: ModelRequest, quirks: Quirks): Pick<ResponsesFields, 'text'> {
  const { verbosity } = resolveParameters(request, quirks).parameters
  const native = resolveNativeFormat(request, 'openai-responses', quirks)
  const format = native?.type === 'json_schema' ? { ...native, schema: { ...native.schema } } : undefined
  return verbosity || format ? { text: { ...(format && { format }), ...(verbosity && { verbosity }) } } : {}
}

function renderToolRules({ tools, toolChoice, parallelToolCalls }: ModelRequest): Partial<ResponsesFields> {
  if (!tools.length) return {}
  return {
    ...(toolChoice !== undefined && { tool_choice: renderToolChoice(toolChoice) }),
    ...(parallelToolCalls !== undefined && { parallel_tool_calls: parallelToolCalls }),
  }
}

/**
 * Requests a reasoning summary if the model is known to think or an effort is set. It requests none when thinking is
 * left out, because the API refuses summaries for unverified accounts.
 */
function renderReasoning(
  { reasoningEffort, repairs }: ModelRequest,
  quirks: Quirks,
): Pick<ResponsesFields, 'reasoning'> {
  if (quirks.reasoning === 'none' || (reasoningEffort === undefined && quirks.reasoning === undefined)) return {}
  const effort = clampEffort(reasoningEffort, quirks.efforts) as OpenAI.ReasoningEffort | undefined
  const reasoning = { ...(effort && { effort }), ...(!repairs?.thinking && { summary: 'auto' as const }) }
  return Object.keys(reasoning).length ? { reasoning } : {}
}

/** The system prompt goes into `instructions`, unless the quirks require a message. */
const renderSystemItem = (system: string, { systemRole }: Quirks): string =>
  systemRole && system ? JSON.stringify({ type: 'message', role: systemRole, content: toWellFormed(system) }) : ''

/** Renders all items of a message, each with a comma before it. */
type ItemRenderer = (message: Message) => string

/** The bytes of the messages that cannot change any more, up to `messageCount`. */
type ResponsesPrefix = {
  readonly head: string
  readonly render: ItemRenderer
  readonly bytes: Utf8Builder
  messageCount: number
  /** The next item needs its comma. */
  hasItems: boolean
}
const stablePrefixes = new PrefixCache<ResponsesPrefix>()

type ResponsesPrefixParts = Pick<ResponsesPrefix, 'head' | 'render' | 'hasItems'> & {
  readonly transcript: readonly Message[]
}

/** Encodes all messages except the last, which may still change. */
function encodeStablePrefix({ head, hasItems, transcript, render }: ResponsesPrefixParts): ResponsesPrefix {
  let prefix = stablePrefixes.get(transcript)
  if (prefix?.head !== head || prefix.render !== render || prefix.messageCount >= transcript.length) {
    prefix = { head, render, bytes: new Utf8Builder(), messageCount: 0, hasItems }
    prefix.bytes.append(head)
  }
  for (; prefix.messageCount < transcript.length - 1; prefix.messageCount++) {
    const items = render(transcript[prefix.messageCount] as Message)
    prefix.bytes.append(prefix.hasItems ? items : items.slice(1))
    prefix.hasItems ||= items !== ''
  }
  return prefix
}

const itemRenderers = new BoundedMap<string, ItemRenderer>(200)

/** Returns the same function for equal options, because the stable prefix is cached by it. */
function getItemRenderer({ images, thinking, toolContent }: Repairs = {}, host?: string): ItemRenderer {
  const key = [images, thinking, toolContent, host].join()
  let renderer = itemRenderers.get(key)
  if (!renderer) {
    const repairs: Repairs = {
      ...(images && { images }),
      ...(thinking && { thinking }),
      ...(toolContent && { toolContent }),
    }
    renderer = (message) =>
      renderInputItems(message, repairs, host)
        .map((item) => `,${JSON.stringify(item)}`)
        .join('')
    itemRenderers.set(key, renderer)
  }
  return renderer
}

const renderedTools = new WeakMap<object, string>()

function renderTool(tool: ToolSchema): string {
  let text = renderedTools.get(tool)
  if (text === undefined) renderedTools.set(tool, (text = JSON.stringify(toFunctionTool(tool))))
  return text
}

const renderSimplifiedTool = (tool: ToolSchema): string =>
  JSON.stringify(toFunctionTool({ ...tool, inputSchema: simplifySchema(tool.inputSchema) }))

/** `strict` requires every field of a schema; ours have optional fields. */
const toFunctionTool = ({ name, description, inputSchema, strict }: ToolSchema): OpenAI.Responses.FunctionTool => ({
  type: 'function',
  name: encodeToolName(name),
  description,
  parameters: inputSchema as Record<string, unknown>,
  strict: strict ?? false,
})
