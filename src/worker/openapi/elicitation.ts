/** Describes the fields by which a question of an MCP server is told from one of the model. */

import * as z from 'zod'

export const elicitationFields = {
  kind: z.literal('elicitation').optional().describe('An MCP server asks, while one of its tools runs.'),
  server: z.string().optional().describe('The alias of the server.'),
  message: z.string().optional().describe('What the server says.'),
  mode: z.enum(['form', 'url']).optional(),
  schema: z.record(z.string(), z.unknown()).optional().describe('The fields of the form.'),
  url: z.string().optional().describe('The page that the server wants visited. Show `host` before it is opened.'),
  host: z.string().optional().describe('The host of the page, in ASCII.'),
}
