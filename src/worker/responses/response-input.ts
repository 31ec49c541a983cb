/** Parses the input items of the Responses API into history, system text and the message to answer. */

import * as z from 'zod'
import type { AssistantMessage, Message, UserMessage } from '../../agent/model/message.ts'
import { parseCallArguments } from '../../agent/providers/shared/call-arguments.ts'
import { AppError, invalid } from '../errors.ts'
import type { GivenFile } from '../uploads.ts'
import {
  audioSchema,
  type ContentPart,
  fileDataSchema,
  imageUrlSchema,
  listFiles,
  maxTextChars,
  parseContentPart,
  requireStorableSize,
  measureMessage,
  joinSystemText,
  parseUserMessage,
} from '../input.ts'

const textSchema = z.string().max(maxTextChars)
const partSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text', 'summary_text']), text: textSchema }),
  z.looseObject({ type: z.literal('refusal'), refusal: textSchema }),
  z.looseObject({ type: z.literal('input_image'), image_url: imageUrlSchema }),
  z.looseObject({
    type: z.literal('input_file'),
    filename: z.string().max(255).nullish(),
    file_data: fileDataSchema.nullish(),
    file_id: z.string().max(100).nullish(),
  }),
  z.looseObject({ type: z.literal('input_audio'), input_audio: audioSchema }),
])
const contentSchema = z.union([textSchema, z.array(partSchema).max(1_000)])
const callId = z.string().min(1).max(200)

const messageSchema = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: contentSchema,
})
const callSchema = z.looseObject({
  type: z.literal('function_call'),
  call_id: callId,
  name: z.string().max(200),
  arguments: z.string().max(maxTextChars),
})
const resultSchema = z.looseObject({ type: z.literal('function_call_output'), call_id: callId, output: contentSchema })
const reasoningSchema = z.looseObject({ type: z.literal('reasoning') })
const referenceSchema = z.looseObject({ type: z.literal('item_reference') })
const itemSchema = z.union([messageSchema, callSchema, resultSchema, reasoningSchema, referenceSchema])

type MessageItem = z.infer<typeof messageSchema>
type Result = z.infer<typeof resultSchema>
type Item = z.infer<typeof itemSchema>
type Content = z.infer<typeof contentSchema>
type ItemWithParam = { readonly one: Item; readonly param: string }

export const responseInput = z
  .union([textSchema, z.array(itemSchema).min(1).max(20_000)])
  .describe('Text, or items: messages, and calls of tools with their results as history.')

export type ParsedInput = {
  readonly history: readonly Message[]
  /** `instructions`, then the messages of role system and developer. */
  readonly instructions: string
  readonly message: UserMessage
  readonly files: readonly GivenFile[]
}

export function parseInput(input: z.infer<typeof responseInput>, instructions: string): ParsedInput {
  const items: readonly Item[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const itemsWithParam = items.map((one, i) => ({ one, param: `input.${i}` }))
  for (const { one, param } of itemsWithParam) if (one.type === 'item_reference') throw referenceUnsupported(param)
  const system = joinSystemText([
    { text: instructions, param: 'instructions' },
    ...itemsWithParam.flatMap(({ one, param }) =>
      isSystem(one) ? [{ text: joinText(one.content), param: `${param}.content` }] : [],
    ),
  ])
  const conversation: readonly ItemWithParam[] = itemsWithParam.filter(
    ({ one }) => !isSystem(one) && one.type !== 'reasoning',
  )
  const before = conversation.findLastIndex(({ one }) => !isUser(one)) + 1
  const last = conversation.slice(before).flatMap(({ one }) => (isUser(one) ? [one] : []))
  if (!last.length) throw invalid('The last item must be a message of role user.', 'input')
  const parts = last.flatMap((one, at) => [...(at ? [blankLine] : []), ...toContentParts(one.content)])
  return {
    history: parseHistory(conversation.slice(0, before)),
    instructions: system,
    message: parseUserMessage(parts, [], 'input', system),
    files: listFiles(parts),
  }
}

const referenceUnsupported = (param: string) =>
  new AppError(
    400,
    'unsupported',
    'Items cannot be referenced by id. Send the item itself (SDKs do with store: false), or use previous_response_id.',
    { param },
  )

const isMessage = (one: Item): one is MessageItem => one.type === undefined || one.type === 'message'
const isSystem = (one: Item): one is MessageItem =>
  isMessage(one) && (one.role === 'system' || one.role === 'developer')
const isUser = (one: Item): one is MessageItem => isMessage(one) && one.role === 'user'

const blankLine: ContentPart = { type: 'text', text: '\n\n' }

const toContentParts = (value: Content): readonly ContentPart[] =>
  (typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value).map((one): ContentPart => {
    if (one.type === 'input_image') return { type: 'image_url', image_url: { url: one.image_url } }
    if (one.type === 'input_audio') return { type: 'input_audio', input_audio: one.input_audio }
    if (one.type === 'input_file') return { type: 'file', file: one }
    return { type: 'text', text: one.type === 'refusal' ? one.refusal : one.text }
  })

const joinText = (value: Content): string =>
  toContentParts(value)
    .map((one) => (one.type === 'text' ? one.text : ''))
    .join('')

/** Merges consecutive assistant items into one message. */
function parseHistory(items: readonly ItemWithParam[]): readonly Message[] {
  const messages: Message[] = []
  const names = new Map<string, string>()
  let size = 0
  for (const { one, param } of items) {
    const message = parseItem(one, names)
    const last = messages.at(-1)
    const continuesLast = message.role === 'assistant' && last?.role === 'assistant'
    size = (continuesLast ? size : 0) + measureMessage(message)
    requireStorableSize(size, param)
    if (continuesLast) messages[messages.length - 1] = createAssistantMessage([...last.content, ...message.content])
    else messages.push(message)
  }
  return messages
}

function parseItem(one: Item, names: Map<string, string>): Message {
  if (isUser(one)) return { role: 'user', content: toContentParts(one.content).map(parseContentPart) }
  return one.type === 'function_call_output'
    ? parseResult(one as Result, names)
    : createAssistantMessage(parseAssistantParts(one, names))
}

const parseResult = ({ call_id: id, output }: Result, names: ReadonlyMap<string, string>): Message => ({
  role: 'tool',
  callId: id,
  name: names.get(id) ?? 'tool',
  content: toContentParts(output).map(parseContentPart),
  failed: false,
})

function parseAssistantParts(one: Item, names: Map<string, string>): AssistantMessage['content'] {
  if (isMessage(one)) return [{ type: 'text', text: joinText(one.content) }]
  const { call_id: id, name, arguments: json } = one as z.infer<typeof callSchema>
  names.set(id, name)
  return [{ type: 'call', id, name, ...parseCallArguments(json) }]
}

const createAssistantMessage = (parts: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content: parts,
  stop: parts.some(({ type }) => type === 'call') ? 'tools' : 'end',
})
