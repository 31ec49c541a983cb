/** `/api/admin`: manages tenants and API keys, for the owner of the deployment. */

import * as z from 'zod'
import { scopes } from '#agent/core/permission/authority.ts'
import { actorOf } from '#agent/core/permission/audit.ts'
import { limitsSchema, roleName } from '#agent/core/settings.ts'
import type { ListRange } from '#db/api-keys.ts'
import { ownerTenant } from '#db/schema.ts'
import { chooseHistoryDatabase } from '#db/shards/measure-databases.ts'
import { type Tenant, createTenants } from '#db/tenants.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clearKeyCache } from '../auth.ts'
import { AppError, notFound } from '../errors.ts'
import { needsScopesOrRole, requireGivable, unknownTenant } from '../input/given-rights.ts'
import { recordForTenant } from '../input/record-for-tenant.ts'
import { tenantId } from '../input/tenant-id.ts'
import { keyShape, toKeyView } from './keys/key-view.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { route } from '../route.ts'
import { pageInSql } from '../input/page.ts'
import { requireFound } from '../sessions.ts'
import { exportTenant } from '../tenant-export.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { keyParam, tenantParam } from '../openapi/path-params.ts'

const tenantShape = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(['active', 'suspended', 'deleting']),
  limits: limitsSchema,
  mail: z.array(z.string()).describe('Mail addresses, domains such as @example.com, or *, for its channels.'),
  created_at: z.iso.datetime(),
})
nameSchemas({ Tenant: tenantShape }, { Tenant: { id: 'acme', name: 'Acme', limits: {}, mail: ['@acme.example.com'] } })

const mailAddress = z
  .string()
  .max(320)
  .regex(/^(?:\*|[^\s@]{0,64}@[^\s@]{1,255})$/, 'An address, a domain such as @example.com, or *.')

const tag = 'Administration'
const toTenantView = ({ createdAt, ...tenant }: Tenant) => ({ ...tenant, created_at: iso(createdAt) })
const iso = (ms: number) => new Date(ms).toISOString()
const tenantExists = (id: string) => new AppError(409, 'conflict', `A tenant ${id} already exists.`, { param: 'id' })

