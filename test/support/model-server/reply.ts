/** Defines replies of the model server. Scripts return them, and directives are compiled to them. */

export type Call = {
  readonly name: string
  /** A string is sent unchanged, so that malformed arguments are possible. */
  readonly input: unknown
}

export type Reply = {
  /** A string is split into chunks of one word. A list contains the chunks. */
  readonly text?: string | readonly string[]
  readonly reasoning?: string | readonly string[]
  readonly calls?: readonly Call[]
  readonly finish?: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  /** Default: estimated from the bytes. */
  readonly usage?: { readonly prompt?: number; readonly completion?: number; readonly cached?: number }
  /** Milliseconds before the first chunk, and between chunks. Without them everything is sent at once. */
  readonly ttft?: number
  readonly gap?: number
  /** Closes the connection after this many chunks; 0: before the headers. */
  readonly dropAfter?: number
  /** Status of an error response instead of a completion. */
  readonly status?: number
  readonly retryAfter?: number
  readonly message?: string
  readonly code?: string
  /** Never answers, so that the client times out. */
  readonly hang?: boolean
}

/** The facts of a request that a script receives. */
export type ScriptRequest = {
  /** Text of the last user message. */
  readonly text: string
  /** Model calls answered since that message: 0 for the first. */
  readonly step: number
  /** The request offers tools. */
  readonly tools: boolean
  readonly stream: boolean
  readonly bytes: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

export type Script = (asked: ScriptRequest) => Reply | undefined

export const splitChunks = (text: string | readonly string[] | undefined): readonly string[] =>
  text === undefined ? [] : typeof text === 'string' ? (text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []) : text
