/** `/api/admin/shards`: the databases that hold histories, and the move of a tenant between them (docs/design/scale.md). */

import * as z from 'zod'
import { listHistoryDatabases, listShards } from '#db/shards/history-databases.ts'
import { maxDatabaseBytes, measureDatabases } from '#db/shards/measure-databases.ts'
import { createTenants } from '#db/tenants.ts'
import { AppError, invalid } from '../errors.ts'
import { recordForTenant } from '../input/record-for-tenant.ts'
import { tenantParam } from '../openapi/path-params.ts'
import { route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound } from '../sessions.ts'
import { ok } from '../shapes.ts'

const shardShape = z.object({
  name: z.string().describe('The binding.'),
  bytes: z.int(),
  max_bytes: z.int(),
  tenants: z.int().describe('Tenants whose history is there.'),
})
const moveShape = z.object({
  id: z.string(),
  database: z.string(),
  status: z.enum(['copying', 'deleting', 'done']),
  sessions: z.int().describe('How many are still to be copied.'),
})
const coolShape = z.object({
  id: z.string(),
  pages: z.int().describe('Moved by this step.'),
  next: z.int().nullable(),
})
nameSchemas({ HistoryCooling: coolShape, HistoryShard: shardShape, TenantMove: moveShape })

const tag = 'Administration'

export const shardRoutes = [
  route({
    method: 'get',
    path: '/api/admin/shards',
    id: 'listShards',
    scope: 'admin',
    tag,
    summary: 'The databases that hold histories, with their sizes',
    responses: ok('DB alone, or DB and HISTORY_1 to HISTORY_n', z.object({ data: z.array(shardShape) })),
    handle: async ({ env }) => {
      const measured = await measureDatabases(env)
      return Response.json({ data: measured.map((one) => ({ ...one, max_bytes: maxDatabaseBytes })) })
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/tenants/:id/history',
    id: 'moveTenantHistory',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Move the history of a tenant to another database: one step. Repeat it until the status is done',
    example: { database: 'HISTORY_2' },
    body: z.strictObject({ database: z.string().regex(/^(?:DB|HISTORY_[1-9]\d{0,3})$/) }),
    responses: ok('The step', moveShape),
    handle: async ({ env, authority, param, body: { database } }) => {
      const { id } = requireFound(await createTenants(env.DB).get(param('id')))
      if (!listShards(env).length) throw new AppError(501, 'not_configured', 'The deployment has no HISTORY_1.')
      if (!listHistoryDatabases(env).some(({ name }) => name === database))
        throw invalid(`The deployment has no binding ${database}.`, 'database')
      const { LeftTooRecently, moveTenant } = await import('#db/shards/move-tenant.ts')
      const step = await moveTenant(env, id, database).catch((error: unknown) => {
        if (!(error instanceof LeftTooRecently)) throw error
        throw new AppError(409, 'conflict', error.message, { param: 'database', retryAfter: 60 })
      })
      if (step.hasSwitched) await recordForTenant(env, 'tenant.changed', id, authority)
      const { status, sessions } = step
      return Response.json({ id, database, status, sessions })
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/tenants/:id/history/cool',
    id: 'storeOldTenantHistory',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Move the text of old messages to R2: one step. Repeat it with next until that is null',
    example: { months: 12 },
    body: z.strictObject({
      months: z.int().min(1).max(1_200).default(12).describe('Messages older than this.'),
      after: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('next of the step before.'),
    }),
    responses: ok('The step', coolShape),
    handle: async ({ env, param, body: { months, after } }) => {
      const { id } = requireFound(await createTenants(env.DB).get(param('id')))
      const { BLOBS } = env
      if (!BLOBS) throw new AppError(501, 'not_configured', 'The deployment has no BLOBS.')
      const before = new Date().setUTCMonth(new Date().getUTCMonth() - months)
      const { coolPages } = await import('#db/cool-pages.ts')
      const { pages, next = null } = await coolPages({ ...env, BLOBS }, id, { before, after })
      return Response.json({ id, pages, next })
    },
  }),
]
