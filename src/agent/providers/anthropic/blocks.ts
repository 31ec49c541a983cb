/** Messages as content blocks of the Messages API. */

import { Bounded } from '../../model/bounded.ts'
import type {
  ImageBlockParam,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { AssistantMessage, ImagePart, Message, TextPart, ToolMessage } from '../../model/message.ts'
import type { Repairs } from '../../model/turn.ts'
import type { Block, Writer } from '../shared/alternating-body.ts'
import { wireId, wireName } from '../shared/call-id.ts'
import { wholeJson } from '../shared/json.ts'
import { leftOut, pictureOf } from '../shared/image-content.ts'
import { toLast } from '../shared/request-parts.ts'

export type BlockParam =
  | PartParam
  | ToolResultBlockParam
  | ToolUseBlockParam
  | ThinkingBlockParam
  | RedactedThinkingBlockParam
type PartParam = TextBlockParam | ImageBlockParam

/** What is kept of a block of thinking besides its text. */
export type Seal = { readonly signature: string } | { readonly redacted: string }

/** Who can read its own thinking again: Claude wherever it is served; models of other makers at their host alone. */
export const sealerOf = (model: string, address: string): string =>
  /claude/i.test(model) ? 'anthropic' : `anthropic@${URL.parse(address)?.hostname ?? ''}`

type Way = { readonly by: string; readonly images: boolean; readonly thinking: boolean; readonly resultImages: boolean }

/** One writer for each way, so that what is kept of it is found again. */
const writers = new Bounded<string, Writer>(200)

/** `by`: whose thinking is sent back; undefined: nobody's. */
export function writerFor({ images, thinking, toolContent }: Repairs = {}, by: string | undefined): Writer {
  const way: Way = {
    by: by ?? '',
    images: !images,
    thinking: !thinking && by !== undefined,
    resultImages: !images && !toolContent,
  }
  const name = JSON.stringify(way)
  let writer = writers.get(name)
  if (!writer) {
    writers.set(name, (writer = { blocks: (message) => blocksOf(message, way).map(asBlock) }))
  }
  return writer
}

const asBlock = (block: BlockParam): Block => ({
  json: wholeJson(block),
  markable: isSaid(block),
})

const isSaid = ({ type }: BlockParam): boolean => type !== 'thinking' && type !== 'redacted_thinking'

function blocksOf(message: Message, way: Way): readonly BlockParam[] {
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

const textOf = (text: string) => (/\S/.test(text) ? [{ type: 'text' as const, text }] : [])

/** Five megabytes of base64; larger ones are refused, with everything around them. */
const imageLimit = (5 * 1024 * 1024 * 3) / 4

function partOf(part: TextPart | ImagePart, images: boolean): readonly PartParam[] {
  if (part.type === 'text') return textOf(part.text)
  if (!images) return textOf(leftOut)
  const picture = pictureOf(part, imageLimit)
  if (picture.as === 'words') return textOf(picture.text)
  if (picture.as === 'address') return [{ type: 'image', source: { type: 'url', url: picture.url } }]
  const media_type = `image/${picture.format}` as 'image/png'
  return [{ type: 'image', source: { type: 'base64', media_type, data: picture.data } }]
}

function answerOf(part: AssistantMessage['content'][number], way: Way): readonly BlockParam[] {
  if (part.type === 'text') return textOf(part.text)
  if (part.type === 'call')
    return [{ type: 'tool_use', id: wireId(part.id), name: wireName(part.name), input: objectOf(part.input) }]
  // Without its signature thinking is refused, and that of others has none.
  if (!way.thinking || part.sealed?.by !== way.by) return []
  const seal = part.sealed.data as Seal
  return 'redacted' in seal
    ? [{ type: 'redacted_thinking', data: seal.redacted }]
    : [{ type: 'thinking', thinking: part.text, signature: seal.signature }]
}

const objectOf = (input: unknown): object =>
  typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}

function resultOf({ callId, content, failed }: ToolMessage, way: Way): ToolResultBlockParam {
  const parts = content.flatMap((part) =>
    // A failure may be told in words only.
    part.type === 'image' && (failed || !way.resultImages) ? textOf('[an image, not shown]') : partOf(part, way.images),
  )
  const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  return {
    type: 'tool_result',
    tool_use_id: wireId(callId),
    // A failure without words is refused.
    content: parts.some(({ type }) => type === 'image') ? parts : said || '(no output)',
    ...(failed && { is_error: true }),
  }
}
