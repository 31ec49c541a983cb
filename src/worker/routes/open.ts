/** Routes without a key: health check, OpenAPI document and its page. */

import * as z from 'zod'
import { docsPage } from '../docs-page.ts'
import type { OpenRoute, Web } from '../route.ts'
import { ok } from '../shapes.ts'
import { renderHealth } from './health.ts'

const healthShape = z.object({ status: z.literal('ok'), service: z.string(), configured: z.boolean() })

type Definition = Pick<OpenRoute, 'path' | 'tag' | 'summary' | 'responses'> & {
  readonly handle: (web: Web) => Response | Promise<Response>
}

const createOpenRoute = ({ handle, ...described }: Definition): OpenRoute => ({
  ...described,
  method: 'get',
  scope: null,
  mount: (app) => void app.get(described.path, handle),
})

/** `document` renders the OpenAPI document of all routes, these included. */
export const createOpenRoutes = (document: (origin: string) => object): readonly OpenRoute[] => [
  ...['/health', '/v1/health'].map((path) =>
    createOpenRoute({
      path,
      tag: 'Health',
      summary: 'Whether the service is up',
      responses: ok('It works', healthShape),
      handle: ({ env }) => renderHealth(env),
    }),
  ),
  createOpenRoute({
    path: '/openapi.json',
    tag: 'Documents',
    summary: 'This document',
    responses: ok('OpenAPI 3.1', z.looseObject({})),
    handle: ({ req }) => Response.json(document(new URL(req.url).origin)),
  }),
  createOpenRoute({
    path: '/docs',
    tag: 'Documents',
    summary: 'This document as a page',
    responses: { 200: { description: 'A page', type: 'text/html' } },
    handle: ({ html }) => html(docsPage),
  }),
]
