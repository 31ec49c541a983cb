/** Defines messages to a chat: the target, the chunks, and the delivery state of each part. */

/** The chat that a session belongs to. */
export type ChatOrigin = {
  /** The id of the connection, which holds the secrets. */
  readonly connection: string
  readonly platform: string
  readonly chat: string
  /** The id under which the chat was seen first, when `chat` is another one. It names the session. */
  readonly chatKey?: string
  readonly thread?: string
  readonly isGroup: boolean
  /** The person of a group whose own session this is. Absent: the chat shares the session. */
  readonly person?: string
  /** Answers are drafts, which a person sends from `chat` to another chat in their own name. */
  readonly onBehalf?: OnBehalf
}

/** The private chat of a person whose answers are drafted. `connection`: what lets us write there in their name. */
export type OnBehalf = {
  readonly connection: string
  readonly chat: string
  /** Of the other person, without markup. */
  readonly name: string
  readonly canSend: boolean
}

/** The author and the message that a turn answers, by the ids of the platform. */
export type ChatAuthor = {
  readonly person: string
  readonly message?: string
  readonly replyHandle?: ReplyHandle
  /** The message was spoken. */
  readonly isVoice?: true
}

/** A styled range of a text, in UTF-16 units. */
export type TextSpan = {
  readonly type: 'bold' | 'italic' | 'underline' | 'strikethrough' | 'spoiler' | 'code' | 'pre' | 'link' | 'quote'
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
}

/** A part of a text that fits into one message of the platform. */
export type MessageChunk = {
  readonly text: string
  readonly spans: readonly TextSpan[]
  readonly buttons?: readonly (readonly Button[])[]
}

export type Button = { readonly label: string; readonly data: string }

/** A command that a button stands for. */
export type CommandChoice = { readonly label: string; readonly command: string }

/** Choices for the person who asked. */
export type PersonChoices = { readonly of: readonly CommandChoice[]; readonly person: string }

/** A token of the platform with which an answer is sent, for example that of an interaction. */
export type ReplyHandle = {
  readonly token: string
  readonly expiresAt: number
  /** The platform shows that the agent is thinking, until an answer takes its place. */
  readonly isAwaited?: true
  /** Nothing can be sent without a handle, and each carries so many messages. */
  readonly maxUses?: number
}

/** The known result of one attempt to send. */
export type SendOutcome =
  | { readonly kind: 'sent'; readonly id?: string }
  /** Not accepted now: a rate limit with its pause, or a failure of the platform. */
  | { readonly kind: 'retry'; readonly waitMs?: number; readonly detail: string }
  /** Sent without an answer: the platform may have accepted it. */
  | { readonly kind: 'ambiguous'; readonly detail: string }
  /** Rejected because of the formatting. */
  | { readonly kind: 'format'; readonly detail: string }
  | { readonly kind: 'too_long'; readonly detail: string }
  /** The message to edit does not exist any more. */
  | { readonly kind: 'gone'; readonly detail: string }
  /** The chat accepts nothing from this connection: it is blocked or unknown, or the secrets are wrong. */
  | { readonly kind: 'forbidden'; readonly detail: string }
  /** The time in which the platform lets the agent answer is over. */
  | { readonly kind: 'window'; readonly detail: string }
  /** Rejected for good, for another reason: only this message. */
  | { readonly kind: 'fatal'; readonly detail: string }
  /** The chat continues under another id. */
  | { readonly kind: 'moved'; readonly to: string; readonly detail: string }

/**
 * `prepared → sending → sent | unknown | expired | dead`. `unknown`: it may have arrived, and was repeated
 * often enough. `expired`: it became too old. `dead`: the platform rejects it.
 */
export type DeliveryState = 'prepared' | 'sending' | 'sent' | 'unknown' | 'expired' | 'dead'

export type DeliveryRecord = {
  readonly state: DeliveryState
  /** Milliseconds since 1970. */
  readonly preparedAt: number
  /** The next attempt is not made before this time. */
  readonly due: number
  /** Attempts that are known to have failed. */
  readonly tries: number
  /** An earlier attempt may have arrived, so the next one is marked as a possible duplicate. */
  readonly isDoubtful: boolean
  /** The attempts that may have arrived. */
  readonly doubts?: number
  /** Sent without formatting, because the platform rejected it. */
  readonly isPlain: boolean
  readonly platformId?: string
  readonly error?: string
}
