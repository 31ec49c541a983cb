/**
 * Makes any stored transcript one that every provider accepts: roles alternate, every call has its
 * result right behind it, ids are unique, nothing is empty. Pure; the stored history is never touched,
 * and a message that is fine is passed on as the same object, so that renderings can be cached by it.
 */

import {
  type AssistantMessage,
  callsIn,
  type Message,
  textIn,
  type ToolMessage,
  type UserMessage,
} from '../model/message.ts'

export function sanitise(transcript: readonly Message[]): Message[] {
  const clean: Message[] = []
  for (let i = 0; i < transcript.length; i++) {
    const message = transcript[i] as Message
    if (message.role === 'tool') continue // taken with the assistant message that asked for it
    const last = clean.at(-1)
    if (message.role === 'user') {
      if (isEmptyUser(message)) continue
      if (last?.role === 'user') clean[clean.length - 1] = joinUsers(last, message)
      else clean.push(message)
      continue
    }
    if (isEmptyAssistant(message)) continue
    if (last?.role === 'assistant') clean[clean.length - 1] = joinAssistants(last, message)
    else clean.push(message)
    if (callsIn(message).length) clean.push(...resultsFor(message, transcript, i + 1))
  }
  return startsWithUser(clean)
}

const isEmptyUser = (message: UserMessage) =>
  message.content.every((part) => part.type === 'text' && part.text.trim() === '')

/** Thinking alone is no turn of speech: providers refuse it without what it led to. */
const isEmptyAssistant = (message: AssistantMessage) => !textIn(message).trim() && !callsIn(message).length

const joinUsers = (a: UserMessage, b: UserMessage): UserMessage => ({
  role: 'user',
  content: [...a.content, { type: 'text', text: '\n\n' }, ...b.content],
})

const joinAssistants = (a: AssistantMessage, b: AssistantMessage): AssistantMessage => ({
  ...b,
  content: [...a.content, { type: 'text', text: '\n\n' }, ...b.content],
})

function resultsFor(message: AssistantMessage, transcript: readonly Message[], from: number): ToolMessage[] {
  const results = new Map<string, ToolMessage>()
  for (let i = from; i < transcript.length; i++) {
    const next = transcript[i]
    if (next?.role !== 'tool') break
    if (!results.has(next.callId)) results.set(next.callId, next)
  }
  return callsIn(message).map(
    ({ id, name }) =>
      results.get(id) ?? {
        role: 'tool',
        callId: id,
        name,
        content: [{ type: 'text', text: '{"error":"The result of this call was not kept."}' }],
        failed: true,
      },
  )
}

/** After an undo or a cut the oldest message may be an answer; a conversation begins with a question. */
function startsWithUser(messages: Message[]): Message[] {
  const first = messages.findIndex((message) => message.role === 'user')
  return first <= 0 ? messages : messages.slice(first)
}
