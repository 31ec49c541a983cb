/**
 * Converts messages to the export format and back. The format is that of chat completions with additional fields.
 * Content that chat completions cannot represent is in `parts`, so that an import restores every message exactly.
 */

import * as z from 'zod'
import {
  type AssistantMessage,
  argumentsOf,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type TextPart,
  thinkingIn,
  type ToolMessage,
  type UserMessage,
} from '#agent/core/message.ts'
import { parseCallArguments } from '#agent/providers/shared/call-arguments.ts'

const textSchema = z.string().max(4_000_000)
const idSchema = z.string().min(1).max(256)
const sealedSchema = z.strictObject({ by: z.string().max(100), data: z.unknown() })
const textPartSchema = z.strictObject({ type: z.literal('text'), text: textSchema })
/** Accepts Base64 or an https URL. A storage address is refused, because it could name an image of another tenant. */
const imageSchema = z
  .strictObject({
    type: z.literal('image'),
    mediaType: z.string().regex(/^image\/[\w.+*-]{1,60}(;url)?$/),
    data: z.string().max(9_000_000),
  })
  .refine(
    ({ mediaType, data }) =>
      mediaType.endsWith(';url') ? data.startsWith('https://') : /^[A-Za-z0-9+/=]*$/.test(data),
    'Base64, or an https address when the type ends with ;url.',
  )
const partSchema = z.discriminatedUnion('type', [
  textPartSchema,
  imageSchema,
  z.strictObject({ type: z.literal('thinking'), text: textSchema, sealed: sealedSchema.optional() }),
  z.strictObject({
    type: z.literal('call'),
    id: idSchema,
    name: idSchema,
    input: z.unknown(),
    raw: textSchema.optional(),
    json: textSchema.optional(),
    owner: z.literal('client').optional(),
    sealed: sealedSchema.optional(),
  }),
])

const publicPartSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: textSchema }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string().max(9_000_000) }) }),
])
const publicContentSchema = z.union([textSchema, z.array(publicPartSchema).max(1_000)]).nullish()
const callSchema = z.looseObject({ id: idSchema, function: z.looseObject({ name: idSchema, arguments: textSchema }) })

const sources = [
  'notice',
  'nudge',
  'summary',
  'job',
  'webhook',
  'subagent',
  'process',
  'goal',
  'heartbeat',
  'loop',
] as const

const seqsSchema = z.array(z.int().min(1)).max(1_000).readonly()

/** Unknown fields are ignored. */
export const exportedMessageSchema = z.object({
  role: z.enum(['user', 'assistant', 'tool']),
  content: publicContentSchema,
  tool_calls: z.array(callSchema).max(1_000).nullish(),
  tool_call_id: idSchema.nullish(),
  name: idSchema.nullish(),
  reasoning: textSchema.nullish(),
  source: z.enum(sources).nullish(),
  stop: z.enum(['end', 'tools', 'length', 'refused']).nullish(),
  failed: z.boolean().nullish(),
  parts: z.array(partSchema).max(2_000).nullish(),
  seq: z.int().min(1).nullish(),
  run_id: z.string().max(128).nullish(),
  created_at: z.iso.datetime({ offset: true }).nullish(),
  rating: z
    .object({ value: z.enum(['good', 'bad']), note: z.string().max(1_000).nullish() })
    .nullish()
    .describe('How a person rates the answer.'),
  covers: z.int().min(0).nullish().describe('On a summary: the seq of the last message that it replaces.'),
  keeps: z
    .object({ head: seqsSchema, requests: seqsSchema })
    .nullish()
    .describe('On a summary: messages up to `covers` that are still sent.'),
  effects: z
    .array(z.string().max(1_000))
    .max(1_000)
    .readonly()
    .nullish()
    .describe('On a summary: the calls with an effect among the replaced messages.'),
})
export type ExportedMessage = z.infer<typeof exportedMessageSchema>

/** Adds `parts` only when the fields of chat completions cannot represent the message. */
export function toExportedMessage(message: Message): ExportedMessage {
  const plain = toPlainMessage(message)
  const own = withoutInternals(message)
  return isEqualJson(fromExportedMessage(plain), own) ? plain : { ...plain, parts: [...own.content] }
}

/** Marks and addresses of files stay here: a file that is imported could name any. */
const withoutInternals = (message: Message): Message => {
  const { marks: _marks, ...rest } = message
  return rest.role === 'assistant' ? rest : { ...rest, content: rest.content.map(withoutFile) }
}

