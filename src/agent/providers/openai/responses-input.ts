/**
 * Renders messages as input items of the Responses API. The API accepts reasoning only directly before the item that it
 * led to.
 */

import type OpenAI from 'openai'
import type { AssistantMessage, ImagePart, Message, ProviderData, TextPart, ToolCallPart } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import { renderCallArguments } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { loadedPdf, toPdfUrl } from '../shared/pdf.ts'
import { toWellFormed } from '../shared/well-formed.ts'

const dialectName = 'openai-responses'

export type ResponsesInputItem = OpenAI.Responses.ResponseInputItem
type TextMessage = OpenAI.Responses.EasyInputMessage
type InputPart =
  | OpenAI.Responses.ResponseInputText
  | OpenAI.Responses.ResponseInputImage
  | OpenAI.Responses.ResponseInputFile
type Reasoning = OpenAI.Responses.ResponseReasoningItem
type Search = OpenAI.Responses.ResponseFunctionWebSearch

/** `host`: the host that gets the request. It cannot decrypt reasoning of another host. */
export function renderInputItems(
  message: Message,
  repairs: Repairs = {},
  host?: string,
): readonly ResponsesInputItem[] {
  switch (message.role) {
    case 'user':
      return [{ type: 'message', role: 'user', content: renderContent(message.content, repairs) }]

    case 'assistant':
      return renderAssistantItems(message, repairs, host)

    case 'tool': {
      const content = repairs.toolContent === 'text' ? message.content.map(describeImage) : message.content
      return [
        {
          type: 'function_call_output',
          call_id: encodeCallId(message.callId),
          output: renderContent(content, repairs),
        },
      ]
    }
  }
}

/** Buffers reasoning until the text or call that follows it. Reasoning without a successor is dropped. */
function renderAssistantItems(
  { content }: AssistantMessage,
  repairs: Repairs,
  host: string | undefined,
): readonly ResponsesInputItem[] {
  const items: ResponsesInputItem[] = []
  let pendingReasoning: ResponsesInputItem[] = []
  let text = ''
  let phase: TextMessage['phase']
  const addItem = (item: ResponsesInputItem) => {
    items.push(...pendingReasoning, item)
    pendingReasoning = []
  }
  const endText = () => {
    if (/\S/.test(text))
      addItem({ type: 'message', role: 'assistant', content: toWellFormed(text), ...(phase && { phase }) })
    text = ''
    phase = undefined
  }
  const addSealed = (item: Reasoning | Search | undefined) => {
    if (item?.type === 'web_search_call') addItem(item)
    else if (item && repairs.thinking === undefined) pendingReasoning.push(item)
  }
  for (const part of content) {
    if (part.type === 'text') {
      text += part.text
      continue
    }
    const sealedItem = part.type === 'thinking' ? unseal(part.sealed, host) : undefined
    if (part.type === 'thinking' && !sealedItem) continue
    endText()
    if (part.type === 'call') addItem(renderCall(part))
    else if (sealedItem?.type === 'message') phase = sealedItem.phase
    else addSealed(sealedItem)
  }
  endText()
  return items
}

/** Marks the next text as commentary or final answer. Our text parts have no field for it. */
export type PhaseSeal = { readonly type: 'message'; readonly phase: NonNullable<TextMessage['phase']> }

/** The fields of a reasoning item that are sent back. */
type ReasoningFields = {
  readonly id?: string | undefined
  readonly summary?: Reasoning['summary'] | undefined
  readonly content?: readonly { readonly type?: string; readonly text?: string }[] | undefined
  readonly encrypted_content?: string | null | undefined
}

/** Returns the reasoning item to send back, or undefined when it has no content that the provider could read. */
export function sealReasoning({ id, summary, content, encrypted_content }: ReasoningFields): Reasoning | undefined {
  if (!id || !(encrypted_content || content?.length)) return undefined
  return {
    type: 'reasoning',
    id,
    summary: summary ?? [],
    ...(content?.length && { content: content.map(({ text = '' }) => ({ type: 'reasoning_text', text })) }),
    ...(encrypted_content && { encrypted_content }),
  }
}

/** `ProviderData.by`: the dialect and the host. No other host can decrypt the reasoning. */
export const resolveSealIssuer = (host: string | undefined): string => (host ? `${dialectName}@${host}` : dialectName)

function unseal(
  sealed: ProviderData | undefined,
  host: string | undefined,
): Reasoning | Search | PhaseSeal | undefined {
  if (sealed?.by !== dialectName && sealed?.by !== resolveSealIssuer(host)) return undefined
  return sealed.data as Reasoning | Search | PhaseSeal
}

const renderCall = (call: ToolCallPart): ResponsesInputItem => ({
  type: 'function_call',
  call_id: encodeCallId(call.id),
  name: encodeToolName(call.name),
  arguments: renderCallArguments(call),
})

const maxImageBytes = 20 * 1024 * 1024

const describeImage = (part: TextPart | ImagePart): TextPart =>
  part.type === 'text' ? part : { type: 'text', text: '[an image, not shown]' }

function renderContent(content: readonly (TextPart | ImagePart)[], { images }: Repairs): string | InputPart[] {
  const parts = content.map((part) => {
    const pdf = loadedPdf(part)
    if (pdf) return { type: 'input_file', filename: pdf.name, file_data: toPdfUrl(pdf) } as const
    if (part.type === 'text') return part
    return images ? createTextPart(omittedImageText) : renderImage(part)
  })
  if (parts.every((part) => part.type === 'text')) return toWellFormed(parts.map(({ text }) => text).join(''))
  return parts.map((part) => (part.type === 'text' ? { type: 'input_text', text: toWellFormed(part.text) } : part))
}

const createTextPart = (text: string): TextPart => ({ type: 'text', text })

function renderImage(part: ImagePart): TextPart | OpenAI.Responses.ResponseInputImage {
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return createTextPart(image.text)
  const url = image.kind === 'url' ? image.url : `data:image/${image.format};base64,${image.data}`
  return { type: 'input_image', detail: 'auto', image_url: url }
}
