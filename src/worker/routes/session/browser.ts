/** `/api/sessions/{id}/browser`: the browser of a session as a person sees it, and their hands while they have it. */

import * as z from 'zod'
import { AppError } from '../../errors.ts'
import { route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { requireFound, addressSession } from '../../sessions.ts'
import { ok } from '../../shapes.ts'
import { sessionParam } from '../../openapi/path-params.ts'

const tag = 'Browser'
const browserShape = z.object({
  open: z.boolean(),
  url: z.string().nullable(),
  handed_over_until: z.iso.datetime().nullable().describe('A person has it until then. Null: the agent has it.'),
  reason: z.string().nullable().describe('What the person is asked to do.'),
})
const screenShape = z.object({
  width: z.int(),
  height: z.int(),
  jpeg: z.string().describe('The page, in base64.'),
})
nameSchemas({ SessionBrowser: browserShape, BrowserScreen: screenShape })

const place = z.number().min(0).max(10_000)
const input = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('click'), x: place, y: place }),
  z.strictObject({ type: z.literal('scroll'), x: place, y: place, by: z.number().min(-5_000).max(5_000) }),
  z.strictObject({ type: z.literal('text'), text: z.string().min(1).max(2_000) }),
  z.strictObject({ type: z.literal('key'), key: z.string().min(1).max(30) }),
])

export const sessionBrowserRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/browser',
    id: 'getSessionBrowser',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'The browser of a session, and who has it',
    responses: ok('The browser', browserShape),
    handle: async ({ env, authority, tenant, param }) =>
      Response.json(requireFound(await addressSession(env, tenant.id, param('id')).browser.get(authority))),
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/browser/screen',
    id: 'getBrowserScreen',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'A picture of the page, with nothing masked',
    responses: ok('The picture', screenShape),
    handle: async ({ env, authority, tenant, param }) =>
      respond(await addressSession(env, tenant.id, param('id')).browser.act(authority, { kind: 'screen' })),
  }),
  route({
    method: 'post',
    path: '/api/sessions/:id/browser/input',
    id: 'sendBrowserInput',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Click, type or scroll in a browser that the agent has handed over',
    description: 'A picture of the page follows. What is typed is kept from the agent.',
    example: { type: 'text', text: 'ann@example.com' },
    body: input,
    responses: ok('The picture', screenShape),
    handle: async ({ env, authority, tenant, param, body }) =>
      respond(await addressSession(env, tenant.id, param('id')).browser.act(authority, { kind: 'input', input: body })),
  }),
  route({
    method: 'delete',
    path: '/api/sessions/:id/browser/lease',
    id: 'stopBrowserHandOver',
    params: { id: sessionParam },
    scope: 'chat',
    tag,
    summary: 'Give the browser back to the agent; answering its question does the same',
    responses: { 204: { description: 'Given back' } },
    handle: async ({ env, authority, tenant, param }) => {
      requireFound(await addressSession(env, tenant.id, param('id')).browser.giveBack(authority))
      return new Response(null, { status: 204 })
    },
  }),
]

type Shown = { readonly error: string } | { readonly width: number; readonly height: number; readonly jpeg: string }

function respond(shown: Shown | undefined): Response {
  const found = requireFound(shown)
  if ('error' in found) throw new AppError(409, 'conflict', found.error)
  return Response.json(found, { headers: { 'cache-control': 'no-store' } })
}
