/**
 * Finds everything in a request body that the Gemini API would reject according to its reference: unknown parts, roles
 * that do not alternate, results that do not match the calls, calls in a row without their results.
 */

import * as z from 'zod'
import { findSchemaViolations, isBase64, isWellFormed } from './schema-violations.ts'

const name = z.string().regex(/^[a-zA-Z_][\w-]{0,63}$/)
const object = z.record(z.string(), z.unknown())
const text = z.strictObject({ text: z.string(), thoughtSignature: z.string().min(1).optional() })
const file = z.strictObject({
  inlineData: z.strictObject({ mimeType: z.string().regex(/^[a-z]+\/[a-z]+$/), data: z.string().refine(isBase64) }),
})
const call = z.strictObject({
  functionCall: z.strictObject({ id: z.string().min(1), name, args: object }),
  thoughtSignature: z.string().min(1).optional(),
})
const result = z.strictObject({
  functionResponse: z.strictObject({ id: z.string().min(1), name, response: object }),
})
const content = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('user'), parts: z.array(z.union([text, file, result])).min(1) }),
  z.strictObject({ role: z.literal('model'), parts: z.array(z.union([text, call])).min(1) }),
])
const body = z.strictObject({
  systemInstruction: z.strictObject({ parts: z.array(text).min(1) }).optional(),
  contents: z.array(content).min(1),
  tools: z
    .array(
      z.strictObject({
        functionDeclarations: z
          .array(z.strictObject({ name, description: z.string(), parameters: z.looseObject({ type: z.string() }) }))
          .min(1),
      }),
    )
    .optional(),
  toolConfig: object.optional(),
  generationConfig: z
    .strictObject({
      maxOutputTokens: z.int().min(1).optional(),
      temperature: z.number().min(0).max(2).optional(),
      topP: z.number().optional(),
      topK: z.int().optional(),
      seed: z.int().optional(),
      presencePenalty: z.number().optional(),
      frequencyPenalty: z.number().optional(),
      stopSequences: z.array(z.string()).max(5).optional(),
      responseMimeType: z.string().optional(),
      responseSchema: object.optional(),
      thinkingConfig: z
        .strictObject({
          includeThoughts: z.boolean().optional(),
          thinkingBudget: z.int().min(0).optional(),
          thinkingLevel: z.enum(['minimal', 'low', 'medium', 'high']).optional(),
        })
        .optional(),
    })
    .optional(),
})
type Content = z.infer<typeof content>

const callIds = ({ parts }: Content) => parts.flatMap((part) => ('functionCall' in part ? [part.functionCall.id] : []))
const resultIds = ({ parts }: Content) =>
  parts.flatMap((part) => ('functionResponse' in part ? [part.functionResponse.id] : []))

export function findGeminiViolations(value: unknown): readonly string[] {
  const violations = [...findSchemaViolations(body, value), ...(isWellFormed(value) ? [] : ['a lone surrogate'])]
  const { data } = body.safeParse(value)
  if (!data) return violations
  const { contents } = data
  const order = contents.flatMap((one, at) => {
    const before = contents[at - 1]
    const asked = before ? callIds(before) : []
    return [
      ...(one.role === (at % 2 ? 'model' : 'user') ? [] : [`content ${at} has the role ${one.role}`]),
      ...(asked.toSorted().join() === resultIds(one).toSorted().join()
        ? []
        : [`content ${at} has results for ${resultIds(one).join()}, the calls were ${asked.join()}`]),
    ]
  })
  const last = contents.at(-1)?.role === 'model' ? ['the last content must not be from the model'] : []
  return [...violations, ...order, ...last]
}
