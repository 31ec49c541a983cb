/** Defines messages. Every dialect translates to and from these types. */

import { type Marks, noMarks } from './marks.ts'

/**
 * `pdf`: the file that the text was extracted from. A model that takes PDF files gets it in place of the text. `unread`: a
 * file of a request, until its session has read it. `sent`: how a client has sent the part, when not as this text.
 */
export type TextPart = {
  readonly type: 'text'
  readonly text: string
  readonly pdf?: Pdf
  readonly unread?: UnreadFile
  readonly sent?: SentPart
}
export type UnreadFile = {
  readonly name: string
  readonly mediaType: string
  readonly content:
    | { readonly kind: 'base64'; readonly data: string }
    /** A key in R2, of the same tenant. */
    | { readonly kind: 'stored'; readonly key: string }
}
/** `contents`: the text is what a file of the message contains. `separator`: it stands between two items of a request. */
export type SentPart = SentFile | 'contents' | 'separator'
/** The fields of a file as its client has sent them. Only readers of the API get them back. */
export type SentFile = {
  readonly kind: 'file' | 'audio'
  /** Its position among the parts of the message. */
  readonly at: number
  readonly name?: string
  readonly id?: string
  readonly url?: string
  /** The beginning of a data URL, which precedes the base64. */
  readonly prefix?: string
  /** Base64, or the address of its copy in R2 (`blob:`). */
  readonly data?: string
}
/** `data` is the address in R2 (`blob:`), and base64 in a request to a model that takes the file. */
export type Pdf = { readonly name: string; readonly pages: number; readonly data: string }
/** `data` is base64 without a prefix, or an https or R2 (`blob:`) address when `mediaType` is followed by `;url`. */
export type ImagePart = {
  readonly type: 'image'
  readonly mediaType: string
  readonly data: string
  /** As a client has sent it, when that is not `auto`. */
  readonly detail?: string
  /** The image is a file of the message. */
  readonly sent?: 'contents'
}
/** Opaque JSON of one dialect, such as a signature or an encrypted item. It is sent back unchanged to that dialect only. */
export type ProviderData = { readonly by: string; readonly data: unknown }
/** Thinking stays verbatim, because providers reject a transcript whose signature does not match. */
export type ThinkingPart = {
  readonly type: 'thinking'
  readonly text: string
  readonly sealed?: ProviderData
  /** The part belongs to a web search that the provider ran: its query, or empty. */ readonly search?: string
}
export type ToolCallPart = {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The arguments as they were written; present only when they are not valid JSON. */
  readonly raw?: string
  /** The arguments as they were written; present only when they are JSON that differs from the JSON of `input`. */
  readonly json?: string
  /** The tool is one that the caller of the run has offered. */
  readonly owner?: 'client'
  readonly sealed?: ProviderData
}

/** The origin of a `user` message that no person wrote. */
export type MessageSource =
  | 'notice'
  | 'nudge'
  | 'summary'
  | 'job'
  | 'webhook'
  | 'subagent'
  | 'process'
  | 'goal'
  | 'heartbeat'
  | 'loop'

export type UserMessage = {
  readonly role: 'user'
  readonly content: readonly (TextPart | ImagePart)[]
  readonly source?: MessageSource
  /** Fenced memories that the model gets behind the message. Readers of the message do not. */
  readonly recalled?: string
  /** A note of the session that the model gets behind the message. Readers of the message do not. */
  readonly note?: string
  /** The workspace as it was when the turn started. The model gets it in a fence behind the message. */
  readonly state?: WorkspaceState
  readonly marks?: Marks
  /** The first part of a marked message is what its sender typed. */
  readonly startsTyped?: true
  /** Of a message that a model has written: what the person had typed before. Models do not get it. */
  readonly typed?: string
}
export type WorkspaceState = { readonly text: string; readonly nonce: string; readonly marks: Marks }
export type AssistantMessage = {
  readonly role: 'assistant'
  readonly content: readonly (TextPart | ThinkingPart | ToolCallPart)[]
  readonly stop: 'end' | 'tools' | 'length' | 'refused'
  /** Marks text of the system: why a turn ended without an answer. Every turn ends with an assistant message. */
  readonly source?: 'notice'
  /** Of what the model had read. */
  readonly marks?: Marks
}
export type ToolMessage = {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: readonly (TextPart | ImagePart)[]
  readonly failed: boolean
  /** Absent in results that are older than marks. */
  readonly marks?: Marks
  /** Strangers may have written the content: the model gets it in a fence with this nonce. */
  readonly nonce?: string
}
export type Message = UserMessage | AssistantMessage | ToolMessage
/** The first message of a turn. It is a result when the client of a lost run brings it. */
export type OpeningMessage = UserMessage | ToolMessage

export const userText = (text: string, source?: MessageSource, marks?: Marks): UserMessage => ({
  role: 'user',
  content: [{ type: 'text', text }],
  ...(source && { source }),
  ...(marks && { marks }),
})

export const notice = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
  source: 'notice',
})

/** Creates the result of a call that did not run or failed without one. */
export const errorResult = (call: { readonly id: string; readonly name: string }, error: string): ToolMessage => ({
  role: 'tool',
  callId: call.id,
  name: call.name,
  content: [{ type: 'text', text: JSON.stringify({ error }) }],
  failed: true,
  marks: noMarks,
})

/** Returns the arguments as they were written. JSON of the input has other spaces, and rounds numbers. */
export const argumentsOf = ({ input, json, raw }: Pick<ToolCallPart, 'input' | 'json' | 'raw'>): string =>
  raw ?? json ?? JSON.stringify(input)

export const callsIn = (message: AssistantMessage): ToolCallPart[] =>
  message.content.filter((part) => part.type === 'call')

export const textIn = (message: Message): string =>
  message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')

export const thinkingIn = (message: Message): string =>
  message.content.flatMap((part) => (part.type === 'thinking' ? [part.text] : [])).join('')
