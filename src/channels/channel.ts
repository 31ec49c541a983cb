/** What every messaging platform looks like from here. One folder per platform; the list is in channels.ts. */

import type { Chunk, Outcome } from '../agent/model/delivery.ts'

export type Secrets = Readonly<Record<string, string>>

/** The way to a platform: where its API is, and what opens it. */
export type Line = { readonly apiBase: string; readonly secrets: Secrets }

/** What the platform says of the account that we are there. */
export type Account = { readonly id: string; readonly name: string }

export type Place = { readonly chat: string; readonly thread?: string }

export type Person = { readonly id: string; readonly name: string }

/** One event of a chat, as far as anything is made of it. */
export type Heard = {
  /** The same for every delivery of the same event. */
  readonly key: string
  readonly place: Place
  readonly isGroup: boolean
  readonly person: Person
} & (
  | {
      readonly of: 'message'
      readonly message: string
      readonly text: string
      /** Ids and names (in small letters) of the accounts that are named in it. */
      readonly mentions: readonly string[]
      /** Whose message it replies to. */
      readonly repliesTo?: string
    }
  | { readonly of: 'press'; readonly press: string; readonly message: string; readonly data: string }
)

export type Outgoing = {
  readonly place: Place
  readonly chunk: Chunk
  /** The message it answers. */
  readonly replyTo?: string
  /** A message of ours that becomes this one. */
  readonly edits?: string
}

export type Channel = {
  readonly platform: string
  /** Where its API is, unless the deployment says otherwise in the variable `apiBase.variable`. */
  readonly apiBase: { readonly variable: string; readonly url: string }
  /** What has to be entered, and what it looks like. */
  readonly secrets: Readonly<Record<string, { readonly shape: RegExp; readonly hint: string }>>
  /** A message that is sent twice with the same key is there once. */
  readonly keyed: boolean
  /** Milliseconds between two edits of one message. */
  readonly editPause: (isGroup: boolean) => number
  /** How long the sign that somebody is typing stays. */
  readonly typingMs: number
  /** By the bytes as they came. */
  readonly verify: (headers: Headers, body: Uint8Array, secrets: Secrets) => Promise<boolean>
  /** Undefined for what is none of our business. */
  readonly parse: (body: unknown) => Heard | undefined
  /** `plain`: as it is written, whatever it looks like. */
  readonly render: (text: string, how: 'markdown' | 'plain') => readonly Chunk[]
  readonly send: (line: Line, outgoing: Outgoing) => Promise<Outcome>
  readonly typing: (line: Line, place: Place) => Promise<Outcome>
  /** Says to whoever pressed a button what came of it. */
  readonly answerPress: (line: Line, press: string, text: string) => Promise<Outcome>
  readonly account: (line: Line) => Promise<Account | { readonly refused: string }>
}
