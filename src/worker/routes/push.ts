/** Serves `/api/push`: the key for subscriptions of browsers, and the subscriptions themselves. */

import * as z from 'zod'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { vapidOwner } from '#durable/tenant/push/push.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { AppError, invalid } from '../errors.ts'
import { route } from '../route.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { ok } from '../shapes.ts'

const tag = 'Push'
const endpoint = z
  .url({ protocol: /^https$/ })
  .max(2_000)
  .meta({ example: 'https://push.example.com/send/4f1c' })

/** The keys of the example of RFC 8291. */
const pushKeysExample = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
}

export const pushRoutes = [
  route({
    method: 'get',
    path: '/api/push',
    id: 'getPush',
    scope: 'read',
    tag,
    summary: 'The key with which a browser subscribes',
    responses: ok('The public key of the tenant, for `applicationServerKey`', z.object({ public_key: z.string() })),
    handle: async ({ env, tenant, authority }) => {
      requireEncryptionKey(env)
      const { push } = tenantStub(env, tenant.id)
      const stored = await push.getVapid(authority)
      if (stored) return Response.json({ public_key: stored.publicKey })
      const { createVapidPair } = await import('#durable/tenant/push/vapid.ts')
      const { publicKey, privateKey } = await createVapidPair()
      const sealed = await sealForTenant(env, privateKey, vapidOwner(tenant.id))
      const vapid = await push.putVapid(authority, { publicKey, sealed })
      return Response.json({ public_key: vapid.publicKey })
    },
  }),
  route({
    method: 'post',
    path: '/api/push',
    id: 'createPush',
    scope: 'read',
    tag,
    summary: 'Subscribe a browser to approvals, questions and ends of runs',
    example: { endpoint: 'https://push.example.com/send/4f1c', keys: pushKeysExample },
    body: z.object({
      endpoint: endpoint.describe('The address at the push service of the browser.'),
      keys: z.object({ p256dh: z.string().max(200), auth: z.string().max(100) }),
    }),
    responses: { 204: { description: 'Subscribed. Messages are sent while no WebSocket of the same key is open' } },
    handle: async ({ env, tenant, authority, body, web }) => {
      requireEncryptionKey(env)
      const reason = checkPublicAddress(body.endpoint)
      if (reason !== undefined)
        throw new AppError(400, 'blocked_url', `This address cannot be used: ${reason}.`, { param: 'endpoint' })
      const { arePushKeys } = await import('#durable/tenant/push/encrypt-push.ts')
      if (!arePushKeys(body.keys)) throw invalid('These are not the keys of a push subscription.', 'keys')
      const url = new URL(web.req.url)
      const contact = url.protocol === 'https:' ? url.origin : 'mailto:operator@talaria.invalid'
      await tenantStub(env, tenant.id).push.subscribe(authority, { endpoint: body.endpoint, ...body.keys, contact })
      // It says whether sessions announce their changes.
      forgetSnapshot(tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'delete',
    path: '/api/push',
    id: 'deletePush',
    scope: 'read',
    tag,
    summary: 'End the subscription of a browser',
    body: z.object({ endpoint }),
    responses: { 204: { description: 'Ended, or there was none of this key' } },
    handle: async ({ env, tenant, authority, body }) => {
      await tenantStub(env, tenant.id).push.unsubscribe(authority, body.endpoint)
      return new Response(null, { status: 204 })
    },
  }),
]
