/** Renders messages for a chat completion in the style of a provider. The same input gives the same bytes. */

import type OpenAI from 'openai'
import type { Quirks } from '#agent/core/dialect.ts'
import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type ThinkingPart,
  type ToolCallPart,
  type ToolMessage,
  type UserMessage,
} from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import { renderCallArguments } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { loadedPdf, toPdfUrl } from '../shared/pdf.ts'
import { toWellFormed } from '../shared/well-formed.ts'

/** `ProviderData.by` of all parts that this dialect seals. */
export const sealIssuer = 'openai-chat'

/** `cache_control`: the provider caches everything up to this part. */
export type CacheMark = { readonly type: 'ephemeral'; readonly ttl?: '1h' }

/** The message format of a provider. Equal styles are the same object, because rendered bytes are cached by style. */
export type RenderStyle = {
  /** All content is a list of parts, also that of tool results unless `shouldUseTextResults`. */
  readonly shouldUseParts: boolean
  readonly shouldUseTextResults: boolean
  /** The field for earlier thinking; undefined when thinking is not sent back. */
  readonly thinkingField: Quirks['echoThinking'] | undefined
  readonly sealedCalls: Quirks['sealedCalls'] | undefined
  readonly shouldSendImages: boolean
  readonly shouldSendPdfs: boolean
  readonly shouldSendThinking: boolean
}

const styles = new Map<string, RenderStyle>()

export function resolveStyle(quirks: Quirks, repairs: Repairs | undefined): RenderStyle {
  const newStyle: RenderStyle = {
    // A cache mark needs a part. With parts everywhere, content stays the same with and without a mark.
    shouldUseParts: quirks.content === 'parts' || quirks.cacheMarks === 'native',
    shouldUseTextResults: quirks.content === 'string-results' || repairs?.toolContent === 'text',
    thinkingField: quirks.echoThinking,
    sealedCalls: quirks.sealedCalls,
    shouldSendImages: repairs?.images !== 'left-out',
    shouldSendPdfs: quirks.fileParts === true,
    shouldSendThinking: repairs?.thinking !== 'left-out',
  }
  const name = JSON.stringify(newStyle)
  let style = styles.get(name)
  if (!style) styles.set(name, (style = newStyle))
  return style
}

type ChatContentPart = OpenAI.Chat.Completions.ChatCompletionContentPart

export const renderTextPart = (text: string, mark?: CacheMark): string => JSON.stringify(createTextPart(text, mark))

const createTextPart = (text: string, mark?: CacheMark) => ({
  type: 'text' as const,
  text,
  ...(mark && { cache_control: mark }),
})

/**
 * Renders one message of a sanitised transcript. A tool result takes only text, so its images go into the next user
 * message. If there is none, a user message with the images is added after the last result.
 */
export function renderMessageAt(all: readonly Message[], at: number, style: RenderStyle, mark?: CacheMark): string {
  const message = all[at] as Message
  if (!mark && !style.shouldUseParts) {
    const textMessage = toTextOnly(message, all[at - 1])
    if (textMessage) return JSON.stringify(textMessage)
  }
  switch (message.role) {
    case 'user':
      return JSON.stringify({
        role: 'user',
        content: renderUserContent(message, listImagesBefore(all, at, style), style, mark),
      })
    case 'assistant':
      return JSON.stringify(renderAssistant(message, style, mark))
    case 'tool': {
      const resultJson = JSON.stringify(renderToolResult(message, style, mark))
      const next = all[at + 1]?.role
      const images = next === 'tool' || next === 'user' ? [] : listImagesBefore(all, at + 1, style)
      if (!images.length) return resultJson
      return `${resultJson},${JSON.stringify({ role: 'user', content: renderImages(images, style) })}`
    }
  }
}

/** Text-only messages are stringified together up to this length. */
const maxBatchChars = 256 * 1024

/** Renders the messages from `from` to before `to`. Each yielded string is one or more messages, joined by commas. */
export function* renderMessages(
  all: readonly Message[],
  from: number,
  to: number,
  style: RenderStyle,
): Generator<string> {
  const textOnly: { role: string; content: string }[] = []
  let length = 0
  const renderBatch = () => JSON.stringify(textOnly.splice(0)).slice(1, -1)
  for (let at = from; at < to; at++) {
    const textMessage = style.shouldUseParts ? undefined : toTextOnly(all[at] as Message, all[at - 1])
    if (textMessage) {
      textOnly.push(textMessage)
      length += textMessage.content.length
    }
    if (textOnly.length && (!textMessage || length > maxBatchChars)) {
      yield renderBatch()
      length = 0
    }
    if (!textMessage) yield renderMessageAt(all, at, style)
  }
  if (textOnly.length) yield renderBatch()
}

/** Most messages are a single text. Stringifying them together takes half the time in a long history. */
function toTextOnly({ role, content }: Message, before: Message | undefined) {
  const [part] = content
  if (
    role === 'tool' ||
    before?.role === 'tool' ||
    content.length !== 1 ||
    part?.type !== 'text' ||
    !part.text ||
    loadedPdf(part)
  )
    return undefined
  return { role, content: toWellFormed(part.text) }
}

