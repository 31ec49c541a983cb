/**
 * Finds everything in a request body that the Responses API would reject: unknown fields, calls without results, results
 * without calls, reasoning without a following item, invalid ids, and references to items that are not stored.
 */

import * as z from 'zod'
import { isBase64, isWellFormed, findSchemaViolations } from './schema-violations.ts'

const callId = z.string().regex(/^[\w-]{1,64}$/)
const itemId = z.string().regex(/^[\w-]{1,64}$/)
const toolName = z.string().regex(/^[\w-]{1,64}$/)
const status = z.enum(['in_progress', 'completed', 'incomplete']).optional()
const phase = z.enum(['commentary', 'final_answer']).nullable().optional()

const inputText = z.strictObject({ type: z.literal('input_text'), text: z.string() })
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: z.string().refine(isImageUrl, 'neither a URL nor an image'),
  detail: z.enum(['low', 'high', 'auto', 'original']),
})
const inputParts = z.array(z.discriminatedUnion('type', [inputText, inputImage])).min(1)

const inputMessage = z.strictObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'system', 'developer']),
  content: z.union([z.string().min(1), inputParts]),
})
const assistantInput = z.strictObject({
  type: z.literal('message').optional(),
  role: z.literal('assistant'),
  content: z.string().min(1),
  phase,
})
const outputMessage = z.strictObject({
  type: z.literal('message'),
  role: z.literal('assistant'),
  id: itemId,
  status: z.enum(['in_progress', 'completed', 'incomplete']),
  content: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('output_text'), text: z.string(), annotations: z.array(z.unknown()) }),
        z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
      ]),
    )
    .min(1),
  phase,
})
const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: itemId,
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).optional(),
  encrypted_content: z.string().min(1).nullable().optional(),
  status,
})
const call = z.strictObject({
  type: z.literal('function_call'),
  id: itemId.optional(),
  call_id: callId,
  name: toolName,
  arguments: z.string().refine(isObject, 'no JSON object'),
  status,
})
const result = z.strictObject({
  type: z.literal('function_call_output'),
  id: itemId.optional(),
  call_id: callId,
  output: z.union([z.string(), inputParts]),
  status,
})
const search = z.strictObject({
  type: z.literal('web_search_call'),
  id: itemId,
  status,
  action: z.looseObject({ type: z.enum(['search', 'open_page', 'find_in_page']) }),
})
const item = z.union([inputMessage, assistantInput, outputMessage, reasoning, call, result, search])
type Item = z.infer<typeof item>

const tool = z.strictObject({
  type: z.literal('function'),
  name: toolName,
  description: z.string().nullable().optional(),
  parameters: z.looseObject({ type: z.literal('object') }),
  strict: z.boolean().nullable(),
})
const includeValues = ['reasoning.encrypted_content', 'message.input_image.image_url', 'message.output_text.logprobs']

const body = z.strictObject({
  model: z.string().min(1),
  input: z.array(item).min(1),
  instructions: z.string().nullable().optional(),
  stream: z.boolean().optional(),
  store: z.boolean().optional(),
  include: z.array(z.enum(includeValues)).optional(),
  tools: z.array(z.union([tool, z.strictObject({ type: z.literal('web_search') })])).optional(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]).optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_output_tokens: z.int().min(16).optional(),
  max_tool_calls: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullable().optional(),
      summary: z.enum(['auto', 'concise', 'detailed']).nullable().optional(),
    })
    .optional(),
  text: z.looseObject({}).optional(),
  truncation: z.enum(['auto', 'disabled']).optional(),
  prompt_cache_key: z.string().min(1).max(64).optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
  safety_identifier: z.string().max(64).optional(),
  service_tier: z.enum(['auto', 'default', 'flex', 'priority']).optional(),
  user: z.string().optional(),
})

function isImageUrl(url: string): boolean {
  const data = /^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(url)?.[1]
  return data === undefined ? /^https?:\/\/\S+$/.test(url) : isBase64(data)
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

export function findResponsesViolations(value: unknown): string[] {
  const violations = [...findSchemaViolations(body, value), ...(isWellFormed(value) ? [] : ['a lone surrogate'])]
  const { data } = body.safeParse(value)
  if (!data) return violations
  const { input, store = true } = data
  return [
    ...violations,
    ...findCallViolations(input),
    ...input.flatMap((_one, at) => findReasoningViolations(input, at, store)),
  ]
}

function findCallViolations(input: readonly Item[]): string[] {
  const violations: string[] = []
  const open = new Set<string>()
  const known = new Set<string>()
  input.forEach((one, at) => {
    if ('id' in one && one.id) {
      if (known.has(one.id)) violations.push(`item ${at}: the id ${one.id} is used twice`)
      known.add(one.id)
    }
    if (one.type === 'function_call') {
      if (known.has(one.call_id)) violations.push(`item ${at}: the call ${one.call_id} is used twice`)
      known.add(one.call_id)
      open.add(one.call_id)
    }
    if (one.type === 'function_call_output' && !open.delete(one.call_id))
      violations.push(`item ${at}: the result of ${one.call_id} has no call before it`)
    if ('role' in one && one.role !== 'assistant' && open.size) {
      violations.push(`item ${at} comes before the results of ${[...open].join()}`)
      open.clear()
    }
  })
  return open.size ? [...violations, `no result for the calls ${[...open].join()}`] : violations
}

function findReasoningViolations(input: readonly Item[], at: number, store: boolean): string[] {
  const one = input[at]
  if (one?.type !== 'reasoning') return []
  const next = input.slice(at + 1).find(({ type }) => type !== 'reasoning')
  const isFollowed = next?.type === 'function_call' || (next && 'role' in next && next.role === 'assistant')
  return [
    ...(isFollowed ? [] : [`item ${at}: the reasoning ${one.id} has no following item`]),
    ...(store || one.encrypted_content || one.content?.length ? [] : [`item ${at}: ${one.id} is stored nowhere`]),
  ]
}
