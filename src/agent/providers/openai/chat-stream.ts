/** Reads the stream of a chat completion into one reply: message, usage and stop reason. */

import { createParser } from 'eventsource-parser'
import type OpenAI from 'openai'
import { type DialectReply, StreamBroken } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { createSearchPart, createSourcesPart, readSources, type SearchSource } from '../shared/server-search.ts'
import { decodeUtf8Into, type BodyReadOptions, readReply, type ReplyBuilder } from '../shared/read-body.ts'
import { parseWithText } from '../shared/json-slices.ts'
import { eventParserLimits, ReplySizeLimit } from '../shared/reply-size-limit.ts'
import { type ErrorFields, ErrorInBody } from '../shared/error-in-body.ts'
import { ToolCallAssembler, type ToolCallFragment } from './chat-tool-calls.ts'
import { type CostFields, parseCost, toTokenCount } from '../shared/usage-numbers.ts'
import { parseChatContent } from './chat-content.ts'
import { sealIssuer } from './chat-messages.ts'

type StreamChoice = {
  readonly delta?: Fragment
  readonly message?: Fragment
  readonly finish_reason?: string | null
  readonly error?: ErrorFields | string | null
}
type Fragment = {
  /** A text, a list of parts (Mistral's thinking models), or JSON that the server has parsed. */
  readonly content?: unknown
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly reasoning_content?: string | null
  readonly reasoning_details?: readonly ReasoningDetail[] | null
  readonly tool_calls?: readonly ToolCallFragment[] | null
  /** Citations of a web search that the server ran. */
  readonly annotations?: readonly { readonly url_citation?: unknown }[] | null
}
type ChatUsage = OpenAI.CompletionUsage &
  CostFields & {
    /** The fields of DeepSeek and Moonshot for tokens read from the cache. */
    readonly prompt_cache_hit_tokens?: number
    readonly server_tool_use?: { readonly web_search_requests?: number } | null
    readonly cached_tokens?: number
    readonly prompt_tokens_details?: { readonly cache_write_tokens?: number }
  }
export type ChatChunk = {
  readonly choices?: readonly StreamChoice[]
  readonly usage?: ChatUsage | null
  readonly error?: ErrorFields | string | null
}

/** `parseChunk` converts the data of one event, for servers with their own format. */
export async function readChatStream(
  response: Response,
  { onDelta, onActivity, onServerSearch, onArguments, sleep }: BodyReadOptions,
  parseChunk: (data: string) => ChatChunk = (data) => parseWithText(data, 'arguments') as ChatChunk,
): Promise<DialectReply> {
  const builder = new ChatReplyBuilder({ onDelta, onServerSearch, onArguments })
  if (response.headers.get('content-type')?.includes('application/json')) {
    builder.add(parseChunk(await response.text()))
    return builder.build()
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      const text = data.trim()
      if (text === '[DONE]') builder.isClosed = true
      else onActivity(text !== '' && builder.add(parseChunk(text)) ? 'answer' : 'keep-alive')
    },
    // Gateways send comments while they wait for the model.
    onComment: () => onActivity('keep-alive'),
    ...eventParserLimits,
  })
  return readReply(response.body, builder, {
    feed: decodeUtf8Into((text) => parser.feed(text)),
    // Some servers leave out the empty line behind their last event.
    end: () => parser.feed('\n\n'),
    providerError: ErrorInBody,
    sleep,
  })
}

/** Finish reasons of OpenAI, Mistral, Z.AI and gateways. */
const lengthReasons = new Set(['length', 'model_length', 'max_tokens', 'model_context_window_exceeded'])
const refusalReasons = new Set(['content_filter', 'sensitive'])
/** DeepSeek, OpenRouter and Z.AI: the server stopped because of an error. */
const failureReasons = new Set(['insufficient_system_resource', 'error', 'network_error'])

class ChatReplyBuilder implements ReplyBuilder {
  isClosed = false
  readonly #onDelta: BodyReadOptions['onDelta']
  readonly #onServerSearch: BodyReadOptions['onServerSearch']
  readonly #onArguments: BodyReadOptions['onArguments']
  #text = ''
  #thinking = ''
  #refusal = ''
  readonly #sizeLimit = new ReplySizeLimit()
  readonly #details = new ReasoningDetails(this.#sizeLimit)
  readonly #calls = new ToolCallAssembler(this.#sizeLimit)
  readonly #sources: SearchSource[] = []
  #finishReason: string | undefined
  #usage: Usage = noUsage