/** Returns the images of the tool results directly before `at`. */
function listImagesBefore(
  all: readonly Message[],
  at: number,
  { shouldSendImages }: RenderStyle,
): readonly ImagePart[] {
  const images: ImagePart[] = []
  if (!shouldSendImages) return images
  for (let i = at - 1; i >= 0; i--) {
    const message = all[i] as Message
    if (message.role !== 'tool') break
    images.unshift(...message.content.filter((part) => part.type === 'image'))
  }
  return images
}

const renderImages = (images: readonly ImagePart[], style: RenderStyle): ChatContentPart[] => [
  {
    type: 'text',
    text: images.length === 1 ? '[The image of the result above:]' : '[The images of the results above:]',
  },
  ...images.flatMap((image) => renderPart(image, style)),
]

const maxImageBytes = 20 * 1024 * 1024

function renderPart(
  part: UserMessage['content'][number],
  { shouldSendImages, shouldSendPdfs }: RenderStyle,
): ChatContentPart[] {
  const pdf = shouldSendPdfs ? loadedPdf(part) : undefined
  if (pdf) return [{ type: 'file', file: { filename: pdf.name, file_data: toPdfUrl(pdf) } }]
  if (part.type === 'text') return renderText(part.text)
  if (!shouldSendImages) return renderText(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return renderText(image.text)
  const url = image.kind === 'url' ? image.url : `data:image/${image.format};base64,${image.data}`
  return [{ type: 'image_url', image_url: { url } }]
}

const renderText = (text: string): ChatContentPart[] =>
  /\S/.test(text) ? [{ type: 'text', text: toWellFormed(text) }] : []

function renderUserContent(
  { content }: UserMessage,
  images: readonly ImagePart[],
  style: RenderStyle,
  mark?: CacheMark,
) {
  const text = content.every((part) => part.type === 'text' && !(style.shouldSendPdfs && loadedPdf(part)))
    ? toWellFormed(content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    : undefined
  if (text !== undefined && !images.length) return style.shouldUseParts ? [createTextPart(text, mark)] : text
  const ownParts = text === undefined ? content.flatMap((part) => renderPart(part, style)) : renderText(text)
  const parts = [...(images.length ? renderImages(images, style) : []), ...ownParts]
  const last = parts.findLastIndex(({ type }) => type === 'text')
  return parts.map((part, at) => (at === last && part.type === 'text' ? createTextPart(part.text, mark) : part))
}

function renderToolResult({ callId, content }: ToolMessage, style: RenderStyle, mark?: CacheMark) {
  const imagePlaceholder = style.shouldSendImages ? '[an image, shown below]' : omittedImageText
  const text = toWellFormed(content.map((part) => (part.type === 'text' ? part.text : imagePlaceholder)).join('\n'))
  const isPartsContent = style.shouldUseParts && !style.shouldUseTextResults && /\S/.test(text)
  return {
    role: 'tool',
    tool_call_id: encodeCallId(callId),
    content: isPartsContent ? [createTextPart(text, mark)] : text,
  }
}

function renderAssistant(message: AssistantMessage, style: RenderStyle, mark?: CacheMark) {
  const text = toWellFormed(textIn(message))
  const calls = callsIn(message)
  const content = style.shouldUseParts && /\S/.test(text) ? [createTextPart(text, mark)] : text || null
  return {
    role: 'assistant',
    content,
    ...renderThinking(message, calls.length > 0, style),
    ...(calls.length && { tool_calls: calls.map((call, nth) => renderCall(call, nth, style)) }),
  }
}

const renderCall = (call: ToolCallPart, nth: number, { sealedCalls }: RenderStyle) => ({
  id: encodeCallId(call.id),
  type: 'function',
  function: { name: encodeToolName(call.name), arguments: renderCallArguments(call) },
  ...(sealedCalls && renderSeal(call.sealed, nth === 0 ? sealedCalls.unsealed : undefined)),
})

/** The first call of a message carries the seal. A call of another model gets the placeholder of the quirks. */
function renderSeal(sealed: ToolCallPart['sealed'], unsealed: object | undefined): object {
  if (sealed?.by === sealIssuer) return { extra_content: sealed.data }
  return unsealed ? { extra_content: unsealed } : {}
}

/**
 * Renders earlier thinking for providers that require it. Plain thinking goes back as text, sealed thinking only if this
 * dialect sealed it. With `reasoning_content`, a call without usable thinking gets a blank, because the field is
 * required.
 */
function renderThinking(
  { content }: AssistantMessage,
  hasCalls: boolean,
  { thinkingField, shouldSendThinking }: RenderStyle,
): object {
  if (!thinkingField) return {}
  const thinkingParts = content.filter(
    (part): part is ThinkingPart => part.type === 'thinking' && part.search === undefined,
  )
  if (thinkingField === 'reasoning_details') {
    const details = thinkingParts.flatMap(({ sealed }) =>
      sealed?.by === sealIssuer ? (sealed.data as readonly unknown[]) : [],
    )
    return shouldSendThinking && details.length ? { reasoning_details: details } : {}
  }
  const plainTexts = thinkingParts.filter(({ sealed }) => !sealed || sealed.by === sealIssuer).map(({ text }) => text)
  const text = shouldSendThinking ? toWellFormed(plainTexts.join('')) : ''
  if (text) return { [thinkingField]: text }
  return hasCalls && thinkingField === 'reasoning_content' ? { [thinkingField]: ' ' } : {}
}
