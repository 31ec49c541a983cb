/** Defines the port that every messaging platform implements. Each platform has a folder; channels.ts lists them. */

import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, OnBehalf, ReplyHandle, SendOutcome } from '#agent/core/delivery.ts'

export type Secrets = Readonly<Record<string, string>>

/** A request to an address that a platform or a person named. The network guard judges it. */
export type ForeignRequest = {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Reading a larger answer rejects with an error of the name `ResponseTooLarge`. */
  readonly maxBytes?: number
}

/** An email as the deployment's binding sends it. */
export type OutboundEmail = {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly OutboundFile[]
}

/** A telephone call. `at`: when it came, in milliseconds since 1970. */
export type CallIdentity = { readonly callSid: string; readonly from: string; readonly at: number }

/** `refused`: nobody is called. Without an id the call may ring, and its webhook names it. */
export type PlacedCall = { readonly callSid?: string } | { readonly refused: string }

/** How a call begins. The platform has defaults. */
export type Speech = { readonly greeting?: string; readonly language?: string; readonly voice?: string }

/** A tenant's connection to a platform: its API address, its secrets and its webhook address. */
export type ChannelConnection = {
  readonly apiBase: string
  readonly secrets: Secrets
  /** The address registered with the platform. Some signatures cover it. */
  readonly webhookUrl: string
  /** The address of the platform's login, where the deployment replaces it. */
  readonly loginBase?: string
  /** For whom the platform signs its tokens, where the settings name it. */
  readonly audience?: string
  /** The agent's own address on a platform whose settings name one (email). */
  readonly ownAddress?: string
  /** Chats of a self-hosted server that are direct, where its events do not say so. */
  readonly directRooms?: readonly string[]
  /** Answers to the private chats of the owner are drafted. */
  readonly isSecretary?: true
  /** Which of two sites of the platform the account belongs to. */
  readonly domain?: string
  readonly speech?: Speech
  /** Calls the API in place of `fetch`, where a person or the platform names its address. The network guard judges it. */
  readonly fetchApi?: (url: string, init: RequestInit) => Promise<Response>
  /** Reads an address that an event or an answer names. Tests and local runs replace the address, not this function. */
  readonly fetchForeign: (request: ForeignRequest) => Promise<Response>
  /** Absent: the deployment has no binding for email. Rejects when the mail was not accepted. */
  readonly sendEmail?: (email: OutboundEmail) => Promise<void>
}

/** The account under which the agent acts on the platform. */
export type BotAccount = { readonly id: string; readonly name: string }

export type ChatAddress = {
  readonly chat: string
  /** Names the session in place of `chat`: the id under which the chat was seen first, or the chat that drafts are for. */
  readonly chatKey?: string
  /** Of a chat whose answers are drafts. */
  readonly onBehalf?: OnBehalf
  /** The connection that lets us write in the name of a person. */
  readonly inNameOf?: string
  readonly thread?: string
}

export type Sender = {
  readonly id: string
  readonly name: string
  readonly isBot?: true
  /**
   * Other ids under which the platform names the same person, such as a phone number. Empty: the event has only one of
   * them. Absent: people have one id.
   */
  readonly aliases?: readonly string[]
}

/** A webhook request as it arrived. Signatures are checked against `body`, never against re-serialised content. */
export type InboundRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: Uint8Array
  /** Milliseconds since 1970; the reference for time windows of signatures. */
  readonly receivedAt: number
}

/** The message that a message replies to. */
export type Quote = {
  readonly messageId: string
  readonly sender?: Sender
  readonly text?: string
  readonly media?: readonly MediaReference[]
  /** The message stands in another chat, whose files the session does not have. */
  readonly isOfOtherChat?: true
}

type EventSource = {
  /** Deduplication key: the same in every delivery of the event, unique within the connection. */
  readonly key: string
  readonly address: ChatAddress
  readonly isGroup: boolean
  /** Everybody on the platform may write in this group. People whom no setting names begin no turn there. */
  readonly isPublic?: true
  /** Others wrote it to the sender. It gets no rights of the sender, and is no answer to a question. */
  readonly isForeign?: true
  readonly sender: Sender
  /** A token with which the answer must be sent, or can be sent for free, until it expires. */
  readonly replyHandle?: ReplyHandle
}

/** A file that came within its message. The platform does not have it any more. */
export type CarriedFile = { readonly reference: string; readonly bytes: Uint8Array<ArrayBuffer> }

