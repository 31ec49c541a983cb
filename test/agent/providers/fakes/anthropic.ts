/**
 * Finds everything in a request body that the Messages API would reject according to its documentation: unknown fields,
 * tool calls without a result in the next message, thinking without a signature, too large images, too many cache marks.
 */

import * as z from 'zod'
import { isBase64, isWellFormed, findSchemaViolations, getDecodedBytes } from './schema-violations.ts'

const mark = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
const cache_control = mark.optional()
const id = z.string().regex(/^[a-zA-Z0-9_-]+$/)
const name = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/)
const text = z.strictObject({ type: z.literal('text'), text: z.string().regex(/\S/), cache_control })
const image = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: z
        .string()
        .refine(isBase64)
        .refine((data) => getDecodedBytes(data) <= 5 * 1024 * 1024),
    }),
    z.strictObject({ type: z.literal('url'), url: z.string().startsWith('https://') }),
  ]),
  cache_control,
})
const pdf = z.strictObject({
  type: z.literal('document'),
  source: z.strictObject({
    type: z.literal('base64'),
    media_type: z.literal('application/pdf'),
    data: z.string().refine(isBase64),
  }),
  title: z.string().min(1).optional(),
  cache_control,
})
const reference = z.strictObject({ type: z.literal('tool_reference'), tool_name: name })
const result = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: id,
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image, reference]))]).optional(),
  is_error: z.boolean().optional(),
  cache_control,
})
const thinking = z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) })
const redacted = z.strictObject({ type: z.literal('redacted_thinking'), data: z.string().min(1) })
const call = z.strictObject({
  type: z.literal('tool_use'),
  id,
  name,
  input: z.record(z.string(), z.unknown()),
  cache_control,
})
const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: z.union([
      z.string().regex(/\S/),
      z.array(z.discriminatedUnion('type', [text, image, pdf, result])).min(1),
    ]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([
      z.string().regex(/\S/),
      z.array(z.discriminatedUnion('type', [text, thinking, redacted, call])).min(1),
    ]),
  }),
])
const display = z.enum(['summarized', 'omitted']).optional()
const body = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1),
  stream: z.literal(true),
  system: z.union([z.string(), z.array(text).min(1)]).optional(),
  temperature: z.number().min(0).max(1).optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), display }),
      z.strictObject({ type: z.literal('adaptive'), display }),
      z.strictObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  output_config: z.strictObject({ effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']) }).optional(),
  tools: z
    .array(
      z.strictObject({
        name,
        description: z.string().optional(),
        input_schema: z.looseObject({ type: z.literal('object') }),
        defer_loading: z.boolean().optional(),
        cache_control,
      }),
    )
    .min(1)
    .optional(),
  tool_choice: z.strictObject({ type: z.enum(['auto', 'none']) }).optional(),
})
type Body = z.infer<typeof body>
type Message = Body['messages'][number]
type Content = Exclude<Message['content'], string>[number]

export function findAnthropicViolations(value: unknown): readonly string[] {
  const violations = [...findSchemaViolations(body, value), ...(isWellFormed(value) ? [] : ['a lone surrogate'])]
  const { data } = body.safeParse(value)
  return data
    ? [
        ...violations,
        ...findOrderViolations(data.messages),
        ...findThinkingViolations(data),
        ...findCacheMarkViolations(data),
        ...findReferenceViolations(data),
      ]
    : violations
}

const listBlocks = ({ content }: Message): readonly Content[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
const listCallIds = (one: Message) => listBlocks(one).flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
const listResultIds = (one: Message) =>
  listBlocks(one).flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []))

const isTextOnly = (content: z.infer<typeof result>['content']): boolean =>
  Boolean(content?.length) && (typeof content === 'string' || (content ?? []).every(({ type }) => type === 'text'))

