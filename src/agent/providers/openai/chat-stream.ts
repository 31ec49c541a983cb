/** Reads what a chat completion sends back: fragments into one message, usage, and why it ended. */

import { createParser } from 'eventsource-parser'
import type OpenAI from 'openai'
import { Dropped, type Reply } from '../../model/dialect.ts'
import type { AssistantMessage } from '../../model/message.ts'
import { noUsage, type Usage } from '../../model/usage.ts'
import { asText, boundedEvents, type Listening, readReply, Room } from '../shared/read-body.ts'
import { type ReasoningDetail, ReasoningDetails } from './reasoning-details.ts'
import { type CallFragment, CallFragments } from './chat-tool-calls.ts'
import { contentOf } from './chat-content.ts'
import { sealedBy } from './chat-messages.ts'

type Choice = {
  readonly delta?: Fragment
  readonly message?: Fragment
  readonly finish_reason?: string | null
  readonly error?: ErrorBody | string | null
}
type Fragment = {
  /** Also in parts, as Mistral's models that think have it, or JSON that is not its text. */
  readonly content?: unknown
  readonly refusal?: string | null
  readonly reasoning?: string | null
  readonly reasoning_content?: string | null
  readonly reasoning_details?: readonly ReasoningDetail[] | null
  readonly tool_calls?: readonly CallFragment[] | null
}
type ChatUsage = OpenAI.CompletionUsage & {
  readonly cost?: number
  /** DeepSeek's, and Moonshot's. */
  readonly prompt_cache_hit_tokens?: number
  readonly cached_tokens?: number
  readonly prompt_tokens_details?: { readonly cache_write_tokens?: number }
}
export type Chunk = {
  readonly choices?: readonly Choice[]
  readonly usage?: ChatUsage | null
  readonly error?: ErrorBody | string | null
}
type ErrorBody = { readonly message?: string; readonly code?: string | number | null; readonly [more: string]: unknown }

/** An error that arrived inside a 200 answer. Everything it says goes along: code, type, what it wraps. */
export class ErrorInBody extends Error {
  override readonly name = 'ErrorInBody'
  readonly status: number | undefined
  readonly error: unknown
  constructor(error: ErrorBody | string) {
    const { message, code } = typeof error === 'string' ? { message: error } : error
    super(message ?? 'The provider sent an error.')
    this.status = Number(code) >= 400 && Number(code) < 600 ? Number(code) : undefined
    this.error = error
  }
}

/** `read`: makes a chunk of the data of an event, for servers that have a form of their own. */
export async function readChat(
  response: Response,
  { hear, pulse, sleep }: Listening,
  read: (data: string) => Chunk = (data) => JSON.parse(data) as Chunk,
): Promise<Reply> {
  const gathered = new Gathered(hear)
  if (response.headers.get('content-type')?.includes('application/json')) {
    gathered.take((await response.json()) as Chunk)
    return gathered.reply()
  }
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') gathered.isClosed = true
      else pulse(gathered.take(read(data)) ? 'answer' : 'keep-alive')
    },
    // Gateways send comments while they wait for the model behind them.
    onComment: () => pulse('keep-alive'),
    ...boundedEvents,
  })
  return readReply(response.body, gathered, { feed: asText((text) => parser.feed(text)), told: ErrorInBody, sleep })
}

/** Reasons for the end, with those that Mistral, Z.AI and gateways have in place of OpenAI's. */
const full = new Set(['length', 'model_length', 'max_tokens', 'model_context_window_exceeded'])
const filtered = new Set(['content_filter', 'sensitive'])
/** The server gave up: DeepSeek, OpenRouter, Z.AI. */
const broken = new Set(['insufficient_system_resource', 'error', 'network_error'])

class Gathered {
  isClosed = false
  readonly #hear: Listening['hear']
  #text = ''
  #thinking = ''
  #refusal = ''
  readonly #room = new Room()
  readonly #details = new ReasoningDetails(this.#room)
  readonly #calls = new CallFragments(this.#room)
  #finish: string | undefined
  #usage: Usage = noUsage

  constructor(hear: Listening['hear']) {
    this.#hear = hear
  }

  /** The provider has said why the answer ended. */
  get isComplete(): boolean {
    return this.#finish !== undefined
  }

