/** `/health/detailed`: shows which bindings, providers and secrets the deployment has, and whether D1 answers. */

import * as z from 'zod'
import { getMissingRequirement } from '../../agent/routing/availability.ts'
import { resolveDefaultModel } from '../../agent/routing/route.ts'
import { providers } from '../../agent/providers/profiles/providers.ts'
import { listBackendStates } from '../../durable/workspace/open-backend.ts'
import { explainMissingKey } from '../../durable/platform/seal.ts'
import { variablesOf } from '../../durable/platform/variables.ts'
import { route } from '../route.ts'
import { ok } from '../shapes.ts'

const detailsShape = z.object({
  status: z.enum(['ok', 'degraded']),
  database: z.enum(['ok', 'unreachable']),
  model: z.string().describe('The default model.'),
  providers: z.record(z.string(), z.string()).describe('`usable`, or the missing setting.'),
  backends: z.record(z.string(), z.string()).describe('The state of each backend, as text.'),
  backend: z.string().describe('The default backend.'),
  bindings: z.record(z.string(), z.string()),
  secrets: z.record(z.string(), z.string()),
})

export const renderHealth = (env: Env): Response =>
  Response.json({ status: 'ok', service: 'talaria', configured: (env.ADMIN_KEY?.length ?? 0) >= 16 })

export const healthRoutes = [
  route({
    method: 'get',
    path: '/health/detailed',
    scope: 'read',
    tag: 'Health',
    summary: 'Bindings, providers and the database',
    responses: ok('The state of the deployment', detailsShape),
    handle: async ({ env }) => {
      const variables = variablesOf(env)
      const database = await isReachable(env.DB)
      return Response.json({
        status: database ? 'ok' : 'degraded',
        database: database ? 'ok' : 'unreachable',
        model: resolveDefaultModel({ variables }),
        providers: Object.fromEntries(
          providers.map((provider) => [provider.id, getMissingRequirement(provider, { variables }) ?? 'usable']),
        ),
        backends: await listBackendStates(env),
        backend: env.SANDBOX_BACKEND || 'virtual',
        bindings: {
          LOADER: env.LOADER
            ? 'bound'
            : 'absent: the virtual shell runs inside the session object, and there is no execute_code',
          BLOBS: env.BLOBS ? 'bound' : 'absent: no files over 1.9 MB, images stay in the messages',
          IMAGES: env.IMAGES ? 'bound' : 'absent: images that a provider finds too large are left out',
        },
        secrets: { ENCRYPTION_KEY: explainMissingKey(env) ?? 'set' },
      })
    },
  }),
]

async function isReachable(db: D1Database): Promise<boolean> {
  try {
    await db.prepare('SELECT 1').first()
    return true
  } catch {
    // The platform logs the reason.
    return false
  }
}
