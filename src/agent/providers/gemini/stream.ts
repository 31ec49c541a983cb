/** Reads answers of the Gemini API, streamed or whole, into one reply: message, usage and stop reason. */

import { createParser } from 'eventsource-parser'
import { type DialectReply, StreamBroken } from '#agent/core/dialect.ts'
import type { AssistantMessage } from '#agent/core/message.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { parseCallArguments } from '../shared/call-arguments.ts'
import { parseWithText } from '../shared/json-slices.ts'
import { ErrorInBody, type ErrorFields } from '../shared/error-in-body.ts'
import { type BodyReadOptions, decodeUtf8Into, readReply, type ReplyBuilder } from '../shared/read-body.ts'
import { eventParserLimits, ReplySizeLimit } from '../shared/reply-size-limit.ts'
import { toTokenCount } from '../shared/usage-numbers.ts'
import { type GeminiSeal, sealIssuer } from './parts.ts'

type GeminiPart = {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: string | undefined }
}
type GeminiAnswer = {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly GeminiPart[] }
    readonly finishReason?: string
  }[]
  readonly promptFeedback?: { readonly blockReason?: string }
  readonly usageMetadata?: Readonly<Record<string, unknown>>
  readonly responseId?: string
  readonly error?: ErrorFields
}

export async function readGeminiStream(
  response: Response,
  { onDelta, onActivity, onArguments, sleep }: BodyReadOptions,
): Promise<DialectReply> {
  if (!response.ok || response.headers.get('content-type')?.includes('json'))
    return readGeminiReply(response, { onDelta, onActivity, sleep })
  const builder = new GeminiReplyBuilder(onDelta, onArguments)
  const parser = createParser({
    onEvent: ({ data }) => {
      onActivity('answer')
      builder.add(parseAnswer(data))
    },
    onComment: () => onActivity('keep-alive'),
    ...eventParserLimits,
  })
  const feed = decodeUtf8Into((text) => parser.feed(text))
  return readReply(response.body, builder, { feed, end: () => parser.feed('\n\n'), providerError: ErrorInBody, sleep })
}

/** Reads the answer of `generateContent`, or an error. */
export async function readGeminiReply(response: Response, { onDelta }: BodyReadOptions): Promise<DialectReply> {
  const text = await response.text()
  if (!response.ok) throw toError(response, text)
  const builder = new GeminiReplyBuilder(onDelta)
  builder.add(parseAnswer(text))
  return builder.build()
}

/** The arguments of calls stay as they are written. */
const parseAnswer = (text: string): GeminiAnswer => parseWithText(text, 'args') as GeminiAnswer

/** An error of the API as the classifier reads it: status, fields and headers. */
class GeminiError extends Error {
  override readonly name = 'GeminiError'
  readonly status: number
  readonly error: ErrorFields
  readonly headers: Headers
  constructor({ status, headers }: Response, error: ErrorFields) {
    super(error.message ?? `The provider answered with status ${status}.`)
    this.status = status
    this.error = error
    this.headers = headers
  }
}

function toError(response: Response, text: string): GeminiError {
  try {
    const body = JSON.parse(text) as { readonly error?: ErrorFields } | readonly { readonly error?: ErrorFields }[]
    const { error } = (Array.isArray(body) ? body[0] : body) as { readonly error?: ErrorFields }
    if (error) return new GeminiError(response, error)
  } catch {
    // A page of a proxy: its text is the message.
  }
  return new GeminiError(response, { message: text.slice(0, 2_000) })
}

type Part = AssistantMessage['content'][number]

const lengthReasons: ReadonlySet<string> = new Set(['MAX_TOKENS'])
const refusals: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
])

class GeminiReplyBuilder implements ReplyBuilder {
  isClosed = false
  readonly #onDelta: BodyReadOptions['onDelta']
  readonly #onArguments: BodyReadOptions['onArguments']
  readonly #content: Part[] = []
  readonly #sizeLimit = new ReplySizeLimit()
  #reason: string | undefined
  #blocked: string | undefined
  #usage: Usage = noUsage
  #responseId = ''