export const adminRoutes = [
  route({
    method: 'get',
    path: '/api/admin/tenants',
    id: 'listTenants',
    scope: 'admin',
    tag,
    summary: 'All tenants',
    query: z.strictObject(pageQuery),
    responses: ok('Tenants, newest first', listOf(tenantShape)),
    handle: async ({ env, query }) => {
      const { list } = createTenants(env.DB)
      const page = await pageInSql(query, list, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toTenantView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/tenants',
    id: 'createTenant',
    scope: 'admin',
    tag,
    summary: 'Create a tenant',
    example: { id: 'acme', name: 'Acme' },
    body: z.strictObject({ id: tenantId.optional(), name: z.string().trim().min(1).max(200) }),
    responses: created('The tenant', tenantShape),
    handle: async ({ env, authority, body }) => {
      const choose = () => chooseHistoryDatabase(env)
      const tenant = await createTenants(env.DB, actorOf(authority), choose).create(body, Date.now())
      if (!tenant) throw tenantExists(body.id ?? '')
      return Response.json(toTenantView(tenant), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/admin/tenants/:id',
    id: 'getTenant',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'One tenant',
    responses: ok('The tenant', tenantShape),
    handle: async ({ env, param }) =>
      Response.json(toTenantView(requireFound(await createTenants(env.DB).get(param('id'))))),
  }),
  route({
    method: 'patch',
    path: '/api/admin/tenants/:id',
    id: 'updateTenant',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Change name, status, limits or the mail addresses that its channels may use',
    example: { limits: { usd_per_day: 20 } },
    body: z.strictObject({
      name: z.string().trim().min(1).max(200).optional(),
      status: z.enum(['active', 'suspended']).optional(),
      limits: limitsSchema.optional(),
      mail: z.array(mailAddress).max(100).optional(),
    }),
    responses: ok('The tenant', tenantShape),
    handle: async ({ env, authority, param, body }) => {
      const { limits, name, status, mail } = body
      const change = {
        ...(name && { name }),
        ...(status && { status }),
        ...(limits && { limits }),
        ...(mail && { mail }),
      }
      const tenant = requireFound(await createTenants(env.DB, actorOf(authority)).update(param('id'), change))
      if (limits) requireFound((await tenantStub(env, tenant.id).limits.set(authority, limits)) || undefined)
      if (status) requireFound((await tenantStub(env, tenant.id).access.setStatus(authority, status)) || undefined)
      forgetSnapshot(tenant.id)
      clearKeyCache()
      return Response.json(toTenantView(tenant))
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/tenants/:id/rotate-key',
    id: 'rotateTenantKey',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'Give the tenant a new data key and seal its secrets again',
    responses: ok('What was sealed again', z.object({ resealed: z.int(), unreadable: z.array(z.string()) })),
    handle: async ({ env, authority, param }) => {
      const { id } = requireFound(await createTenants(env.DB).get(param('id')))
      requireEncryptionKey(env)
      await recordForTenant(env, 'tenant.key_rotated', id, authority)
      const { resealSecrets } = await import('../secrets/reseal-secrets.ts')
      const result = await resealSecrets(env, authority, id)
      forgetSnapshot(id)
      return Response.json(result)
    },
  }),
  route({
    method: 'get',
    path: '/api/admin/tenants/:id/export',
    id: 'getTenantExport',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary: 'A tenant as lines of JSON, without secrets and contents of files. The last line has the type end',
    responses: { 200: { description: 'Lines of JSON', type: 'application/x-ndjson' } },
    handle: async ({ env, authority, param }) => {
      const tenant = requireFound(await createTenants(env.DB).get(param('id')))
      await recordForTenant(env, 'tenant.exported', tenant.id, authority)
      const headers = {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'content-disposition': `attachment; filename="${tenant.id}.jsonl"`,
        'x-content-type-options': 'nosniff',
      }
      return new Response(exportTenant(env, tenant), { headers })
    },
  }),
  route({
    method: 'delete',
    path: '/api/admin/tenants/:id',
    id: 'deleteTenant',
    params: { id: tenantParam },
    scope: 'admin',
    tag,
    summary:
      'Delete a tenant with everything it has. It is refused like an unknown one at once; its data goes step by step',
    responses: {
      202: {
        description: 'The deletion has begun. GET shows the status deleting, and 404 when nothing is left',
        schema: z.object({ id: z.string(), status: z.literal('deleting') }),
      },
    },
    handle: async ({ env, authority, param }) => {
      const id = param('id')
      if (id === ownerTenant) throw new AppError(409, 'conflict', `The tenant ${ownerTenant} cannot be deleted.`)
      requireFound(
        (tenantId.safeParse(id).success && (await tenantStub(env, ownerTenant).deletions.start(authority, id))) ||
          undefined,
      )
      forgetSnapshot(id)
      clearKeyCache()
      return Response.json({ id, status: 'deleting' }, { status: 202 })
    },
  }),
  route({
    method: 'get',
    path: '/api/admin/keys',
    id: 'listKeys',
    scope: 'admin',
    tag,
    summary: 'Keys, without their secrets',
    query: z.strictObject({ ...pageQuery, tenant_id: tenantId.optional().describe('Only those of this tenant.') }),
    responses: ok('Keys, newest first', listOf(keyShape)),
    handle: async ({ env, query }) => {
      const { listOpenKeys } = createTenants(env.DB)
      const read = (range: ListRange) => listOpenKeys({ ...range, tenantId: query.tenant_id })
      const page = await pageInSql(query, read, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toKeyView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/keys',
    id: 'createKey',
    scope: 'admin',
    tag,
    summary: 'Create a key; it is shown once',
    example: { tenant_id: 'acme', scopes: ['chat', 'read'], name: 'laptop' },
    body: z
      .strictObject({
        tenant_id: tenantId,
        scopes: z.array(z.enum(scopes)).min(1).optional().describe('Default: those of the role.'),
        role: roleName.optional(),
        name: z.string().trim().min(1).max(200).optional(),
        expires_at: z.iso.datetime().optional(),
      })
      .refine((key) => key.scopes ?? key.role, needsScopesOrRole),
    responses: created('The key, with its secret', keyShape),
    handle: async ({ env, authority, body }) => {
      const { tenant_id: owner, name = '', expires_at: expires } = body
      if (owner === ownerTenant) await createTenants(env.DB).create({ id: owner, name: owner }, Date.now())
      const given = await requireGivable(env, authority, body)
      const newKey = { tenantId: owner, name, ...given, expiresAt: expires ? Date.parse(expires) : null }
      const made = await createTenants(env.DB, actorOf(authority)).createKey(newKey, Date.now())
      if (!made) throw unknownTenant(owner)
      return Response.json({ ...toKeyView(made.key), key: made.presented }, { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/admin/keys/:id',
    id: 'deleteKey',
    params: { id: keyParam },
    scope: 'admin',
    tag,
    summary: 'Revoke a key',
    responses: { 204: { description: 'Revoked' } },
    handle: async ({ env, authority, param }) => {
      const tenants = createTenants(env.DB, actorOf(authority))
      const { tenantId: owner, isNew } = requireFound(await tenants.revokeKey(param('id'), Date.now()))
      // Also for a key that was revoked before: an earlier request may have failed here.
      requireFound((await tenantStub(env, owner).access.revokeKey(authority, param('id'))) || undefined)
      forgetSnapshot(owner)
      clearKeyCache()
      if (!isNew) throw notFound()
      return new Response(null, { status: 204 })
    },
  }),
]
