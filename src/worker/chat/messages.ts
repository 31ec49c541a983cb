/** Splits the messages of a chat completion into history, system text and what the turn has to answer. */

import type { AssistantMessage, Message, ToolMessage } from '#agent/core/message.ts'
import { callsIn, errorResult } from '#agent/core/message.ts'
import { parseCallArguments } from '#agent/providers/shared/call-arguments.ts'
import type { ClientResult } from '#durable/session/intake/continue.ts'
import { invalid } from '../errors.ts'
import { joinSystemText, measureMessage, parseContentPart, requireStorableSize } from '../input/input.ts'
import type { ChatRequest, ChatMessage, SpokenPart } from './schema.ts'

type SystemMessage = Extract<ChatMessage, { role: 'system' | 'developer' }>
type ConversationMessage = Exclude<ChatMessage, SystemMessage>
type UserContent = NonNullable<Extract<ChatMessage, { role: 'user' }>['content']>
const isSystem = (one: ChatMessage): one is SystemMessage => one.role === 'system' || one.role === 'developer'

type PlacedMessage = { readonly one: ConversationMessage; readonly param: string }

export type ChatConversation = {
  readonly instructions: string
  /** The messages before the last one. */
  readonly history: readonly Message[]
  /** The user's last message, or the last result of a tool of the client. */
  readonly last: { readonly role: 'user'; readonly content: UserContent } | ToolMessage
  /** The results since the last answer. */
  readonly results: readonly ClientResult[]
}

export function splitMessages(messages: ChatRequest['messages']): ChatConversation {
  const placed = messages.map((one, i) => ({ one, param: `messages.${i}.content` }))
  const instructions = joinSystemText(
    placed.flatMap(({ one, param }) => (isSystem(one) ? [{ text: joinText(one.content), param }] : [])),
  )
  const spoken = placed.flatMap(({ one, param }): PlacedMessage[] => (isSystem(one) ? [] : [{ one, param }]))
  const names = new Map<string, string>()
  const last = spoken.at(-1)
  if (last?.one.role !== 'user' && last?.one.role !== 'tool')
    throw invalid('The last message must have the role user or tool.', 'messages')
  const history = spoken.slice(0, -1).map((placedOne) => parsePlaced(placedOne, names))
  const answered = spoken.findLastIndex(({ one }) => one.role === 'assistant') + 1
  const results = spoken.slice(answered).flatMap(({ one }) => (one.role === 'tool' ? [parseResult(one, names)] : []))
  return {
    instructions,
    history,
    last:
      last.one.role === 'user'
        ? { role: 'user', content: last.one.content ?? '' }
        : (parsePlaced(last, names) as ToolMessage),
    results: results.map(({ callId, content, failed }) => ({ callId, content, failed })),
  }
}

/**
 * The messages as the history of a new session, and the result that it ends with. Every result belongs to a call, and a
 * call without a result gets an error.
 */
export function completeHistory(
  { history, last }: ChatConversation,
  param: string,
): {
  readonly history: readonly Message[]
  readonly opening: ToolMessage | undefined
} {
  const whole = last.role === 'tool' ? [...history, last] : history
  const complete: Message[] = []
  let open: ReadonlyMap<string, AssistantMessage['content'][number]> = new Map()
  const close = () => {
    for (const call of open.values()) if (call.type === 'call') complete.push(errorResult(call, notRun))
    open = new Map()
  }
  for (const message of whole) {
    if (message.role === 'tool') {
      if (!open.has(message.callId)) throw unknownCall(message.callId, param)
      open = new Map([...open].filter(([id]) => id !== message.callId))
    } else close()
    complete.push(message)
    if (message.role === 'assistant') open = new Map(callsIn(message).map((call) => [call.id, call]))
  }
  close()
  const opening = last.role === 'tool' ? (complete.pop() as ToolMessage) : undefined
  return { history: complete, opening }
}

const notRun = 'The client did not run this call.'

const unknownCall = (id: string, param: string) =>
  invalid(`No call of the assistant message before it has the id ${JSON.stringify(id)}.`, param)

export const joinText = (value: string | readonly SpokenPart[] | null | undefined): string =>
  typeof value === 'string'
    ? value
    : (value ?? []).map((part) => (part.type === 'text' ? part.text : part.refusal)).join('')

function parsePlaced({ one, param }: PlacedMessage, names: Map<string, string>): Message {
  const made = parseMessage(one, names)
  const isCalls = one.role === 'assistant' && one.tool_calls?.length
  requireStorableSize(measureMessage(made), isCalls ? param.replace('content', 'tool_calls') : param)
  return made
}

function parseMessage(one: ConversationMessage, names: Map<string, string>): Message {
  if (one.role === 'user') {
    const input = one.content ?? ''
    const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
    return { role: 'user', content: parts.map(parseContentPart) }
  }
  if (one.role === 'tool') return parseResult(one, names)
  const calls = (one.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => {
    names.set(id, name)
    return { type: 'call' as const, id, name, ...parseCallArguments(json), owner: 'client' as const }
  })
  const text = joinText(one.content)
  return {
    role: 'assistant',
    content: [...(text ? [{ type: 'text' as const, text }] : []), ...calls],
    stop: calls.length ? 'tools' : 'end',
  }
}

function parseResult(
  { tool_call_id: callId, content }: Extract<ChatMessage, { role: 'tool' }>,
  names: ReadonlyMap<string, string>,
): ToolMessage {
  const text = { type: 'text' as const, text: joinText(content) }
  return { role: 'tool', callId, name: names.get(callId) ?? 'tool', content: [text], failed: false }
}
