/** `/health/detailed`: shows which bindings, providers and secrets the deployment has, and whether D1 answers. */

import * as z from 'zod'
import { hasScope } from '#agent/core/permission/authority.ts'
import { getMissingRequirement, type Sources } from '#agent/routing/availability.ts'
import { chooseModel, explainModelless, resolveDefaultModel } from '#agent/routing/default-model.ts'
import { type Provider, providers } from '#agent/providers/profiles/providers.ts'
import { ownerTenant } from '#db/schema.ts'
import { describeDatabases } from '#db/shards/measure-databases.ts'
import { listBackendStates } from '#durable/workspace/open-backend.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { tools as builtIn } from '#tools/index.ts'
import { describeNights } from '../backup/nightly.ts'
import { findAvailability } from './tools.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { route } from '../route.ts'
import { ok } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const facts = z.object({
  database: z.enum(['ok', 'unreachable']),
  databases: z.record(z.string(), z.string()).describe('How full each database is, as text.'),
  model: z.string().describe('The default model; without a name when no model of the provider is known.'),
  providers: z
    .record(z.string(), z.string())
    .describe('`usable`, with the setting that names a model when none is known, or the missing setting.'),
  backends: z.record(z.string(), z.string()).describe('The state of each backend, as text.'),
  backend: z.string().describe('The default backend.'),
  bindings: z.record(z.string(), z.string()),
  backups: z.string().describe('The backups of each night: the last complete one, and what failed.'),
  tools: z
    .record(z.string(), z.string())
    .describe('Tools that need a vendor, a binding or a backend: what they use, or what is missing.'),
  secrets: z.record(z.string(), z.string()),
})
const detailsShape = z.object({ status: z.enum(['ok', 'degraded']) }).extend(facts.partial().shape)
nameSchemas({ HealthDetails: detailsShape })

export const healthRoutes = [
  route({
    method: 'get',
    path: '/health/detailed',
    id: 'getHealthDetails',
    scope: 'read',
    tag: 'Health',
    summary: 'Bindings, providers and the database',
    responses: ok('The state; how the deployment is made is shown to its owner', detailsShape),
    handle: async ({ env, authority, tenant }) => {
      const sources = sourcesFor(env)
      const database = await isReachable(env.DB)
      const status = database ? 'ok' : 'degraded'
      // How the deployment is made concerns only its owner.
      if (!hasScope(authority, 'admin') || authority.tenantId !== ownerTenant) return Response.json({ status })
      const backups = await describeNights(env)
      return Response.json({
        status: backups.startsWith('failing') ? 'degraded' : status,
        database: database ? 'ok' : 'unreachable',
        databases: database ? await describeDatabases(env) : {},
        model: resolveDefaultModel(sources),
        providers: Object.fromEntries(providers.map((provider) => [provider.id, describeProvider(provider, sources)])),
        backends: await listBackendStates(env),
        backend: env.SANDBOX_BACKEND || 'virtual',
        bindings: {
          LOADER: env.LOADER
            ? 'bound'
            : 'absent: the virtual shell runs inside the session object, and there is no execute_code',
          BLOBS: env.BLOBS ? 'bound' : 'absent: no files over 1.9 MB, images stay in the messages',
          IMAGES: env.IMAGES ? 'bound' : 'absent: images that a provider finds too large are left out',
        },
        backups,
        tools: describeTools({ env, id: tenant.id, settings: tenant.settings }),
        secrets: { ENCRYPTION_KEY: explainMissingKey(env) ?? 'set' },
      })
    },
  }),
]

function describeProvider(provider: Provider, sources: Sources): string {
  const missing = getMissingRequirement(provider, sources)
  if (missing) return missing
  return chooseModel(provider, sources) ? 'usable' : `usable; ${explainModelless(provider)}`
}

const describeTools = (deployment: Parameters<typeof findAvailability>[1]) =>
  Object.fromEntries(
    builtIn.flatMap((tool) => {
      const { by, reason, note } = { note: undefined, ...findAvailability(tool, deployment) }
      // The agent itself needs nothing.
      return by === 'talaria'
        ? []
        : [[tool.name, reason === undefined ? [by, note].filter(Boolean).join(': ') : `unavailable: ${reason}`]]
    }),
  )

async function isReachable(db: D1Database): Promise<boolean> {
  try {
    await db.prepare('SELECT 1').first()
    return true
  } catch {
    // The platform logs the reason.
    return false
  }
}
