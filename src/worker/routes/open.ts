/** Routes without a key: the OpenAPI document and its page. */

import * as z from 'zod'
import type { OpenRoute, ApiRoute, RequestContext } from '../route.ts'
import { ok } from '../shapes.ts'

type OpenRouteDefinition = Pick<OpenRoute, 'path' | 'id' | 'tag' | 'summary' | 'query' | 'responses'> & {
  readonly handle: (web: RequestContext) => Response | Promise<Response>
}

const createOpenRoute = ({ handle, ...described }: OpenRouteDefinition): OpenRoute => ({
  ...described,
  method: 'get',
  scope: null,
  mount: (app) => void app.get(described.path, handle),
})

/** Loaded on use: the code of these routes is large, and few requests ask for it. */
export const loadOpenapi = () => import('../openapi/part.ts')

/** The document takes 70 ms and more to render, so an isolate keeps it for the address that it was asked for last. */
let rendered: { readonly origin: string; readonly text: string } | undefined

async function renderDocument(routes: readonly (ApiRoute | OpenRoute)[], origin: string): Promise<string> {
  if (rendered?.origin !== origin) {
    const openapi = await loadOpenapi()
    rendered = { origin, text: JSON.stringify(openapi.renderDocument(routes, origin)) }
  }
  return rendered.text
}

/** `listRoutes` returns all routes, these included. */
export const createOpenRoutes = (listRoutes: () => readonly (ApiRoute | OpenRoute)[]): readonly OpenRoute[] => [
  createOpenRoute({
    path: '/openapi.json',
    id: 'getOpenapiDocument',
    tag: 'Documents',
    summary: 'This document',
    query: z.strictObject({
      schema: z.string().max(100).optional().describe('Only this schema, with those that it refers to.'),
    }),
    responses: ok('OpenAPI 3.1', z.looseObject({})),
    handle: async ({ req }) => {
      const text = await renderDocument(listRoutes(), new URL(req.url).origin)
      const name = req.query('schema')
      const shown = name === undefined ? text : JSON.stringify((await loadOpenapi()).pickSchema(text, name))
      return new Response(shown, { headers: { 'content-type': 'application/json', 'cache-control': 'no-cache' } })
    },
  }),
  createOpenRoute({
    path: '/docs',
    id: 'getReferencePage',
    tag: 'Documents',
    summary: 'This document as a page',
    responses: { 200: { description: 'A page', type: 'text/html' } },
    handle: async () => {
      const { referencePolicy, renderReferencePage } = await loadOpenapi()
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': referencePolicy,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      }
      return new Response(renderReferencePage(listRoutes()), { headers })
    },
  }),
]
