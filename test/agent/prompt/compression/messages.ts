/** Creates messages and entries for the tests of compression. */

import type { Entry } from '#agent/core/history.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '#agent/core/message.ts'
import { userText } from '#agent/core/message.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'

export const asks = (text: string): UserMessage => userText(text)
export const answers = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})
export const callsTool = (id: string, input: unknown = { path: id }, name = 'read_file'): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'call', id, name, input }],
  stop: 'tools',
})
export const returns = (callId: string, text = 'found', name = 'read_file', failed = false): ToolMessage => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text }],
  failed,
})

/** Numbers the messages from 1. Each message of the user begins a run. */
export function toEntries(messages: readonly Message[]): Entry[] {
  let run = 0
  return messages.map((message, i) => {
    if (message.role === 'user' && !message.source) run++
    return {
      id: `msg_${i + 1}`,
      seq: i + 1,
      runId: `run_${run}`,
      at: 0,
      tokens: estimateMessageTokens(message),
      message,
    }
  })
}
