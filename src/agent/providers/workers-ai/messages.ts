/** Messages as the models behind the `AI` binding take them: those of chat completions, as the oldest of them knew it. */

import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type UserMessage,
} from '../../model/message.ts'
import { wireId, wireName } from '../shared/call-id.ts'
import { wholeJson } from '../shared/json.ts'
import { leftOut, pictureOf } from '../shared/image-content.ts'
import { wellFormed } from '../shared/well-formed.ts'

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
type Call = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly Part[] }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls?: readonly Call[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }

export function chatMessage(message: Message, withoutImages = false): ChatMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: userContent(message, withoutImages) }
    case 'assistant':
      return answer(message)
    case 'tool': {
      const text = message.content
        .map((part) => (part.type === 'text' ? part.text : '[an image, not shown]'))
        .join('\n')
      // Models with a template of their own know results by the name of the tool, the others by the id.
      return {
        role: 'tool',
        tool_call_id: wireId(message.callId),
        name: wireName(message.name),
        content: wellFormed(text),
      }
    }
  }
}

/** Content is a string even when there is none: several models refuse null. */
function answer(message: AssistantMessage): ChatMessage {
  const calls = callsIn(message)
  const content = wellFormed(textIn(message))
  if (!calls.length) return { role: 'assistant', content }
  return {
    role: 'assistant',
    content,
    tool_calls: calls.map(({ id, name, input, raw }) => ({
      id: wireId(id),
      type: 'function',
      // What was not JSON when it came must be JSON when it is sent back.
      function: { name: wireName(name), arguments: raw === undefined ? wholeJson(input) : '{}' },
    })),
  }
}

/** Bytes of one image. */
const heaviest = 10 * 1024 * 1024

function userContent({ content }: UserMessage, withoutImages: boolean): string | readonly Part[] {
  const parts = content.map((part): Part => (part.type === 'text' ? inWords(part.text) : shown(part, withoutImages)))
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('')
  return parts.filter((part) => part.type !== 'text' || /\S/.test(part.text))
}

const inWords = (text: string): Part => ({ type: 'text', text: wellFormed(text) })

function shown(part: ImagePart, withoutImages: boolean): Part {
  if (withoutImages) return inWords(leftOut)
  const picture = pictureOf(part, heaviest)
  if (picture.as === 'words') return inWords(picture.text)
  const url = picture.as === 'address' ? picture.url : `data:image/${picture.format};base64,${picture.data}`
  return { type: 'image_url', image_url: { url } }
}