  constructor({ onDelta, onServerSearch, onArguments }: Omit<BodyReadOptions, 'onActivity' | 'sleep'>) {
    this.#onDelta = onDelta
    this.#onServerSearch = onServerSearch
    this.#onArguments = onArguments
  }

  get isComplete(): boolean {
    return this.#finishReason !== undefined
  }

  get hasToolCall(): boolean {
    return this.#calls.length > 0
  }

  /** Returns whether the chunk contains part of the reply. */
  add(chunk: ChatChunk | null): boolean {
    const { choices, usage, error } = chunk ?? {}
    if (error) throw new ErrorInBody(error)
    if (usage) this.#usage = parseUsage(usage)
    const choice = choices?.[0]
    if (!choice) return Boolean(usage)
    if (choice.error) throw new ErrorInBody(choice.error)
    if (choice.finish_reason) this.#finishReason = choice.finish_reason.toLowerCase()
    const fragment = choice.delta ?? choice.message
    if (fragment) this.#addFragment(fragment)
    return Boolean(choice.finish_reason) || (fragment !== undefined && hasContent(fragment))
  }

  #addFragment(fragment: Fragment) {
    const parsed = parseChatContent(fragment.content)
    const thinking = fragment.reasoning_content || fragment.reasoning || parsed.thinking
    for (const text of [thinking, parsed.text, fragment.refusal]) if (text) this.#sizeLimit.countText(text)
    if (thinking) {
      this.#thinking += thinking
      this.#onDelta({ of: 'thinking', text: thinking })
    }
    this.#details.add(fragment.reasoning_details ?? [])
    if (parsed.text) {
      this.#text += parsed.text
      this.#onDelta({ of: 'text', text: parsed.text })
    }
    if (fragment.refusal) this.#refusal += fragment.refusal
    this.#addSources(fragment.annotations ?? [])
    this.#addCalls(fragment.tool_calls ?? [])
  }

  #addCalls(fragments: readonly ToolCallFragment[]) {
    for (const fragment of fragments.filter(Boolean)) {
      const { name, piece } = this.#calls.add(fragment)
      if (piece) this.#onArguments?.(name, piece)
    }
  }

  #addSources(annotations: NonNullable<Fragment['annotations']>) {
    for (const { url_citation: citation } of annotations) {
      this.#sizeLimit.countText(JSON.stringify(citation ?? ''))
      this.#sources.push(...readSources([citation]))
    }
  }

  build(): DialectReply {
    if (this.#finishReason === undefined && !(this.isClosed && (this.#text || this.#calls.length)))
      throw new StreamBroken('The connection ended before the reply was complete.', this.hasToolCall)
    if (failureReasons.has(this.#finishReason ?? ''))
      throw new StreamBroken(`The reply ended with the reason ${this.#finishReason}.`, this.hasToolCall)
    const content: AssistantMessage['content'] = [
      ...createThinkingParts(this.#thinking, this.#details.all),
      ...(this.#text || this.#refusal ? [{ type: 'text', text: this.#text || this.#refusal } as const] : []),
      ...this.#searchParts(),
      ...this.#calls.toParts(),
    ]
    return { message: { role: 'assistant', content, stop: this.#stop() }, usage: this.#usage }
  }

  #searchParts(): AssistantMessage['content'] {
    if (!this.#usage.webSearches && !this.#sources.length) return []
    this.#onServerSearch?.('possible')
    const content = createSourcesPart(this.#sources)
    for (const part of content) if (part.type === 'text') this.#onDelta({ of: 'text', text: part.text })
    return [...content, createSearchPart('')]
  }

  #stop(): AssistantMessage['stop'] {
    const finish = this.#finishReason ?? ''
    if (lengthReasons.has(finish)) return 'length'
    if (refusalReasons.has(finish) || this.#refusal) return 'refused'
    return this.#calls.length ? 'tools' : 'end'
  }
}

/** Sealed thinking may have no text. */
function createThinkingParts(text: string, details: readonly ReasoningDetail[]): AssistantMessage['content'] {
  if (!details.length) return text ? [{ type: 'thinking', text }] : []
  return [{ type: 'thinking', text, sealed: { by: sealIssuer, data: details } }]
}

function hasContent(fragment: Fragment): boolean {
  const { content, refusal, reasoning, reasoning_content: thinking } = fragment
  const { reasoning_details: details, tool_calls: calls } = fragment
  const hasText = Array.isArray(content) ? content.length > 0 : Boolean(content)
  return Boolean(hasText || refusal || reasoning || thinking || details?.length || calls?.length)
}

/** `prompt_tokens` includes tokens read from and written to the cache. `Usage` counts them separately. */
function parseUsage(usage: ChatUsage): Usage {
  const cachedRead = toTokenCount(
    usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens,
  )
  const cachedWrite = toTokenCount(usage.prompt_tokens_details?.cache_write_tokens)
  const webSearches = toTokenCount(usage.server_tool_use?.web_search_requests)
  return {
    input: Math.max(0, toTokenCount(usage.prompt_tokens) - cachedRead - cachedWrite),
    ...countOutput(usage, cachedRead + cachedWrite),
    cachedRead,
    cachedWrite,
    ...parseCost(usage),
    ...(webSearches && { webSearches }),
  }
}

/**
 * `completion_tokens` includes reasoning tokens, except at Google, xAI and others. The total shows which. Google counts
 * them in the total alone. Cached tokens that a gateway adds to the total are no output.
 */
function countOutput(usage: ChatUsage, cached: number): Pick<Usage, 'output' | 'reasoning'> {
  const completion = toTokenCount(usage.completion_tokens)
  const reasoning = toTokenCount(usage.completion_tokens_details?.reasoning_tokens)
  const rest = toTokenCount(usage.total_tokens) - toTokenCount(usage.prompt_tokens) - completion
  if (reasoning) return { output: rest === reasoning ? completion + reasoning : completion, reasoning }
  return rest > 0 && rest !== cached
    ? { output: completion + rest, reasoning: rest }
    : { output: completion, reasoning }
}

type ReasoningDetail = { readonly type?: string; readonly index?: number; readonly [field: string]: unknown }

type PartialDetail = { type?: string; index?: number; [field: string]: unknown }

/** Fields whose fragments are concatenated. For all others the last value counts. */
const appendedFields = ['text', 'summary', 'data'] as const

/**
 * Assembles `reasoning_details`: thinking as gateways send it, a list of pieces that must go back unchanged. The
 * fragments of one piece arrive one after the other.
 */
class ReasoningDetails {
  readonly #sizeLimit: ReplySizeLimit
  readonly #all: PartialDetail[] = []

  constructor(sizeLimit: ReplySizeLimit) {
    this.#sizeLimit = sizeLimit
  }

  get all(): readonly ReasoningDetail[] {
    return this.#all
  }

  add(fragments: readonly ReasoningDetail[]): void {
    for (const fragment of fragments) {
      const last = this.#all.at(-1)
      const isContinuation =
        last && last.type === fragment.type && fragment.index !== undefined && last.index === fragment.index
      if (isContinuation) this.#append(last, fragment)
      else this.#start(fragment)
    }
  }

  #start(fragment: ReasoningDetail): void {
    this.#sizeLimit.countPart()
    this.#sizeLimit.countText(JSON.stringify(fragment))
    this.#all.push({ ...fragment })
  }

  /** Changes the detail in place. Copying it for every fragment would take quadratic time. */
  #append(last: PartialDetail, fragment: ReasoningDetail): void {
    for (const [name, value] of Object.entries(fragment)) {
      if (value === null || value === undefined) continue
      const before = last[name]
      if (typeof value === 'string') this.#sizeLimit.countText(value)
      if (!Object.hasOwn(last, name)) this.#sizeLimit.countText(JSON.stringify([name, value]))
      const isAppended =
        appendedFields.some((field) => field === name) && typeof before === 'string' && typeof value === 'string'
      Object.defineProperty(last, name, { ...plainProperty, value: isAppended ? before + value : value })
    }
  }
}

/** Field names are untrusted, so `__proto__` must become a plain property. */
const plainProperty = { configurable: true, enumerable: true, writable: true }
