/** Renders messages as content blocks of the Messages API. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type {
  DocumentBlockParam,
  ImageBlockParam,
  RedactedThinkingBlockParam,
  ServerToolUseBlockParam,
  TextBlockParam,
  TextCitationParam,
  ThinkingBlockParam,
  ToolReferenceBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
  WebSearchToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { AssistantMessage, ImagePart, Message, TextPart, ToolMessage } from '#agent/core/message.ts'
import type { Repairs } from '#agent/core/turn.ts'
import type { RenderedBlock, BlockRenderer } from '../shared/alternating-body.ts'
import { renderCallInput } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { readFoundTools } from './found-tools.ts'
import { stringifyWellFormed } from '../shared/well-formed.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { loadedPdf } from '../shared/pdf.ts'
import { dropTrailingThinking } from '../shared/drop-trailing-thinking.ts'

export type BlockParam =
  | PartParam
  | ToolResultBlockParam
  | ToolUseBlockParam
  | ThinkingBlockParam
  | RedactedThinkingBlockParam
  | SearchBlock
type PartParam = TextBlockParam | ImageBlockParam | DocumentBlockParam

/** `ProviderData.data` of thinking: what the API requires back besides the text. */
export type ThinkingSeal = { readonly signature: string } | { readonly redacted: string }
/** `ProviderData.data` of a web search: a whole block, or the citations of the text that follows. */
export type SearchSeal = { readonly block: SearchBlock } | { readonly citations: readonly TextCitation[] }
export type SearchBlock = ServerToolUseBlockParam | WebSearchToolResultBlockParam
type TextCitation = TextCitationParam

/** `ProviderData.by`: Claude can read its thinking on every host, any other model only on the host that sent it. */
export const resolveSealIssuer = (model: string, baseUrl: string): string =>
  /claude/i.test(model) ? 'anthropic' : `anthropic@${URL.parse(baseUrl)?.hostname ?? ''}`

type AnthropicRenderOptions = {
  readonly issuer: string
  readonly hasImages: boolean
  readonly hasThinking: boolean
  readonly hasResultImages: boolean
  /** The search blocks of this issuer are sent back. */
  readonly searchIssuer: string | undefined
  readonly references: ToolReferences | undefined
}

/** Results of this tool refer to these tools, which the request defines. */
export type ToolReferences = { readonly searchTool: string; readonly tools: readonly string[] }

/** One renderer per set of options, because rendered bytes are cached by renderer. */
const renderers = new BoundedMap<string, BlockRenderer>(200)

/**
 * `issuer`: thinking sealed by this issuer is sent back. Undefined: no thinking is sent back. `searchIssuer`: the same for
 * web searches of the provider, which it accepts only together with their tool.
 */
export function getBlockRenderer(
  { images, thinking, toolContent }: Repairs = {},
  issuer: string | undefined,
  searchIssuer?: string,
  references?: ToolReferences,
): BlockRenderer {
  const options: AnthropicRenderOptions = {
    issuer: issuer ?? '',
    hasImages: !images,
    hasThinking: !thinking && issuer !== undefined,
    hasResultImages: !images && !toolContent,
    searchIssuer,
    references,
  }
  const key = JSON.stringify(options)
  let renderer = renderers.get(key)
  if (!renderer) {
    renderers.set(key, (renderer = { render: (message) => renderBlocks(message, options).map(toRenderedBlock) }))
  }
  return renderer
}

const toRenderedBlock = (block: BlockParam): RenderedBlock => ({
  json: stringifyWellFormed(block),
  isMarkable: !isThinking(block),
})

const isThinking = ({ type }: BlockParam): boolean => type === 'thinking' || type === 'redacted_thinking'

function renderBlocks(message: Message, options: AnthropicRenderOptions): readonly BlockParam[] {
  switch (message.role) {
    case 'user':
      return message.content.flatMap((part) => renderPart(part, options.hasImages))
    case 'assistant':
      return dropTrailingThinking(
        message.content.flatMap((part, at) => renderAssistantPart(part, message.content[at - 1], options)),
        isThinking,
      )
    case 'tool':
      return [renderToolResult(message, options)]
  }
}

