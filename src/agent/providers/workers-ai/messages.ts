/**
 * Renders messages for the models behind the `AI` binding. The format is that of chat completions, restricted to what
 * the oldest models support.
 */

import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type UserMessage,
} from '#agent/core/message.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'

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

export function renderChatMessage(message: Message, shouldOmitImages = false): ChatMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: renderUserContent(message, shouldOmitImages) }
    case 'assistant':
      return renderAssistant(message)
    case 'tool': {
      const text = message.content
        .map((part) => (part.type === 'text' ? part.text : '[an image, not shown]'))
        .join('\n')
      // Models with their own prompt template match results by tool name, the others by id.
      return {
        role: 'tool',
        tool_call_id: encodeCallId(message.callId),
        name: encodeToolName(message.name),
        content: toWellFormed(text),
      }
    }
  }
}

/** Content is always a string, because several models refuse null. */
function renderAssistant(message: AssistantMessage): ChatMessage {
  const calls = callsIn(message)
  const content = toWellFormed(textIn(message))
  if (!calls.length) return { role: 'assistant', content }
  return {
    role: 'assistant',
    content,
    tool_calls: calls.map(({ id, name, input, raw }) => ({
      id: encodeCallId(id),
      type: 'function',
      // The model requires JSON, also for arguments that were not JSON when the model wrote them.
      function: { name: encodeToolName(name), arguments: raw === undefined ? stringifyWellFormed(input) : '{}' },
    })),
  }
}

const maxImageBytes = 10 * 1024 * 1024

function renderUserContent({ content }: UserMessage, shouldOmitImages: boolean): string | readonly Part[] {
  const parts = content.map((part): Part =>
    part.type === 'text' ? createTextPart(part.text) : renderImage(part, shouldOmitImages),
  )
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('')
  return parts.filter((part) => part.type !== 'text' || /\S/.test(part.text))
}

const createTextPart = (text: string): Part => ({ type: 'text', text: toWellFormed(text) })

function renderImage(part: ImagePart, shouldOmitImages: boolean): Part {
  if (shouldOmitImages) return createTextPart(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return createTextPart(image.text)
  const url = image.kind === 'url' ? image.url : `data:image/${image.format};base64,${image.data}`
  return { type: 'image_url', image_url: { url } }
}
