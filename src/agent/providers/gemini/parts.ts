/** Renders messages as parts of the Gemini API. */

import type { AssistantMessage, ImagePart, Message, TextPart, ToolMessage } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import type { BlockRenderer } from '../shared/alternating-body.ts'
import { renderCallInput } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { loadedPdf } from '../shared/pdf.ts'
import { stringifyWellFormed } from '../shared/well-formed.ts'

/** `ProviderData.by` and `data` of what the API wants back unchanged. */
export const sealIssuer = 'gemini'
export type GeminiSeal = { readonly signature: string }

/** Google documents it for calls that another model has made. */
const placeholderSignature = 'skip_thought_signature_validator'

type PartOptions = {
  readonly hasImages: boolean
  readonly hasSeals: boolean
  /** Gemini 3 refuses calls without a signature. */
  readonly needsSignature: boolean
}

/** One renderer per set of options, because rendered bytes are cached by renderer. */
const renderers = new Map<string, BlockRenderer>()

export function getPartRenderer({ images, thinking }: Repairs = {}, needsSignature: boolean): BlockRenderer {
  const options: PartOptions = { hasImages: !images, hasSeals: !thinking, needsSignature }
  const key = JSON.stringify(options)
  let renderer = renderers.get(key)
  if (!renderer) {
    const render = (message: Message) =>
      renderParts(message, options).map((part) => ({ json: stringifyWellFormed(part), isMarkable: false }))
    renderers.set(key, (renderer = { render, form: { assistant: 'model', content: 'parts' } }))
  }
  return renderer
}

function renderParts(message: Message, options: PartOptions): readonly object[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap((part) => renderPart(part, options))
    case 'assistant':
      return renderAnswer(message, options)
    case 'tool':
      return renderResult(message, options)
  }
}

const renderText = (text: string): readonly object[] => (/\S/.test(text) ? [{ text }] : [])

/** A request of the API has at most 20 MB in all. */
const maxImageBytes = 7 * 1024 * 1024

function renderPart(part: TextPart | ImagePart, { hasImages }: PartOptions): readonly object[] {
  const pdf = loadedPdf(part)
  if (pdf) return [{ inlineData: { mimeType: 'application/pdf', data: pdf.data } }]
  if (part.type === 'text') return renderText(part.text)
  if (!hasImages) return renderText(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return renderText(image.text)
  // The API reads only files that were uploaded to it.
  if (image.kind === 'url') return renderText(`[an image at ${image.url}, not shown]`)
  return [{ inlineData: { mimeType: `image/${image.format}`, data: image.data } }]
}

/** The signature of parallel calls is on the first one. Readable summaries of thinking are not sent back. */
function renderAnswer({ content }: AssistantMessage, options: PartOptions): readonly object[] {
  const parts = content.flatMap((part) => renderAnswerPart(part, options))
  const first = parts.findIndex((part) => 'functionCall' in part)
  const isUnsigned = options.needsSignature && first >= 0 && !('thoughtSignature' in (parts[first] as object))
  const signed = isUnsigned ? parts.with(first, { ...parts[first], thoughtSignature: placeholderSignature }) : parts
  return signed.length ? signed : [{ text: '(no answer)' }]
}

function renderAnswerPart(part: AssistantMessage['content'][number], { hasSeals }: PartOptions): readonly object[] {
  if (part.type === 'text') return renderText(part.text)
  const seal = hasSeals && part.sealed?.by === sealIssuer ? (part.sealed.data as GeminiSeal) : undefined
  const signature = seal && { thoughtSignature: seal.signature }
  if (part.type === 'thinking') return signature ? [{ text: '', ...signature }] : []
  const call = { id: encodeCallId(part.id), name: encodeToolName(part.name), args: renderCallInput(part) }
  return [{ functionCall: call, ...signature }]
}

/** Pictures of a result follow it, because only some models take them inside. */
function renderResult({ callId, name, content, failed }: ToolMessage, options: PartOptions): readonly object[] {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  const response = { [failed ? 'error' : 'output']: text.trim() ? text : '(no output)' }
  const images = content.filter(({ type }) => type === 'image')
  return [
    { functionResponse: { id: encodeCallId(callId), name: encodeToolName(name), response } },
    ...images.flatMap((part) => renderPart(part, options)),
  ]
}
