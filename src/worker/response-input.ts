/** What a request of the Responses API says: items, as the history, the system text and the message to be answered. */

import * as z from 'zod'
import type { AssistantMessage, Message, UserMessage } from '../agent/model/message.ts'
import { parseCallArguments } from '../agent/providers/shared/call-arguments.ts'
import { AppError, invalid } from './errors.ts'
import {
  type ContentPart,
  imageUrl,
  maxText,
  partOf,
  refuseLarge,
  sizeOfMessage,
  systemText,
  userMessage,
} from './input.ts'

const text = z.string().max(maxText)
const part = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text', 'summary_text']), text }),
  z.looseObject({ type: z.literal('refusal'), refusal: text }),
  z.looseObject({ type: z.literal('input_image'), image_url: imageUrl }),
])
const content = z.union([text, z.array(part).max(1_000)])
const callId = z.string().min(1).max(200)

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
})
const call = z.looseObject({
  type: z.literal('function_call'),
  call_id: callId,
  name: z.string().max(200),
  arguments: z.string().max(maxText),
})
const result = z.looseObject({ type: z.literal('function_call_output'), call_id: callId, output: content })
const reasoning = z.looseObject({ type: z.literal('reasoning') })
const reference = z.looseObject({ type: z.literal('item_reference') })
const item = z.union([message, call, result, reasoning, reference])

type Spoken = z.infer<typeof message>
type Result = z.infer<typeof result>
type Item = z.infer<typeof item>
type Content = z.infer<typeof content>
type Placed = { readonly one: Item; readonly param: string }

export const responseInput = z
  .union([text, z.array(item).min(1).max(20_000)])
  .describe('Text, or items: messages, and calls of tools with their results as history.')

export type Said = {
  readonly history: readonly Message[]
  /** `instructions` and what system and developer said. */
  readonly instructions: string
  readonly message: UserMessage
}

export function readInput(input: z.infer<typeof responseInput>, instructions: string): Said {
  const items: readonly Item[] = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  const placed = items.map((one, i) => ({ one, param: `input.${i}` }))
  for (const { one, param } of placed) if (one.type === 'item_reference') throw noReference(param)
  const system = systemText([
    { text: instructions, param: 'instructions' },
    ...placed.flatMap(({ one, param }) =>
      isSystem(one) ? [{ text: textOf(one.content), param: `${param}.content` }] : [],
    ),
  ])
  const spoken: readonly Placed[] = placed.filter(({ one }) => !isSystem(one) && one.type !== 'reasoning')
  const before = spoken.findLastIndex(({ one }) => !isUser(one)) + 1
  const last = spoken.slice(before).flatMap(({ one }) => (isUser(one) ? [one] : []))
  if (!last.length) throw invalid('The last item must be a message of role user.', 'input')
  const parts = last.flatMap((one, at) => [...(at ? [gap] : []), ...partsOf(one.content)])
  return {
    history: historyOf(spoken.slice(0, before)),
    instructions: system,
    message: userMessage(parts, [], 'input', system),
  }
}

const noReference = (param: string) =>
  new AppError(
    400,
    'unsupported',
    'Items are not found by their ids. Send the item itself (SDKs do with store: false), or go on with previous_response_id.',
    { param },
  )

const isSpoken = (one: Item): one is Spoken => one.type === undefined || one.type === 'message'
const isSystem = (one: Item): one is Spoken => isSpoken(one) && (one.role === 'system' || one.role === 'developer')
const isUser = (one: Item): one is Spoken => isSpoken(one) && one.role === 'user'

const gap: ContentPart = { type: 'text', text: '\n\n' }

const partsOf = (value: Content): readonly ContentPart[] =>
  (typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value).map((one): ContentPart => {
    if (one.type === 'input_image') return { type: 'image_url', image_url: { url: one.image_url } }
    return { type: 'text', text: one.type === 'refusal' ? one.refusal : one.text }
  })

const textOf = (value: Content): string =>
  partsOf(value)
    .map((one) => (one.type === 'text' ? one.text : ''))
    .join('')

/** Texts and calls of one answer are one message. */
function historyOf(items: readonly Placed[]): readonly Message[] {
  const messages: Message[] = []
  const names = new Map<string, string>()
  let size = 0
  for (const { one, param } of items) {
    const made = messageOf(one, names)
    const last = messages.at(-1)
    const goesOn = made.role === 'assistant' && last?.role === 'assistant'
    size = (goesOn ? size : 0) + sizeOfMessage(made)
    refuseLarge(size, param)
    if (goesOn) messages[messages.length - 1] = answer([...last.content, ...made.content])
    else messages.push(made)
  }
  return messages
}

function messageOf(one: Item, names: Map<string, string>): Message {
  if (isUser(one)) return { role: 'user', content: partsOf(one.content).map(partOf) }
  return one.type === 'function_call_output' ? resultOf(one as Result, names) : answer(answerParts(one, names))
}

const resultOf = ({ call_id: id, output }: Result, names: ReadonlyMap<string, string>): Message => ({
  role: 'tool',
  callId: id,
  name: names.get(id) ?? 'tool',
  content: partsOf(output).map(partOf),
  failed: false,
})

function answerParts(one: Item, names: Map<string, string>): AssistantMessage['content'] {
  if (isSpoken(one)) return [{ type: 'text', text: textOf(one.content) }]
  const { call_id: id, name, arguments: json } = one as z.infer<typeof call>
  names.set(id, name)
  return [{ type: 'call', id, name, ...parseCallArguments(json) }]
}

const answer = (parts: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content: parts,
  stop: parts.some(({ type }) => type === 'call') ? 'tools' : 'end',
})
