/** A tool as a tenant brings it: its input is a JSON schema, not a zod type. */

import { defineSchemaTool } from '../../../src/tools/define-tool.ts'

export const echoTool = defineSchemaTool({
  name: 'mcp__demo__echo',
  toolset: 'mcp-demo',
  description: 'Repeats a text.',
  input: {
    schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    parse: (raw) => ({ ok: true, value: raw as { readonly text: string } }),
  },
  effect: 'effect',
  risk: () => 'send',
  run: async ({ text }) => ({ echo: text }),
})
