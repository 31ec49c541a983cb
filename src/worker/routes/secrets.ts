/**
 * Serves `/api/secrets`: a tenant's secrets for commands. The setting `terminal.secrets` grants them by name. A stored value
 * is never shown again, except for its last four characters.
 */

import * as z from 'zod'
import { maxSecrets, secretName } from '#agent/core/secrets/secret-name.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { secretOwner, type TenantSecret } from '#durable/platform/tenant-secrets.ts'
import { AppError, notFound } from '../errors.ts'
import { pageByKey } from '../input/page.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { nameParam } from '../openapi/path-params.ts'

const tag = 'Credentials'

const secretShape = z.object({ name: z.string(), last_four: z.string(), created_at: z.iso.datetime() })
nameSchemas({ Secret: secretShape }, { Secret: { name: 'DEPLOY_TOKEN', last_four: '9f3a' } })

/** Shorter values and values of several lines could not be masked in output. */
const newSecret = z.strictObject({
  name: secretName.describe('The environment variable.'),
  value: z
    .string()
    .min(8)
    .max(4_096)
    .regex(/^[!-~](?:[ -~]*[!-~])?$/, 'One line of printable ASCII without space around it. Encode others as base64.'),
})

const toView = ({ name, lastFour, createdAt }: TenantSecret) => ({
  name,
  last_four: lastFour,
  created_at: new Date(createdAt).toISOString(),
})

export const secretRoutes = [
  route({
    method: 'get',
    path: '/api/secrets',
    id: 'listSecrets',
    scope: 'read',
    tag,
    summary: 'Secrets for commands, without their values',
    query: z.strictObject(pageQuery),
    responses: ok('Secrets, newest first', listOf(secretShape)),
    handle: async ({ env, authority, tenant, query }) => {
      const page = pageByKey(await tenantStub(env, tenant.id).secrets.list(authority), query, ({ createdAt, name }) => [
        createdAt,
        name,
      ])
      return Response.json({ ...page, data: page.data.map(toView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/secrets',
    id: 'storeSecret',
    scope: 'approve',
    tag,
    summary: 'Store a secret for commands, in place of one of the same name; terminal.secrets grants it',
    example: { name: 'DEPLOY_TOKEN', value: 'an-example-value' },
    body: newSecret,
    responses: created('The secret', secretShape),
    handle: async ({ env, tenant, authority, body }) => {
      requireEncryptionKey(env)
      const { name, value } = body
      const sealed = await sealForTenant(env, value, secretOwner(tenant.id, name))
      const secret = { name, lastFour: value.slice(-4), createdAt: Date.now(), sealed }
      const outcome = await tenantStub(env, tenant.id).secrets.put(authority, secret)
      if (outcome === 'foreign') throw notFound()
      if (outcome === 'full')
        throw new AppError(409, 'conflict', `There are already ${maxSecrets} secrets. Delete one first.`)
      forgetSnapshot(tenant.id)
      return Response.json(toView(secret), { status: 201 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/secrets/:name',
    id: 'deleteSecret',
    params: { name: nameParam },
    scope: 'approve',
    tag,
    summary: 'Delete a secret; commands of the next turn no longer get it',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, tenant, authority, param }) => {
      requireFound((await tenantStub(env, tenant.id).secrets.remove(authority, param('name'))) || undefined)
      forgetSnapshot(tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
]
