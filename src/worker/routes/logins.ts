/** `/api/admin/logins`: rules by which tokens of identity providers give access to tenants. */

import * as z from 'zod'
import { scopes } from '../../agent/model/authority.ts'
import { checkPublicAddress } from '../../agent/policy/network-address.ts'
import { createLogins, type Login } from '../../db/logins.ts'
import { forgetSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../../durable/tenant/tenant-stub.ts'
import { clearKeyCache } from '../auth.ts'
import { AppError } from '../errors.ts'
import { pageByKey } from '../page.ts'
import { route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'

const tenantId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'Lower-case letters, digits and hyphens, at most 63.')
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
    scopes: z.array(z.enum(scopes)).min(1),
  })
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
  created_at: z.iso.datetime(),
})

const tag = 'Administration'
const toView = ({ id, tenantId: tenant, name, issuer, audience, claim, value, scopes: held, createdAt }: Login) => ({
  id,
  tenant_id: tenant,
  name: name || null,
  issuer,
  audience,
  claim: claim || null,
  value: value || null,
  scopes: held,
  created_at: new Date(createdAt).toISOString(),
})

export const loginRoutes = [
  route({
    method: 'get',
    path: '/api/admin/logins',
    scope: 'admin',
    tag,
    summary: 'Rules for tokens of identity providers',
    query: z.strictObject({ ...pageQuery, tenant_id: tenantId.optional() }),
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
    scope: 'admin',
    tag,
    summary: 'Let tokens of an issuer act for a tenant',
    body: newLogin,
    responses: created('The rule', loginShape),
    handle: async ({ env, body }) => {
      const { tenant_id: owner, name = '', issuer, audience, claim = '', value = '' } = body
      const blocked = checkPublicAddress(issuer)
      if (blocked)
        throw new AppError(400, 'blocked_url', `This address cannot be used: ${blocked}.`, { param: 'issuer' })
      const held = scopes.filter((scope) => body.scopes.includes(scope))
      const rule = { tenantId: owner, name, issuer, audience, claim, value, scopes: held, createdAt: Date.now() }
      const login: Login = { id: `login_${crypto.randomUUID().replaceAll('-', '')}`, ...rule }
      if (!(await createLogins(env.DB).create(login)))
        throw new AppError(404, 'not_found', `There is no tenant ${owner}.`, { param: 'tenant_id' })
      return Response.json(toView(login), { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/admin/logins/:id',
    scope: 'admin',
    tag,
    summary: 'Delete a rule; what runs by it stops',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, authority, param }) => {
      const { id, tenantId: owner } = requireFound(await createLogins(env.DB).delete(param('id')))
      requireFound((await tenantStub(env, owner).access.revokeKey(authority, id)) || undefined)
      forgetSnapshot(owner)
      clearKeyCache()
      return new Response(null, { status: 204 })
    },
  }),
]
