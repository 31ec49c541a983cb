/** `/api/admin/logins`: rules by which tokens of identity providers give access to tenants. */

import * as z from 'zod'
import { actorOf } from '#agent/core/permission/audit.ts'
import { scopes } from '#agent/core/permission/authority.ts'
import { roleName } from '#agent/core/settings.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { createLogins, type Login } from '#db/logins.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clearKeyCache } from '../auth.ts'
import { AppError } from '../errors.ts'
import { needsScopesOrRole, requireGivable, unknownTenant } from '../input/given-rights.ts'
import { pageByKey } from '../input/page.ts'
import { tenantId } from '../input/tenant-id.ts'
import { route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { loginParam } from '../openapi/path-params.ts'

const newLogin = z
  .strictObject({
    tenant_id: tenantId,
    name: z.string().trim().min(1).max(200).optional(),
    issuer: z
      .url({ protocol: /^https$/ })
      .max(300)
      .describe('As the claim `iss` has it.'),
    audience: z.string().min(1).max(300).describe('As the claim `aud` has it.'),
    claim: z
      .string()
      .regex(/^[\w.:/-]{1,200}$/)
      .optional()
      .describe('For example sub, email or groups. Absent: every token of issuer and audience.'),
    value: z.string().min(1).max(300).optional().describe('The value of the claim, or one of its values.'),
    scopes: z.array(z.enum(scopes)).min(1).optional().describe('Default: those of the role.'),
    role: roleName.optional(),
  })
  .refine((rule) => rule.scopes ?? rule.role, needsScopesOrRole)
  .refine(({ claim, value }) => (claim === undefined) === (value === undefined), {
    message: 'claim and value belong together.',
    path: ['value'],
  })
const loginShape = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string().nullable(),
  issuer: z.string(),
  audience: z.string(),
  claim: z.string().nullable(),
  value: z.string().nullable(),
  scopes: z.array(z.enum(scopes)),
  role: z.string().nullable().describe('A role of the settings, which limits the scopes.'),
  created_at: z.iso.datetime(),
})
nameSchemas(
  { Login: loginShape },
  {
    Login: {
      id: loginParam.example,
      tenant_id: 'acme',
      issuer: 'https://team.cloudflareaccess.com',
      claim: 'email',
      value: 'ann@example.com',
      scopes: ['read', 'chat'],
    },
  },
)

const tag = 'Administration'
const toView = ({ tenantId: tenant, createdAt, name, claim, value, ...rule }: Login) => ({
  ...rule,
  tenant_id: tenant,
  name: name || null,
  claim: claim || null,
  value: value || null,
  created_at: new Date(createdAt).toISOString(),
})

export const loginRoutes = [
  route({
    method: 'get',
    path: '/api/admin/logins',
    id: 'listLogins',
    scope: 'admin',
    tag,
    summary: 'Rules for tokens of identity providers',
    query: z.strictObject({ ...pageQuery, tenant_id: tenantId.optional().describe('Only those of this tenant.') }),
    responses: ok('Rules, newest first', listOf(loginShape)),
    handle: async ({ env, query }) => {
      const all = await createLogins(env.DB).list(query.tenant_id)
      const page = pageByKey(all, query, ({ createdAt, id }) => [createdAt, id])
      return Response.json({ ...page, data: page.data.map(toView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/admin/logins',
    id: 'createLogin',
    scope: 'admin',
    tag,
    summary: 'Let tokens of an issuer act for a tenant',
    example: {
      tenant_id: 'acme',
      issuer: 'https://team.cloudflareaccess.com',
      audience: '4714c1358e65fe4b408ad6d432a5f878',
      claim: 'email',
      value: 'ann@example.com',
      scopes: ['read', 'chat'],
    },
    body: newLogin,
    responses: created('The rule', loginShape),
    handle: async ({ env, authority, body }) => {
      const { tenant_id: owner, name = '', issuer, audience, claim = '', value = '' } = body
      const blocked = checkPublicAddress(issuer)
      if (blocked)
        throw new AppError(400, 'blocked_url', `This address cannot be used: ${blocked}.`, { param: 'issuer' })
      const { scopes: held, role = null } = await requireGivable(env, authority, body)
      const rule = { tenantId: owner, name, issuer, audience, claim, value, scopes: held, role, createdAt: Date.now() }
      const login: Login = { id: `login_${crypto.randomUUID().replaceAll('-', '')}`, ...rule }
      if (!(await createLogins(env.DB, actorOf(authority)).create(login))) throw unknownTenant(owner)
      return Response.json(toView(login), { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/admin/logins/:id',
    id: 'deleteLogin',
    params: { id: loginParam },
    scope: 'admin',
    tag,
    summary: 'Delete a rule; what runs by it stops',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, authority, param }) => {
      const { id, tenantId: owner } = requireFound(await createLogins(env.DB, actorOf(authority)).delete(param('id')))
      requireFound((await tenantStub(env, owner).access.revokeKey(authority, id)) || undefined)
      forgetSnapshot(owner)
      clearKeyCache()
      return new Response(null, { status: 204 })
    },
  }),
]
