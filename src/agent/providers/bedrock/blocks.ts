/** Messages as content blocks of the Converse API. */

import type { AssistantMessage, ImagePart, Message, TextPart, ToolMessage } from '../../model/message.ts'
import type { Repairs } from '../../model/turn.ts'
import type { Writer } from '../shared/alternating-body.ts'
import { wireId, wireName } from '../shared/call-id.ts'
import { wholeJson } from '../shared/json.ts'
import { leftOut, pictureOf } from '../shared/image-content.ts'
import { toLast } from '../shared/request-parts.ts'

/** What is kept of a block of thinking besides its text. */
export type Seal = { readonly signature: string } | { readonly redacted: string }
export const sealedBy = 'bedrock-converse'

export type TextBlock = { readonly text: string }
export type ImageBlock = { readonly image: { readonly format: string; readonly source: { readonly bytes: string } } }
type ReasoningBlock = {
  readonly reasoningContent:
    | { readonly reasoningText: { readonly text: string; readonly signature: string } }
    | { readonly redactedContent: string }
}
type ToolUseBlock = { readonly toolUse: { readonly toolUseId: string; readonly name: string; readonly input: object } }
type ToolResultBlock = {
  readonly toolResult: {
    readonly toolUseId: string
    readonly content: readonly (TextBlock | ImageBlock)[]
    readonly status?: 'error'
  }
}
export type ContentBlock = TextBlock | ImageBlock | ReasoningBlock | ToolUseBlock | ToolResultBlock

type Way = {
  readonly images: boolean
  readonly thinking: boolean
  readonly resultImages: boolean
  /** Only some models know that a result may be a failure. */
  readonly status: boolean
}

/** One writer for each way, so that what is kept of it is found again. */
const writers = new Map<string, Writer>()

type Model = Pick<Way, 'thinking' | 'status'>

export function writerFor({ images, thinking, toolContent }: Repairs = {}, model: Model): Writer {
  const way: Way = {
    images: !images,
    thinking: !thinking && model.thinking,
    resultImages: !images && !toolContent,
    status: model.status,
  }
  const name = JSON.stringify(way)
  let writer = writers.get(name)
  if (!writer) {
    writer = {
      blocks: (message) => blocksOf(message, way).map((block) => ({ json: wholeJson(block), markable: isSaid(block) })),
    }
    writers.set(name, writer)
  }
  return writer
}

const isSaid = (block: ContentBlock): boolean => !('reasoningContent' in block)

function blocksOf(message: Message, way: Way): readonly ContentBlock[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap((part) => partOf(part, way.images))
    case 'assistant':
      return toLast(
        message.content.flatMap((part) => answerOf(part, way)),
        isSaid,
      )
    case 'tool':
      return [resultOf(message, way)]
  }
}

const textOf = (text: string): readonly TextBlock[] => (/\S/.test(text) ? [{ text }] : [])

/** Larger ones are refused, with everything around them. */
const imageLimit = 3.75 * 1024 * 1024

function partOf(part: TextPart | ImagePart, images: boolean): readonly (TextBlock | ImageBlock)[] {
  if (part.type === 'text') return textOf(part.text)
  if (!images) return textOf(leftOut)
  const picture = pictureOf(part, imageLimit)
  if (picture.as === 'words') return textOf(picture.text)
  // Addresses are not fetched by this provider.
  if (picture.as === 'address') return textOf(`[an image at ${picture.url}, not shown]`)
  return [{ image: { format: picture.format, source: { bytes: picture.data } } }]
}

function answerOf(part: AssistantMessage['content'][number], way: Way): readonly ContentBlock[] {
  if (part.type === 'text') return textOf(part.text)
  if (part.type === 'call')
    return [{ toolUse: { toolUseId: wireId(part.id), name: wireName(part.name), input: objectOf(part.input) } }]
  if (!way.thinking || part.sealed?.by !== sealedBy) return []
  const seal = part.sealed.data as Seal
  return 'redacted' in seal
    ? [{ reasoningContent: { redactedContent: seal.redacted } }]
    : [{ reasoningContent: { reasoningText: { text: part.text, signature: seal.signature } } }]
}

const objectOf = (input: unknown): object =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}

function resultOf({ callId, content, failed }: ToolMessage, way: Way): ToolResultBlock {
  const isError = failed && way.status
  const parts = content.flatMap((part) =>
    // A failure may be told in words only.
    part.type === 'image' && (isError || !way.resultImages)
      ? textOf('[an image, not shown]')
      : partOf(part, way.images),
  )
  return {
    toolResult: {
      toolUseId: wireId(callId),
      content: parts.length ? parts : [{ text: '(no output)' }],
      ...(isError && { status: 'error' }),
    },
  }
}
