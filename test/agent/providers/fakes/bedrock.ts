/**
 * Finds everything in a request body that ConverseStream would reject according to its API reference: unknown blocks,
 * blank text, roles that do not alternate, results that do not match the calls, too many cache marks.
 */

import * as z from 'zod'
import { isBase64, isWellFormed, findSchemaViolations, getDecodedBytes } from './schema-violations.ts'

const id = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const text = z.strictObject({ text: z.string().regex(/\S/) })
const image = z.strictObject({
  image: z.strictObject({
    format: z.enum(['png', 'jpeg', 'gif', 'webp']),
    source: z.strictObject({
      bytes: z
        .string()
        .refine(isBase64)
        .refine((data) => getDecodedBytes(data) <= 3.75 * 1024 * 1024),
    }),
  }),
})
const point = z.strictObject({
  cachePoint: z.strictObject({ type: z.literal('default'), ttl: z.enum(['5m', '1h']).optional() }),
})
const call = z.strictObject({
  toolUse: z.strictObject({ toolUseId: id, name, input: z.record(z.string(), z.unknown()) }),
})
const result = z.strictObject({
  toolResult: z.strictObject({
    toolUseId: id,
    content: z.array(z.union([text, image])).min(1),
    status: z.enum(['success', 'error']).optional(),
  }),
})
const failure = result.refine(
  ({ toolResult }) => toolResult.status !== 'error' || toolResult.content.every((part) => 'text' in part),
)
const reasoning = z.strictObject({
  reasoningContent: z.union([
    z.strictObject({ reasoningText: z.strictObject({ text: z.string(), signature: z.string().min(1) }) }),
    z.strictObject({ redactedContent: z.string().refine(isBase64) }),
  ]),
})
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), content: z.array(z.union([text, image, failure, point])).min(1) }),
  z.strictObject({ role: z.literal('assistant'), content: z.array(z.union([text, call, reasoning, point])).min(1) }),
])
const body = z.strictObject({
  messages: z.array(message).min(1),
  system: z
    .array(z.union([text, point]))
    .min(1)
    .optional(),
  inferenceConfig: z
    .strictObject({ maxTokens: z.int().min(1).optional(), temperature: z.number().min(0).max(1).optional() })
    .optional(),
  additionalModelRequestFields: z.record(z.string(), z.unknown()).optional(),
  toolConfig: z
    .strictObject({
      tools: z
        .array(
          z.union([
            z.strictObject({
              toolSpec: z.strictObject({
                name,
                description: z.string().min(1).optional(),
                inputSchema: z.strictObject({ json: z.looseObject({ type: z.literal('object') }) }),
              }),
            }),
            point,
          ]),
        )
        .min(1),
    })
    .optional(),
})
type Body = z.infer<typeof body>
type Message = Body['messages'][number]

export function findBedrockViolations(value: unknown): readonly string[] {
  const violations = [...findSchemaViolations(body, value), ...(isWellFormed(value) ? [] : ['a lone surrogate'])]
  const { data } = body.safeParse(value)
  return data
    ? [...violations, ...findOrderViolations(data), ...findCacheMarkViolations(data), ...findThinkingViolations(data)]
    : violations
}

const listCallIds = ({ content }: Message) =>
  content.flatMap((block) => ('toolUse' in block ? [block.toolUse.toolUseId] : []))
const listResultIds = ({ content }: Message) =>
  content.flatMap((block) => ('toolResult' in block ? [block.toolResult.toolUseId] : []))

function findOrderViolations({ messages, toolConfig }: Body): string[] {
  const violations = messages.flatMap((one, at) => {
    const before = messages[at - 1]
    const asked = before ? listCallIds(before) : []
    const given = listResultIds(one)
    return [
      ...(one.role === (at % 2 ? 'assistant' : 'user') ? [] : [`message ${at} has the role ${one.role}`]),
      ...(asked.toSorted().join() === given.toSorted().join()
        ? []
        : [`message ${at} has results for ${given.join()}, the calls were ${asked.join()}`]),
      ...(one.content.at(-1) && 'reasoningContent' in (one.content.at(-1) as object)
        ? [`message ${at} ends with thinking`]
        : []),
      ...(one.content.every((block) => 'cachePoint' in block) ? [`message ${at} has only cache marks`] : []),
      ...(one.content[0] && 'cachePoint' in one.content[0] ? [`message ${at} begins with a cache mark`] : []),
    ]
  })
  const ids = messages.flatMap(listCallIds)
  if (new Set(ids).size !== ids.length) violations.push('two calls have the same id')
  if (ids.length && !toolConfig) violations.push('tool calls without a toolConfig')
  if (messages.at(-1)?.role === 'assistant') violations.push('the last message must not be from the assistant')
  return violations
}

function findCacheMarkViolations({ messages, system = [], toolConfig }: Body): string[] {
  const blocks: readonly object[] = [
    ...(toolConfig?.tools ?? []),
    ...system,
    ...messages.flatMap(({ content }): readonly object[] => content),
  ]
  const marks = blocks.filter((block) => 'cachePoint' in block).length
  return marks > 4 ? [`${marks} cache marks, at most 4 are allowed`] : []
}

function findThinkingViolations({
  messages,
  additionalModelRequestFields: fields = {},
  inferenceConfig,
}: Body): string[] {
  const { type, budget_tokens: budget } = (fields['thinking'] ?? {}) as { type?: string; budget_tokens?: number }
  if (type !== 'enabled') return []
  const violations: string[] = []
  if (inferenceConfig?.temperature !== undefined) violations.push('temperature is not allowed with thinking')
  if (!budget || budget < 1024) violations.push('a budget below 1024')
  if ((inferenceConfig?.maxTokens ?? 0) <= (budget ?? 0)) violations.push('maxTokens must be above the budget')
  const asked = messages.findLastIndex((one) => one.role === 'user' && !listResultIds(one).length)
  const first = messages[asked + 1]?.content[0]
  if (messages.length > asked + 2 && first && !('reasoningContent' in first)) violations.push('expected thinking first')
  return violations
}
