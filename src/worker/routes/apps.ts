/** `/api/apps`: apps that use the MCP server in the name of keys and people of the tenant, and their end. */

import * as z from 'zod'
import { scopes } from '#agent/core/permission/authority.ts'
import { createTenants } from '#db/tenants.ts'
import { appsOf, type ConnectedApp } from '#durable/tenant/apps/app-row.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from '../errors.ts'
import { pageByKey } from '../input/page.ts'
import { adminKeyId } from '../login/key-identity.ts'
import { appParam } from '../openapi/path-params.ts'
import { type RouteCall, route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound } from '../sessions.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'

const tag = 'Apps'
const time = z.iso.datetime()
const appShape = z.object({
  id: z.string(),
  name: z.string().describe('As the app calls itself.'),
  host: z.string().describe('Where it runs: a host, `localhost`, or the scheme of an application.'),
  client_id: z.string(),
  scopes: z.array(z.enum(scopes)),
  acts_for: z.string().describe('The key, or the person of an identity provider.'),
  created_at: time,
  last_used_at: time.describe('When it last renewed its tokens.'),
  expires_at: time.describe('It ends then unless it renews its tokens before.'),
})
nameSchemas({ ConnectedApp: appShape }, { ConnectedApp: { id: appParam.example, name: 'Claude', host: 'claude.ai' } })

const iso = (at: number): string => new Date(at).toISOString()
const holderIdOf = ({ holder }: ConnectedApp): string =>
  holder.kind === 'key' ? holder.keyId : (holder.principal.name ?? holder.principal.id)

const toView = (app: ConnectedApp): z.infer<typeof appShape> => ({
  id: app.id,
  name: app.name,
  host: app.host,
  client_id: app.clientId,
  scopes: [...app.scopes],
  acts_for: holderIdOf(app),
  created_at: iso(app.createdAt),
  last_used_at: iso(app.usedAt),
  expires_at: iso(app.endsAt),
})

/** Those of revoked keys have no access any more. */
async function listApps({ env, authority, tenant }: RouteCall<unknown, unknown>): Promise<readonly ConnectedApp[]> {
  const apps = await appsOf(env, tenant.id).list(authority)
  const keys = apps.length ? await createTenants(env.DB).listKeys(tenant.id) : []
  const open = new Set([adminKeyId, ...keys.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id)])
  return apps.filter(({ holder }) => holder.kind === 'login' || open.has(holder.keyId))
}

export const appRoutes = [
  route({
    method: 'get',
    path: '/api/apps',
    id: 'listApps',
    scope: 'read',
    tag,
    summary: 'Apps that use the MCP server',
    query: z.strictObject(pageQuery),
    responses: ok('Apps, newest first', listOf(appShape)),
    handle: async (call) => {
      const page = pageByKey(await listApps(call), call.query, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toView) })
    },
  }),
  route({
    method: 'delete',
    path: '/api/apps/:id',
    id: 'deleteApp',
    params: { id: appParam },
    scope: 'write',
    tag,
    summary: 'Disconnect an app; what runs by it stops',
    responses: { 204: { description: 'Disconnected' } },
    handle: async (call) => {
      const { env, authority, tenant, param } = call
      const app = requireFound((await appsOf(env, tenant.id).list(authority)).find(({ id }) => id === param('id')))
      const missing = app.scopes.find((scope) => !authority.scopes.includes(scope))
      if (missing)
        throw new AppError(403, 'policy', `This key does not have the scope "${missing}" itself.`, { param: 'id' })
      requireFound((await appsOf(env, tenant.id).end(authority, app.id)) || undefined)
      forgetSnapshot(tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
]
