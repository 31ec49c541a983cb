/** Defines what a compression stores: the summary, the messages that it keeps, and the state that limits further ones. */

import type { Marks } from './marks.ts'

/** Seqs of older messages that are still sent. `head` precedes the summary, `requests` follow it. */
export type KeptMessages = { readonly head: readonly number[]; readonly requests: readonly number[] }

/** Replaces the messages up to the seq `covers`, except for the kept ones. */
export type Summary = {
  readonly text: string
  readonly covers: number
  readonly keeps: KeptMessages
  /** Texts after the summary that are no part of it, such as the todo list. */
  readonly carried: readonly string[]
  /** One line for each call with an effect among the replaced messages, oldest first. */
  readonly effects: readonly string[]
  /** Of the replaced messages. */
  readonly marks?: Marks
}

export const keepsNothing: KeptMessages = { head: [], requests: [] }

/** Carried from turn to turn. */
export type CompressionState = {
  /** Compressions in a row that saved too little, the tokens of the context after the last of them, and its model. */
  readonly poor?: { readonly count: number; readonly tokens: number; readonly model: string }
  /** No compression starts by itself before this time, because the summary could not be requested. */
  readonly pausedUntil?: number
  /** Tokens of a prompt as the provider counted them, in relation to the estimate. */
  readonly measured?: { readonly model: string; readonly ratio: number }
}
