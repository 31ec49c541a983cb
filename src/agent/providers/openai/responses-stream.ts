/**
 * Reads the event stream of the Responses API into one reply. Items are identified by their output index, because some
 * servers send a different id with every event.
 */

import { createParser } from 'eventsource-parser'
import { type DialectReply, StreamBroken } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { parseCallArguments } from '../shared/call-arguments.ts'
import { parseWithText } from '../shared/json-slices.ts'
import { ErrorInBody } from '../shared/error-in-body.ts'
import { type PhaseSeal, resolveSealIssuer, sealReasoning } from './responses-input.ts'
import { createSearchPart, createSourcesPart, readSources } from '../shared/server-search.ts'
import { decodeUtf8Into, type BodyReadOptions, readReply, type ReplyBuilder } from '../shared/read-body.ts'
import { eventParserLimits, ReplySizeLimit } from '../shared/reply-size-limit.ts'
import type OpenAI from 'openai'
import { type CostFields, parseCost, toTokenCount } from '../shared/usage-numbers.ts'

/** `host`: the host that sends the reply. Only this host can decrypt the reasoning again. */
export async function readResponsesStream(
  response: Response,
  { onDelta, onActivity, onServerSearch, onArguments, sleep }: BodyReadOptions,
  host?: string,
): Promise<DialectReply> {
  const builder = new ResponseReplyBuilder({ onDelta, onServerSearch, onArguments }, host)
  if (response.headers.get('content-type')?.includes('application/json')) {
    builder.end(parseWithText(await response.text(), 'arguments') as StreamedResponse)
    return builder.build()
  }
  const parser = createParser({
    onEvent: ({ data, event }) => {
      const text = data.trim()
      if (text === '[DONE]') builder.isStreamDone = true
      else onActivity(text !== '' && builder.add(parseEvent(text), event) ? 'answer' : 'keep-alive')
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

/** Reads which text an event ends, and that text as a whole. The end of a part says the same as the end of its text. */
function readEnd(type: string, event: StreamEvent) {
  const { text = '', refusal = '' } = event.part ?? event
  return { text, refusal, ended: type === 'response.content_part.done' ? `response.${event.part?.type}.done` : type }
}

/** Some servers send arguments as an object instead of JSON. */
const parseEvent = (text: string): StreamEvent => (parseWithText(text, 'arguments') ?? {}) as StreamEvent

/** One output item. Items that we do not know have the kind `other`. */
type PartialItem = {
  readonly kind: 'message' | 'reasoning' | 'call' | 'search' | 'other'
  readonly id: string | undefined
  /** Text, thinking or arguments. */
  text: string
  /** The part of the text that is streamed, and its first character. */
  part: { readonly index: number; readonly start: number }
  refusal: string
  name: string
  callId: string
  /** The type of the reasoning events in use. A server may send full text and summary; only one of them is read. */
  reasoningSource: string | undefined
  /** The final item; undefined while it is open. */
  item: StreamedItem | undefined
}

const kinds: Readonly<Record<string, PartialItem['kind']>> = {
  message: 'message',
  reasoning: 'reasoning',
  function_call: 'call',
  web_search_call: 'search',
}

const finalEvents = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'])

class ResponseReplyBuilder implements ReplyBuilder {
  /** The server has sent `[DONE]`, with or without a final event. */
  isStreamDone = false
  readonly #onDelta: BodyReadOptions['onDelta']
  readonly #onServerSearch: BodyReadOptions['onServerSearch']
  readonly #onArguments: BodyReadOptions['onArguments']
  readonly #host: string | undefined
  readonly #sizeLimit = new ReplySizeLimit()
  readonly #items: PartialItem[] = []
  readonly #byIndex = new Map<number, PartialItem>()
  #ending: { readonly reason: string | undefined } | undefined
  #usage: Usage = noUsage

  constructor(
    { onDelta, onServerSearch, onArguments }: Omit<BodyReadOptions, 'onActivity' | 'sleep'>,
    host: string | undefined,
  ) {
    this.#onDelta = onDelta
    this.#onServerSearch = onServerSearch
    this.#onArguments = onArguments
    this.#host = host
  }

  get isComplete(): boolean {
    return this.#ending !== undefined
  }

  get isClosed(): boolean {
    return this.isStreamDone || this.isComplete
  }

  get hasToolCall(): boolean {
    return this.#items.some(({ kind }) => kind === 'call')
  }

  /** Returns whether the event contains part of the reply. */
  add(event: StreamEvent, name: string | undefined): boolean {
    const type = event.type ?? name ?? ''
    if (type === 'error' || (event.error && !event.response)) throw toErrorInBody(event.error ?? event)
    if (finalEvents.has(type)) this.end({ status: type.slice('response.'.length), ...event.response })
    else if (type === 'response.output_item.added') this.#open(event)
    else if (type === 'response.output_item.done') this.#close(event.item ?? {}, this.#findItem(event, event.item))
    else return this.#extend(type, event)
    return true
  }

  /** Handles the events that extend an item. */
  #extend(type: string, event: StreamEvent): boolean {
    const { delta = '' } = event
    this.#sizeLimit.countText(delta)
    switch (type) {
      case 'response.output_text.delta':
        this.#addText(this.#startPart(this.#findItem(event, { type: 'message' }), event), delta)
        return delta !== ''
      case 'response.refusal.delta':
        this.#findItem(event, { type: 'message' }).refusal += delta
        return delta !== ''
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#addThinking(this.#startPart(this.#findItem(event, { type: 'reasoning' }), event), type, delta)
        return delta !== ''
      case 'response.reasoning_summary_part.added': {
        const partial = this.#findItem(event, { type: 'reasoning' })
        if (partial.text) this.#addThinking(partial, 'response.reasoning_summary_text.delta', '\n\n')
        return true
      }
      case 'response.function_call_arguments.delta':
        this.#addArguments(this.#findItem(event, { type: 'function_call' }), delta)
        return delta !== ''
      case 'response.function_call_arguments.done':
        if (event.arguments) this.#findItem(event, { type: 'function_call' }).text = event.arguments
        this.#sizeLimit.countText(event.arguments ?? '')
        return true
      default:
        return this.#endPart(type, event)
    }
  }

  /** Adds the part of a text that was not streamed: some servers send only the events that end a text. */
  #endPart(type: string, event: StreamEvent): boolean {
    const { text, refusal, ended } = readEnd(type, event)
    if (text + refusal === '') return false
    this.#sizeLimit.countText(text + refusal)
    const isMessage = ended === 'response.output_text.done'
    if (isMessage || /^response\.reasoning(?:_summary)?_text\.done$/.test(ended)) {
      const partial = this.#startPart(this.#findItem(event, { type: isMessage ? 'message' : 'reasoning' }), event)
      const streamed = partial.text.slice(partial.part.start)
      const rest = text.startsWith(streamed) ? text.slice(streamed.length) : ''
      if (isMessage) this.#addText(partial, rest)
      else this.#addThinking(partial, ended.replace('.done', '.delta'), rest)
    } else if (ended === 'response.refusal.done') {
      const partial = this.#findItem(event, { type: 'message' })
      if (!partial.refusal.endsWith(refusal)) partial.refusal += refusal
    } else return false
    return true
  }

  /** Notes at which character of the item the part of the event begins. */
  #startPart(partial: PartialItem, { content_index: content, summary_index: summary }: StreamEvent): PartialItem {
    const index = content ?? summary ?? partial.part.index
    if (partial.part.index !== index) partial.part = { index, start: partial.text.length }
    return partial
  }

  #open(event: StreamEvent): PartialItem {
    const { item = {}, output_index: index } = event
    const partial: PartialItem = {
      kind: kinds[item.type ?? ''] ?? 'other',
      id: item.id ?? event.item_id,
      text: '',
      part: { index: 0, start: 0 },
      refusal: '',
      name: item.name ?? '',
      callId: item.call_id ?? '',
      reasoningSource: undefined,
      item: undefined,
    }
    this.#sizeLimit.countPart()
    this.#items.push(partial)
    if (partial.kind === 'search') this.#onServerSearch?.('begun')
    if (index !== undefined) this.#byIndex.set(index, partial)
    return partial
  }

  /** Finds the item of an event: by its index, else by its id, else the last open item of its kind. */
  #findItem(event: StreamEvent, item: StreamedItem | undefined): PartialItem {
    const { output_index: index, item_id: id = item?.id } = event
    const kind = kinds[item?.type ?? ''] ?? 'other'
    const found =
      index === undefined
        ? (this.#items.find((partial) => id !== undefined && partial.id === id) ??
          this.#items.findLast((partial) => partial.kind === kind && !partial.item))
        : this.#byIndex.get(index)
    return found?.kind === kind ? found : this.#open({ ...event, item: { ...item } })
  }

  #addArguments(partial: PartialItem, piece: string) {
    partial.text += piece
    this.#onArguments?.(partial.name, piece)
  }

  #addText(partial: PartialItem, text: string) {
    partial.text += text
    if (text) this.#onDelta({ of: 'text', text })
  }

  #addThinking(partial: PartialItem, source: string, text: string) {
    if (!text) return
    partial.reasoningSource ??= source
    if (partial.reasoningSource !== source) return
    partial.text += text
    this.#onDelta({ of: 'thinking', text })
  }

  /** The final item replaces the streamed one. Only text that was not streamed before is reported as a delta. */
  #close(item: StreamedItem, partial: PartialItem) {
    this.#sizeLimit.countText(JSON.stringify(item))
    partial.item = item
    if (partial.kind === 'call') closeCall(partial, item)
    else if (partial.kind === 'search') this.#addThinking(partial, 'whole', renderSearch(item))
    else if (partial.kind === 'reasoning') this.#addThinking(partial, 'whole', readReasoningText(item))
    else if (partial.kind === 'message') {
      const finalText = readText(item, 'text')
      if (finalText.startsWith(partial.text)) this.#addText(partial, finalText.slice(partial.text.length))
      partial.refusal ||= readText(item, 'refusal')
    }
  }

  end({ status, output, usage, error, incomplete_details: details }: StreamedResponse) {
    if (usage) this.#usage = parseUsage(usage)
    if (status === 'failed' || status === 'cancelled' || error) throw toErrorInBody(error ?? {})
    const streamed = new Set<string>(this.#items.map(({ kind }) => kind))
    output?.forEach((item, at) => {
      const kind = kinds[item.type ?? ''] ?? 'other'
      // Some servers stream the text alone: the calls, or a text behind calls, are in the final event.
      const isMissing = !streamed.size || (!streamed.has(kind) && (kind === 'call' || kind === 'message'))
      if (isMissing) this.#close(item, this.#open({ item, ...(!streamed.size && { output_index: at }) }))
    })
    this.#ending = { reason: status === 'incomplete' ? (details?.reason ?? 'unknown') : undefined }
  }

  build(): DialectReply {
    if (!this.#ending && !(this.isStreamDone && this.#items.length && this.#items.every(({ item }) => item)))
      throw new StreamBroken('The connection ended before the reply was complete.', this.hasToolCall)
    const content = [...this.#items.flatMap((partial) => createParts(partial, this.#host)), ...this.#sources()]
    const webSearches = this.#items.filter(({ item }) => item?.action?.type === 'search').length
    const usage = webSearches ? { ...this.#usage, webSearches } : this.#usage
    return { message: { role: 'assistant', content, stop: this.#stop() }, usage }
  }

  #sources(): AssistantMessage['content'] {
    const annotations = this.#items.flatMap(
      ({ item }) => item?.content?.flatMap((part) => part.annotations ?? []) ?? [],
    )
    const content = createSourcesPart(readSources(annotations))
    for (const part of content) if (part.type === 'text') this.#onDelta({ of: 'text', text: part.text })
    return content
  }

  #stop(): AssistantMessage['stop'] {
    const reason = this.#ending?.reason
    if (reason === 'content_filter' || this.#items.some(({ refusal }) => refusal)) return 'refused'
    if (reason !== undefined) return 'length'
    return this.hasToolCall ? 'tools' : 'end'
  }
}

const readText = ({ content }: StreamedItem, field: 'text' | 'refusal'): string =>
  (content ?? []).map((part) => part[field] ?? '').join('')

const readReasoningText = ({ summary, content }: StreamedItem): string =>
  (summary?.length ? summary : (content ?? [])).map(({ text = '' }) => text).join('\n\n')

function closeCall(partial: PartialItem, item: StreamedItem) {
  partial.name ||= item.name ?? ''
  partial.callId ||= item.call_id ?? ''
  partial.text = item.arguments || partial.text
}

function createParts(partial: PartialItem, host: string | undefined): AssistantMessage['content'] {
  const { kind, text } = partial
  if (kind === 'call') return [{ type: 'call', id: partial.callId, name: partial.name, ...parseCallArguments(text) }]
  if (kind === 'reasoning') return createThinkingParts(partial, host)
  if (kind === 'search') return createSearchParts(partial, host)
  return kind === 'message' ? createTextParts(partial, host) : []
}

/** The API refuses a search without its action. */
const createSearchParts = ({ item }: PartialItem, host: string | undefined): AssistantMessage['content'] =>
  item?.action ? [createSearchPart(readQuery(item), { by: resolveSealIssuer(host), data: item })] : []

const renderSearch = (item: StreamedItem): string => (item.action ? createSearchPart(readQuery(item)).text : '')

const readQuery = ({ action }: StreamedItem): string | undefined =>
  action?.query ?? action?.queries?.join(', ') ?? action?.type

function createThinkingParts({ text, item }: PartialItem, host: string | undefined): AssistantMessage['content'] {
  const seal = item && sealReasoning(item)
  if (!text && !seal) return []
  return [{ type: 'thinking', text, ...(seal && { sealed: { by: resolveSealIssuer(host), data: seal } }) }]
}

function createTextParts({ text, refusal, item }: PartialItem, host: string | undefined): AssistantMessage['content'] {
  const textPart = { type: 'text', text: text || refusal } as const
  if (!textPart.text) return []
  if (!item?.phase) return [textPart]
  const seal: PhaseSeal = { type: 'message', phase: item.phase }
  return [{ type: 'thinking', text: '', sealed: { by: resolveSealIssuer(host), data: seal } }, textPart]
}

/** The fields that we read of an output item of any type. */
type StreamedItem = Partial<Omit<OpenAI.Responses.ResponseReasoningItem, 'type' | 'content'>> & {
  readonly type?: string
  readonly phase?: PhaseSeal['phase'] | null
  readonly content?: readonly {
    readonly type?: string
    readonly text?: string
    readonly refusal?: string
    readonly annotations?: readonly unknown[] | null
  }[]
  readonly name?: string
  readonly call_id?: string
  readonly arguments?: string
  /** Of a web search that the provider ran. */
  readonly action?: { readonly type?: string; readonly query?: string; readonly queries?: readonly string[] } | null
}
type ResponseErrorFields = { readonly message?: string; readonly code?: string | null; readonly type?: string | null }
type StreamedResponse = {
  readonly status?: string
  readonly output?: readonly StreamedItem[]
  readonly usage?: (OpenAI.Responses.ResponseUsage & CostFields) | null
  readonly error?: ResponseErrorFields | null
  readonly incomplete_details?: { readonly reason?: string } | null
}
type StreamEvent = ResponseErrorFields & {
  readonly output_index?: number
  readonly item_id?: string
  readonly item?: StreamedItem
  readonly content_index?: number
  readonly summary_index?: number
  readonly delta?: string
  /** The whole text of a part, when it ends. */
  readonly text?: string
  readonly refusal?: string
  readonly part?: { readonly type?: string; readonly text?: string; readonly refusal?: string } | null
  readonly arguments?: string
  readonly response?: StreamedResponse
  readonly error?: ResponseErrorFields | null
}

/** Error codes that mean the provider refuses to answer. */
const refusalCodes = new Set([
  'invalid_prompt',
  'bio_policy',
  'misalignment_policy_violation',
  'image_content_policy_violation',
])

/** Defines the events of the Responses API and parses their usage and errors. All fields are optional, because servers differ. */
function toErrorInBody({ message, code, type }: ResponseErrorFields): ErrorInBody {
  const errorText = message || 'The provider ended the reply with an error.'
  if (code && refusalCodes.has(code))
    return new ErrorInBody({ message: errorText, code: 'content_policy_violation', type: code })
  if (code && /image.{0,90}too_large/.test(code.slice(0, 100)))
    return new ErrorInBody({ message: errorText, status: 400, reason: 'image too large' })
  return new ErrorInBody({ message: errorText, code: code ?? null, type })
}

/** `input_tokens` includes tokens read from and written to the cache. `Usage` counts them separately. */
function parseUsage(usage: NonNullable<StreamedResponse['usage']>): Usage {
  const cachedRead = toTokenCount(usage.input_tokens_details?.cached_tokens)
  const cachedWrite = toTokenCount(usage.input_tokens_details?.cache_write_tokens)
  return {
    input: Math.max(0, toTokenCount(usage.input_tokens) - cachedRead - cachedWrite),
    output: toTokenCount(usage.output_tokens),
    cachedRead,
    cachedWrite,
    reasoning: toTokenCount(usage.output_tokens_details?.reasoning_tokens),
    ...parseCost(usage),
  }
}
