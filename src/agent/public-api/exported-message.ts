/**
 * Converts messages to the export format and back. The format is that of chat completions with additional fields.
 * Content that chat completions cannot represent is in `parts`, so that an import restores every message exactly.
 */

import * as z from 'zod'
import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type TextPart,
  thinkingIn,
  type ToolMessage,
  type UserMessage,
} from '../model/message.ts'
import { parseCallArguments } from '../providers/shared/call-arguments.ts'

const text = z.string().max(4_000_000)
const id = z.string().min(1).max(200)
const sealed = z.strictObject({ by: z.string().max(100), data: z.unknown() })
const textPart = z.strictObject({ type: z.literal('text'), text })
/** Accepts Base64 or an https URL. A storage address is refused, because it could name an image of another tenant. */
const image = z
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
const part = z.discriminatedUnion('type', [
  textPart,
  image,
  z.strictObject({ type: z.literal('thinking'), text, sealed: sealed.optional() }),
  z.strictObject({
    type: z.literal('call'),
    id,
    name: id,
    input: z.unknown(),
    raw: text.optional(),
    sealed: sealed.optional(),
  }),
])

const publicPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text }),
  z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: z.string().max(9_000_000) }) }),
])
const publicContent = z.union([text, z.array(publicPart).max(1_000)]).nullish()
const call = z.looseObject({ id, function: z.looseObject({ name: id, arguments: text }) })

const sources = ['notice', 'nudge', 'summary', 'job', 'webhook', 'subagent', 'process'] as const

/** Unknown fields are ignored. */
export const exportedMessageSchema = z.object({
  role: z.enum(['user', 'assistant', 'tool']),
  content: publicContent,
  tool_calls: z.array(call).max(1_000).nullish(),
  tool_call_id: id.nullish(),
  name: id.nullish(),
  reasoning: text.nullish(),
  source: z.enum(sources).nullish(),
  stop: z.enum(['end', 'tools', 'length', 'refused']).nullish(),
  failed: z.boolean().nullish(),
  parts: z.array(part).max(2_000).nullish(),
  seq: z.int().min(1).nullish(),
  run_id: z.string().max(128).nullish(),
  created_at: z.iso.datetime({ offset: true }).nullish(),
  covers: z.int().min(0).nullish().describe('On a summary: the seq up to which it stands for what was said.'),
})
export type ExportedMessage = z.infer<typeof exportedMessageSchema>

export function toExportedMessage(message: Message): ExportedMessage {
  const plain = toPlainMessage(message)
  return isEqualJson(fromExportedMessage(plain), message) ? plain : { ...plain, parts: [...message.content] }
}

function toPlainMessage(message: Message): ExportedMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: toPublicContent(message), ...(message.source && { source: message.source }) }
    case 'tool': {
      const { callId, name, failed } = message
      return { role: 'tool', content: toPublicContent(message), tool_call_id: callId, name, ...(failed && { failed }) }
    }
    case 'assistant': {
      const calls = callsIn(message).map((one) => ({
        id: one.id,
        type: 'function',
        function: { name: one.name, arguments: one.raw ?? JSON.stringify(one.input) },
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
  return parts.map((one) =>
    one.type === 'text' ? { type: 'text', text: one.text } : { type: 'image_url', image_url: { url: imageUrl(one) } },
  )
}

const imageUrl = ({ mediaType, data }: ImagePart): string =>
  mediaType.endsWith(';url') ? data : `data:${mediaType};base64,${data}`

/** Restores a message from its export, or from the export of another program. */
export function fromExportedMessage(given: ExportedMessage): Message {
  if (given.role === 'assistant') return parseAssistantMessage(given)
  const { source } = given
  const content = given.parts ? filterTextAndImages(given.parts) : parsePublicContent(given.content)
  if (given.role === 'user') return { role: 'user', content, ...(source && { source }) }
  const { tool_call_id: callId, name, failed } = given
  return { role: 'tool', callId: callId ?? 'unknown', name: name ?? 'tool', content, failed: failed ?? false }
}

function parseAssistantMessage(given: ExportedMessage): AssistantMessage {
  const content = (given.parts?.filter((one) => one.type !== 'image') ??
    parsePublicAnswer(given)) as AssistantMessage['content']
  const stop = given.stop ?? (content.some(({ type }) => type === 'call') ? 'tools' : 'end')
  return { role: 'assistant', content, stop, ...(given.source === 'notice' && { source: given.source }) }
}

const filterTextAndImages = (parts: NonNullable<ExportedMessage['parts']>): readonly (TextPart | ImagePart)[] =>
  parts.filter((one) => one.type === 'text' || one.type === 'image')

function parsePublicContent(given: ExportedMessage['content']): readonly (TextPart | ImagePart)[] {
  if (typeof given === 'string') return [{ type: 'text', text: given }]
  return (given ?? []).map((one) =>
    one.type === 'text' ? { type: 'text', text: one.text } : parseImageUrl(one.image_url.url),
  )
}

function parseImageUrl(url: string): TextPart | ImagePart {
  const [, mediaType, data] = /^data:(image\/[\w.+-]{1,60});base64,([A-Za-z0-9+/=]*)$/.exec(url) ?? []
  if (mediaType !== undefined && data !== undefined) return { type: 'image', mediaType, data }
  if (url.startsWith('https://')) return { type: 'image', mediaType: 'image/*;url', data: url }
  return { type: 'text', text: '[an image that did not come along]' }
}

function parsePublicAnswer({
  content: given,
  reasoning,
  tool_calls: calls,
}: ExportedMessage): AssistantMessage['content'] {
  const words =
    typeof given === 'string'
      ? given
      : parsePublicContent(given).flatMap((one) => (one.type === 'text' ? one.text : []))
  const whole = typeof words === 'string' ? words : words.join('')
  return [
    ...(reasoning ? [{ type: 'thinking', text: reasoning } as const] : []),
    ...(whole ? [{ type: 'text', text: whole } as const] : []),
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
