/**
 * Messages as input items of the Responses API. Reasoning goes back as the provider sealed it, in its place,
 * and only before the item it led to: without that it is refused.
 */

import type OpenAI from 'openai'
import type { AssistantMessage, ImagePart, Message, Sealed, TextPart, ToolCallPart } from '../../model/message.ts'
import type { Repairs } from '../../model/turn.ts'
import { wireId, wireName } from '../shared/call-id.ts'
import { wholeJson } from '../shared/json.ts'
import { leftOut, pictureOf } from '../shared/image-content.ts'
import { wellFormed } from '../shared/well-formed.ts'

const dialectName = 'openai-responses'

export type Item = OpenAI.Responses.ResponseInputItem
type Said = OpenAI.Responses.EasyInputMessage
type Part = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage
type Reasoning = OpenAI.Responses.ResponseReasoningItem

/** `host`: who is asked. Reasoning that another host encrypted is nothing to it. */
export function itemsOf(message: Message, repairs: Repairs = {}, host?: string): readonly Item[] {
  switch (message.role) {
    case 'user':
      return [{ type: 'message', role: 'user', content: contentOf(message.content, repairs) }]

    case 'assistant':
      return answerItems(message, repairs, host)

    case 'tool': {
      const content = repairs.toolContent === 'text' ? message.content.map(named) : message.content
      return [{ type: 'function_call_output', call_id: wireId(message.callId), output: contentOf(content, repairs) }]
    }
  }
}

/** Reasoning waits for the text or the call that follows it; what nothing follows is left out. */
function answerItems({ content }: AssistantMessage, repairs: Repairs, host: string | undefined): readonly Item[] {
  const items: Item[] = []
  let waiting: Item[] = []
  let text = ''
  let phase: Said['phase']
  const put = (item: Item) => {
    items.push(...waiting, item)
    waiting = []
  }
  const endText = () => {
    if (/\S/.test(text)) put({ type: 'message', role: 'assistant', content: wellFormed(text), ...(phase && { phase }) })
    text = ''
    phase = undefined
  }
  for (const part of content) {
    if (part.type === 'text') {
      text += part.text
      continue
    }
    const kept = part.type === 'thinking' ? unsealed(part.sealed, host) : undefined
    if (part.type === 'thinking' && !kept) continue
    endText()
    if (part.type === 'call') put(callItem(part))
    else if (kept?.type === 'message') phase = kept.phase
    else if (kept && repairs.thinking === undefined) waiting.push(kept)
  }
  endText()
  return items
}

/** What a text was meant to be, a comment on the way or the answer, has no place in a text part of ours. */
export type PhaseSeal = { readonly type: 'message'; readonly phase: NonNullable<Said['phase']> }

/** What of a reasoning item is sent back. */
type Thought = {
  readonly id?: string | undefined
  readonly summary?: Reasoning['summary'] | undefined
  readonly content?: readonly { readonly type?: string; readonly text?: string }[] | undefined
  readonly encrypted_content?: string | null | undefined
}

/** A reasoning item as it can be sent back; undefined when there is nothing in it that the provider could read. */
export function reasoningSeal({ id, summary, content, encrypted_content }: Thought): Reasoning | undefined {
  if (!id || !(encrypted_content || content?.length)) return undefined
  return {
    type: 'reasoning',
    id,
    summary: summary ?? [],
    ...(content?.length && { content: content.map(({ text = '' }) => ({ type: 'reasoning_text', text })) }),
    ...(encrypted_content && { encrypted_content }),
  }
}

/** Who sealed something: the dialect, and the host that alone can read it. */
export const sealedBy = (host: string | undefined): string => (host ? `${dialectName}@${host}` : dialectName)

function unsealed(sealed: Sealed | undefined, host: string | undefined): Reasoning | PhaseSeal | undefined {
  if (sealed?.by !== dialectName && sealed?.by !== sealedBy(host)) return undefined
  return sealed.data as Reasoning | PhaseSeal
}

const callItem = ({ id, name, input, raw }: ToolCallPart): Item => ({
  type: 'function_call',
  call_id: wireId(id),
  name: wireName(name),
  // What was not JSON when it came must be JSON when it is sent back.
  arguments: raw === undefined ? wholeJson(input) : '{}',
})

/** Bytes of one image. */
const heaviest = 20 * 1024 * 1024

const named = (part: TextPart | ImagePart): TextPart =>
  part.type === 'text' ? part : { type: 'text', text: '[an image, not shown]' }

function contentOf(content: readonly (TextPart | ImagePart)[], { images }: Repairs): string | Part[] {
  const parts = content.map((part) => (part.type === 'text' ? part : images ? inWords(leftOut) : shown(part)))
  if (parts.every((part) => part.type === 'text')) return wellFormed(parts.map(({ text }) => text).join(''))
  return parts.map((part) => (part.type === 'text' ? { type: 'input_text', text: wellFormed(part.text) } : part))
}

const inWords = (text: string): TextPart => ({ type: 'text', text })

function shown(part: ImagePart): TextPart | OpenAI.Responses.ResponseInputImage {
  const picture = pictureOf(part, heaviest)
  if (picture.as === 'words') return inWords(picture.text)
  const url = picture.as === 'address' ? picture.url : `data:image/${picture.format};base64,${picture.data}`
  return { type: 'input_image', detail: 'auto', image_url: url }
}
