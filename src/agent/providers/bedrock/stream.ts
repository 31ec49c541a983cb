/** Reads the event stream of ConverseStream into one reply: message, usage and stop reason. */

import { type DialectReply, StreamBroken } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { parseCallArguments } from '../shared/call-arguments.ts'
import { sliceObjects } from '../shared/json-slices.ts'
import { toTokenCount } from '../shared/usage-numbers.ts'
import { sealIssuer, type BedrockSeal } from './blocks.ts'
import { createFrameDecoder, type BedrockFrame } from './frames.ts'
import { type BodyReadOptions, readReply, type ReplyBuilder } from '../shared/read-body.ts'
import { ReplySizeLimit } from '../shared/reply-size-limit.ts'

export async function readConverseStream(
  response: Response,
  { onDelta, onArguments, onActivity, sleep }: BodyReadOptions,
): Promise<DialectReply> {
  if (!response.ok || response.headers.get('content-type')?.includes('json')) throw await readBedrockError(response)
  const builder = new ConverseReplyBuilder(onDelta, onArguments)
  const decodeFrames = createFrameDecoder()
  const feed = (bytes: Uint8Array) => {
    for (const frame of decodeFrames(bytes)) {
      onActivity('answer')
      builder.add(frame)
    }
  }
  return readReply(response.body, builder, { feed, providerError: BedrockError, sleep })
}

/** Reads the answer of Converse, which is not streamed. */
export async function readConverseReply(response: Response, { onDelta }: BodyReadOptions): Promise<DialectReply> {
  if (!response.ok) throw await readBedrockError(response)
  const builder = new ConverseReplyBuilder(onDelta)
  const text = await response.text()
  builder.addWhole(JSON.parse(text) as WholeReply, sliceObjects(text, 'output.message.content.*.toolUse.input'))
  return builder.build()
}

type WholeReply = {
  readonly output?: { readonly message?: { readonly content?: readonly WholeBlock[] } }
  readonly stopReason?: string
  readonly usage?: Partial<BedrockUsage>
}
type WholeBlock = {
  readonly text?: string
  readonly toolUse?: { readonly toolUseId?: string; readonly name?: string; readonly input?: unknown }
  readonly reasoningContent?: {
    readonly reasoningText?: { readonly text?: string; readonly signature?: string }
    readonly redactedContent?: string
  }
}

type CallStart = {
  readonly contentBlockIndex?: number
  readonly start?: { readonly toolUse?: { readonly toolUseId?: string; readonly name?: string } }
}
type PartDelta = {
  readonly contentBlockIndex?: number
  readonly delta?: {
    readonly text?: string
    readonly toolUse?: { readonly input?: string }
    readonly reasoningContent?: {
      readonly text?: string
      readonly signature?: string
      readonly redactedContent?: string
    }
  }
}
type BedrockUsage = Readonly<
  Record<'inputTokens' | 'outputTokens' | 'cacheReadInputTokens' | 'cacheWriteInputTokens' | 'cacheDetails', unknown>
>
type BedrockBlock =
  | { readonly kind: 'text'; text: string }
  | { readonly kind: 'thinking'; text: string; signature: string; redacted: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; json: string }

const decoder = new TextDecoder()

class ConverseReplyBuilder implements ReplyBuilder {
  isClosed = false
  readonly #onDelta: BodyReadOptions['onDelta']
  readonly #onArguments: BodyReadOptions['onArguments']
  /** Parts by index, in the order of their start. Only tool calls have a start event. */
  readonly #parts = new Map<number, BedrockBlock>()
  readonly #sizeLimit = new ReplySizeLimit()
  #stopReason: string | undefined
  #usage: Usage = noUsage

  constructor(onDelta: BodyReadOptions['onDelta'], onArguments?: BodyReadOptions['onArguments']) {
    this.#onDelta = onDelta
    this.#onArguments = onArguments
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined
  }

