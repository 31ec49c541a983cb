/**
 * Implements the dialect `openai-chat`: streamed chat completions. The official SDK builds requests and parses errors.
 * The body is rendered here, because a long turn sends the same beginning hundreds of times. Differences between
 * providers are data: the quirks of the endpoint.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { rethrowAsAbort } from '../shared/abort-error.ts'
import type { Dialect, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { Message } from '#agent/core/message.ts'
import { PrefixCache } from '../shared/prefix-cache.ts'
import { Utf8Builder } from '../shared/utf8-builder.ts'
import {
  type CacheMark,
  renderMessageAt,
  renderMessages,
  type RenderStyle,
  renderTextPart,
  resolveStyle,
} from './chat-messages.ts'
import { readChatStream } from './chat-stream.ts'
import { encodeToolName } from '../shared/call-id.ts'
import type { GetClient } from './client.ts'
import { requestBodies } from '../shared/request-bodies.ts'
import { selectServerSearch } from '../shared/server-search.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { appendMessages, sanitiseIncrementally } from '../shared/sanitise.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { clampEffort } from '../shared/effort.ts'
import { toGeminiSchema } from './gemini-schema.ts'
import { renderResponseFormat, renderSamplingFields, renderToolRules } from './sampling-fields.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'

export const createOpenaiChat = (getClient: GetClient): Dialect => ({
  async call(request, endpoint, { signal, send, ...readOptions }) {
    const response = await requestBodies
      .send(
        () => renderChatBody(request, endpoint.quirks),
        (body) => getClient(endpoint).openStream('/chat/completions', { body, signal, send }),
        readOptions.sleep,
      )
      .catch(rethrowAsAbort(signal))
    const { hasServerSearch } = selectServerSearch(request, endpoint.quirks ?? {}, 'openai-chat')
    return readChatStream(response, readOptions).catch((error: unknown) => {
      if (hasServerSearch) readOptions.onServerSearch?.('possible')
      throw error
    })
  },
})

/**
 * Returns the request as UTF-8 JSON. The stable part comes first, and of a growing transcript only new messages are
 * rendered and encoded. The last messages are rendered for every request, because cache marks move with every request.
 */
export function renderChatBody(request: ModelRequest, quirks: Quirks = {}): Uint8Array {
  const transcript = sanitiseIncrementally(request.transcript)
  const style = resolveStyle(quirks, request.repairs)
  const mark = resolveCacheMark(request, quirks)
  const stableCount = Math.max(0, transcript.length - (mark ? markWindow : 1))
  const head = renderChatHead(request, quirks, style)
  const prefix = encodeStablePrefix({ head, style, transcript, stableCount })
  const all = appendMessages(transcript, createTrailingMessages(request))
  const indexes = all.slice(stableCount).map((_message, i) => stableCount + i)
  const marked = new Set(mark ? indexes.filter((at) => isMarkable(all[at])).slice(-maxMessageMarks) : [])
  const render = (at: number): string => `,${renderMessageAt(all, at, style, marked.has(at) ? mark : undefined)}`
  return stablePrefixes.render(transcript, prefix, [...indexes.map(render), ']}'])
}

/** Providers accept four cache marks. The system message has one. */
const maxMessageMarks = 3
/** Marks go to the last messages. The window is larger than their number, because messages without text get none. */
const markWindow = 4

/** A cache mark needs a text part. */
const isMarkable = (message: Message | undefined): boolean =>
  message?.content.some((part) => part.type === 'text' && /\S/.test(part.text)) ?? false

/**
 * The JSON before the conversation, in parts. Steps of a turn have equal parts, and a part that is the same string is
 * compared at no cost, while joining them would copy all schemas for every request.
 */
type RequestHead = readonly string[]

const isSameHead = (one: RequestHead, other: RequestHead): boolean =>
  one.length === other.length && one.every((part, at) => part === other[at])

/** The bytes of the messages that cannot change any more, up to `messageCount`. */
type ChatPrefix = {
  readonly head: RequestHead
  readonly style: RenderStyle
  readonly bytes: Utf8Builder
  messageCount: number
}
const stablePrefixes = new PrefixCache<ChatPrefix>()

type ChatPrefixParts = {
  readonly head: RequestHead
  readonly style: RenderStyle
  readonly transcript: readonly Message[]
  readonly stableCount: number
}

function encodeStablePrefix({ head, style, transcript, stableCount }: ChatPrefixParts): ChatPrefix {
  let prefix = stablePrefixes.get(transcript)
  let first = ''
  if (!prefix || !isSameHead(prefix.head, head) || prefix.style !== style || prefix.messageCount > stableCount) {
    prefix = { head, style, bytes: new Utf8Builder(), messageCount: 0 }
    first = head.join('')
  }
  let batch = [first]
  let batchChars = 0
  for (const json of renderMessages(transcript, prefix.messageCount, stableCount, style)) {
    batch.push(json)
    batchChars += json.length
    if (batchChars < maxBatchChars) continue
    prefix.bytes.append(batch.join(','))
    batch = ['']
    batchChars = 0
  }
  prefix.messageCount = stableCount
  if (batch.length > 1 || batch[0]) prefix.bytes.append(batch.join(','))
  return prefix
}

