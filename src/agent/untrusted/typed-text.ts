/** Finds what the person has typed. A message that a model has written for a subagent or a job is not their text. */

import { noMarks } from '#agent/core/marks.ts'
import { type Message, textIn, type UserMessage } from '#agent/core/message.ts'
import { readText } from './result-marks.ts'

/** Messages of these sources are orders of a person, unless marks say that a model with private data wrote them. */
const typedSources: ReadonlySet<string | undefined> = new Set([undefined, 'goal', 'heartbeat', 'loop', 'job'])

/** A later part of what somebody types says more about what they want now. */
const maxTypedChars = 8_000

/** The text that the person has typed in a conversation, for a message that its model writes. */
export const typedBy = (messages: readonly Message[]): string =>
  messages.map(typedIn).filter(Boolean).join('\n').slice(-maxTypedChars)

export function typedIn(message: Message): string {
  if (message.role === 'tool')
    return message.name === 'clarify' && !message.marks?.isForeign ? answerIn(textIn(message)) : ''
  return message.role === 'user' ? (message.typed ?? typedInOwn(message)) : ''
}

function typedInOwn(message: UserMessage): string {
  const [first] = message.content
  if (message.startsTyped) return first?.type === 'text' ? first.text : ''
  const { isForeign, isPrivate } = message.marks ?? noMarks
  if (isForeign || !typedSources.has(message.source)) return ''
  return isPrivate && message.source === 'job' ? '' : textIn(message)
}

/** The result has the question too, which the model has written. */
function answerIn(text: string): string {
  try {
    return readText(JSON.parse(text), 'user_response')
  } catch {
    return ''
  }
}