const renderText = (text: string) => (/\S/.test(text) ? [{ type: 'text' as const, text }] : [])

/** The API limits the base64 text to 5 MiB, and refuses the whole request above that. */
const maxImageBytes = (5 * 1024 * 1024 * 3) / 4

function renderPart(part: TextPart | ImagePart, hasImages: boolean): readonly PartParam[] {
  const pdf = loadedPdf(part)
  if (pdf) {
    const source = { type: 'base64' as const, media_type: 'application/pdf' as const, data: pdf.data }
    return [{ type: 'document', source, title: pdf.name }]
  }
  if (part.type === 'text') return renderText(part.text)
  if (!hasImages) return renderText(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return renderText(image.text)
  if (image.kind === 'url') return [{ type: 'image', source: { type: 'url', url: image.url } }]
  const media_type = `image/${image.format}` as 'image/png'
  return [{ type: 'image', source: { type: 'base64', media_type, data: image.data } }]
}

type BlockPart = AssistantMessage['content'][number]

function renderAssistantPart(
  part: BlockPart,
  before: BlockPart | undefined,
  options: AnthropicRenderOptions,
): readonly BlockParam[] {
  if (part.type === 'text') return renderCitedText(part.text, findSearchSeal(before, options))
  if (part.type === 'call')
    return [
      { type: 'tool_use', id: encodeCallId(part.id), name: encodeToolName(part.name), input: renderCallInput(part) },
    ]
  if (part.search !== undefined) {
    const seal = findSearchSeal(part, options)
    return seal && 'block' in seal ? [seal.block] : []
  }
  // The API refuses thinking without its own signature.
  if (!options.hasThinking || part.sealed?.by !== options.issuer) return []
  const seal = part.sealed.data as ThinkingSeal
  return 'redacted' in seal
    ? [{ type: 'redacted_thinking', data: seal.redacted }]
    : [{ type: 'thinking', thinking: part.text, signature: seal.signature }]
}

function findSearchSeal(part: BlockPart | undefined, { searchIssuer }: AnthropicRenderOptions): SearchSeal | undefined {
  const sealed = part?.type === 'thinking' && part.search !== undefined ? part.sealed : undefined
  return sealed && sealed.by === searchIssuer ? (sealed.data as SearchSeal) : undefined
}

function renderCitedText(text: string, seal: SearchSeal | undefined): readonly BlockParam[] {
  const citations = seal && 'citations' in seal ? [...seal.citations] : undefined
  return renderText(text).map((block) => (citations ? { ...block, citations } : block))
}

function renderToolResult(message: ToolMessage, options: AnthropicRenderOptions): ToolResultBlockParam {
  const { callId, content, failed } = message
  const references = renderReferences(message, options)
  if (references.length) return { type: 'tool_result', tool_use_id: encodeCallId(callId), content: references }
  const parts = content.flatMap((part) =>
    // The API accepts only text in a failed result.
    part.type === 'image' && (failed || !options.hasResultImages)
      ? renderText('[an image, not shown]')
      : renderPart(part, options.hasImages),
  )
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  return {
    type: 'tool_result',
    tool_use_id: encodeCallId(callId),
    // The API refuses a failed result without text.
    content: parts.some(({ type }) => type === 'image') ? parts : text || '(no output)',
    ...(failed && { is_error: true }),
  }
}

/** The documented form is a result of references alone: the API shows their definitions in its place. */
function renderReferences(message: ToolMessage, { references }: AnthropicRenderOptions): ToolReferenceBlockParam[] {
  if (message.name !== references?.searchTool) return []
  const defined = readFoundTools(message).filter((name) => references.tools.includes(name))
  return defined.map((name) => ({ type: 'tool_reference', tool_name: encodeToolName(name) }))
}
