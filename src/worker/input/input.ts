/** Parses messages of requests: text or parts, with images as https addresses or data URLs. */

import * as z from 'zod'
import type { ImagePart, Message, SentFile, TextPart, UserMessage } from '#agent/core/message.ts'
import { utf8Bytes, maxInputBytes } from '#durable/platform/row-size.ts'
import { invalid } from '../errors.ts'

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

/** Base64 or a data URL. */
export const fileDataSchema = z.string().max(14_000_000)
/** Fetched when the request arrives, through the guarded fetch. */
export const fileUrlSchema = z
  .string()
  .max(2_000)
  .regex(/^https?:\/\//, 'An http or https address.')
const uploadId = z.string().max(100)
export const audioSchema = z.object({
  data: fileDataSchema,
  format: z.enum(['wav', 'mp3', 'flac', 'ogg', 'm4a', 'webm']),
})
const givenName = z.string().max(255).nullish()

/** Files go to the workspace, and the message names their paths. */
export const filePart = z.object({
  type: z.literal('file'),
  file: z.object({
    filename: givenName,
    file_data: fileDataSchema.nullish(),
    file_id: uploadId.nullish(),
    file_url: fileUrlSchema.nullish(),
  }),
})
export const audioPart = z.object({ type: z.literal('input_audio'), input_audio: audioSchema })

const contentPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string().max(maxTextChars) }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: imageUrlSchema, detail: z.enum(['auto', 'low', 'high', 'original']).optional() }),
  }),
  filePart,
  audioPart,
])
export type ContentPart = z.infer<typeof contentPart>

export const inputSchema = z
  .union([z.string().max(maxTextChars), z.array(contentPart).min(1).max(1_000)])
  .describe('Text, or parts of text, images, files and audio.')

export const attachmentSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('image'), url: imageUrlSchema }),
  z.strictObject({
    type: z.literal('file'),
    name: z.string().min(1).max(255).optional(),
    data: fileDataSchema.optional().describe('Base64 or a data URL.'),
    file_id: uploadId.optional().describe('Of POST /v1/files.'),
  }),
])
type AttachmentInput = z.infer<typeof attachmentSchema>

export function parseUserMessage(
  input: string | readonly ContentPart[],
  attachments: readonly AttachmentInput[] = [],
  param = 'input',
  system = '',
): UserMessage {
  const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
  const attached = attachments.map((one, n) =>
    one.type === 'image'
      ? parseImageUrl(one.url)
      : createFilePart(
          { kind: 'file', at: parts.length + n, ...present({ name: one.name, id: one.file_id }) },
          one.data,
        ),
  )
  const content = [...parts.map(parseContentPart), ...attached]
  const hasFiles = content.some((part) => part.type === 'text' && part.sent)
  const length = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length > maxTextChars)
    throw invalid(`A message has at most ${maxTextChars} characters; put more into a file.`, param)
  requireStorableSize(measureBytes([system, listTexts(content)]), param)
  if (!hasFiles && content.every((part) => part.type === 'text' && !part.text.trim()))
    throw invalid('The message is empty.', param)
  return { role: 'user', content }
}

/** Stands between the messages of a person that are one here. */
export const separator: TextPart = { type: 'text', text: '\n\n', sent: 'separator' }

export function joinUserMessages(messages: readonly UserMessage[]): UserMessage {
  const content: UserMessage['content'][number][] = []
  for (const message of messages) {
    if (content.length) content.push(separator)
    const offset = content.length
    const moved = ({ sent }: TextPart) => typeof sent === 'object' && { sent: { ...sent, at: sent.at + offset } }
    content.push(...message.content.map((part) => (part.type === 'text' ? { ...part, ...moved(part) } : part)))
  }
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

/** `at`: the position of the part in its message. A file has no text until its session has read it. */
export function parseContentPart(part: ContentPart, at: number): TextPart | ImagePart {
  switch (part.type) {
    case 'text':
      return part
    case 'image_url': {
      const { url, detail } = part.image_url
      return { ...parseImageUrl(url), ...(detail && detail !== 'auto' && { detail }) }
    }
    case 'input_audio': {
      const { data, format } = part.input_audio
      return createFilePart({ kind: 'audio', at, name: `audio.${format}` }, data)
    }
    case 'file': {
      const { filename: name, file_data: data, file_id: id, file_url: url } = part.file
      return createFilePart({ kind: 'file', at, ...present({ name, id, url }) }, data)
    }
  }
}

function createFilePart(sent: SentFile, given: string | null | undefined): TextPart {
  if (given == null) return { type: 'text', text: '', sent }
  const [prefix = ''] = /^data:[^,]{0,300};base64,/.exec(given) ?? []
  return { type: 'text', text: '', sent: { ...sent, ...(prefix && { prefix }), data: given.slice(prefix.length) } }
}

const present = <Field extends string>(fields: Readonly<Record<Field, string | null | undefined>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as Partial<Record<Field, string>>

function parseImageUrl(url: string): ImagePart {
  const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url)
  if (inline) return { type: 'image', mediaType: inline[1] ?? 'image/png', data: inline[2] ?? '' }
  return { type: 'image', mediaType: 'image/*;url', data: url }
}