  get hasToolCall(): boolean {
    return [...this.#parts.values()].some(({ kind }) => kind === 'call')
  }

  add(frame: BedrockFrame): void {
    const text = decoder.decode(frame.payload)
    throwException(frame, text)
    const event: unknown = JSON.parse(text)
    switch (frame.headers[':event-type']) {
      case 'contentBlockStart':
        return this.#startCall(event as CallStart)
      case 'contentBlockDelta':
        return this.#extendPart(event as PartDelta)
      case 'messageStop':
        this.#stopReason = (event as { readonly stopReason?: string }).stopReason ?? 'end_turn'
        return
      case 'metadata':
        this.#usage = parseUsage((event as { readonly usage?: Partial<BedrockUsage> }).usage ?? {})
        this.isClosed = this.isComplete
    }
  }

  /** `inputs`: the arguments as they are written, by their block. */
  addWhole({ output, stopReason, usage }: WholeReply, inputs: ReadonlyMap<number, string>): void {
    for (const [contentBlockIndex, block] of (output?.message?.content ?? []).entries()) {
      const { text, toolUse, reasoningContent: reasoning } = block
      if (toolUse) this.#startCall({ contentBlockIndex, start: { toolUse } })
      this.#extendPart({
        contentBlockIndex,
        delta: {
          ...(text !== undefined && { text }),
          ...(toolUse && { toolUse: { input: inputs.get(contentBlockIndex) ?? '{}' } }),
          ...(reasoning && { reasoningContent: reasoning.reasoningText ?? reasoning }),
        },
      })
    }
    this.#stopReason = stopReason
    this.#usage = parseUsage(usage ?? {})
  }

  #startCall({ contentBlockIndex = 0, start }: CallStart): void {
    const { toolUseId: id = '', name = '' } = start?.toolUse ?? {}
    if (!start?.toolUse) return
    this.#sizeLimit.countText(id + name)
    this.#startPart(contentBlockIndex, { kind: 'call', id, name, json: '' })
  }

  #startPart<P extends BedrockBlock>(index: number, part: P): P {
    this.#sizeLimit.countPart()
    this.#parts.set(index, part)
    return part
  }

  #extendPart({ contentBlockIndex: index = 0, delta = {} }: PartDelta): void {
    const { text, toolUse, reasoningContent: reasoning } = delta
    this.#sizeLimit.countTexts({ ...delta, ...toolUse })
    if (reasoning) this.#sizeLimit.countTexts(reasoning)
    if (text !== undefined) this.#addText(index, text)
    if (reasoning) this.#addThinking(index, reasoning)
    const part = this.#parts.get(index)
    if (!toolUse?.input || part?.kind !== 'call') return
    part.json += toolUse.input
    this.#onArguments?.(part.name, toolUse.input)
  }

  #addText(index: number, text: string): void {
    const part = this.#parts.get(index) ?? (text ? this.#startPart(index, { kind: 'text', text: '' }) : undefined)
    if (part?.kind !== 'text' || !text) return
    part.text += text
    this.#onDelta({ of: 'text', text })
  }

  #addThinking(
    index: number,
    { text, signature, redactedContent }: NonNullable<NonNullable<PartDelta['delta']>['reasoningContent']>,
  ) {
    const part =
      this.#parts.get(index) ?? this.#startPart(index, { kind: 'thinking', text: '', signature: '', redacted: '' })
    if (part.kind !== 'thinking') return
    part.signature += signature ?? ''
    part.redacted += redactedContent ?? ''
    if (!text) return
    part.text += text
    this.#onDelta({ of: 'thinking', text })
  }

  build(): DialectReply {
    if (this.#stopReason === undefined)
      throw new StreamBroken('The connection ended before the reply was complete.', this.hasToolCall)
    // The provider could not parse the output of the model.
    if (this.#stopReason.startsWith('malformed_'))
      throw new StreamBroken(`The reply ended with the reason ${this.#stopReason}.`, this.hasToolCall)
    const content = [...this.#parts.values()].flatMap(toContent)
    return { message: { role: 'assistant', content, stop: this.#toStop(this.#stopReason) }, usage: this.#usage }
  }

  #toStop(reason: string): AssistantMessage['stop'] {
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return 'length'
    if (reason === 'guardrail_intervened' || reason === 'content_filtered' || reason === 'refusal') return 'refused'
    return this.hasToolCall ? 'tools' : 'end'
  }
}

function throwException({ headers }: BedrockFrame, text: string): void {
  const kind = headers[':message-type']
  if (kind === 'exception')
    throw new BedrockError(headers[':exception-type'] ?? '', parseErrorBody(text).message ?? text)
  if (kind === 'error') throw new BedrockError(headers[':error-code'] ?? '', headers[':error-message'] ?? text)
}

const seal = (data: BedrockSeal) => ({ sealed: { by: sealIssuer, data } })

function toContent(part: BedrockBlock): AssistantMessage['content'] {
  switch (part.kind) {
    case 'text':
      return part.text ? [{ type: 'text', text: part.text }] : []
    case 'thinking': {
      const { text, signature, redacted } = part
      if (redacted) return [{ type: 'thinking', text: '', ...seal({ redacted }) }]
      return text || signature ? [{ type: 'thinking', text, ...(signature && seal({ signature })) }] : []
    }
    case 'call':
      return [{ type: 'call', id: part.id, name: part.name, ...parseCallArguments(part.json) }]
  }
}

/** Bedrock counts cached tokens separately, as `Usage` does. */
function parseUsage(usage: Partial<BedrockUsage>): Usage {
  const cachedWrite = toTokenCount(usage.cacheWriteInputTokens)
  const hourWrite = Math.min(cachedWrite, countHourWrite(usage.cacheDetails))
  return {
    input: toTokenCount(usage.inputTokens),
    output: toTokenCount(usage.outputTokens),
    cachedRead: toTokenCount(usage.cacheReadInputTokens),
    cachedWrite,
    ...(hourWrite && { hourWrite }),
    reasoning: 0,
    costUsd: 0,
    costStatus: 'unknown',
  }
}

const countHourWrite = (details: unknown): number =>
  (Array.isArray(details) ? details : [])
    .map((detail: { readonly ttl?: unknown; readonly inputTokens?: unknown } | null) => detail)
    .reduce((sum, detail) => sum + (detail?.ttl === '1h' ? toTokenCount(detail.inputTokens) : 0), 0)

/** Represents errors of Bedrock: HTTP errors before the reply, and exceptions inside the stream. */
class BedrockError extends Error {
  override readonly name = 'BedrockError'
  /** The name of the AWS exception. The classifier reads it. */
  readonly code: string
  readonly status: number | undefined
  readonly headers: Headers | undefined
  constructor(code: string, message: string, { status, headers }: { status?: number; headers?: Headers } = {}) {
    super(message || code)
    this.code = code
    this.status = resolveStatus(code, status)
    this.headers = headers
  }
}

/**
 * Corrects statuses that mislead the classifier. Bedrock sends 424 when a model failed, which looks like a wrong
 * request, and 403 for an invalid signature, which looks like a valid key without permission.
 */
const statusOverrides: readonly (readonly [RegExp, number | undefined])[] = [
  [/^Model(Stream)?Error/i, undefined],
  [/^ModelNotReady/i, 503],
  [/^(ServiceQuotaExceeded|Throttling)/i, 429],
  [/^(UnrecognizedClient|ExpiredToken|InvalidSignature|IncompleteSignature|MissingAuthenticationToken)/i, 401],
]

function resolveStatus(code: string, status: number | undefined): number | undefined {
  const override = statusOverrides.find(([pattern]) => pattern.test(code))
  return override ? override[1] : status
}

async function readBedrockError(response: Response): Promise<BedrockError> {
  const text = await response.text()
  const body = parseErrorBody(text)
  // The name may be followed by a colon and the URL of its documentation.
  const code = (response.headers.get('x-amzn-errortype') ?? body.type ?? '').split(':')[0] ?? ''
  const { status, headers } = response
  return new BedrockError(code, body.message ?? text.slice(0, 2_000), { status, headers })
}

type BedrockErrorFields = { readonly message?: string; readonly type?: string }

function parseErrorBody(json: string): BedrockErrorFields {
  try {
    const body = JSON.parse(json) as Readonly<Record<string, unknown>>
    const message = [body['message'], body['Message'], body['originalMessage']].find(
      (value) => typeof value === 'string',
    )
    const type = typeof body['__type'] === 'string' ? body['__type'].split('#').at(-1) : undefined
    return { ...(message !== undefined && { message }), ...(type !== undefined && { type }) }
  } catch {
    return {}
  }
}
