/** A provider's language, as the loop's effects see it: one request in, one reply out, deltas on the way. */

import type { AssistantMessage, Message } from './message.ts'
import type { Repairs } from './turn.ts'
import type { Usage } from './usage.ts'

export type DialectName = 'openai-chat' | 'openai-responses' | 'anthropic' | 'bedrock-converse' | 'workers-ai' | 'demo'

/**
 * Where a provider or a model departs from its dialect. Data: from the provider's profile and the model's
 * entry in the catalog. What is absent is as the dialect has it.
 */
export type Quirks = {
  /** `openai-chat`, `openai-responses`: the role of the system text. */
  readonly systemRole?: 'system' | 'developer'
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Tokens of output that are asked for when nobody names a number. */
  readonly defaultMaxTokens?: number
  /** `omitted`: the model refuses any; a number: the only one it takes. */
  readonly temperature?: 'omitted' | number
  /**
   * How effort is said: `effort` as a word, `object` as OpenRouter has it, `toggle`: on or off beside the word,
   * `budget` in tokens, `adaptive`, `none`: it is not sent.
   */
  readonly reasoning?: 'effort' | 'object' | 'toggle' | 'budget' | 'adaptive' | 'none'
  /** The efforts the model knows, weakest first; what is asked for is clamped to them. */
  readonly efforts?: readonly string[]
  /** `openai-chat`: the field in which the model's earlier thinking is sent back. */
  readonly echoThinking?: 'reasoning_content' | 'reasoning' | 'reasoning_details'
  /** `openai-chat`: calls carry what has to come back with them; `unsealed` stands in for calls of other models. */
  readonly sealedCalls?: { readonly unsealed?: object }
  /** `openai-chat`: which part of JSON Schema the tools may use. */
  readonly schemas?: 'gemini'
  /** `openai-chat`: all content as lists of parts, or that of tool results as a string only. */
  readonly content?: 'parts' | 'string-results'
  /** Where cache marks go: `native` as Anthropic has them, on content parts of the dialect. */
  readonly cacheMarks?: 'native' | 'none'
  /** `anthropic`: the key goes into `Authorization`. */
  readonly bearer?: boolean
  /** Merged into every request body. */
  readonly body?: Readonly<Record<string, unknown>>
}

export type ToolSchema = { readonly name: string; readonly description: string; readonly inputSchema: object }

export type ModelRequest = {
  readonly model: string
  readonly system: string
  readonly transcript: readonly Message[]
  readonly tools: readonly ToolSchema[]
  /** What was said so far of the answer that is asked for; stands behind the transcript as the assistant's. */
  readonly draft?: string | undefined
  /** Put behind everything as a user message, for this request only. */
  readonly say?: string | undefined
  readonly maxTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly reasoningEffort?: string | undefined
  readonly repairs?: Repairs | undefined
  /** How long the provider is asked to keep the beginning of the prompt; absent: no marks. */
  readonly cache?: '5m' | '1h' | undefined
}

export type Endpoint = {
  /** Names the key; stands in records and logs. */
  readonly id: string
  readonly baseUrl: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly quirks?: Quirks
}

export type Delta = { readonly of: 'text' | 'thinking'; readonly text: string }

export type Activity = 'answer' | 'keep-alive'

export type CallOptions = {
  readonly signal: AbortSignal
  readonly onDelta: (delta: Delta) => void
  /** The call is alive: something of the answer came, heard or not; or a `keep-alive`, which says only that somebody is there. */
  readonly onActivity: (sign?: Activity) => void
  readonly sleep: (ms: number) => Promise<void>
}

export type DialectReply = { readonly message: AssistantMessage; readonly usage: Usage }

/** Throws what the SDK or the network throws, or a `Dropped`; `classify` makes a Failure of it. */
export type Dialect = {
  readonly call: (request: ModelRequest, endpoint: Endpoint, options: CallOptions) => Promise<DialectReply>
}

/** The stream ended before the answer did. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken'
  /** It broke off inside a tool call. */
  readonly inCall: boolean
  constructor(message: string, inCall = false, cause?: unknown) {
    super(message, { cause })
    this.inCall = inCall
  }
}
