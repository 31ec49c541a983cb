/** Reads what the Messages API sends back: blocks into one message, usage, and why it ended. */

import type {
  Message as WholeMessage,
  RawMessageStreamEvent,
  StopReason,
  Usage as Billed,
} from '@anthropic-ai/sdk/resources/messages'
import { createParser } from 'eventsource-parser'
import { Dropped, type Reply } from '../../model/dialect.ts'
import type { AssistantMessage } from '../../model/message.ts'
import { noUsage, type Usage } from '../../model/usage.ts'
import type { Seal } from './blocks.ts'
import { readArguments } from '../shared/call-arguments.ts'
import { ErrorInBody } from '../openai/chat-stream.ts'
import { asText, boundedEvents, type Listening, readReply, Room } from '../shared/read-body.ts'

type ErrorEvent = { readonly type: 'error'; readonly error?: { readonly type?: string; readonly message?: string } }
type Event = RawMessageStreamEvent | ErrorEvent | { readonly type: 'ping' }

/** `by`: who answers, as `sealerOf` says. */
export async function readMessages(
  response: Response,
  { hear, pulse, sleep }: Listening,
  by = 'anthropic',
): Promise<Reply> {
  const gathered = new Gathered(hear, by)
  if (response.headers.get('content-type')?.includes('application/json')) {
    gathered.takeWhole((await response.json()) as WholeMessage | ErrorEvent)
    return gathered.reply()
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      const event = JSON.parse(data) as Event
      pulse(event.type === 'ping' ? 'keep-alive' : 'answer')
      gathered.take(event)
    },
    onComment: () => pulse('keep-alive'),
    ...boundedEvents,
  })
  return readReply(response.body, gathered, { feed: asText((text) => parser.feed(text)), told: ErrorInBody, sleep })
}

type Started = Extract<RawMessageStreamEvent, { type: 'content_block_start' }>['content_block']
type Added = Extract<RawMessageStreamEvent, { type: 'content_block_delta' }>['delta']
type Counted = Extract<RawMessageStreamEvent, { type: 'message_delta' }>['usage'] & Pick<Billed, 'cache_creation'>
type Part =
  | { readonly of: 'text'; text: string }
  | { readonly of: 'thinking'; text: string; signature: string }
  | { readonly of: 'redacted'; readonly data: string }
  | { readonly of: 'call'; readonly id: string; readonly name: string; json: string; readonly input: unknown }

class Gathered {
  /** Nothing of the answer comes any more. */
  isClosed = false
  readonly #hear: Listening['hear']
  readonly #by: string
  /** By index, in the order in which they began. */
  readonly #parts = new Map<number, Part>()
  readonly #room = new Room()
  #stop: StopReason | undefined
  #explanation = ''
  #usage: Usage = noUsage

  constructor(hear: Listening['hear'], by: string) {
    this.#hear = hear
    this.#by = by
  }

  /** The provider has said why the answer ended. */
  get isComplete(): boolean {
    return this.#stop !== undefined
  }

  get inCall(): boolean {
    return [...this.#parts.values()].some(({ of }) => of === 'call')
  }

  take(event: Event): void {
    if (event.type === 'error') throw new ErrorInBody({ message: 'The provider sent an error.', ...event.error })
    if (event.type === 'message_start') this.#count(event.message?.usage)
    else if (event.type === 'content_block_start') this.#begin(event.index, event.content_block)
    else if (event.type === 'content_block_delta') this.#add(this.#parts.get(event.index), event.delta)
    else if (event.type === 'message_delta') {
      this.#end(event.delta.stop_reason, event.delta.stop_details)
      this.#count(event.usage)
    } else if (event.type === 'message_stop') this.isClosed = true
  }

  /** Some servers do not stream, whatever they are asked. */
  takeWhole(message: WholeMessage | ErrorEvent): void {
    if (message.type !== 'message') return this.take(message)
    message.content.forEach((block, index) => this.#begin(index, block as Started))
    this.#end(message.stop_reason, message.stop_details)
    this.#count(message.usage)
  }

  #end(reason: StopReason | null, details: { readonly explanation?: string | null } | null | undefined): void {
    if (reason) this.#stop = reason
    if (details?.explanation) this.#explanation = details.explanation
  }

  #begin(index: number, block: Started): void {
    this.#room.takePart()
    this.#room.take(JSON.stringify(block))
    if (block.type === 'text') {
      const part: Part = { of: 'text', text: '' }
      this.#parts.set(index, part)
      this.#add(part, { type: 'text_delta', text: block.text ?? '' })
    } else if (block.type === 'thinking') {
      const part: Part = { of: 'thinking', text: '', signature: block.signature ?? '' }
      this.#parts.set(index, part)
      this.#add(part, { type: 'thinking_delta', thinking: block.thinking ?? '' })
    } else if (block.type === 'redacted_thinking') this.#parts.set(index, { of: 'redacted', data: block.data })
    else if (block.type === 'tool_use')
      this.#parts.set(index, { of: 'call', id: block.id, name: block.name, json: '', input: block.input })
  }

