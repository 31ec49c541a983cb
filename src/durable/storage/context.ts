/** Collects the messages that models get, with their estimated tokens and the number of messages with images. */

import type { Entry } from '../../agent/model/history.ts'
import type { Message } from '../../agent/model/message.ts'

export type Context = { readonly entries: Entry[]; readonly messages: Message[]; tokens: number; images: number }

export function addToContext(context: Context, entry: Entry): void {
  context.entries.push(entry)
  context.messages.push(entry.message)
  context.tokens += entry.tokens
  if (hasImage(entry.message)) context.images++
}

const hasImage = ({ role, content }: Message) => role !== 'assistant' && content.some(({ type }) => type === 'image')
