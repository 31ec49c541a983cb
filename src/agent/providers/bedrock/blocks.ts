/** Renders messages as content blocks of the Converse API. */

import type { AssistantMessage, ImagePart, Message, TextPart, ToolMessage } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import type { BlockRenderer } from '../shared/alternating-body.ts'
import { renderCallInput } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { stringifyWellFormed } from '../shared/well-formed.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { dropTrailingThinking } from '../shared/drop-trailing-thinking.ts'

/** `ProviderData.data` of thinking: what the API requires back besides the text. */
export type BedrockSeal = { readonly signature: string } | { readonly redacted: string }
/** `ProviderData.by` of the signed thinking that this dialect stores. */
export const sealIssuer = 'bedrock-converse'

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

type BedrockRenderOptions = {
  readonly hasImages: boolean
  readonly hasThinking: boolean
  readonly hasResultImages: boolean
  /** Only some models support the status of a failed tool result. */
  readonly hasStatus: boolean
}

/** One renderer per set of options, because rendered bytes are cached by renderer. */
const renderers = new Map<string, BlockRenderer>()

type ModelOptions = Pick<BedrockRenderOptions, 'hasThinking' | 'hasStatus'>

export function getBlockRenderer({ images, thinking, toolContent }: Repairs = {}, model: ModelOptions): BlockRenderer {
  const options: BedrockRenderOptions = {
    hasImages: !images,
    hasThinking: !thinking && model.hasThinking,
    hasResultImages: !images && !toolContent,
    hasStatus: model.hasStatus,
  }
  const key = JSON.stringify(options)
  let renderer = renderers.get(key)
  if (!renderer) {
    renderer = {
      render: (message) =>
        renderBlocks(message, options).map((block) => ({
          json: stringifyWellFormed(block),
          isMarkable: !isThinking(block),
        })),
    }
    renderers.set(key, renderer)
  }
  return renderer
}

const isThinking = (block: ContentBlock): boolean => 'reasoningContent' in block

function renderBlocks(message: Message, options: BedrockRenderOptions): readonly ContentBlock[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap((part) => renderPart(part, options.hasImages))
    case 'assistant':
      return dropTrailingThinking(
        message.content.flatMap((part) => renderAssistantPart(part, options)),
        isThinking,
      )
    case 'tool':
      return [renderToolResult(message, options)]
  }
}

const renderText = (text: string): readonly TextBlock[] => (/\S/.test(text) ? [{ text }] : [])

/** The API refuses the whole request when an image is larger. */
const maxImageBytes = 3.75 * 1024 * 1024

function renderPart(part: TextPart | ImagePart, hasImages: boolean): readonly (TextBlock | ImageBlock)[] {
  if (part.type === 'text') return renderText(part.text)
  if (!hasImages) return renderText(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return renderText(image.text)
  // Bedrock does not fetch URLs.
  if (image.kind === 'url') return renderText(`[an image at ${image.url}, not shown]`)
  return [{ image: { format: image.format, source: { bytes: image.data } } }]
}

function renderAssistantPart(
  part: AssistantMessage['content'][number],
  options: BedrockRenderOptions,
): readonly ContentBlock[] {
  if (part.type === 'text') return renderText(part.text)
  if (part.type === 'call')
    return [
      { toolUse: { toolUseId: encodeCallId(part.id), name: encodeToolName(part.name), input: renderCallInput(part) } },
    ]
  if (!options.hasThinking || part.sealed?.by !== sealIssuer) return []
  const seal = part.sealed.data as BedrockSeal
  return 'redacted' in seal
    ? [{ reasoningContent: { redactedContent: seal.redacted } }]
    : [{ reasoningContent: { reasoningText: { text: part.text, signature: seal.signature } } }]
}

function renderToolResult({ callId, content, failed }: ToolMessage, options: BedrockRenderOptions): ToolResultBlock {
  const isError = failed && options.hasStatus
  const parts = content.flatMap((part) =>
    // The API accepts only text in a failed result.
    part.type === 'image' && (isError || !options.hasResultImages)
      ? renderText('[an image, not shown]')
      : renderPart(part, options.hasImages),
  )
  return {
    toolResult: {
      toolUseId: encodeCallId(callId),
      content: parts.length ? parts : [{ text: '(no output)' }],
      ...(isError && { status: 'error' }),
    },
  }
}