/** A long history is encoded in batches, not message by message. A message with an image is one of its own. */
const maxBatchChars = 256 * 1024

// Renders everything before the conversation in a chat completion: model, tools, options and system message.

/** Returns the parts of unfinished JSON that ends after the system message. */
function renderChatHead(request: ModelRequest, quirks: Quirks, style: RenderStyle): RequestHead {
  const isWhole = request.repairs?.stream === 'off'
  const streaming = isWhole ? { stream: false } : { stream: true, stream_options: { include_usage: true } }
  const head = JSON.stringify({ model: request.model, ...streaming })
  const more = stringifyWellFormed({ ...renderOptions(request, quirks), ...quirks.body }).slice(1, -1)
  return [
    head.slice(0, -1),
    ...renderTools(request, quirks),
    `${more && `,${more}`},"messages":[`,
    renderSystem(request, quirks, style),
  ]
}

/** By the list of tools, which the steps of a turn share. */
const renderedTools: Readonly<Record<SchemaVariant, WeakMap<ModelRequest['tools'], string>>> = {
  whole: new WeakMap(),
  plain: new WeakMap(),
  gemini: new WeakMap(),
}

function renderTools(request: ModelRequest, quirks: Quirks): RequestHead {
  const { tools, hasServerSearch } = selectServerSearch(request, quirks, 'openai-chat')
  const variant = request.repairs?.schemas ?? quirks.schemas ?? 'whole'
  let text = renderedTools[variant].get(tools)
  if (text === undefined) {
    text = tools.map((tool) => renderTool(tool, variant)).join(',')
    renderedTools[variant].set(tools, text)
  }
  if (!hasServerSearch) return text ? [',"tools":[', text, ']'] : []
  return [',"tools":[', text, `${text && ','}{"type":"openrouter:web_search"}]`]
}

function renderSystem(request: ModelRequest, quirks: Quirks, { shouldUseParts }: RenderStyle): string {
  const role = quirks.systemRole ?? 'system'
  const text = toWellFormed(request.system)
  if (shouldUseParts && text)
    return `{"role":"${role}","content":[${renderTextPart(text, resolveCacheMark(request, quirks))}]}`
  let content = renderedSystems.get(text)
  if (content === undefined) renderedSystems.set(text, (content = JSON.stringify(text)))
  return `{"role":"${role}","content":${content}}`
}

/** Every step of a turn has the same text, and sessions of a tenant mostly have, too. */
const renderedSystems = new BoundedMap<string, string>(16)

/** Five minutes are the default of the providers, so only an hour is sent as `ttl`. */
const resolveCacheMark = ({ cache }: ModelRequest, { cacheMarks }: Quirks): CacheMark | undefined =>
  cache && cacheMarks === 'native' ? { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } : undefined

function renderOptions(request: ModelRequest, quirks: Quirks): object {
  const maxTokens = request.maxTokens ?? quirks.defaultMaxTokens
  return {
    ...(maxTokens !== undefined && { [quirks.maxTokensField ?? 'max_completion_tokens']: maxTokens }),
    ...renderSamplingFields(request, quirks),
    ...renderReasoning(clampEffort(request.reasoningEffort, quirks.efforts), quirks),
    ...renderToolRules(request),
    ...renderResponseFormat(resolveNativeFormat(request, 'openai-chat', quirks)),
  }
}

function renderReasoning(effort: string | undefined, { reasoning = 'effort', efforts }: Quirks): object {
  if (effort === undefined) return {}
  switch (reasoning) {
    case 'effort':
      return { reasoning_effort: effort }
    case 'object':
      return { reasoning: { effort } }
    case 'toggle':
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return { thinking: { type: 'enabled' }, ...(efforts && { reasoning_effort: effort }) }
    // Values for other dialects.
    case 'budget':
    case 'adaptive':
    case 'none':
      return {}
  }
}

type SchemaVariant = 'whole' | 'plain' | 'gemini'
const toolCache: Readonly<Record<SchemaVariant, WeakMap<ToolSchema, string>>> = {
  whole: new WeakMap(),
  plain: new WeakMap(),
  gemini: new WeakMap(),
}
const schemaConverters: Readonly<Record<SchemaVariant, (schema: object) => object>> = {
  whole: (schema) => schema,
  plain: simplifySchema,
  gemini: toGeminiSchema,
}

function renderTool(tool: ToolSchema, variant: SchemaVariant): string {
  let text = toolCache[variant].get(tool)
  if (text === undefined) {
    const { name, description, inputSchema, strict } = tool
    text = JSON.stringify({
      type: 'function',
      function: {
        name: encodeToolName(name),
        description,
        parameters: schemaConverters[variant](inputSchema),
        ...(strict && { strict }),
      },
    })
    toolCache[variant].set(tool, text)
  }
  return text
}