  #add(part: Part | undefined, delta: Added): void {
    this.#room.takeTexts(delta)
    if (part?.of === 'text' && delta.type === 'text_delta') part.text += this.#heard('text', delta.text)
    else if (part?.of === 'call' && delta.type === 'input_json_delta') part.json += delta.partial_json
    else if (part?.of !== 'thinking') return
    else if (delta.type === 'thinking_delta') part.text += this.#heard('thinking', delta.thinking)
    else if (delta.type === 'signature_delta') part.signature += delta.signature
  }

  #heard(of: 'text' | 'thinking', text: string): string {
    if (text) this.#hear({ of, text })
    return text
  }

  /** The numbers of the end count all that came before; some servers have none of the input in them. */
  #count(counted: Partial<Counted> | null | undefined): void {
    if (!counted) return
    const before = this.#usage
    const cachedWrite = Math.max(before.cachedWrite, count(counted.cache_creation_input_tokens))
    const hourWrite = Math.max(before.hourWrite ?? 0, count(counted.cache_creation?.ephemeral_1h_input_tokens))
    this.#usage = {
      input: Math.max(before.input, count(counted.input_tokens)),
      output: Math.max(before.output, count(counted.output_tokens)),
      cachedRead: Math.max(before.cachedRead, count(counted.cache_read_input_tokens)),
      cachedWrite,
      ...(hourWrite && { hourWrite: Math.min(hourWrite, cachedWrite) }),
      reasoning: Math.max(before.reasoning, count(counted.output_tokens_details?.thinking_tokens)),
      costUsd: 0,
      costStatus: 'unknown',
    }
  }

  reply(): Reply {
    if (this.#stop === undefined) throw new Dropped('The connection ended before the answer did.', this.inCall)
    const parts = [...this.#parts.values()]
    const isSilent = this.#stop === 'refusal' && !parts.some((part) => part.of === 'text' && part.text)
    const content: AssistantMessage['content'] = [
      ...parts.flatMap((part) => asContent(part, this.#by)),
      ...(isSilent && this.#explanation ? [{ type: 'text', text: this.#explanation } as const] : []),
    ]
    return { message: { role: 'assistant', content, stop: this.#stopFor(this.#stop) }, usage: this.#usage }
  }

  #stopFor(reason: StopReason): AssistantMessage['stop'] {
    // `pause_turn`: the provider wants to be asked to go on, as it does with what was too long for it.
    if (reason === 'max_tokens' || reason === 'model_context_window_exceeded' || reason === 'pause_turn')
      return 'length'
    if (reason === 'refusal') return 'refused'
    return this.inCall ? 'tools' : 'end'
  }
}

function asContent(part: Part, by: string): AssistantMessage['content'] {
  switch (part.of) {
    case 'text':
      return part.text ? [{ type: 'text', text: part.text }] : []
    case 'thinking': {
      const { text, signature } = part
      return text || signature ? [{ type: 'thinking', text, ...(signature && sealed(by, { signature })) }] : []
    }
    case 'redacted':
      return [{ type: 'thinking', text: '', ...sealed(by, { redacted: part.data }) }]
    case 'call': {
      const { id, name, json, input } = part
      return [{ type: 'call', id, name, ...(json.trim() ? readArguments(json) : { input: input ?? {} }) }]
    }
  }
}

const sealed = (by: string, data: Seal) => ({ sealed: { by, data } })

/** Providers are not believed everything: what is no number of tokens counts as none. */
const count = (value: unknown): number =>
  typeof value === 'number' && value >= 0 && value < 1e12 ? Math.floor(value) : 0
