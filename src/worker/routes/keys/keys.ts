/** `/api/keys`: keys of one's own tenant, with no more rights than one's own. */

import * as z from 'zod'
import { keyOf } from '#agent/core/permission/access.ts'
import { actorOf } from '#agent/core/permission/audit.ts'
import { type Authority, hasScope, type Scope, scopes } from '#agent/core/permission/authority.ts'
import { roleName } from '#agent/core/settings.ts'
import { ownerTenant } from '#db/schema.ts'
import { createTenants } from '#db/tenants.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clearKeyCache } from '../../auth.ts'
import { AppError, notFound } from '../../errors.ts'
import { requireGivable } from '../../input/given-rights.ts'
import { pageByKey } from '../../input/page.ts'
import { adminKeyId } from '../../login/key-identity.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'
import { created, listOf, ok, pageQuery } from '../../shapes.ts'
import { keyShape, toKeyView } from './key-view.ts'
import { keyParam } from '../../openapi/path-params.ts'

const tag = 'Keys'

const newKey = z.strictObject({
  name: z.string().trim().min(1).max(200).optional(),
  scopes: z.array(z.enum(scopes)).min(1).optional().describe('Default: those of the key that asks, without admin.'),
  role: roleName.optional(),
  expires_at: z.iso.datetime().optional(),
})

/** A person of an identity provider gets keys that end by themselves. */
const maxLoginKeyMs = 30 * 86_400_000

const beyond = (param: string, text: string) => new AppError(403, 'policy', text, { param })

function requireHeld(authority: Authority, wanted: readonly Scope[], param: string): void {
  const missing = wanted.find((scope) => !hasScope(authority, scope))
  if (missing) throw beyond(param, `This key does not have the scope "${missing}" itself.`)
}

/** A role of one's own stays with the keys that one makes. */
const ownRole = ({ entitlements = [] }: Authority) => (entitlements.length === 1 ? entitlements[0]?.role : undefined)

/** A key lasts no longer than the key that made it. */
async function resolveExpiry({ env, authority, tenant }: RouteCall<unknown, unknown>, asked: number | null) {
  const id = keyOf(authority)
  if (id === adminKeyId && tenant.id === ownerTenant) return asked
  const own = (await createTenants(env.DB).listKeys(tenant.id)).find((one) => one.id === id)
  const latest = own ? own.expiresAt : Date.now() + maxLoginKeyMs
  if (latest === null) return asked
  if (asked !== null && asked > latest)
    throw beyond('expires_at', `This key must end by ${new Date(latest).toISOString()}, as the access that makes it.`)
  return asked ?? latest
}

export const keyRoutes = [
  route({
    method: 'get',
    path: '/api/keys',
    id: 'listOwnKeys',
    scope: 'read',
    tag,
    summary: 'Keys of the tenant, without their secrets',
    query: z.strictObject(pageQuery),
    responses: ok('Keys, newest first', listOf(keyShape)),
    handle: async ({ env, tenant, query }) => {
      const open = (await createTenants(env.DB).listKeys(tenant.id)).filter(({ revokedAt }) => revokedAt === null)
      const page = pageByKey(open, query, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toKeyView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/keys',
    id: 'createOwnKey',
    scope: 'write',
    tag,
    summary: 'Create a key of the tenant; it is shown once',
    body: newKey,
    responses: created('The key, with its secret', keyShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      const wanted = body.scopes ?? authority.scopes.filter((scope) => scope !== 'admin')
      requireHeld(authority, wanted, 'scopes')
      const role = body.role ?? ownRole(authority)
      const given = { tenant_id: tenant.id, scopes: wanted, ...(role !== undefined && { role }) }
      const entitlement = await requireGivable(env, authority, given)
      const expiresAt = await resolveExpiry(call, body.expires_at === undefined ? null : Date.parse(body.expires_at))
      const { name = '' } = body
      const tenants = createTenants(env.DB, actorOf(authority))
      const made = await tenants.createKey({ tenantId: tenant.id, name, ...entitlement, expiresAt }, Date.now())
      if (!made) throw notFound()
      return Response.json({ ...toKeyView(made.key), key: made.presented }, { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/keys/:id',
    id: 'deleteOwnKey',
    params: { id: keyParam },
    scope: 'write',
    tag,
    summary: 'Revoke a key of the tenant; what runs by it stops',
    responses: { 204: { description: 'Revoked' } },
    handle: async ({ env, authority, tenant, param }) => {
      const tenants = createTenants(env.DB, actorOf(authority))
      const key = (await tenants.listKeys(tenant.id)).find(({ id }) => id === param('id'))
      if (!key) throw notFound()
      requireHeld(authority, key.scopes, 'id')
      const { isNew } = requireFound(await tenants.revokeKey(key.id, Date.now()))
      // Also for a key that was revoked before: an earlier request may have failed here.
      requireFound((await tenantStub(env, tenant.id).access.revokeKey(authority, key.id)) || undefined)
      forgetSnapshot(tenant.id)
      clearKeyCache()
      if (!isNew) throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
