/** What leaves for a chat: where it goes, in which pieces, and whose hands each piece is in. */

/** Where a session lives that began in a chat. */
export type ChatOrigin = {
  /** The id of the connection; its secrets are elsewhere. */
  readonly connection: string
  readonly platform: string
  readonly chat: string
  readonly thread?: string
  readonly isGroup: boolean
}

/** Who said what a turn answers, as the platform knows them. */
export type ChatAuthor = { readonly person: string; readonly message?: string }

/** Styled stretches of a text, in UTF-16 units. */
export type TextSpan = {
  readonly type: 'bold' | 'italic' | 'underline' | 'strikethrough' | 'spoiler' | 'code' | 'pre' | 'link' | 'quote'
  readonly offset: number
  readonly length: number
  readonly url?: string
  readonly language?: string
}

/** A piece that a platform takes as one message. */
export type MessageChunk = {
  readonly text: string
  readonly spans: readonly TextSpan[]
  readonly buttons?: readonly (readonly Button[])[]
}

export type Button = { readonly label: string; readonly data: string }

/** What became of one attempt, as far as it is known here. */
export type SendOutcome =
  | { readonly of: 'sent'; readonly id?: string }
  /** Not taken: there is too much traffic. */
  | { readonly of: 'busy'; readonly waitMs?: number; readonly detail: string }
  /** Not taken: the platform failed. */
  | { readonly of: 'failed'; readonly detail: string }
  /** It left, and nothing came back: it may have been taken. */
  | { readonly of: 'lost'; readonly detail: string }
  /** Not taken, because of how the text is styled. */
  | { readonly of: 'format'; readonly detail: string }
  /** There is nothing to edit any more. */
  | { readonly of: 'gone'; readonly detail: string }
  /** Not taken and never going to be: the whole chat, or this one message. */
  | { readonly of: 'refused'; readonly scope: 'chat' | 'message'; readonly detail: string }

/**
 * `prepared → sending → sent | unknown | expired | dead`. `unknown`: it may be there or not, and is not tried again.
 * `expired`: it became too old. `dead`: the platform does not take it.
 */
export type DeliveryState = 'prepared' | 'sending' | 'sent' | 'unknown' | 'expired' | 'dead'

export type DeliveryRecord = {
  readonly state: DeliveryState
  /** Milliseconds since 1970. */
  readonly preparedAt: number
  /** Not before this time. */
  readonly due: number
  /** Attempts that are known to have come to nothing. */
  readonly tries: number
  /** An attempt before may have been taken: what is sent now says so. */
  readonly isDoubtful: boolean
  /** Without styles, because with them it was not taken. */
  readonly isPlain: boolean
  readonly platformId?: string
  readonly error?: string
}