  get inCall(): boolean {
    return this.#calls.length > 0
  }

  /** Whether there was anything of the answer in it. */
  take({ choices, usage, error }: Chunk): boolean {
    if (error) throw new ErrorInBody(error)
    if (usage) this.#usage = usageOf(usage)
    const choice = choices?.[0]
    if (!choice) return Boolean(usage)
    if (choice.error) throw new ErrorInBody(choice.error)
    if (choice.finish_reason) this.#finish = choice.finish_reason.toLowerCase()
    const fragment = choice.delta ?? choice.message
    if (fragment) this.#takeFragment(fragment)
    return Boolean(choice.finish_reason) || (fragment !== undefined && saysSomething(fragment))
  }

  #takeFragment(fragment: Fragment) {
    const said = contentOf(fragment.content)
    const thinking = fragment.reasoning_content || fragment.reasoning || said.thinking
    for (const text of [thinking, said.text, fragment.refusal]) if (text) this.#room.take(text)
    if (thinking) {
      this.#thinking += thinking
      this.#hear({ of: 'thinking', text: thinking })
    }
    this.#details.take(fragment.reasoning_details ?? [])
    if (said.text) {
      this.#text += said.text
      this.#hear({ of: 'text', text: said.text })
    }
    if (fragment.refusal) this.#refusal += fragment.refusal
    for (const call of fragment.tool_calls ?? []) this.#calls.take(call)
  }

  reply(): Reply {
    if (this.#finish === undefined && !(this.isClosed && (this.#text || this.#calls.length)))
      throw new Dropped('The connection ended before the answer did.', this.inCall)
    if (broken.has(this.#finish ?? '')) throw new Dropped(`The answer ended as ${this.#finish}.`, this.inCall)
    const content: AssistantMessage['content'] = [
      ...thoughtOf(this.#thinking, this.#details.all),
      ...(this.#text || this.#refusal ? [{ type: 'text', text: this.#text || this.#refusal } as const] : []),
      ...this.#calls.parts(),
    ]
    return { message: { role: 'assistant', content, stop: this.#stop() }, usage: this.#usage }
  }

  #stop(): AssistantMessage['stop'] {
    const finish = this.#finish ?? ''
    if (full.has(finish)) return 'length'
    if (filtered.has(finish) || this.#refusal) return 'refused'
    return this.#calls.length ? 'tools' : 'end'
  }
}

/** Sealed thinking may have no words at all. */
function thoughtOf(text: string, details: readonly ReasoningDetail[]): AssistantMessage['content'] {
  if (!details.length) return text ? [{ type: 'thinking', text }] : []
  return [{ type: 'thinking', text, sealed: { by: sealedBy, data: details } }]
}

function saysSomething(fragment: Fragment): boolean {
  const { content, refusal, reasoning, reasoning_content: thinking } = fragment
  const { reasoning_details: details, tool_calls: calls } = fragment
  const said = Array.isArray(content) ? content.length : content
  return Boolean(said || refusal || reasoning || thinking || details?.length || calls?.length)
}

/** `prompt_tokens` includes what was read from a cache and written to it; ours counts that apart. */
function usageOf(usage: ChatUsage): Usage {
  const cachedRead = count(
    usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens,
  )
  const cachedWrite = count(usage.prompt_tokens_details?.cache_write_tokens)
  return {
    input: Math.max(0, count(usage.prompt_tokens) - cachedRead - cachedWrite),
    output: outputOf(usage),
    cachedRead,
    cachedWrite,
    reasoning: count(usage.completion_tokens_details?.reasoning_tokens),
    costUsd: isAmount(usage.cost) ? usage.cost : 0,
    costStatus: isAmount(usage.cost) ? 'actual' : 'unknown',
  }
}

/** `completion_tokens` includes reasoning; at xAI and others it does not, and the total tells. */
function outputOf({ prompt_tokens, completion_tokens, total_tokens, completion_tokens_details: details }: ChatUsage) {
  const written = count(completion_tokens)
  const reasoning = count(details?.reasoning_tokens)
  return count(total_tokens) === count(prompt_tokens) + written + reasoning ? written + reasoning : written
}

/** Providers are not believed everything: what is no number of tokens counts as none. */
const count = (value: unknown): number => (isAmount(value) ? Math.floor(value) : 0)
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e12
