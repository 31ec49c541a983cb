/** Defines and validates the input items of the Responses API. Items of other kinds are refused by their name. */

import * as z from 'zod'
import { AppError, invalid } from '../errors.ts'
import { pickClosestIssue } from '../input/body.ts'
import { audioSchema, fileDataSchema, fileUrlSchema, imageUrlSchema, maxTextChars } from '../input/input.ts'

const textSchema = z.string().max(maxTextChars)
const partSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text', 'summary_text']), text: textSchema }),
  z.looseObject({ type: z.literal('refusal'), refusal: textSchema }),
  z.looseObject({
    type: z.literal('input_image'),
    image_url: imageUrlSchema,
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish().catch(undefined),
  }),
  z.looseObject({
    type: z.literal('input_file'),
    filename: z.string().max(255).nullish(),
    file_data: fileDataSchema.nullish(),
    file_id: z.string().max(100).nullish(),
    file_url: fileUrlSchema.nullish(),
  }),
  z.looseObject({ type: z.literal('input_audio'), input_audio: audioSchema }),
])
const contentSchema = z.union([textSchema, z.array(partSchema).max(1_000)])
const callId = z.string().min(1).max(200)
const itemId = z.string().max(300).nullish()
const toolName = z.string().max(256)

const messageSchema = z.looseObject({
  type: z.literal('message').optional(),
  id: itemId,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: contentSchema,
})
const callSchema = z.looseObject({
  type: z.literal('function_call'),
  id: itemId,
  call_id: callId,
  name: toolName,
  arguments: textSchema,
})
const resultSchema = z.looseObject({
  type: z.literal('function_call_output'),
  id: itemId,
  call_id: callId,
  output: contentSchema,
})
const reasoningSchema = z.looseObject({ type: z.literal('reasoning'), id: itemId })
const referenceSchema = z.looseObject({ type: z.literal('item_reference').nullish(), id: z.string().max(300) })
const mcpCallSchema = z.looseObject({
  type: z.literal('mcp_call'),
  id: itemId,
  name: toolName,
  arguments: textSchema,
  output: textSchema.nullish(),
  error: z.unknown().optional(),
})
const approvalRequestSchema = z.looseObject({ type: z.literal('mcp_approval_request'), id: itemId })
const approvalResponseSchema = z.looseObject({
  type: z.literal('mcp_approval_response'),
  approval_request_id: z.string().min(1).max(300),
  approve: z.boolean(),
  reason: z.string().max(2_000).nullish(),
})
const compactionSchema = z.looseObject({ type: z.literal('compaction'), id: itemId, encrypted_content: textSchema })
const listToolsSchema = z.looseObject({ type: z.literal('mcp_list_tools') })

const known = z.union([
  messageSchema,
  callSchema,
  resultSchema,
  reasoningSchema,
  mcpCallSchema,
  approvalRequestSchema,
  approvalResponseSchema,
  compactionSchema,
  listToolsSchema,
  referenceSchema,
])

export type KnownInputItem = z.infer<typeof known>
export type MessageItem = z.infer<typeof messageSchema>
export type CallItem = z.infer<typeof callSchema>
export type ResultItem = z.infer<typeof resultSchema>
export type McpCallItem = z.infer<typeof mcpCallSchema>
export type ApprovalResponseItem = z.infer<typeof approvalResponseSchema>
export type CompactionItem = z.infer<typeof compactionSchema>
export type ReferenceItem = z.infer<typeof referenceSchema>
export type ItemContent = z.infer<typeof contentSchema>

/** Every item is valid here: `parseItems` refuses the others with the name of what is wrong. */
export const responseInput = z
  .union([
    textSchema,
    z
      .array(z.union([known, z.looseObject({})]))
      .min(1)
      .max(20_000),
  ])
  .describe('Text, or items: messages, calls with their results, answers to approvals, and references to items.')

/** An item with the path of its field. */
export type PlacedItem = { readonly one: KnownInputItem; readonly param: string }

export function parseItems(input: z.infer<typeof responseInput>): readonly PlacedItem[] {
  const items = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input
  return items.map((item, at) => {
    const param = `input.${at}`
    // An item with a role is no reference, also if it has an id.
    const parsed = ('role' in item && !('type' in item) ? messageSchema : known).safeParse(item)
    if (!parsed.success) throw refuseItem(item, param)
    return { one: parsed.data, param }
  })
}

const knownTypes: readonly unknown[] = [
  undefined,
  'message',
  'function_call',
  'function_call_output',
  'reasoning',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'compaction',
  'mcp_list_tools',
  'item_reference',
]

function refuseItem(item: object, param: string): AppError {
  const { type } = item as { readonly type?: unknown }
  if (!knownTypes.includes(type))
    return new AppError(400, 'unsupported', `Items of type ${JSON.stringify(type)} are not supported.`, { param })
  const shape = {
    message: messageSchema,
    function_call: callSchema,
    function_call_output: resultSchema,
    mcp_call: mcpCallSchema,
    mcp_approval_response: approvalResponseSchema,
    compaction: compactionSchema,
  }[String(type ?? 'message')]
  const [first] = shape?.safeParse(item).error?.issues ?? []
  const issue = first && pickClosestIssue(first)
  const path = [param, ...(issue?.path ?? [])].join('.')
  return invalid(`${path}: ${issue?.message ?? 'The item is malformed.'}`, path)
}

export const isMessage = (one: KnownInputItem): one is MessageItem =>
  'role' in one && 'content' in one && (one.type === undefined || one.type === 'message')
export const isSystem = (one: KnownInputItem): one is MessageItem =>
  isMessage(one) && (one.role === 'system' || one.role === 'developer')
export const isUser = (one: KnownInputItem): one is MessageItem => isMessage(one) && one.role === 'user'
export const isReference = (one: KnownInputItem): one is ReferenceItem =>
  !isMessage(one) && (one.type === 'item_reference' || one.type === undefined || one.type === null)
