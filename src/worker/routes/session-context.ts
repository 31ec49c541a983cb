/** `/api/sessions/{id}/context`: what takes how much of the context window. */

import * as z from 'zod'
import { route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { ok } from '../shapes.ts'
import { sessionParam } from '../openapi/path-params.ts'

const tokens = z.int().describe('Estimated.')

const layerShape = z.object({
  name: z.string(),
  tier: z.enum(['stable', 'context', 'volatile']).describe('How often it differs between sessions.'),
  tokens,
  budget: z.int().describe('The tokens that it may have. A longer text loses its middle.'),
  truncated: z.boolean(),
})

const contextShape = z.object({
  session_id: z.string(),
  model: z.string().nullable(),
  window: z.int().describe('The context window of the model in tokens.'),
  tokens: z
    .int()
    .describe('Of the next request: prompt, instructions of the last request, tools and messages. Estimated.'),
  share: z.number().describe('Part of the window.'),
  compression: z.object({ enabled: z.boolean(), threshold: z.int().describe('The tokens at which it starts.') }),
  prompt: z.object({
    tokens,
    built_at: z.iso.datetime().nullable().describe('null: the first turn builds it.'),
    layers: z.array(layerShape),
  }),
  ephemeral: z.object({ tokens }).describe('The instructions of the last request. They are sent and not kept.'),
  tools: z.object({
    tokens,
    count: z.int(),
    largest: z.array(z.object({ name: z.string(), tokens })),
  }),
  messages: z.object({
    tokens,
    count: z.int(),
    kinds: z.array(z.object({ kind: z.string().describe('A role, or a source.'), count: z.int(), tokens })),
  }),
})
nameSchemas({ SessionContext: contextShape, PromptLayer: layerShape })

export const sessionContextRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/context',
    id: 'getSessionContext',
    params: { id: sessionParam },
    scope: 'read',
    tag: 'Sessions',
    summary: 'What takes how much of the context window',
    responses: ok('The parts of the next request', contextShape),
    handle: async ({ env, authority, tenant, param }) =>
      Response.json(requireFound(await addressSession(env, tenant.id, param('id')).info.context(authority))),
  }),
]
