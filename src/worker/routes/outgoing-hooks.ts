/** Serves `/api/hooks`: webhooks that tell other services what happens in sessions. */

import * as z from 'zod'
import { observers } from '#agent/core/hook.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { newHookId } from '#durable/platform/ids.ts'
import { clock } from '#durable/platform/clock.ts'
import {
  type Delivery,
  type OutgoingConfig,
  type OutgoingHook,
  outgoingOf,
  outgoingOwner,
} from '#durable/tenant/outgoing/outgoing-row.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { requireScope } from '../auth.ts'
import { type RouteCall, route } from '../route.ts'
import { nameSchemas } from '../schema-names.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok } from '../shapes.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'

const tag = 'Outgoing webhooks'
const params = { id: { description: 'The id of the webhook.', example: 'hook_0123456789abcdef' } }
const deliveryParams = { ...params, delivery: { description: 'The id of the delivery.', example: 'msg_0123' } }
const eventName = z.enum([...observers, '*'])
const fields = {
  url: z.string().max(2_000).describe('A public address. Redirects are not followed.'),
  events: z.array(eventName).min(1).max(20).describe('Events, or `*` for all of them.'),
  matcher: z.string().min(1).max(1_000).describe('Patterns of tool names, separated by `|`. Default: `*`.'),
  hermes: z.boolean().describe('Adds the headers `X-Hermes-Event` and `X-Hermes-Signature-256`.'),
}
const secretField = z.string().max(200).describe('`whsec_` and the base64 of 24 to 64 bytes. Absent: a new one.')
const time = z.iso.datetime()
const rowShape = z.object({
  id: z.string(),
  ...fields,
  status: z.enum(['active', 'disabled']),
  reason: z.string().nullable(),
  created_at: time,
  updated_at: time,
})
const secretShape = rowShape.extend({ secret: z.string().describe('Shown once.') })
const deliveryShape = z.object({
  id: z.string().describe('The `webhook-id` of every attempt.'),
  type: z.string(),
  status: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.array(z.object({ at: time, status: z.int().nullable(), error: z.string().nullable() })),
  next_attempt_at: time.nullable(),
  created_at: time,
})
const deliveryQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).optional().describe('Default: 50.'),
  cursor: z.string().max(400).optional().describe('The next_cursor of another page.'),
})
nameSchemas({ OutgoingHook: rowShape, OutgoingDelivery: deliveryShape })

type Call = RouteCall<unknown, unknown>
const isoOf = (at: number): string => new Date(at).toISOString()

const renderHook = ({ id, config, disabled, createdAt, updatedAt }: OutgoingHook) => ({
  id,
  ...config,
  status: disabled === undefined ? ('active' as const) : ('disabled' as const),
  reason: disabled ?? null,
  created_at: isoOf(createdAt),
  updated_at: isoOf(updatedAt),
})

const renderDelivery = ({ id, type, status, attempts, nextAt, createdAt }: Delivery) => ({
  id,
  type,
  status,
  attempts: attempts.map(({ at, ...attempt }) => ({ at: isoOf(at), ...attempt })),
  next_attempt_at: nextAt === null ? null : isoOf(nextAt),
  created_at: isoOf(createdAt),
})

const partOf = ({ env, tenant }: Call) => outgoingOf(env, tenant.id)
const findHook = async (call: Call, id = call.param('id')) => requireFound(await partOf(call).find(call.authority, id))

function requirePublic(url: string | undefined): void {
  const reason = url === undefined ? undefined : checkPublicAddress(url, { ports: 'service' })
  if (reason !== undefined)
    throw new AppError(400, 'blocked_url', `The address may not be called: ${reason}`, { param: 'url' })
}

/** Seals a secret that was given, or a new one. */
async function sealSecret(call: Call, id: string, given?: string) {
  requireEncryptionKey(call.env)
  const { keyOf, newSecret } = await import('#durable/tenant/outgoing/sign-delivery.ts')
  const secret = given ?? newSecret()
  if (!keyOf(secret)) throw invalid('A secret is whsec_ and the base64 of 24 to 64 bytes.', 'secret')
  const { sealForTenant } = await import('#durable/tenant/secrets/tenant-seal.ts')
  return { secret, sealed: await sealForTenant(call.env, secret, outgoingOwner(call.tenant.id, id)) }
}

type NewHook = Pick<OutgoingConfig, 'url' | 'events'> & {
  readonly matcher?: string | undefined
  readonly hermes?: boolean | undefined
  readonly secret?: string | undefined
}

/** The address gets what happens in every session, so its author must be allowed to read all. */
const requireReader = ({ authority }: Call): void => requireScope(authority, 'read')

async function create(call: Call, { url, events, matcher = '*', hermes = false, secret: given }: NewHook) {
  requireReader(call)
  requirePublic(url)
  const id = newHookId()
  const { secret, sealed } = await sealSecret(call, id, given)
  const outcome = await partOf(call).create(call.authority, id, { url, events, matcher, hermes }, sealed)
  if (outcome === 'foreign') throw notFound()
  if (outcome === 'full') throw new AppError(409, 'conflict', 'There are already 20 webhooks. Delete one first.')
  forgetSnapshot(call.tenant.id)
  return Response.json({ ...renderHook(await findHook(call, id)), secret }, { status: 201 })
}

