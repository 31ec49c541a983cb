/** Defines a tool like one that a tenant adds at run time: its input is a JSON schema with a parser, not a zod type. */

import * as z from 'zod'
import { defineSchemaTool } from '#tools/define-tool.ts'

const schema: z.core.JSONSchema.JSONSchema = {
  type: 'object',
  properties: { text: { type: 'string', minLength: 1 }, times: { type: 'integer', minimum: 1, maximum: 1_000_000 } },
  required: ['text'],
  additionalProperties: false,
}
const validator = z.fromJSONSchema(schema)

export const echoTool = defineSchemaTool({
  name: 'mcp__demo__echo',
  toolset: 'mcp-demo',
  description: 'Repeats a text.',
  input: {
    schema,
    parse(raw) {
      const { data, error } = validator.safeParse(raw)
      return error
        ? { ok: false, error: z.prettifyError(error) }
        : { ok: true, value: data as { readonly text: string; readonly times?: number } }
    },
  },
  effect: 'effect',
  risk: () => 'send',
  run: async ({ text, times = 1 }) => ({ echo: text.repeat(times) }),
})
