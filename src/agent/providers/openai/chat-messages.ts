/** Messages as a chat completion has them, in the way that a provider wants. Pure, and byte for byte the same. */

import type OpenAI from 'openai'
import type { Quirks } from '../../model/dialect.ts'
import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type ToolCallPart,
  type ToolMessage,
  type UserMessage,
} from '../../model/message.ts'
import type { Repairs } from '../../model/turn.ts'
import { wireId, wireName } from '../shared/call-id.ts'
import { wholeJson } from '../shared/json.ts'
import { leftOut, pictureOf } from '../shared/image-content.ts'
import { wellFormed } from '../shared/well-formed.ts'

/** Whoever made a sealed part of this dialect. */
export const sealedBy = 'openai-chat'

/** For a provider's cache: keep everything up to here. */
export type Mark = { readonly type: 'ephemeral'; readonly ttl?: '1h' }

/** How messages are written. The same wishes are the same object, so that renderings can be kept by it. */
export type Style = {
  /** All content as lists of parts; results of tools as well, unless they have to be text. */
  readonly parts: boolean
  readonly textResults: boolean
  readonly echo: Quirks['echoThinking'] | undefined
  readonly sealedCalls: Quirks['sealedCalls'] | undefined
  readonly withImages: boolean
  readonly withThinking: boolean
}

const styles = new Map<string, Style>()

export function styleOf(quirks: Quirks, repairs: Repairs | undefined): Style {
  const wanted: Style = {
    // Marks stand on parts: with them, content looks the same whether it is marked or not.
    parts: quirks.content === 'parts' || quirks.cacheMarks === 'native',
    textResults: quirks.content === 'string-results' || repairs?.toolContent === 'text',
    echo: quirks.echoThinking,
    sealedCalls: quirks.sealedCalls,
    withImages: repairs?.images !== 'left-out',
    withThinking: repairs?.thinking !== 'left-out',
  }
  const name = JSON.stringify(wanted)
  let style = styles.get(name)
  if (!style) styles.set(name, (style = wanted))
  return style
}

type ContentPart = OpenAI.Chat.Completions.ChatCompletionContentPart

export const textPart = (text: string, mark?: Mark): string => JSON.stringify(markedText(text, mark))

const markedText = (text: string, mark?: Mark) => ({
  type: 'text' as const,
  text,
  ...(mark && { cache_control: mark }),
})

/**
 * The message at a place of a sanitised transcript, as JSON. Results of tools take text only: their images stand
 * in the message of the user behind them, which is written along with the last result when there is none.
 */
export function writtenAt(all: readonly Message[], at: number, style: Style, mark?: Mark): string {
  const message = all[at] as Message
  if (!mark && !style.parts) {
    const plain = plainly(message, all[at - 1])
    if (plain) return JSON.stringify(plain)
  }
  switch (message.role) {
    case 'user':
      return JSON.stringify({ role: 'user', content: userContent(message, imagesBefore(all, at, style), style, mark) })
    case 'assistant':
      return JSON.stringify(assistant(message, style, mark))
    case 'tool': {
      const written = JSON.stringify(result(message, style, mark))
      const next = all[at + 1]?.role
      const images = next === 'tool' || next === 'user' ? [] : imagesBefore(all, at + 1, style)
      if (!images.length) return written
      return `${written},${JSON.stringify({ role: 'user', content: shown(images, style) })}`
    }
  }
}

/** Characters of simple messages that are written as one. */
const writtenTogether = 256 * 1024

/** The messages from one place up to another, as JSON; a piece holds one or many, with commas between them. */
export function* writtenBetween(all: readonly Message[], from: number, to: number, style: Style): Generator<string> {
  const simple: { role: string; content: string }[] = []
  let length = 0
  const written = () => JSON.stringify(simple.splice(0)).slice(1, -1)
  for (let at = from; at < to; at++) {
    const plain = style.parts ? undefined : plainly(all[at] as Message, all[at - 1])
    if (plain) {
      simple.push(plain)
      length += plain.content.length
    }
    if (simple.length && (!plain || length > writtenTogether)) {
      yield written()
      length = 0
    }
    if (!plain) yield writtenAt(all, at, style)
  }
  if (simple.length) yield written()
}

/** What most messages are, one text and nothing else: long histories are many of them, and one by one cost twice as much. */
function plainly({ role, content }: Message, before: Message | undefined) {
  const [part] = content
  if (role === 'tool' || before?.role === 'tool' || content.length !== 1 || part?.type !== 'text' || !part.text)
    return undefined
  return { role, content: wellFormed(part.text) }
}

