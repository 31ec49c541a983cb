/** Reads the event stream of the Messages API into one reply: message, usage and stop reason. */

import type {
  Message as WholeMessage,
  RawMessageStreamEvent,
  ServerToolUseBlock,
  StopReason,
  TextCitation,
  Usage as Billed,
  WebSearchToolResultBlock,
} from '@anthropic-ai/sdk/resources/messages'
import { createParser } from 'eventsource-parser'
import { StreamBroken, type DialectReply } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import type { SearchBlock, SearchSeal, ThinkingSeal } from './blocks.ts'
import { parseCallArguments } from '../shared/call-arguments.ts'
import { sliceObjects } from '../shared/json-slices.ts'
import { toTokenCount } from '../shared/usage-numbers.ts'
import { ErrorInBody } from '../shared/error-in-body.ts'
import { createSearchPart, createSourcesPart, readSources } from '../shared/server-search.ts'
import { decodeUtf8Into, type BodyReadOptions, readReply, type ReplyBuilder } from '../shared/read-body.ts'
import { eventParserLimits, ReplySizeLimit } from '../shared/reply-size-limit.ts'

type ErrorEvent = { readonly type: 'error'; readonly error?: { readonly type?: string; readonly message?: string } }
type AnthropicEvent = RawMessageStreamEvent | ErrorEvent | { readonly type: 'ping' }