/** At once, and not stored: a receiver is tried while a person looks. */
async function test(call: Call): Promise<Response> {
  const { id, config, secrets } = await findHook(call)
  const [{ sendSigned }, { unseal }, { createTenantFetch }] = await Promise.all([
    import('#durable/tenant/outgoing/sign-delivery.ts'),
    import('#durable/platform/seal.ts'),
    import('#durable/tenant/tenant-fetch.ts'),
  ])
  const { env, tenant, web } = call
  const opened = await unseal(env, secrets.current, outgoingOwner(tenant.id, id))
  if (opened.kind === 'unreadable') throw new AppError(400, 'invalid_request', opened.reason)
  const now = clock.now()
  const body = JSON.stringify({ type: 'test', timestamp: isoOf(now), data: {} })
  const request = { url: config.url, id: `msg_test_${now}`, type: 'test', body, secrets: [opened.secret], now }
  const guardedFetch = createTenantFetch(env, tenant.id, (work) => web.executionCtx.waitUntil(work))
  const { status, error } = await sendSigned(guardedFetch, { ...request, isHermes: config.hermes })
  return Response.json({ ok: error === null, status, error })
}

export const outgoingHookRoutes = [
  route({
    method: 'get',
    path: '/api/hooks',
    id: 'listHooks',
    scope: 'read',
    tag,
    summary: 'Outgoing webhooks',
    responses: ok('Webhooks, oldest first', listOf(rowShape)),
    handle: async (call) =>
      Response.json({ data: (await partOf(call).list(call.authority)).map(renderHook), next_cursor: null }),
  }),
  route({
    method: 'post',
    path: '/api/hooks',
    id: 'createHook',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Add a webhook; the answer has its secret, which is never shown again',
    example: { url: 'https://hooks.example.com/talaria', events: ['on_session_end'] },
    body: z
      .strictObject({ ...fields, secret: secretField })
      .partial()
      .required({ url: true, events: true }),
    errors: ['Conflict'],
    responses: created('The webhook', secretShape),
    handle: (call) => create(call, call.body),
  }),
  route({
    method: 'get',
    path: '/api/hooks/:id',
    params,
    id: 'getHook',
    scope: 'read',
    tag,
    summary: 'A webhook',
    responses: ok('The webhook', rowShape),
    handle: async (call) => Response.json(renderHook(await findHook(call))),
  }),
  route({
    method: 'patch',
    path: '/api/hooks/:id',
    params,
    id: 'updateHook',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Change a webhook, disable it or enable it again',
    example: { status: 'active' },
    body: z.strictObject({ ...fields, status: z.enum(['active', 'disabled']) }).partial(),
    responses: ok('The webhook', rowShape),
    handle: async (call) => {
      requireReader(call)
      const { status, ...change } = call.body
      requirePublic(change.url)
      const isActive = status === undefined ? {} : { isActive: status === 'active' }
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
      requireFound(
        (await partOf(call).update(call.authority, call.param('id'), { ...given, ...isActive })) || undefined,
      )
      forgetSnapshot(call.tenant.id)
      return Response.json(renderHook(await findHook(call)))
    },
  }),
  route({
    method: 'delete',
    path: '/api/hooks/:id',
    params,
    id: 'deleteHook',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Delete a webhook and its deliveries',
    responses: { 204: { description: 'Deleted' } },
    handle: async (call) => {
      requireFound((await partOf(call).remove(call.authority, call.param('id'))) || undefined)
      forgetSnapshot(call.tenant.id)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/hooks/:id/test',
    params,
    id: 'testHook',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Send an event of the type test at once',
    responses: ok(
      'How the receiver answered',
      z.object({ ok: z.boolean(), status: z.int().nullable(), error: z.string().nullable() }),
    ),
    handle: test,
  }),
  route({
    method: 'post',
    path: '/api/hooks/:id/rotate',
    params,
    id: 'rotateHookSecret',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Get a new secret; the old one signs too for 24 hours',
    responses: ok('The webhook with its new secret', secretShape),
    handle: async (call) => {
      const { id } = await findHook(call)
      const { secret, sealed } = await sealSecret(call, id)
      requireFound((await partOf(call).rotate(call.authority, id, sealed)) || undefined)
      return Response.json({ ...renderHook(await findHook(call)), secret })
    },
  }),
  route({
    method: 'get',
    path: '/api/hooks/:id/deliveries',
    params,
    id: 'listHookDeliveries',
    scope: 'read',
    tag,
    summary: 'Deliveries of a webhook with their attempts',
    query: deliveryQuery,
    responses: ok('Deliveries, newest first', listOf(deliveryShape)),
    handle: async (call) => {
      const { limit = 50, cursor } = call.query
      const found = requireFound(await partOf(call).deliveries(call.authority, call.param('id'), limit + 1, cursor))
      const data = found.slice(0, limit)
      const next = found.length > limit ? (data.at(-1)?.id ?? null) : null
      return Response.json({ data: data.map(renderDelivery), next_cursor: next })
    },
  }),
  route({
    method: 'post',
    path: '/api/hooks/:id/deliveries/:delivery/retry',
    params: deliveryParams,
    id: 'retryHookDelivery',
    scope: 'write',
    isTenantWide: true,
    tag,
    summary: 'Send a delivery once more, with the same id',
    errors: ['Conflict'],
    responses: { 202: { description: 'It is sent soon' } },
    handle: async (call) => {
      const outcome = await partOf(call).retry(call.authority, call.param('id'), call.param('delivery'))
      if (outcome === 'unknown') throw notFound()
      if (outcome === 'disabled') throw new AppError(409, 'conflict', 'The webhook is disabled. Enable it first.')
      return new Response(null, { status: 202 })
    },
  }),
]
