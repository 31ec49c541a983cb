/** Parses messages of requests: text or parts, with images as https addresses or data URLs. */

import * as z from 'zod'
import type { ImagePart, Message, TextPart, UserMessage } from '#agent/core/message.ts'
import { utf8Bytes, maxInputBytes } from '#durable/platform/row-size.ts'
import { invalid } from '../errors.ts'
import type { GivenFile } from '../files/uploads.ts'

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

/** The files of a message, in their order. */
export function listFiles(
  input: string | readonly ContentPart[],
  attachments: readonly AttachmentInput[] = [],
): readonly GivenFile[] {
  const parts = typeof input === 'string' ? [] : input
  return [
    ...parts.flatMap((part): readonly GivenFile[] => {
      if (part.type === 'file') {
        const { filename: name, file_data: fileData, file_id: id, file_url: url } = part.file
        return [{ name, data: fileData, id, url }]
      }
      if (part.type !== 'input_audio') return []
      const { data, format } = part.input_audio
      return [{ name: `audio.${format}`, data, mediaType: `audio/${format}` }]
    }),
    ...attachments.flatMap((one) => (one.type === 'file' ? [{ name: one.name, data: one.data, id: one.file_id }] : [])),
  ]
}

export function parseUserMessage(
  input: string | readonly ContentPart[],
  attachments: readonly AttachmentInput[] = [],
  param = 'input',
  system = '',
): UserMessage {
  const parts = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input
  const content = [
    ...parts.filter((part) => !isFile(part)).map(parseContentPart),
    ...attachments.flatMap((one) => (one.type === 'image' ? [parseImageUrl(one.url)] : [])),
  ]
  const hasFiles = parts.some(isFile) || attachments.some(({ type }) => type === 'file')
  const length = content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  if (length > maxTextChars)
    throw invalid(`A message has at most ${maxTextChars} characters; put more into a file.`, param)
  requireStorableSize(measureBytes([system, listTexts(content)]), param)
  if (!hasFiles && content.every((part) => part.type === 'text' && !part.text.trim()))
    throw invalid('The message is empty.', param)
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

const isFile = ({ type }: ContentPart): boolean => type === 'file' || type === 'input_audio'

/** Files of earlier messages become notes: only those of the new message are stored. */
export function parseContentPart(part: ContentPart): TextPart | ImagePart {
  if (part.type === 'text') return part
  if (part.type === 'image_url') return parseImageUrl(part.image_url.url)
  const name = part.type === 'file' ? (part.file.filename ?? 'a file') : 'audio'
  return { type: 'text', text: `[Attached file: ${name}]` }
}

function parseImageUrl(url: string): ImagePart {
  const inline = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(url)
  if (inline) return { type: 'image', mediaType: inline[1] ?? 'image/png', data: inline[2] ?? '' }
  return { type: 'image', mediaType: 'image/*;url', data: url }
}
