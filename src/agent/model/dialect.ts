/** A provider's language, as the loop's effects see it: one request in, one reply out, deltas on the way. */

import type { AssistantMessage, Message } from './message.ts'
import type { Repairs } from './turn.ts'
import type { Usage } from './usage.ts'

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
}

export type Endpoint = {
  /** Names the key; stands in records and logs. */
  readonly id: string
  readonly baseUrl: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

export type Delta = { readonly of: 'text' | 'thinking'; readonly text: string }

export type CallOptions = {
  readonly signal: AbortSignal
  readonly hear: (delta: Delta) => void
  /** Called for whatever arrives, heard or not: the call is alive. */
  readonly pulse: () => void
  readonly sleep: (ms: number) => Promise<void>
}

export type Reply = { readonly message: AssistantMessage; readonly usage: Usage }

/** Throws what the SDK or the network throws, or a `Dropped`; `classify` makes a Failure of it. */
export type Dialect = {
  readonly call: (request: ModelRequest, endpoint: Endpoint, options: CallOptions) => Promise<Reply>
}

/** The stream ended before the answer did. */
export class Dropped extends Error {
  override readonly name = 'Dropped'
  /** It broke off inside a tool call. */
  readonly inCall: boolean
  constructor(message: string, inCall = false, cause?: unknown) {
    super(message, { cause })
    this.inCall = inCall
  }
}
