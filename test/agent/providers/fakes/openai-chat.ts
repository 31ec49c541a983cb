/** Finds everything in a request body that a strict chat completions server would reject: unknown fields, results without calls, calls without results. */

import * as z from 'zod'
import { isWellFormed, findSchemaViolations } from './schema-violations.ts'

/** Not a field of OpenAI, but gateways to Claude and Qwen accept it on parts. */
const cache_control = z.strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() }).optional()
const text = z.strictObject({ type: z.literal('text'), text: z.string().min(1), cache_control })
const image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({
    url: z.string().regex(/^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$)/),
    detail: z.enum(['auto', 'low', 'high']).optional(),
  }),
  cache_control,
})
const call = z.strictObject({
  id: z.string().min(1).max(40),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().regex(/^[\w-]{1,64}$/), arguments: z.string().refine(isObject) }),
})
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.enum(['system', 'developer']), content: z.union([z.string(), z.array(text).min(1)]) }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string().min(1), z.array(z.union([text, image])).min(1)]),
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(text).min(1), z.null()]).optional(),
    tool_calls: z.array(call).min(1).optional(),
    // Not fields of OpenAI, but some servers require earlier thinking in them.
    reasoning_content: z.string().optional(),
    reasoning: z.string().optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string().min(1),
    content: z.union([z.string(), z.array(text).min(1)]),
  }),
])
const body = z.strictObject({
  model: z.string().min(1),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.boolean() }),
  messages: z.array(message).min(1),
  tools: z
    .array(
      z.strictObject({
        type: z.literal('function'),
        function: z.strictObject({
          name: z.string().regex(/^[\w-]{1,64}$/),
          description: z.string().optional(),
          parameters: z.looseObject({ type: z.literal('object') }),
          strict: z.boolean().optional(),
        }),
      }),
    )
    .min(1)
    .optional(),
  max_completion_tokens: z.int().min(1).optional(),
  max_tokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
})

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

export function findChatViolations(value: unknown): readonly string[] {
  const violations = [...findSchemaViolations(body, value), ...(isWellFormed(value) ? [] : ['a lone surrogate'])]
  const { data } = body.safeParse(value)
  if (!data) return violations
  const marks = JSON.stringify(data).split('"cache_control"').length - 1
  return [...violations, ...findOrderViolations(data.messages), ...(marks > 4 ? [`${marks} cache marks`] : [])]
}

function findOrderViolations(messages: readonly z.infer<typeof message>[]): string[] {
  const violations: string[] = []
  let open: string[] = []
  const known = new Set<string>()
  messages.forEach((one, at) => {
    if (one.role === 'tool') {
      if (!open.includes(one.tool_call_id))
        violations.push(`message ${at} has a result for no open call: ${one.tool_call_id}`)
      open = open.filter((id) => id !== one.tool_call_id)
      return
    }
    if (open.length) violations.push(`message ${at} comes before the results of ${open.join()}`)
    open = []
    if (one.role === messages[at - 1]?.role) violations.push(`message ${at} is a second ${one.role} in a row`)
    if (one.role !== 'assistant') return
    if (!one.content?.length && !one.tool_calls) violations.push(`message ${at} is empty`)
    for (const { id } of one.tool_calls ?? []) {
      if (known.has(id)) violations.push(`the id ${id} is used by two calls`)
      known.add(id)
      open.push(id)
    }
  })
  return open.length ? [...violations, `calls without results: ${open.join()}`] : violations
}
