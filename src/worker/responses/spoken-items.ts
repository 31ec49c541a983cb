/**
 * Reads input items as the messages of a chat completion, so that both APIs know a conversation by the same hash. What
 * clients may leave out is left out: reasoning, calls of the agent, approvals.
 */

import type { ChatMessage } from '../chat/schema.ts'
import { joinText, toContentParts } from './response-input.ts'
import {
  type CallItem,
  type CompactionItem,
  type InputItem,
  isMessage,
  isSystem,
  isUser,
  type PlacedItem,
  type ResultItem,
} from './response-items.ts'

export const toSpokenMessages = (items: readonly PlacedItem[]): readonly ChatMessage[] =>
  items.flatMap(({ one }) => toMessage(one) ?? [])

function toMessage(one: InputItem): ChatMessage | undefined {
  if (isSystem(one)) return undefined
  if (isUser(one)) return { role: 'user', content: [...toContentParts(one.content)] }
  if (isMessage(one)) return { role: 'assistant', content: joinText(one.content) }
  switch (one.type) {
    case 'function_call': {
      const { call_id: id, name, arguments: json } = one as CallItem
      return { role: 'assistant', tool_calls: [{ id, function: { name, arguments: json } }] }
    }
    case 'function_call_output': {
      const { call_id: id, output } = one as ResultItem
      return { role: 'tool', tool_call_id: id, content: JSON.stringify(output) }
    }
    case 'compaction':
      return { role: 'tool', tool_call_id: 'compaction', content: (one as CompactionItem).encrypted_content }
    default:
      return undefined
  }
}
