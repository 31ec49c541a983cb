/** Defines the port that every messaging platform implements. Each platform has a folder; channels.ts lists them. */

import type { MessageChunk, SendOutcome } from '../agent/model/delivery.ts'

export type Secrets = Readonly<Record<string, string>>

/** A tenant's connection to a platform: its API address, its secrets and its webhook address. */
export type ChannelConnection = {
  readonly apiBase: string
  readonly secrets: Secrets
  /** The address registered with the platform. Some signatures cover it. */
  readonly webhookUrl: string
}

/** The account under which the agent acts on the platform. */
export type BotAccount = { readonly id: string; readonly name: string }

export type ChatAddress = { readonly chat: string; readonly thread?: string }

export type Sender = { readonly id: string; readonly name: string }

/** A webhook request as it arrived. Signatures are checked against `body`, never against re-serialised content. */
export type InboundRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Uint8Array
  /** Milliseconds since 1970; the reference for time windows of signatures. */
  readonly receivedAt: number
}

/** One message or button press that a platform reported. */
export type InboundEvent = {
  /** Deduplication key: the same in every delivery of the event, unique within the connection. */
  readonly key: string
  readonly address: ChatAddress
  readonly isGroup: boolean
  readonly sender: Sender
} & (
  | {
      readonly kind: 'message'
      readonly messageId: string
      readonly text: string
      /** Ids and lower-case names of the mentioned accounts. */
      readonly mentions: readonly string[]
      /** The author of the message that this one replies to. */
      readonly repliesToSender?: string
    }
  | { readonly kind: 'press'; readonly pressId: string; readonly messageId: string; readonly data: string }
)

export type Received = {
  /** Sent after all events are stored. Without one, the platform gets an empty 200. */
  readonly response?: Response
  readonly events: readonly InboundEvent[]
}

export type OutboundMessage = {
  readonly address: ChatAddress
  readonly chunk: MessageChunk
  readonly replyToMessageId?: string
  /** The bot's own message that this one replaces. */
  readonly editedMessageId?: string
}

export type Channel = {
  readonly platform: string
  /** The default API address, and the variable of the deployment that replaces it. */
  readonly apiBase: { readonly variable: string; readonly url: string }
  /** The secrets that a connection needs, with the shape of each. `isGenerated`: a missing one is generated. */
  readonly secrets: Readonly<
    Record<string, { readonly shape: RegExp; readonly hint: string; readonly isGenerated?: true }>
  >
  /** The platform stores a message once, however often `send` repeats its key. */
  readonly hasIdempotencyKeys: boolean
  /** Pause between two edits of one message. */
  readonly editIntervalMs: (isGroup: boolean) => number
  /** The time for which the platform shows a typing indicator. */
  readonly typingDurationMs: number
  /**
   * Verifies the request, then parses it. A request that is not proven to come from the platform returns `refused()`.
   * A proven one never fails: unknown content returns no events. Has no effects of its own.
   */
  readonly receive: (request: InboundRequest, connection: ChannelConnection) => Promise<Received>
  /** Splits a text into messages that the platform accepts. `plain` shows markup characters as they are. */
  readonly render: (text: string, format: 'markdown' | 'plain') => readonly MessageChunk[]
  /** Never rejects. `key` identifies the message over all attempts to send it. */
  readonly send: (connection: ChannelConnection, message: OutboundMessage, key: string) => Promise<SendOutcome>
  readonly showTyping: (connection: ChannelConnection, address: ChatAddress) => Promise<SendOutcome>
  /** Shows a short text to the person who pressed a button. */
  readonly answerPress: (connection: ChannelConnection, pressId: string, text: string) => Promise<SendOutcome>
  readonly getAccount: (connection: ChannelConnection) => Promise<BotAccount | { readonly refused: string }>
}

/** The result of `receive` for a request with a missing, wrong or outdated proof. It gives no reason. */
export const refused = (status: 401 | 403 = 401): Received => ({
  response: new Response(null, { status }),
  events: [],
})
