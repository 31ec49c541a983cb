/**
 * Prunes old messages without a model: long tool results become one line, long arguments of calls are shortened, images
 * are dropped. A pruned message has the same role and ids. The same messages always give the same result, because the
 * head of a compressed context is pruned each time it is loaded.
 */

import {
  type AssistantMessage,
  callsIn,
  type Message,
  textIn,
  type ToolCallPart,
  type ToolMessage,
} from '#agent/core/message.ts'
import { describeCall } from './describe-call.ts'
import { toLine } from './truncate.ts'

/** Longer results become one line. */
export const maxResultChars = 200
/** Longer texts in the arguments of calls are shortened. */
const maxArgumentChars = 400
/** A stub is shorter than the limit of results, so that pruning it again changes nothing. */
const maxCallChars = 80
const maxBeginningChars = 50

/** The text that `closeBatch` adds to a result when the user writes while tools run. */
const steerOpening = '[The user said, while this ran:'

const imageNote = { type: 'text', text: '[An image was left out.]' } as const

export function pruneMessages(messages: readonly Message[]): readonly Message[] {
  const calls = new Map<string, ToolCallPart>()
  return messages.map((message) => {
    if (message.role === 'assistant') {
      for (const call of callsIn(message)) calls.set(call.id, call)
      return pruneCalls(message)
    }
    if (message.role === 'tool') return pruneResult(message, calls.get(message.callId))
    return message.content.some(({ type }) => type === 'image')
      ? { ...message, content: message.content.map((part) => (part.type === 'image' ? imageNote : part)) }
      : message
  })
}

function pruneResult(message: ToolMessage, call: ToolCallPart | undefined): ToolMessage {
  const said = message.content.filter((part) => part.type === 'text' && part.text.startsWith(steerOpening))
  const result = message.content.filter((part) => !said.includes(part))
  const text = textIn({ ...message, content: result })
  const hasImage = result.some(({ type }) => type === 'image')
  if (text.length <= maxResultChars && !hasImage) return message
  const size = text.length <= maxResultChars ? '' : `, ${countLines(text)} lines, ${text.length} characters`
  const images = hasImage ? ', with an image' : ''
  const outcome = message.failed ? 'failed' : 'ok'
  const what = toLine(describeCall(message.name, call?.input), maxCallChars)
  const stub = `[${what} → ${outcome}${size}${images}; it began: ${toLine(text, maxBeginningChars)}]`
  return { ...message, content: [{ type: 'text', text: stub }, ...said] }
}

const countLines = (text: string): number => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

function pruneCalls(message: AssistantMessage): AssistantMessage {
  const content = message.content.map((part) => {
    if (part.type !== 'call') return part
    const input = shortenTexts(part.input)
    if (input === part.input && part.raw === undefined) return part
    const { raw: _raw, json: _json, ...call } = part
    return { ...call, input }
  })
  return content.every((part, i) => part === message.content[i]) ? message : { ...message, content }
}

/** Shortens the texts within a JSON value. The value itself is returned when none is long. */
export function shortenTexts(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > maxArgumentChars
      ? `${value.slice(0, maxArgumentChars / 2)}… [${value.length - maxArgumentChars / 2} characters left out]`
      : value
  if (Array.isArray(value)) {
    const items = value.map(shortenTexts)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, item, shortenTexts(item)] as const)
  return entries.some(([, before, after]) => before !== after)
    ? Object.fromEntries(entries.map(([key, , item]) => [key, item]))
    : value
}