/** A text that a message is about, and that anybody may have written: an issue, the lines of a change. */
export type Background = {
  readonly text: string
  /** The same for all messages of the chat: a conversation has it once. */
  readonly isOfChat?: true
}

export type MessageContent = {
  readonly messageId: string
  /** Without the notes for media, which the gateway adds. Empty for a message that is only media. */
  readonly text: string
  readonly media: readonly MediaReference[]
  /** The content of media that are marked as carried, by their references. */
  readonly carried?: readonly CarriedFile[]
  /** Ids and lower-case names of the mentioned accounts. */
  readonly mentions: readonly string[]
  readonly quote?: Quote
  readonly background?: readonly Background[]
  /** Messages with the same id belong together and arrive one after another. */
  readonly albumId?: string
}

/** One event that a platform reported. */
export type InboundEvent = EventSource &
  (
    | ({ readonly kind: 'message' } & MessageContent)
    /** An earlier message with its new content. */
    | ({ readonly kind: 'edit' } & MessageContent)
    /** `pressId`: what `answerPress` needs. `messageId`: the message that contains the button. */
    | { readonly kind: 'press'; readonly pressId: string; readonly messageId: string; readonly data: string }
    /** A native command. `text` is the whole line as a person would type it, like `/status` or an ordinary message. */
    | { readonly kind: 'command'; readonly text: string }
    | ({ readonly kind: 'lifecycle' } & Lifecycle)
  )

export type Lifecycle =
  /** The chat continues under another id. */
  | { readonly change: 'moved'; readonly to: string }
  /** The bot was added to the chat, or removed from it. */
  | { readonly change: 'added' | 'removed' }
  /** The sender invites the bot into the chat. `join` accepts, where the sender or the chat is allowed. */
  | { readonly change: 'invited' }
  /** The fate of a message of ours, by its platform id. `outcome` is never `sent` or `retry`. */
  | { readonly change: 'not-delivered'; readonly messageId: string; readonly outcome: SendOutcome }

export type Received = {
  /** Sent after all events are stored. Without one, the platform gets an empty 200. */
  readonly response?: Response
  /** Sent instead when all events are ignored. */
  readonly ignoredResponse?: Response
  readonly events: readonly InboundEvent[]
  /** Something has arrived at the platform: `pull` fetches it. */
  readonly isRing?: true
  /** Makes the response from the result of a press, after that is stored. Absent: the result is sent as a message. */
  readonly settle?: (result: PressResult) => Response
  /** Events of other accounts of the same app, which may have connections of their own. */
  readonly others?: readonly { readonly account: string; readonly events: readonly InboundEvent[] }[]
}

/** The result of a press. `ends`: the text that replaces the question; absent while it goes on. */
export type PressResult = { readonly toast: string; readonly ends?: string }

/** Events since a cursor. `hasMore`: there are further ones. */
export type PullAnswer =
  | {
      readonly kind: 'pulled'
      readonly cursor: string
      readonly events: readonly InboundEvent[]
      readonly hasMore?: boolean
    }
  | { readonly kind: 'failed'; readonly detail: string; readonly waitMs?: number; readonly isFinal?: true }

/** Events that a platform has kept until it was asked. `cursor` confirms them with the next question. */
export type PolledEvents = { readonly cursor: string; readonly events: readonly InboundEvent[] }

/** `isFinal`: no later question is answered differently. */
export type PollAnswer =
  | { readonly kind: 'polled'; readonly batches: readonly PolledEvents[] }
  | { readonly kind: 'failed'; readonly detail: string; readonly waitMs?: number; readonly isFinal?: true }

export type SocketAddress =
  | { readonly kind: 'found'; readonly address: string }
  | { readonly kind: 'failed'; readonly detail: string; readonly waitMs?: number; readonly isFinal?: true }

export type SocketFrame =
  | { readonly kind: 'ignored' }
  | { readonly kind: 'ready' }
  /** The platform closes the socket soon: another one is opened first. */
  | { readonly kind: 'closing' }
  /** Sockets are switched off for this app. */
  | { readonly kind: 'ended'; readonly detail: string }
  /** `acknowledge`: the frame that says that the events are stored. */
  | {
      readonly kind: 'events'
      readonly events: readonly InboundEvent[]
      readonly acknowledge: (isIgnored: boolean) => string
    }

