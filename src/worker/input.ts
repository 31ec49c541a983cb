/** Parses messages of requests: text or parts, with images as https addresses or data URLs. */

import * as z from 'zod'
import type { ImagePart, Message, TextPart, UserMessage } from '../agent/model/message.ts'
import { utf8Bytes, maxInputBytes } from '../durable/platform/row-size.ts'
import { invalid } from './errors.ts'

/** Longer texts belong in files of the session. */
export const maxTextChars = 600_000
/** For all system text of a request: history stores it in one row with the message. */
const maxSystemBytes = 200_000

/** The data part is one character class. Two overlapping classes would backtrack exponentially on invalid input. */
export const imageUrlSchema = z
  .string()
  .max(9_000_000)
  .regex(
    /^(?:https:\/\/|data:image\/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+$)/,
    'An https address or a data:image/…;base64 one.',
  )

const contentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().max(maxTextChars) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: imageUrlSchema, detail: z.enum(['auto', 'low', 'high', 'original']).optional() }),
  }),
])
export type ContentPart = z.infer<typeof contentPart>

export const inputSchema = z
  .union([z.string().max(maxTextChars), z.array(contentPart).min(1).max(1_000)])
  .describe('Text, or parts of text and images.')

export const attachmentSchema = z.strictObject({ type: z.literal('image'), url: imageUrlSchema })

export function parseUserMessage(
  input: string | readonly ContentPart[],
  attachments: readonly z.infer<typeof attachmentSchema>[] = [],
  param = 'input',
  system = '',
): UserMessage {
  const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
  const content = [...parts.map(parseContentPart), ...attachments.map(({ url }) => parseImageUrl(url))]
  const length = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length > maxTextChars)
    throw invalid(`A message has at most ${maxTextChars} characters; put more into a file.`, param)
  requireStorableSize(measureBytes([system, listTexts(content)]), param)
  if (content.every((part) => part.type === 'text' && !part.text.trim())) throw invalid('The message is empty.', param)
  return { role: 'user', content }
}

/** Joins system texts. Throws with the name of the text that exceeds the maximum. */
export function joinSystemText(texts: readonly { readonly text: string; readonly param: string }[]): string {
  let size = 0
  for (const { text, param } of texts) {
    size += measureBytes(text)
    if (size > maxSystemBytes) throw tooLong(maxSystemBytes, param)
  }
  return texts.flatMap(({ text }) => (text ? [text] : [])).join('\n\n')
}

/** Bytes of the value in a database row. */
const measureBytes = (value: unknown): number => utf8Bytes(JSON.stringify(value))

export const measureMessage = ({ role, content }: Message): number =>
  measureBytes(role === 'assistant' ? content : listTexts(content))

export function requireStorableSize(size: number, param: string): void {
  if (size > maxInputBytes) throw tooLong(maxInputBytes, param)
}

const tooLong = (maxBytes: number, param: string) =>
  invalid(`${param}: at most ${maxBytes} bytes can be stored; put more into a file.`, param)

/** Images do not count: they are stored outside the row. */
const listTexts = (content: readonly (TextPart | ImagePart)[]) =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : []))

export const parseContentPart = (part: ContentPart): TextPart | ImagePart =>
  part.type === 'text' ? part : parseImageUrl(part.image_url.url)

function parseImageUrl(url: string): ImagePart {
  const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url)
  if (inline) return { type: 'image', mediaType: inline[1] ?? 'image/png', data: inline[2] ?? '' }
  return { type: 'image', mediaType: 'image/*;url', data: url }
}
