/** Parses the format that a client of OpenAI's API asks for: plain text, JSON, or JSON of a schema. */

import * as z from 'zod'
import type { AnswerFormat } from '#agent/core/request/model-parameters.ts'
import { invalid } from './errors.ts'

const jsonSchemaFields = {
  name: z.string().max(64),
  description: z.string().max(10_000).nullish(),
  schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
}
const plainFormats = [z.object({ type: z.literal('text') }), z.object({ type: z.literal('json_object') })] as const

const describedBy = 'The final answer is JSON of this format: it is validated, and repaired once.'

/** `response_format` of chat completions. */
export const responseFormat = z
  .discriminatedUnion('type', [
    ...plainFormats,
    z.object({ type: z.literal('json_schema'), json_schema: z.object(jsonSchemaFields) }),
  ])
  .nullish()
  .describe(describedBy)

/** `text` of responses. */
export const textFormat = z
  .looseObject({
    format: z
      .discriminatedUnion('type', [...plainFormats, z.object({ type: z.literal('json_schema'), ...jsonSchemaFields })])
      .nullish(),
    verbosity: z.enum(['low', 'medium', 'high']).nullish(),
  })
  .nullish()
  .describe(describedBy)

/** The schema is stored with the turn, which every step writes. */
const maxSchemaChars = 65_536

/** Returns undefined for plain text. `param`: the field of the request, for errors. */
export function parseAnswerFormat(
  format: z.infer<typeof responseFormat> | NonNullable<z.infer<typeof textFormat>>['format'],
  param: string,
): AnswerFormat | undefined {
  if (!format || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, description, schema, strict } = 'json_schema' in format ? format.json_schema : format
  if (JSON.stringify(schema ?? {}).length > maxSchemaChars)
    throw invalid(`The schema may have ${maxSchemaChars} characters of JSON.`, param)
  return {
    type: 'json_schema',
    name,
    schema: schema ?? {},
    ...(description && { description }),
    ...(strict != null && { strict }),
  }
}