function findOrderViolations(messages: readonly Message[]): string[] {
  const violations = messages.flatMap((one, at) => {
    const before = messages[at - 1]
    const asked = before ? listCallIds(before) : []
    const given = listResultIds(one)
    const isFirst = listBlocks(one).findIndex(({ type }) => type !== 'tool_result')
    return [
      ...(one.role === (at % 2 ? 'assistant' : 'user') ? [] : [`message ${at} has the role ${one.role}`]),
      ...asked.filter((id) => !given.includes(id)).map((id) => `message ${at} has no result for ${id}`),
      ...given
        .filter((id) => !asked.includes(id))
        .map((id) => `message ${at} has a result for ${id}, which has no call`),
      ...(/thinking/.test(listBlocks(one).at(-1)?.type ?? '') ? [`message ${at} ends with thinking`] : []),
      ...(new Set(given).size === given.length ? [] : [`message ${at} has two results for one call`]),
      ...(isFirst >= 0 && isFirst < given.length ? [`message ${at} has content before its results`] : []),
      ...listBlocks(one).flatMap((block) =>
        block.type === 'tool_result' && block.is_error && !isTextOnly(block.content)
          ? ['a failed result that is not text']
          : [],
      ),
    ]
  })
  const ids = messages.flatMap(listCallIds)
  if (new Set(ids).size !== ids.length) violations.push('two calls have the same id')
  const last = messages.at(-1)
  if (last?.role === 'assistant') violations.push('the last message must not be from the assistant')
  return violations
}

function findThinkingViolations({ model, thinking: config, messages, max_tokens, temperature, tools }: Body): string[] {
  const violations: string[] = []
  const isOn = config?.type === 'enabled' || config?.type === 'adaptive'
  if (isOn && temperature !== undefined && temperature !== 1) violations.push('temperature may only be 1 with thinking')
  if (config?.type === 'enabled' && config.budget_tokens >= max_tokens)
    violations.push('max_tokens must be above the budget')
  if (!tools && messages.some((one) => listCallIds(one).length)) violations.push('tool calls without tool definitions')
  const asked = messages.findLastIndex((one) => one.role === 'user' && !listResultIds(one).length)
  const begun = messages[asked + 1]
  const isInCalls = messages.length > asked + 2
  const isOff = config?.type === 'disabled' || (config === undefined && /claude-(3|.*-4-5)/.test(model))
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (isOff && isInCalls && last && listBlocks(last).some(({ type }) => /thinking/.test(type)))
    violations.push('the last answer cannot contain thinking when thinking is off')
  if (config?.type !== 'enabled' || !begun || !isInCalls) return violations
  const type = listBlocks(begun)[0]?.type
  if (type !== 'thinking' && type !== 'redacted_thinking') violations.push(`expected thinking, but found ${type}`)
  return violations
}

function findCacheMarkViolations({ system, tools = [], messages }: Body): string[] {
  const marked = [...(Array.isArray(system) ? system : []), ...tools, ...messages.flatMap(listBlocks)].filter(
    (one) => 'cache_control' in one && one.cache_control,
  )
  return marked.length > 4 ? [`${marked.length} cache marks, at most 4 are allowed`] : []
}

function findReferenceViolations({ tools = [], messages }: Body): string[] {
  const names = tools.map((tool) => tool.name)
  const references = messages.flatMap(listBlocks).flatMap((block) => {
    if (block.type !== 'tool_result' || typeof block.content === 'string') return []
    return (block.content ?? []).flatMap((part) => (part.type === 'tool_reference' ? [part.tool_name] : []))
  })
  return [
    ...references
      .filter((one) => !names.includes(one))
      .map((one) => `Tool reference '${one}' not found in available tools`),
    ...tools.flatMap((tool) =>
      tool.defer_loading && tool.cache_control ? [`${tool.name} is deferred and marked`] : [],
    ),
    ...(tools.length && tools.every((tool) => tool.defer_loading) ? ['all tools are deferred'] : []),
    ...(new Set(names).size === names.length ? [] : ['two tools have the same name']),
  ]
}