/** Images of the results that stand right before this place. */
function imagesBefore(all: readonly Message[], at: number, { withImages }: Style): readonly ImagePart[] {
  const images: ImagePart[] = []
  if (!withImages) return images
  for (let i = at - 1; i >= 0; i--) {
    const message = all[i] as Message
    if (message.role !== 'tool') break
    images.unshift(...message.content.filter((part) => part.type === 'image'))
  }
  return images
}

const shown = (images: readonly ImagePart[], style: Style): ContentPart[] => [
  {
    type: 'text',
    text: images.length === 1 ? '[The image of the result above:]' : '[The images of the results above:]',
  },
  ...images.flatMap((image) => partsOf(image, style)),
]

/** Bytes of one image. */
const heaviest = 20 * 1024 * 1024

function partsOf(part: UserMessage['content'][number], { withImages }: Style): ContentPart[] {
  if (part.type === 'text') return wordsOf(part.text)
  if (!withImages) return wordsOf(leftOut)
  const picture = pictureOf(part, heaviest)
  if (picture.as === 'words') return wordsOf(picture.text)
  const url = picture.as === 'address' ? picture.url : `data:image/${picture.format};base64,${picture.data}`
  return [{ type: 'image_url', image_url: { url } }]
}

const wordsOf = (text: string): ContentPart[] => (/\S/.test(text) ? [{ type: 'text', text: wellFormed(text) }] : [])

function userContent({ content }: UserMessage, images: readonly ImagePart[], style: Style, mark?: Mark) {
  const text = content.every((part) => part.type === 'text')
    ? wellFormed(content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    : undefined
  if (text !== undefined && !images.length) return style.parts ? [markedText(text, mark)] : text
  const own = text === undefined ? content.flatMap((part) => partsOf(part, style)) : wordsOf(text)
  const parts = [...(images.length ? shown(images, style) : []), ...own]
  const last = parts.findLastIndex(({ type }) => type === 'text')
  return parts.map((part, at) => (at === last && part.type === 'text' ? markedText(part.text, mark) : part))
}

function result({ callId, content }: ToolMessage, style: Style, mark?: Mark) {
  const named = style.withImages ? '[an image, shown below]' : leftOut
  const text = wellFormed(content.map((part) => (part.type === 'text' ? part.text : named)).join('\n'))
  const asParts = style.parts && !style.textResults && /\S/.test(text)
  return { role: 'tool', tool_call_id: wireId(callId), content: asParts ? [markedText(text, mark)] : text }
}

function assistant(message: AssistantMessage, style: Style, mark?: Mark) {
  const text = wellFormed(textIn(message))
  const calls = callsIn(message)
  const content = style.parts && /\S/.test(text) ? [markedText(text, mark)] : text || null
  return {
    role: 'assistant',
    content,
    ...thinkingOf(message, calls.length > 0, style),
    ...(calls.length && { tool_calls: calls.map((call, nth) => written(call, nth, style)) }),
  }
}

const written = ({ id, name, input, raw, sealed }: ToolCallPart, nth: number, { sealedCalls }: Style) => ({
  id: wireId(id),
  type: 'function',
  // What was not JSON when it came must be JSON when it is sent back.
  function: { name: wireName(name), arguments: raw === undefined ? wholeJson(input) : '{}' },
  ...(sealedCalls && extraOf(sealed, nth === 0 ? sealedCalls.unsealed : undefined)),
})

/** The first call of a message carries the seal; one that another model made has a stand-in. */
function extraOf(sealed: ToolCallPart['sealed'], unsealed: object | undefined): object {
  if (sealed?.by === sealedBy) return { extra_content: sealed.data }
  return unsealed ? { extra_content: unsealed } : {}
}

/**
 * Thinking that goes back to where thinking has to come back: in the clear only what came in the clear, sealed
 * only what this dialect sealed. Where calls must have thinking before them, those of other models get a blank.
 */
function thinkingOf({ content }: AssistantMessage, hasCalls: boolean, { echo, withThinking }: Style): object {
  if (!echo) return {}
  const thoughts = content.filter((part) => part.type === 'thinking')
  if (echo === 'reasoning_details') {
    const details = thoughts.flatMap(({ sealed }) =>
      sealed?.by === sealedBy ? (sealed.data as readonly unknown[]) : [],
    )
    return withThinking && details.length ? { reasoning_details: details } : {}
  }
  const clear = thoughts.filter(({ sealed }) => !sealed || sealed.by === sealedBy).map(({ text }) => text)
  const text = withThinking ? wellFormed(clear.join('')) : ''
  if (text) return { [echo]: text }
  return hasCalls && echo === 'reasoning_content' ? { [echo]: ' ' } : {}
}