const withoutFile = (part: TextPart | ImagePart): TextPart | ImagePart =>
  part.type === 'text'
    ? { type: 'text', text: part.text }
    : { type: 'image', mediaType: part.mediaType, data: part.data }

function toPlainMessage(message: Message): ExportedMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: toPublicContent(message), ...(message.source && { source: message.source }) }
    case 'tool': {
      const { callId, name, failed } = message
      return { role: 'tool', content: toPublicContent(message), tool_call_id: callId, name, ...(failed && { failed }) }
    }
    case 'assistant': {
      const calls = callsIn(message).map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: argumentsOf(call) },
      }))
      const thinking = thinkingIn(message)
      return {
        role: 'assistant',
        content: textIn(message) || null,
        ...(calls.length && { tool_calls: calls }),
        ...(thinking && { reasoning: thinking }),
        ...(message.source && { source: message.source }),
        stop: message.stop,
      }
    }
  }
}

function toPublicContent({ content: parts }: UserMessage | ToolMessage): ExportedMessage['content'] {
  const [first, ...more] = parts
  if (first?.type === 'text' && !more.length) return first.text
  return parts.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: imageUrl(part) } },
  )
}

const imageUrl = ({ mediaType, data }: ImagePart): string =>
  mediaType.endsWith(';url') ? data : `data:${mediaType};base64,${data}`

/** Restores a message from its export, or from the export of another program. */
export function fromExportedMessage(exported: ExportedMessage): Message {
  if (exported.role === 'assistant') return parseAssistantMessage(exported)
  const { source } = exported
  const content = exported.parts ? filterTextAndImages(exported.parts) : parsePublicContent(exported.content)
  if (exported.role === 'user') return { role: 'user', content, ...(source && { source }) }
  const { tool_call_id: callId, name, failed } = exported
  return { role: 'tool', callId: callId ?? 'unknown', name: name ?? 'tool', content, failed: failed ?? false }
}

function parseAssistantMessage(exported: ExportedMessage): AssistantMessage {
  const content = (exported.parts?.filter((part) => part.type !== 'image') ??
    parsePublicAnswer(exported)) as AssistantMessage['content']
  const stop = exported.stop ?? (content.some(({ type }) => type === 'call') ? 'tools' : 'end')
  return { role: 'assistant', content, stop, ...(exported.source === 'notice' && { source: exported.source }) }
}

const filterTextAndImages = (parts: NonNullable<ExportedMessage['parts']>): readonly (TextPart | ImagePart)[] =>
  parts.filter((part) => part.type === 'text' || part.type === 'image')

function parsePublicContent(content: ExportedMessage['content']): readonly (TextPart | ImagePart)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (content ?? []).map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : parseImageUrl(part.image_url.url),
  )
}

function parseImageUrl(url: string): TextPart | ImagePart {
  const [, mediaType, data] = /^data:(image\/[\w.+-]{1,60});base64,([A-Za-z0-9+/=]*)$/.exec(url) ?? []
  if (mediaType !== undefined && data !== undefined) return { type: 'image', mediaType, data }
  if (url.startsWith('https://')) return { type: 'image', mediaType: 'image/*;url', data: url }
  return { type: 'text', text: '[image not included in the export]' }
}

function parsePublicAnswer({ content, reasoning, tool_calls: calls }: ExportedMessage): AssistantMessage['content'] {
  const texts =
    typeof content === 'string'
      ? content
      : parsePublicContent(content).flatMap((part) => (part.type === 'text' ? part.text : []))
  const answer = typeof texts === 'string' ? texts : texts.join('')
  return [
    ...(reasoning ? [{ type: 'thinking', text: reasoning } as const] : []),
    ...(answer ? [{ type: 'text', text: answer } as const] : []),
    ...(calls ?? []).map(({ id: callId, function: { name, arguments: json } }) => ({
      type: 'call' as const,
      id: callId,
      name,
      ...parseCallArguments(json),
    })),
  ]
}

/** Compares two values as JSON, independent of the order of properties. */
function isEqualJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other
  const names = (value: object) =>
    Object.keys(value).filter((name) => (value as Record<string, unknown>)[name] !== undefined)
  const [first, second] = [names(one), names(other)]
  return (
    Array.isArray(one) === Array.isArray(other) &&
    first.length === second.length &&
    first.every((name) => isEqualJson((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]))
  )
}
