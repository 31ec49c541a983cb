/** Tells the model the format that a client of OpenAI's API asks for: plain text, JSON, or JSON of a schema. */

import * as z from 'zod'

const jsonSchemaFields = {
  name: z.string().max(64),
  description: z.string().max(10_000).nullish(),
  schema: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
}
const plainFormats = [z.object({ type: z.literal('text') }), z.object({ type: z.literal('json_object') })] as const

/** `response_format` of chat completions. */
export const responseFormat = z
  .discriminatedUnion('type', [
    ...plainFormats,
    z.object({ type: z.literal('json_schema'), json_schema: z.object(jsonSchemaFields) }),
  ])
  .nullish()
  .describe('The model is told; its answer is not checked.')

/** `text` of responses. */
export const textFormat = z
  .looseObject({
    format: z
      .discriminatedUnion('type', [...plainFormats, z.object({ type: z.literal('json_schema'), ...jsonSchemaFields })])
      .nullish(),
  })
  .nullish()
  .describe('The model is told the format; its answer is not checked.')

type Format =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly json_schema: JsonFormat }
  | ({ readonly type: 'json_schema' } & JsonFormat)
type JsonFormat = { readonly description?: string | null | undefined; readonly schema?: object | null | undefined }

const plain = 'Your final answer must be JSON and nothing else: no text around it and no code fence.'

/** Instructions for the system text of the turn; empty for plain text. */
export function renderAnswerFormat(format: Format | null | undefined): string {
  if (!format || format.type === 'text') return ''
  if (format.type !== 'json_schema') return plain
  const { description, schema }: JsonFormat = 'json_schema' in format ? format.json_schema : format
  const about = description ? `\nIt is: ${description}` : ''
  return `${plain} It must match this JSON schema:${about}\n${JSON.stringify(schema ?? {})}`
}