/** `issuer`: the id stored with thinking signatures, so that they are sent back to the same model only (`resolveSealIssuer`). */
export async function readMessagesStream(
  response: Response,
  { onDelta, onActivity, onServerSearch, onArguments, sleep }: BodyReadOptions,
  issuer = 'anthropic',
): Promise<DialectReply> {
  const builder = new MessageReplyBuilder({ onDelta, onServerSearch, onArguments }, issuer)
  if (response.headers.get('content-type')?.includes('application/json')) {
    const text = await response.text()
    builder.addWhole(JSON.parse(text) as WholeMessage | ErrorEvent, sliceObjects(text, 'content.*.input'))
    return builder.build()
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      const event = JSON.parse(data) as AnthropicEvent
      onActivity(event.type === 'ping' ? 'keep-alive' : 'answer')
      builder.add(event, data)
    },
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

type StartedBlock = Extract<RawMessageStreamEvent, { type: 'content_block_start' }>['content_block']
type BlockDelta = Extract<RawMessageStreamEvent, { type: 'content_block_delta' }>['delta']
type AnthropicUsage = Extract<RawMessageStreamEvent, { type: 'message_delta' }>['usage'] &
  Pick<Billed, 'cache_creation'>
type StreamedBlock =
  | { readonly kind: 'text'; text: string; readonly citations: TextCitation[] }
  /** A call of the provider's own web search, or its result. */
  | { readonly kind: 'search'; readonly block: ServerToolUseBlock; json: string }
  | { readonly kind: 'found'; readonly block: WebSearchToolResultBlock }
  | { readonly kind: 'thinking'; text: string; signature: string }
  | { readonly kind: 'redacted'; readonly data: string }
  /** `whole`: arguments that came at once, as they are written. */
  | { readonly kind: 'call'; readonly id: string; readonly name: string; json: string; whole: string }

class MessageReplyBuilder implements ReplyBuilder {
  isClosed = false
  readonly #onDelta: BodyReadOptions['onDelta']
  readonly #onServerSearch: BodyReadOptions['onServerSearch']
  readonly #onArguments: BodyReadOptions['onArguments']
  readonly #issuer: string
  /** Parts by index, in the order of their start. */
  readonly #parts = new Map<number, StreamedBlock>()
  readonly #sizeLimit = new ReplySizeLimit()
  #stopReason: StopReason | undefined
  #explanation = ''
  #usage: Usage = noUsage

  constructor({ onDelta, onServerSearch, onArguments }: Omit<BodyReadOptions, 'onActivity' | 'sleep'>, issuer: string) {
    this.#onDelta = onDelta
    this.#onServerSearch = onServerSearch
    this.#onArguments = onArguments
    this.#issuer = issuer
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined
  }

  get hasToolCall(): boolean {
    return [...this.#parts.values()].some(({ kind }) => kind === 'call')
  }

  /** `text`: the event as it is written. */
  add(event: AnthropicEvent, text = ''): void {
    if (event.type === 'error') throw new ErrorInBody({ message: 'The provider sent an error.', ...event.error })
    if (event.type === 'message_start') this.#addUsage(event.message?.usage)
    else if (event.type === 'content_block_start') {
      this.#startPart(event.index, event.content_block)
      this.#keepInput(event.index, text)
    } else if (event.type === 'content_block_delta')
      this.#extendPart(this.#parts.get(event.index) ?? this.#startMissing(event.index, event.delta), event.delta)
    else if (event.type === 'message_delta') {
      this.#setStop(event.delta.stop_reason, event.delta.stop_details)
      this.#addUsage(event.usage)
    } else if (event.type === 'message_stop') this.isClosed = true
  }

  /** Some servers ignore `stream` and send one JSON message. `inputs`: the arguments as they are written, by their block. */
  addWhole(message: WholeMessage | ErrorEvent, inputs: ReadonlyMap<number, string>): void {
    if (message.type !== 'message') return this.add(message)
    message.content.forEach((block, index) => {
      this.#startPart(index, block as StartedBlock)
      const part = this.#parts.get(index)
      if (part?.kind === 'call') part.whole = inputs.get(index) ?? ''
    })
    this.#setStop(message.stop_reason, message.stop_details)
    this.#addUsage(message.usage)
  }

  #setStop(reason: StopReason | null, details: { readonly explanation?: string | null } | null | undefined): void {
    if (reason) this.#stopReason = reason
    if (details?.explanation) this.#explanation = details.explanation
  }

  #startPart(index: number, block: StartedBlock): void {
    this.#sizeLimit.countPart()
    this.#sizeLimit.countText(JSON.stringify(block))
    if (block.type === 'text') {
      const part: StreamedBlock = { kind: 'text', text: '', citations: [...(block.citations ?? [])] }
      this.#parts.set(index, part)
      this.#extendPart(part, { type: 'text_delta', text: block.text ?? '' })
    } else if (block.type === 'thinking') {
      const part: StreamedBlock = { kind: 'thinking', text: '', signature: block.signature ?? '' }
      this.#parts.set(index, part)
      this.#extendPart(part, { type: 'thinking_delta', thinking: block.thinking ?? '' })
    } else if (block.type === 'redacted_thinking') this.#parts.set(index, { kind: 'redacted', data: block.data })
    else if (block.type === 'server_tool_use') this.#startSearch(index, block)
    else if (block.type === 'web_search_tool_result') this.#endSearch(index, block)
    else if (block.type === 'tool_use')
      this.#parts.set(index, { kind: 'call', id: block.id, name: block.name, json: '', whole: '' })
  }

  /** Some servers send the whole arguments with the start of a call. */
  #keepInput(index: number, text: string): void {
    const part = this.#parts.get(index)
    if (part?.kind === 'call') part.whole = sliceObjects(text, 'content_block.input').get(0) ?? ''
  }

  /** Some servers send deltas without the start of their block. */
  #startMissing(index: number, { type }: BlockDelta): StreamedBlock | undefined {
    if (type === 'text_delta') this.#startPart(index, { type: 'text', text: '', citations: null })
    else if (type === 'thinking_delta') this.#startPart(index, { type: 'thinking', thinking: '', signature: '' })
    return this.#parts.get(index)
  }

  #startSearch(index: number, block: ServerToolUseBlock): void {
    if (block.name !== 'web_search') return
    this.#onServerSearch?.('begun')
    this.#parts.set(index, { kind: 'search', block, json: '' })
  }

  #endSearch(index: number, block: WebSearchToolResultBlock): void {
    this.#parts.set(index, { kind: 'found', block })
    for (const part of this.#parts.values())
      if (part.kind === 'search' && part.block.id === block.tool_use_id)
        this.#reportDelta('thinking', createSearchPart(readSearchInput(part).query).text)
  }

  #extendPart(part: StreamedBlock | undefined, delta: BlockDelta): void {
    this.#sizeLimit.countTexts(delta)
    if (part?.kind === 'text') this.#extendText(part, delta)
    else if (part?.kind === 'search' || part?.kind === 'call') this.#extendJson(part, delta)
    else if (part?.kind !== 'thinking') return
    else if (delta.type === 'thinking_delta') part.text += this.#reportDelta('thinking', delta.thinking)
    else if (delta.type === 'signature_delta') part.signature += delta.signature
  }

  #extendJson(part: Extract<StreamedBlock, { kind: 'search' | 'call' }>, delta: BlockDelta): void {
    if (delta.type !== 'input_json_delta') return
    part.json += delta.partial_json
    if (part.kind === 'call') this.#onArguments?.(part.name, delta.partial_json)
  }

  #extendText(part: Extract<StreamedBlock, { kind: 'text' }>, delta: BlockDelta): void {
    if (delta.type === 'text_delta') part.text += this.#reportDelta('text', delta.text)
    else if (delta.type === 'citations_delta') {
      this.#sizeLimit.countText(JSON.stringify(delta.citation))
      part.citations.push(delta.citation)
    }
  }

  #reportDelta(of: 'text' | 'thinking', text: string): string {
    if (text) this.#onDelta({ of, text })
    return text
  }

  /** The last usage event has the totals. Some servers send the input counts only in the first one, so the maximum counts. */
  #addUsage(usage: Partial<AnthropicUsage> | null | undefined): void {
    if (!usage) return
    const previous = this.#usage
    const cachedWrite = Math.max(previous.cachedWrite, toTokenCount(usage.cache_creation_input_tokens))
    const hourWrite = Math.max(previous.hourWrite ?? 0, toTokenCount(usage.cache_creation?.ephemeral_1h_input_tokens))
    const searches = (usage as Partial<Billed>).server_tool_use?.web_search_requests
    const webSearches = Math.max(previous.webSearches ?? 0, toTokenCount(searches))
    this.#usage = {
      input: Math.max(previous.input, toTokenCount(usage.input_tokens)),
      output: Math.max(previous.output, toTokenCount(usage.output_tokens)),
      cachedRead: Math.max(previous.cachedRead, toTokenCount(usage.cache_read_input_tokens)),
      cachedWrite,
      ...(webSearches && { webSearches }),
      ...(hourWrite && { hourWrite: Math.min(hourWrite, cachedWrite) }),
      reasoning: Math.max(previous.reasoning, toTokenCount(usage.output_tokens_details?.thinking_tokens)),
      costUsd: 0,
      costStatus: 'unknown',
    }
  }

  build(): DialectReply {
    const parts = [...this.#parts.values()]
    // Some servers end the message without a reason.
    if (this.#stopReason === undefined && !(this.isClosed && parts.length))
      throw new StreamBroken('The connection ended before the reply was complete.', this.hasToolCall)
    const isEmptyRefusal = this.#stopReason === 'refusal' && !parts.some((part) => part.kind === 'text' && part.text)
    const content: AssistantMessage['content'] = [
      ...parts.flatMap((part) => toContent(part, this.#issuer) ?? this.#toSearchContent(part, parts)),
      ...this.#sources(parts),
      ...(isEmptyRefusal && this.#explanation ? [{ type: 'text', text: this.#explanation } as const] : []),
    ]
    return { message: { role: 'assistant', content, stop: this.#toStop(this.#stopReason) }, usage: this.#usage }
  }

  /** A search without its result is not sent back: the API refuses it. */
  #toSearchContent(part: StreamedBlock, parts: readonly StreamedBlock[]): AssistantMessage['content'] {
    const by = this.#issuer
    if (part.kind === 'found') return [createSearchPart('', { by, data: { block: part.block } satisfies SearchSeal })]
    if (part.kind !== 'search') return []
    const { id, name } = part.block
    const input = readSearchInput(part)
    const isComplete = parts.some((other) => other.kind === 'found' && other.block.tool_use_id === id)
    const block: SearchBlock = { type: 'server_tool_use', id, name, input }
    return [createSearchPart(input.query, isComplete ? { by, data: { block } satisfies SearchSeal } : undefined)]
  }

  #sources(parts: readonly StreamedBlock[]): AssistantMessage['content'] {
    const content = createSourcesPart(
      readSources(parts.flatMap((part) => (part.kind === 'text' ? part.citations : []))),
    )
    for (const part of content) this.#reportDelta('text', part.type === 'text' ? part.text : '')
    return content
  }

  #toStop(reason: StopReason | undefined): AssistantMessage['stop'] {
    // `pause_turn`: the provider expects a follow-up request, as after a reply that reached its length limit.
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded' || reason === 'pause_turn')
      return 'length'
    if (reason === 'refusal') return 'refused'
    return this.hasToolCall ? 'tools' : 'end'
  }
}

function readSearchInput({ json, block }: Extract<StreamedBlock, { kind: 'search' }>): { readonly query?: unknown } {
  const input = json.trim() ? parseCallArguments(json).input : block.input
  return (input ?? {}) as { readonly query?: unknown }
}

/** Undefined: the part belongs to a web search of the provider. */
function toContent(part: StreamedBlock, issuer: string): AssistantMessage['content'] | undefined {
  switch (part.kind) {
    case 'text':
      return toCitedText(part, issuer)
    case 'search':
    case 'found':
      return undefined
    case 'thinking': {
      const { text, signature } = part
      return text || signature ? [{ type: 'thinking', text, ...(signature && seal(issuer, { signature })) }] : []
    }
    case 'redacted':
      return [{ type: 'thinking', text: '', ...seal(issuer, { redacted: part.data }) }]
    case 'call': {
      const { id, name, json, whole } = part
      return [{ type: 'call', id, name, ...parseCallArguments(json.trim() ? json : whole) }]
    }
  }
}

const seal = (issuer: string, data: ThinkingSeal) => ({ sealed: { by: issuer, data } })

function toCitedText(
  { text, citations }: Extract<StreamedBlock, { kind: 'text' }>,
  by: string,
): AssistantMessage['content'] {
  if (!text) return []
  const data: SearchSeal = { citations }
  return [...(citations.length ? [createSearchPart('', { by, data })] : []), { type: 'text', text }]
}