  constructor(onDelta: BodyReadOptions['onDelta'], onArguments?: BodyReadOptions['onArguments']) {
    this.#onDelta = onDelta
    this.#onArguments = onArguments
  }

  get isComplete(): boolean {
    return this.#reason !== undefined || this.#blocked !== undefined
  }

  get hasToolCall(): boolean {
    return this.#content.some(({ type }) => type === 'call')
  }

  add(answer: GeminiAnswer): void {
    if (answer.error) throw new ErrorInBody(answer.error)
    this.#responseId = answer.responseId ?? this.#responseId
    for (const candidate of answer.candidates?.slice(0, 1) ?? []) this.#addCandidate(candidate)
    this.#blocked = answer.promptFeedback?.blockReason ?? this.#blocked
    if (answer.usageMetadata) this.#usage = parseUsage(answer.usageMetadata)
    // The last event has the reason and the totals.
    this.isClosed = this.isComplete && answer.usageMetadata !== undefined
  }

  #addCandidate({ content, finishReason }: NonNullable<GeminiAnswer['candidates']>[number]): void {
    for (const part of content?.parts ?? []) this.#addPart(part)
    this.#reason = finishReason ?? this.#reason
  }

  #addPart({ text, thought, thoughtSignature: signature, functionCall: called }: GeminiPart): void {
    this.#sizeLimit.countText(text ?? '')
    const sealed = signature ? { sealed: { by: sealIssuer, data: { signature } satisfies GeminiSeal } } : undefined
    if (called) return this.#addCall(called, sealed)
    if (text) this.#extend(thought ? 'thinking' : 'text', text)
    // The signature of a text is sent back as a part of its own, as the API sends it at the end of a stream.
    if (sealed) this.#push({ type: 'thinking', text: '', ...sealed })
  }

  #extend(type: 'thinking' | 'text', text: string): void {
    this.#onDelta({ of: type, text })
    const last = this.#content.at(-1)
    const canGrow = last?.type === type && !('sealed' in last)
    if (canGrow) this.#content[this.#content.length - 1] = { ...last, text: last.text + text }
    else this.#push({ type, text })
  }

  #push(part: Part): void {
    this.#sizeLimit.countPart()
    this.#content.push(part)
  }

  /** Only some models name their calls. The id of an answer makes ours unique within a conversation. */
  #addCall({ id, name = '', args }: NonNullable<GeminiPart['functionCall']>, sealed: object | undefined): void {
    this.#sizeLimit.countText(args ?? '')
    // The API sends a call whole, and other calls of the same answer after it.
    if (args) this.#onArguments?.(name, args)
    const ownId = `${this.#responseId || 'call'}_${this.#content.length}`
    this.#push({ type: 'call', id: id || ownId, name, ...parseCallArguments(args ?? ''), ...sealed })
  }

  build(): DialectReply {
    if (this.#blocked !== undefined && !this.#content.length)
      this.#push({ type: 'text', text: `The request was blocked (${this.#blocked}).` })
    if (!this.isComplete || this.#reason === 'MALFORMED_FUNCTION_CALL')
      throw new StreamBroken('The connection ended before the reply was complete.', this.hasToolCall)
    return { message: { role: 'assistant', content: this.#content, stop: this.#stop() }, usage: this.#usage }
  }

  #stop(): AssistantMessage['stop'] {
    if (this.#blocked !== undefined || refusals.has(this.#reason ?? '')) return 'refused'
    if (lengthReasons.has(this.#reason ?? '')) return 'length'
    return this.hasToolCall ? 'tools' : 'end'
  }
}

/** The prompt includes what was read from the cache. Thinking is billed as output and counted apart from it. */
function parseUsage(usage: Readonly<Record<string, unknown>>): Usage {
  const count = (name: string) => toTokenCount(usage[name])
  const cachedRead = count('cachedContentTokenCount')
  const reasoning = count('thoughtsTokenCount')
  return {
    input: Math.max(0, count('promptTokenCount') + count('toolUsePromptTokenCount') - cachedRead),
    output: count('candidatesTokenCount') + reasoning,
    cachedRead,
    cachedWrite: 0,
    reasoning,
    costUsd: 0,
    costStatus: 'unknown',
  }
}
