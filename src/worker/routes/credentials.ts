/**
 * `/api/credentials`: manages provider keys of the tenant. They take precedence over the keys of the deployment. A stored
 * key is never shown again, except for its last four characters.
 */

import * as z from 'zod'
import { type Credential, credentialOwner, type KeyStatus, getKeyStatus } from '#durable/models/credentials.ts'
import type { StoredKeyHealth } from '#durable/models/key-pool.ts'
import { unseal } from '#durable/platform/seal.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { pageByKey } from '../input/page.ts'
import { route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { credentialParam } from '../openapi/path-params.ts'

const tag = 'Credentials'

const credentialShape = z.object({
  id: z.string(),
  provider: z.string(),
  name: z.string().nullable(),
  last_four: z.string().describe('Empty for keys under eight characters.'),
  created_at: z.iso.datetime(),
  status: z.enum(['usable', 'resting', 'dead']),
  until: z.iso.datetime().nullable().describe('When a suspended key may be used again.'),
  reason: z.string().nullable(),
})
nameSchemas(
  { Credential: credentialShape },
  { Credential: { id: credentialParam.example, provider: 'openai', name: 'main', last_four: '9f3a' } },
)

const newCredential = z.strictObject({
  provider: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .describe(
      'A provider by any of its names, custom:<name>, a vendor of tools such as tavily, or a memory service: mem0, supermemory, hindsight, honcho or http.',
    ),
  key: z
    .string()
    .trim()
    .min(1, 'A key has at least one character.')
    .max(4_096)
    .regex(/^([!-~]*|\{[\s\S]*)$/, 'Printable ASCII without spaces.'),
  name: z.string().trim().min(1).max(200).optional(),
})

const iso = (ms: number) => new Date(ms).toISOString()

const toCredentialView = (
  { id, provider, name, lastFour, createdAt }: Credential,
  { status, until, reason }: KeyStatus,
) => ({
  id,
  provider,
  name,
  last_four: lastFour,
  created_at: iso(createdAt),
  status,
  until: until === null ? null : iso(until),
  reason,
})

/** Returns the status of a key. One that cannot be decrypted has the status `dead`. */
async function getCredentialStatus(
  env: Env,
  tenantId: string,
  one: Credential,
  health: StoredKeyHealth,
): Promise<KeyStatus> {
  const opened = await unseal(env, one.sealed, credentialOwner(tenantId, one))
  return opened.kind === 'opened'
    ? getKeyStatus(health[one.id], Date.now())
    : { status: 'dead', until: null, reason: opened.reason }
}

const signInProviders = ['openai-codex', 'copilot', 'xai-oauth', 'qwen-oauth'] as const

const subscriptionSignIn = z.strictObject({
  provider: z.enum(signInProviders).optional().describe('Begins a sign-in.'),
  name: newCredential.shape.name,
  sign_in: z.string().max(8_192).optional().describe('Goes on with a sign-in: has the person confirmed?'),
})

const signInShape = z.object({
  status: z.enum(['pending', 'done']),
  provider: z.string(),
  sign_in: z.string().optional(),
  verification_url: z.string().optional().describe('The person enters user_code there.'),
  user_code: z.string().optional(),
  interval: z.number().optional().describe('Seconds until the next request.'),
  expires_at: z.iso.datetime().optional(),
  credential: credentialShape.optional(),
})

export const credentialRoutes = [
  route({
    method: 'get',
    path: '/api/credentials',
    id: 'listCredentials',
    scope: 'read',
    tag,
    summary: 'Keys of providers that belong to the tenant, without their secrets',
    query: z.strictObject(pageQuery),
    responses: ok('Credentials, newest first', listOf(credentialShape)),
    handle: async (call) => {
      const { list, health } = await tenantStub(call.env, call.tenant.id).credentials.list(call.authority)
      const { env, tenant } = call
      const page = pageByKey(list, call.query, ({ createdAt, id }) => [createdAt, id])
      const data = await Promise.all(
        page.data.map(async (one) => toCredentialView(one, await getCredentialStatus(env, tenant.id, one, health))),
      )
      return Response.json({ ...page, data })
    },
  }),
  route({
    method: 'post',
    path: '/api/credentials',
    id: 'createCredential',
    scope: 'write',
    tag,
    summary: 'Store a provider key; it takes precedence over the keys of the deployment',
    example: { provider: 'openai', key: 'sk-example' },
    body: newCredential,
    responses: created('The credential', credentialShape),
    handle: async (call) => {
      const { storeCredential } = await import('../secrets/store-credential.ts')
      return Response.json(toCredentialView(await storeCredential(call), getKeyStatus(undefined, 0)), { status: 201 })
    },
  }),
  route({
    method: 'post',
    path: '/api/credentials/oauth',
    id: 'createSubscriptionSignIn',
    scope: 'write',
    tag,
    summary: 'Sign in to a subscription by a code, and store its tokens once the person has confirmed',
    example: { provider: 'copilot' },
    body: subscriptionSignIn,
    responses: ok('The sign-in', signInShape),
    handle: async (call) => {
      const { signInToSubscription } = await import('../secrets/subscription-sign-in.ts')
      const fresh = (one: Credential) => toCredentialView(one, getKeyStatus(undefined, 0))
      return Response.json(await signInToSubscription(call, fresh))
    },
  }),
  route({
    method: 'delete',
    path: '/api/credentials/:id',
    id: 'deleteCredential',
    params: { id: credentialParam },
    scope: 'write',
    tag,
    summary: 'Delete a key; the next turn no longer uses it',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      requireFound(
        (await tenantStub(call.env, call.tenant.id).credentials.remove(call.authority, call.param('id'))) || undefined,
      )
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
]
