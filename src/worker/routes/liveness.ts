/** The health check without a key. It is loaded with the worker, so that a check of a cold start answers at once. */

import * as z from 'zod'
import type { OpenRoute } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { ok } from '../shapes.ts'

const healthShape = z.object({ status: z.literal('ok'), service: z.string(), configured: z.boolean() })
nameSchemas({ Health: healthShape })

export const livenessRoutes: readonly OpenRoute[] = [
  { path: '/health', id: 'getHealth' },
  { path: '/v1/health', id: 'getApiHealth' },
].map(({ path, id }) => ({
  path,
  id,
  method: 'get',
  scope: null,
  tag: 'Health',
  summary: 'Whether the service is up',
  responses: ok('It works', healthShape),
  mount: (app) => void app.get(path, ({ env }) => renderHealth(env)),
}))

const renderHealth = (env: Env): Response =>
  Response.json({ status: 'ok', service: 'talaria', configured: (env.ADMIN_KEY?.length ?? 0) >= 16 })
