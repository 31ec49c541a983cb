/** Defines the port of a provider's API: one request in, one reply out, deltas in between. */

import type { AssistantMessage, Message } from './message.ts'
import type { AnswerFormat, ModelParameters } from './request/model-parameters.ts'
import type { ToolChoice, ToolSchema } from './request/tool-schema.ts'
import type { Repairs } from './turn.ts'
import type { Usage } from './usage.ts'

export type DialectName =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic'
  | 'bedrock-converse'
  | 'gemini'
  | 'workers-ai'
  | 'demo'

/**
 * Differences of a provider or a model from its dialect, from the provider's profile and the model catalog. Absent fields
 * follow the dialect.
 */
export type Quirks = {
  /** `openai-chat`, `openai-responses`: the role of the system text. */
  readonly systemRole?: 'system' | 'developer'
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** `openai-responses`: the API refuses a limit of the output. */
  readonly outputLimit?: 'omitted'
  /** The output tokens to request when no setting names a number. */
  readonly defaultMaxTokens?: number
  /** `omitted`: the model rejects the field, and every other field about sampling. A number: the only accepted value. */
  readonly temperature?: 'omitted' | number
  /** `omitted`: the API rejects parameters of compatible servers, such as `top_k`. */
  readonly serverParameters?: 'omitted'
  /**
   * How the API takes the format of the answer: in every call (`native`), only in calls without tools (`alone`), only in
   * those and without a schema (`object`), or not at all. The system text asks for it where the API does not.
   */
  readonly answerFormat?: 'native' | 'alone' | 'object' | 'none'
  /**
   * The form of the reasoning effort: `effort` as a word, `object` as OpenRouter has it, `toggle` as on or off beside the
   * word, `budget` in tokens, `adaptive`, or `none`: it is not sent.
   */
  readonly reasoning?: 'effort' | 'object' | 'toggle' | 'budget' | 'adaptive' | 'none'
  /** The efforts of the model, weakest first. A requested effort is clamped to them. */
  readonly efforts?: readonly string[]
  /** `openai-chat`: the field in which earlier thinking is sent back to the model. */
  readonly echoThinking?: 'reasoning_content' | 'reasoning' | 'reasoning_details'
  /** `openai-chat`: calls carry data that must be sent back; `unsealed` is sent for calls of other models. */
  readonly sealedCalls?: { readonly unsealed?: object }
  /** `openai-chat`: the subset of JSON Schema for the tools. */
  readonly schemas?: 'gemini'
  /** `openai-chat`: the API takes a PDF in a part of the type `file`. */
  readonly fileParts?: boolean
  /** `openai-chat`: all content is a list of parts, or the content of tool results is a string. */
  readonly content?: 'parts' | 'string-results'
  /** The form of cache marks: `native` as Anthropic has them, on content parts of the dialect. */
  readonly cacheMarks?: 'native' | 'none'
  /** The API searches the web by itself, in the form of this dialect. */
  readonly serverSearch?: 'openai-chat' | 'openai-responses' | 'anthropic'
  /** `anthropic`: the API loads the tools to which a result refers. */
  readonly toolReferences?: boolean
  /** `anthropic`: the key is sent in `Authorization`. */
  readonly bearer?: boolean
  /** Merged into every request body. */
  readonly body?: Readonly<Record<string, unknown>>
}

export type ModelRequest = {
  readonly model: string
  readonly system: string
  readonly transcript: readonly Message[]
  readonly tools: readonly ToolSchema[]
  /** Only with tools. */
  readonly toolChoice?: Exclude<ToolChoice, 'none'> | undefined
  /** The provider's own web search takes the place of the tool `web_search`, if the quirks have one. */
  readonly serverSearch?: boolean | undefined
  /** False: at most one call in a reply. */
  readonly parallelToolCalls?: boolean | undefined
  /** The beginning of the requested answer; sent after the transcript as an assistant message. */
  readonly draft?: string | undefined
  /** An instruction that is sent last as a user message, in this request only. */
  readonly instruction?: string | undefined
  readonly maxTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly reasoningEffort?: string | undefined
  readonly parameters?: ModelParameters | undefined
  /** The format of the answer. Calls of tools are not bound to it. */
  readonly answerFormat?: AnswerFormat | undefined
  readonly repairs?: Repairs | undefined
  /** The time for which the provider caches the beginning of the prompt; absent: no cache marks. */
  readonly cache?: '5m' | '1h' | undefined
}

export type Endpoint = {
  /** Names the key in records and logs. */
  readonly id: string
  readonly baseUrl: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly quirks?: Quirks
  /** `bedrock-converse`: the region to sign for, where the address names none. */
  readonly region?: string
  /** The id of a subscription: `key` holds its sealed tokens, which are opened for the request. */
  readonly subscription?: string
  /** The tenant has named the address, so requests to it are guarded. */
  readonly isTenantAddress?: true
}

/** Sends a request unchanged, like `fetch`. */
export type SendRequest = (request: Request) => Promise<Response>

export type Delta = { readonly of: 'text' | 'thinking'; readonly text: string }

export type Activity = 'answer' | 'keep-alive'

export type CallOptions = {
  readonly signal: AbortSignal
  readonly onDelta: (delta: Delta) => void
  /** Called when the text of the deltas so far is thinking. Its deltas are void; it follows as thinking. */
  readonly onTextDiscarded?: (() => void) | undefined
  /** Called for every received part of the answer, or for a `keep-alive`, which carries none. Resets the idle timeout. */
  readonly onActivity: (sign?: Activity) => void
  /**
   * Called for each web search of the provider when it begins. `possible`: the call failed or ended, and the API does not
   * tell the searches of a call before its end.
   */
  readonly onServerSearch?: ((search: 'begun' | 'possible') => void) | undefined
  /** Called for each piece of the arguments of a call, as they are written. */
  readonly onArguments?: ((tool: string, piece: string) => void) | undefined
  /** `signal` ends it early, with an error: a timer that is left would keep the object of a session in memory. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Replaces the platform's `fetch` for this call. */
  readonly send?: SendRequest | undefined
}

export type DialectReply = { readonly message: AssistantMessage; readonly usage: Usage }

/** Throws the error of the SDK or the network, or `StreamBroken`; `classifyError` turns it into a Failure. */
export type Dialect = {
  readonly call: (request: ModelRequest, endpoint: Endpoint, options: CallOptions) => Promise<DialectReply>
}

/** Thrown when the stream ends before the answer does. Dialects have a class of their own: see `isStreamBroken`. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken'
  /** The stream ended inside a tool call. */
  readonly inCall: boolean
  constructor(message: string, inCall = false, cause?: unknown) {
    super(message, { cause })
    this.inCall = inCall
  }
}

/** Dialects are bundled apart from the core, with a copy of the class. */
export const isStreamBroken = (error: unknown): error is StreamBroken =>
  error instanceof Error && error.name === 'StreamBroken'