export type OutboundFile = {
  readonly kind: MediaKind
  readonly name: string
  readonly mime: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export type OutboundMessage = {
  readonly address: ChatAddress
  /** Empty text when `file` is present. */
  readonly chunk: MessageChunk
  readonly file?: OutboundFile
  readonly replyToMessageId?: string
  /** The bot's own message that this one replaces. */
  readonly editedMessageId?: string
  /** Present only until it expires. */
  readonly replyHandle?: ReplyHandle
  /** Replaces `chunk` where the reply handle turns out to be used: an earlier attempt may have arrived by it. */
  readonly repeated?: MessageChunk
}

export type FetchedMedia =
  | {
      readonly kind: 'fetched'
      readonly bytes: Uint8Array<ArrayBuffer>
      /** As the platform names it; undefined: unknown. */
      readonly mime?: string
      readonly name?: string
    }
  /** `canRetry`: the same request may succeed later. */
  | { readonly kind: 'failed'; readonly detail: string; readonly canRetry: boolean }

/** The abilities of a platform. An absent entry: it cannot, and the port's function for it is never called. */
export type ChannelCapabilities = {
  /** The pause between two edits of one message. */
  readonly edit?: { readonly intervalMs: (isGroup: boolean) => number }
  /** The time for which the platform shows a typing indicator. */
  readonly typing?: { readonly durationMs: number }
  readonly buttons?: {
    readonly maxRows: number
    readonly maxPerRow: number
    readonly maxLabelChars: number
    /** Bytes of UTF-8. */
    readonly maxDataBytes: number
  }
  /** A question takes the place of the progress of its run, which then goes on in the same message. */
  readonly hasCards?: true
  readonly threads?: true
  /** An answer in a group begins a thread below the message that it answers. Replies there are meant for the agent. */
  readonly answersInThreads?: true
  /** Files out. A larger file is sent as a link. */
  readonly files?: { readonly maxBytes: number }
  /** Time after the person's last message in which the agent may write. Later, `send` returns `window`. */
  readonly replyWindowMs?: number
  /**
   * The platform stores a message once, however often `send` repeats its key. `without-reply-handle`: an answer by a reply
   * handle has no key, but the platform takes a handle once.
   */
  readonly idempotencyKeys?: true | 'without-reply-handle'
}

/** The size of one message: UTF-16 units, bytes of UTF-8 or code points. */
export type TextLimit = { readonly max: number; readonly unit: 'utf16' | 'utf8' | 'codepoint' }

export type SecretShape = {
  readonly shape: RegExp
  readonly hint: string
  /** A missing one is generated. */
  readonly isGenerated?: true
  /** May be missing. */
  readonly isOptional?: true
  /** Needed only where messages arrive this way. Absent: always. */
  readonly for?: 'webhook' | 'socket'
}

/** A chat that a person or a job names. */
export type ResolvedTarget =
  | { readonly kind: 'found'; readonly address: ChatAddress; readonly isGroup: boolean }
  /** `detail` says why, for the person who named it. */
  | { readonly kind: 'unknown'; readonly detail: string }
  /** The platform did not answer. `isGroup` is what the id tells, and true where it tells nothing. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly isGroup: boolean }

export type Registration = { readonly ok: boolean; readonly detail: string }

export type Manifest = { readonly name: string; readonly mime: string; readonly bytes: Uint8Array<ArrayBuffer> }

export type Channel = {
  readonly platform: string
  /** As people write it. */
  readonly name: string
  /**
   * The default API address, and the variable of the deployment that replaces it. Without a variable, calls go through
   * the network guard.
   */
  readonly apiBase: { readonly variable?: string; readonly url: string }
  /** The server is self-hosted: the setting `url` is the API address. */
  readonly needsUrl?: true
  /** The variable of the deployment that replaces the address of the platform's login. */
  readonly loginVariable?: string
  /** The secrets that a connection needs, with the shape of each. */
  readonly secrets: Readonly<Record<string, SecretShape>>
  /** The names of optional secrets of which one set must be given. */
  readonly secretSets?: readonly (readonly string[])[]
  /**
   * The secret that names the account, where all accounts of an app share one webhook. An event then may arrive at the
   * connection of another account with the same `app_secret`.
   */
  readonly accountSecret?: string
  /** The connection needs the setting `address`. */
  readonly needsAddress?: true
  /** Settings of a connection that only this platform reads, besides `address`. */
  readonly ownSettings?: readonly string[]
  /** Requests end in a secret behind the address of the webhook: `/webhooks/{platform}/{id}/{secret}`. */
  readonly hasPathSecret?: true
  /** Strangers get no pairing code: an answer would tell them that the address lives. */
  readonly ignoresStrangers?: true
  /** Writes an id of a person or a chat, as a person typed it, in the form that events have. */
  readonly normalizeId?: (id: string) => string
  readonly capabilities: ChannelCapabilities
  readonly textLimit: TextLimit
  /**
   * Verifies the request, then parses it. A request that is not proven to come from the platform returns `refused()`.
   * A proven one never fails: unknown content returns no events. Has no effects of its own.
   */
  readonly receive: (request: InboundRequest, connection: ChannelConnection) => Promise<Received>
  /**
   * Asks for events, for a server that the platform cannot reach, and waits for them up to half a minute. Never rejects.
   * Absent: the platform has no such call.
   */
  readonly poll?: (connection: ChannelConnection, cursor: string | undefined) => Promise<PollAnswer>
  /**
   * Fetches the events since a cursor. Without one it returns the present cursor and no events. Never rejects. Absent:
   * webhooks contain the events.
   */
  readonly pull?: (connection: ChannelConnection, cursor: string | undefined) => Promise<PullAnswer>
  /** Accepts an invitation. Never rejects. */
  readonly join?: (connection: ChannelConnection, address: ChatAddress) => Promise<SendOutcome>
  /** The address of a socket on which the platform sends events, for a server that it cannot reach. Never rejects. */
  readonly openSocket?: (connection: ChannelConnection) => Promise<SocketAddress>
  /** Reads a frame of that socket. */
  readonly readFrame?: (text: string, receivedAt: number) => SocketFrame
  /** Verifies the handshake of the socket of a call. Undefined: refused. Absent: the platform has no calls. */
  readonly openRelay?: (request: InboundRequest, connection: ChannelConnection) => Promise<CallIdentity | undefined>
  /** Calls a number. Its webhook then asks as for an incoming call. Never rejects. Absent: the platform cannot. */
  readonly placeCall?: (connection: ChannelConnection, number: string) => Promise<PlacedCall>
  /** Splits a text into messages that the platform accepts. `plain` shows markup characters as they are. */
  readonly render: (text: string, format: 'markdown' | 'plain') => readonly MessageChunk[]
  /** Never rejects. `key` identifies the message over all attempts to send it. */
  readonly send: (connection: ChannelConnection, message: OutboundMessage, key: string) => Promise<SendOutcome>
  /** Deletes a message of ours. Absent: the platform cannot. Never rejects. */
  readonly remove?: (connection: ChannelConnection, address: ChatAddress, messageId: string) => Promise<SendOutcome>
  /** `messageId`: the message that is being answered. Without it the call shows that the chat can be reached. */
  readonly showTyping?: (
    connection: ChannelConnection,
    address: ChatAddress,
    messageId?: string,
  ) => Promise<SendOutcome>
  /** Shows that the platform can be reached, where there is no `showTyping` to do it. Never rejects. */
  readonly probe?: (connection: ChannelConnection) => Promise<SendOutcome>
  /** Shows a short text to the person who pressed a button. Absent: the gateway sends a message instead. */
  readonly answerPress?: (connection: ChannelConnection, pressId: string, text: string) => Promise<SendOutcome>
  readonly getAccount: (connection: ChannelConnection) => Promise<BotAccount | { readonly refused: string }>
  /** Reads a file of a message. Never rejects. A file of more than `maxBytes` fails without a retry. */
  readonly fetchMedia?: (
    connection: ChannelConnection,
    reference: MediaReference,
    maxBytes: number,
  ) => Promise<FetchedMedia>
  /** Registers the webhook address with the platform (or takes it back), and checks that it arrived. Never rejects. */
  readonly register?: (connection: ChannelConnection, isOn: boolean) => Promise<Registration>
  /** The app that a person has to install at the platform, as a file. */
  readonly manifest?: (connection: ChannelConnection, name: string) => Promise<Manifest>
  /** Checks that a chat exists and can be written to. Never rejects. */
  readonly resolveTarget: (connection: ChannelConnection, address: ChatAddress) => Promise<ResolvedTarget>
}

/** The result of `receive` for a request with a missing, wrong or outdated proof. It gives no reason. */
export const refused = (status: 401 | 403 = 401): Received => ({
  response: new Response(null, { status }),
  events: [],
})
