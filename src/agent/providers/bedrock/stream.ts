/** Reads what ConverseStream sends back: frames into one message, usage, and why it ended. */

import { Dropped, type Reply } from '../../model/dialect.ts'
import type { AssistantMessage } from '../../model/message.ts'
import { noUsage, type Usage } from '../../model/usage.ts'
import { readArguments } from '../shared/call-arguments.ts'
import { type Seal, sealedBy } from './blocks.ts'
import { BedrockError, errorOf, messageIn } from './bedrock-error.ts'
import { type Frame, frameReader } from './frames.ts'
import { type Listening, readReply, Room } from '../shared/read-body.ts'

export async function readConverse(response: Response, { hear, pulse, sleep }: Listening): Promise<Reply> {
  if (!response.ok || response.headers.get('content-type')?.includes('json')) throw await errorOf(response)
  const gathered = new Gathered(hear)
  const framesIn = frameReader()
  const feed = (bytes: Uint8Array) => {
    for (const frame of framesIn(bytes)) {
      pulse('answer')
      gathered.take(frame)
    }
  }
  return readReply(response.body, gathered, { feed, told: BedrockError, sleep })
}

type Start = {
  readonly contentBlockIndex?: number
  readonly start?: { readonly toolUse?: { readonly toolUseId?: string; readonly name?: string } }
}
type Delta = {
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
type Counts = Readonly<
  Record<'inputTokens' | 'outputTokens' | 'cacheReadInputTokens' | 'cacheWriteInputTokens' | 'cacheDetails', unknown>
>
type Part =
  | { readonly of: 'text'; text: string }
  | { readonly of: 'thinking'; text: string; signature: string; redacted: string }
  | { readonly of: 'call'; readonly id: string; readonly name: string; json: string }

const decoder = new TextDecoder()

class Gathered {
  /** Nothing of the answer comes any more. */
  isClosed = false
  readonly #hear: Listening['hear']
  /** By index, in the order in which they began. Only calls say that they begin. */
  readonly #parts = new Map<number, Part>()
  readonly #room = new Room()
  #stop: string | undefined
  #usage: Usage = noUsage

  constructor(hear: Listening['hear']) {
    this.#hear = hear
  }

  /** The provider has said why the answer ended. */
  get isComplete(): boolean {
    return this.#stop !== undefined
  }

  get inCall(): boolean {
    return [...this.#parts.values()].some(({ of }) => of === 'call')
  }

  take(frame: Frame): void {
    const text = decoder.decode(frame.payload)
    throwException(frame, text)
    const event: unknown = JSON.parse(text)
    switch (frame.headers[':event-type']) {
      case 'contentBlockStart':
        return this.#begin(event as Start)
      case 'contentBlockDelta':
        return this.#add(event as Delta)
      case 'messageStop':
        this.#stop = (event as { readonly stopReason?: string }).stopReason ?? 'end_turn'
        return
      case 'metadata':
        this.#usage = usageOf((event as { readonly usage?: Partial<Counts> }).usage ?? {})
        this.isClosed = this.isComplete
    }
  }

  #begin({ contentBlockIndex = 0, start }: Start): void {
    const { toolUseId: id = '', name = '' } = start?.toolUse ?? {}
    if (!start?.toolUse) return
    this.#room.take(id + name)
    this.#open(contentBlockIndex, { of: 'call', id, name, json: '' })
  }

  #open<P extends Part>(index: number, part: P): P {
    this.#room.takePart()
    this.#parts.set(index, part)
    return part
  }

  #add({ contentBlockIndex: index = 0, delta = {} }: Delta): void {
    const { text, toolUse, reasoningContent: thought } = delta
    this.#room.takeTexts({ ...delta, ...toolUse })
    if (thought) this.#room.takeTexts(thought)
    if (text !== undefined) this.#text(index, text)
    if (thought) this.#think(index, thought)
    const part = this.#parts.get(index)
    if (toolUse?.input && part?.of === 'call') part.json += toolUse.input
  }

  #text(index: number, text: string): void {
    const part = this.#parts.get(index) ?? (text ? this.#open(index, { of: 'text', text: '' }) : undefined)
    if (part?.of !== 'text' || !text) return
    part.text += text
    this.#hear({ of: 'text', text })
  }

  #think(
    index: number,
    { text, signature, redactedContent }: NonNullable<NonNullable<Delta['delta']>['reasoningContent']>,
  ) {
    const part = this.#parts.get(index) ?? this.#open(index, { of: 'thinking', text: '', signature: '', redacted: '' })
    if (part.of !== 'thinking') return
    part.signature += signature ?? ''
    part.redacted += redactedContent ?? ''
    if (!text) return
    part.text += text
    this.#hear({ of: 'thinking', text })
  }

  reply(): Reply {
    if (this.#stop === undefined) throw new Dropped('The connection ended before the answer did.', this.inCall)
    // What the model wrote could not even be read by the provider.
    if (this.#stop.startsWith('malformed_')) throw new Dropped(`The answer ended as ${this.#stop}.`, this.inCall)
    const content = [...this.#parts.values()].flatMap(asContent)
    return { message: { role: 'assistant', content, stop: this.#stopFor(this.#stop) }, usage: this.#usage }
  }

  #stopFor(reason: string): AssistantMessage['stop'] {
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') return 'length'
    if (reason === 'guardrail_intervened' || reason === 'content_filtered' || reason === 'refusal') return 'refused'
    return this.inCall ? 'tools' : 'end'
  }
}

function throwException({ headers }: Frame, text: string): void {
  const kind = headers[':message-type']
  if (kind === 'exception') throw new BedrockError(headers[':exception-type'] ?? '', messageIn(text).message ?? text)
  if (kind === 'error') throw new BedrockError(headers[':error-code'] ?? '', headers[':error-message'] ?? text)
}

const sealed = (data: Seal) => ({ sealed: { by: sealedBy, data } })

function asContent(part: Part): AssistantMessage['content'] {
  switch (part.of) {
    case 'text':
      return part.text ? [{ type: 'text', text: part.text }] : []
    case 'thinking': {
      const { text, signature, redacted } = part
      if (redacted) return [{ type: 'thinking', text: '', ...sealed({ redacted }) }]
      return text || signature ? [{ type: 'thinking', text, ...(signature && sealed({ signature })) }] : []
    }
    case 'call':
      return [{ type: 'call', id: part.id, name: part.name, ...readArguments(part.json) }]
  }
}

/** What was read from the cache and written to it is counted apart, as we do. */
function usageOf(counts: Partial<Counts>): Usage {
  const cachedWrite = count(counts.cacheWriteInputTokens)
  const hourWrite = Math.min(cachedWrite, writtenForAnHour(counts.cacheDetails))
  return {
    input: count(counts.inputTokens),
    output: count(counts.outputTokens),
    cachedRead: count(counts.cacheReadInputTokens),
    cachedWrite,
    ...(hourWrite && { hourWrite }),
    reasoning: 0,
    costUsd: 0,
    costStatus: 'unknown',
  }
}

const writtenForAnHour = (details: unknown): number =>
  (Array.isArray(details) ? details : [])
    .map((one: { readonly ttl?: unknown; readonly inputTokens?: unknown } | null) => one)
    .reduce((sum, one) => sum + (one?.ttl === '1h' ? count(one.inputTokens) : 0), 0)

/** Providers are not believed everything: what is no number of tokens counts as none. */
const count = (value: unknown): number =>
  typeof value === 'number' && value >= 0 && value < 1e12 ? Math.floor(value) : 0
