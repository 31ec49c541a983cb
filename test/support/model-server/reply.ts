/** What the server answers, before it becomes bytes. Scripts return these; directives are compiled to these. */

export type Call = {
  readonly name: string
  /** A string is sent as it is, so that malformed arguments can be sent too. */
  readonly input: unknown
}

export type Reply = {
  /** A string is cut into chunks of one word; a list is exactly the chunks. */
  readonly text?: string | readonly string[]
  readonly reasoning?: string | readonly string[]
  readonly calls?: readonly Call[]
  readonly finish?: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  /** Default: estimated from the bytes. */
  readonly usage?: { readonly prompt?: number; readonly completion?: number; readonly cached?: number }
  /** Milliseconds before the first chunk, and between chunks. Without them everything is sent at once. */
  readonly ttft?: number
  readonly gap?: number
  /** The connection is cut after so many chunks; 0 = before the headers. */
  readonly dropAfter?: number
  /** An error answer instead of a completion. */
  readonly status?: number
  readonly retryAfter?: number
  readonly message?: string
  readonly code?: string
  /** Never answers; the client has to give up. */
  readonly hang?: boolean
}

/** What a script sees of a request. */
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
