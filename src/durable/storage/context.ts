/** Collects the messages that models get, with their estimated tokens and the number of messages with images. */

import type { Entry } from '#agent/core/history.ts'
import type { Message } from '#agent/core/message.ts'
import { arrangeEntries, assembleContext } from '#agent/prompt/compression/assemble.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'

/** `entries` are in the order in which they are sent. Assembly may change and join their messages. */
export type Context = { readonly entries: Entry[]; readonly messages: Message[]; tokens: number; images: number }

/** `entries`: the newest summary, the messages that it keeps, and those after it, oldest first. */
export function createContext(entries: readonly Entry[]): Context {
  const context: Context = { entries: [], messages: [], tokens: 0, images: 0 }
  const arranged = arrangeEntries(entries)
  if (!arranged.some(({ covers }) => covers !== undefined)) {
    for (const entry of arranged) addToContext(context, entry)
    return context
  }
  const messages = [...assembleContext(arranged)]
  const tokensOf = new Map(arranged.map(({ message, tokens }) => [message, tokens]))
  const tokens = messages.reduce((sum, one) => sum + (tokensOf.get(one) ?? estimateMessageTokens(one)), 0)
  return { entries: [...arranged], messages, tokens, images: messages.filter(hasImage).length }
}

export function addToContext(context: Context, entry: Entry): void {
  context.entries.push(entry)
  context.messages.push(entry.message)
  context.tokens += entry.tokens
  if (hasImage(entry.message)) context.images++
}

const hasImage = ({ role, content }: Message) => role !== 'assistant' && content.some(({ type }) => type === 'image')
