/** What people say, as requests carry it: text or parts, images by address or inline. */

import * as z from 'zod'
import type { ImagePart, Message, TextPart, UserMessage } from '../agent/model/message.ts'
import { utf8Bytes, maxInputBytes } from '../durable/platform/row-size.ts'
import { invalid } from './errors.ts'

/** Characters of one message: what is longer belongs in a file of the session. */
export const maxText = 600_000
/** Bytes of all system text of one request: history has it in one row with what was said. */
const maxSystem = 200_000

/** One class to the end: with two that may stand for the same characters a long wrong one would take for ever. */
export const imageUrl = z
  .string()
  .max(9_000_000)
  .regex(
    /^(?:https:\/\/|data:image\/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+$)/,
    'An https address or a data:image/…;base64 one.',
  )

const contentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().max(maxText) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: imageUrl, detail: z.enum(['auto', 'low', 'high', 'original']).optional() }),
  }),
])
export type ContentPart = z.infer<typeof contentPart>

export const inputSchema = z
  .union([z.string().max(maxText), z.array(contentPart).min(1).max(1_000)])
  .describe('Text, or parts of text and images.')

export const attachment = z.strictObject({ type: z.literal('image'), url: imageUrl })

export function userMessage(
  input: string | readonly ContentPart[],
  attachments: readonly z.infer<typeof attachment>[] = [],
  param = 'input',
  system = '',
): UserMessage {
  const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
  const content = [...parts.map(partOf), ...attachments.map(({ url }) => imagePart(url))]
  const length = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length > maxText) throw invalid(`A message has at most ${maxText} characters; put more into a file.`, param)
  refuseLarge(sizeOf([system, textsIn(content)]), param)
  if (content.every((part) => part.type === 'text' && !part.text.trim())) throw invalid('The message is empty.', param)
  return { role: 'user', content }
}

/** Texts of the system as one; the one that is too much is named. */
export function systemText(texts: readonly { readonly text: string; readonly param: string }[]): string {
  let size = 0
  for (const { text, param } of texts) {
    size += sizeOf(text)
    if (size > maxSystem) throw tooLong(maxSystem, param)
  }
  return texts.flatMap(({ text }) => (text ? [text] : [])).join('\n\n')
}

/** Bytes that it takes in a row. */
const sizeOf = (value: unknown): number => utf8Bytes(JSON.stringify(value))

export const sizeOfMessage = ({ role, content }: Message): number =>
  sizeOf(role === 'assistant' ? content : textsIn(content))

export function refuseLarge(size: number, param: string): void {
  if (size > maxInputBytes) throw tooLong(maxInputBytes, param)
}

const tooLong = (most: number, param: string) =>
  invalid(`${param}: at most ${most} bytes can be stored; put more into a file.`, param)

/** Images are stored elsewhere. */
const textsIn = (content: readonly (TextPart | ImagePart)[]) =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : []))

export const partOf = (part: ContentPart): TextPart | ImagePart =>
  part.type === 'text' ? part : imagePart(part.image_url.url)

function imagePart(url: string): ImagePart {
  const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url)
  if (inline) return { type: 'image', mediaType: inline[1] ?? 'image/png', data: inline[2] ?? '' }
  return { type: 'image', mediaType: 'image/*;url', data: url }
}
