/** Serves `/api/webhooks`: addresses to which other services deliver events. No response contains a secret. */

import * as z from 'zod'
import { actorOf } from '../../../agent/model/permission/audit.ts'
import { systemAuthority } from '../../../agent/model/permission/authority.ts'
import { parseTargets } from '../../../agent/schedule/job/targets.ts'
import { webhookFields, webhookSettings } from '../../../channels/webhook/definition.ts'
import { decodeKey } from '../../../channels/webhook/verify-webhook.ts'
import { type Connection, createConnections, webhookPlatform } from '../../../db/channel-connections.ts'
import { forgetWebhook } from '../../../durable/channels/webhooks/load-webhook.ts'
import { sealSecrets } from '../../../durable/tenant/channels/connection.ts'
import { resolveChat } from '../../../durable/tenant/channels/resolve-chat.ts'
import { tenantStub } from '../../../durable/tenant/tenant-stub.ts'
import { invalid, invalidCursor } from '../../errors.ts'
import { type Call, route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { requireEncryptionKey } from '../../secrets/require-encryption-key.ts'
import { requireFound } from '../../sessions.ts'
import { created, listOf, ok, pageQuery } from '../../shapes.ts'

const tag = 'Webhooks'

const webhookShape = z.object({
  id: z.string(),
  name: webhookFields.name,
  status: z.enum(['active', 'paused']),
  webhook_url: z.string().describe('The address to which the service has to deliver.'),
  ...webhookSettings.shape,
  secret: z.string().describe('Its last four characters.'),
  created_at: z.iso.datetime(),
})
nameSchemas({ Webhook: webhookShape })

const { name, secret, signature, ...changeable } = webhookFields
const fields = {
  prompt: changeable.prompt.optional(),
  events: changeable.events.optional(),
  filters: changeable.filters.optional(),
  deliver: changeable.deliver.optional(),
  deliver_only: changeable.deliver_only.optional(),
  job: changeable.job.optional(),
}

type Settings = z.infer<typeof webhookSettings>

const view = (stored: Connection) => ({
  id: stored.id,
  name: stored.name,
  status: stored.status,
  webhook_url: stored.webhookUrl,
  ...webhookSettings.parse(stored.settings),
  secret: stored.endings['secret'] ?? '****',
  created_at: new Date(stored.createdAt).toISOString(),
})

const publicOrigin = ({ env, web }: Pick<Call<unknown, unknown>, 'env' | 'web'>): string =>
  (env.PUBLIC_URL || new URL(web.req.url).origin).replace(/\/{1,20}$/, '')

async function getWebhook({ env, tenant, param }: Call<unknown, unknown>): Promise<Connection> {
  const stored = requireFound(await createConnections(env.DB, tenant.id).get(param('id')))
  return requireFound(stored.platform === webhookPlatform ? stored : undefined)
}

/** A target that does not exist would be found out with the first event, when nobody looks. */
async function requireUsable(call: Call<unknown, unknown>, settings: Settings, given: string | undefined) {
  const { env, tenant, authority } = call
  if (given !== undefined && settings.signature === 'standard' && !decodeKey(given))
    throw invalid('The secret of `standard` is base64, like whsec_….', 'secret')
  if (settings.job !== null && !(await tenantStub(env, tenant.id).jobs.get(authority, settings.job)))
    throw invalid(`There is no job "${settings.job.slice(0, 100)}" for this key.`, 'job')
  if (settings.deliver_only && settings.deliver === null)
    throw invalid('deliver_only needs deliver: the chat that gets the text.', 'deliver')
  if (settings.deliver !== null) await requireChat(call, settings.deliver)
}

async function requireChat({ env, tenant }: Call<unknown, unknown>, deliver: string): Promise<void> {
  const parsed = parseTargets(deliver)
  const [target, ...others] = parsed.ok ? parsed.targets : []
  if ((target?.kind !== 'chat' && target?.kind !== 'home') || others.length)
    throw invalid('deliver is one chat: platform:chat[:thread], or a platform with a home chat.', 'deliver')
  const reader = systemAuthority(tenant.id, { kind: 'job', id: 'webhook' })
  const findHome = (platform: string) => tenantStub(env, tenant.id).chats.home(reader, platform)
  const resolved = await resolveChat({ env, tenantId: tenant.id, findHome }, target)
  if (resolved.kind === 'unknown') throw invalid(resolved.detail, 'deliver')
}

const setStatus = (status: Connection['status'], summary: string) =>
  route({
    method: 'post',
    path: `/api/webhooks/:id/${status === 'paused' ? 'pause' : 'resume'}`,
    scope: 'write',
    tag,
    summary,
    responses: ok('The webhook', webhookShape),
    handle: async (call) => {
      const { env, tenant, authority } = call
      const { id } = await getWebhook(call)
      const changed = await createConnections(env.DB, tenant.id, actorOf(authority)).update(id, { status })
      forgetWebhook(id)
      return Response.json(view(requireFound(changed)))
    },
  })

export const genericWebhookRoutes = [
  route({
    method: 'get',
    path: '/api/webhooks',
    scope: 'read',
    tag,
    summary: 'Webhooks of other services',
    query: z.strictObject(pageQuery),
    responses: ok('Webhooks, newest first', listOf(webhookShape)),
    handle: async ({ env, tenant, query: { limit, cursor } }) => {
      const page = { kind: 'webhook', limit: limit + 1, before: readCursor(cursor) } as const
      const listed = await createConnections(env.DB, tenant.id).list(page)
      const data = listed.slice(0, limit)
      const last = data.at(-1)
      const next = listed.length > limit && last ? `${last.createdAt}-${last.id}` : null
      return Response.json({ data: data.map(view), next_cursor: next })
    },
  }),
  route({
    method: 'post',
    path: '/api/webhooks',
    scope: 'write',
    tag,
    summary: 'Create an address for the events of another service',
    body: z.strictObject({ name, signature, secret, ...fields }),
    responses: created('The webhook', webhookShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      const { name: title, secret: given, ...rest } = body
      const settings = webhookSettings.parse(rest)
      await requireUsable(call, settings, given)
      requireEncryptionKey(env)
      const id = `wh_${crypto.randomUUID().replaceAll('-', '')}`
      const made: Connection = {
        id,
        tenantId: tenant.id,
        platform: webhookPlatform,
        name: title,
        status: 'active',
        createdAt: Date.now(),
        webhookUrl: `${publicOrigin(call)}/webhooks/${webhookPlatform}/${id}`,
        settings,
        secrets: await sealSecrets(env, tenant.id, id, { secret: given }),
        endings: { secret: given.slice(-4) },
        account: null,
      }
      await createConnections(env.DB, tenant.id, actorOf(authority)).create(made)
      return Response.json(view(made), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/webhooks/:id',
    scope: 'read',
    tag,
    summary: 'One webhook',
    responses: ok('The webhook', webhookShape),
    handle: async (call) => Response.json(view(await getWebhook(call))),
  }),
  route({
    method: 'patch',
    path: '/api/webhooks/:id',
    scope: 'write',
    tag,
    summary: 'Change a webhook; fields that are not given stay',
    body: z.strictObject({ name: name.optional(), secret: secret.optional(), ...fields }),
    responses: ok('The webhook', webhookShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      const { name: title, secret: given, ...rest } = body
      const stored = await getWebhook(call)
      const settings = webhookSettings.parse({ ...webhookSettings.parse(stored.settings), ...rest })
      await requireUsable(call, settings, given)
      const sealed = given === undefined ? undefined : await sealSecrets(env, tenant.id, stored.id, { secret: given })
      const secrets = sealed && { secrets: sealed, endings: { secret: given?.slice(-4) ?? '' }, before: stored.secrets }
      const connections = createConnections(env.DB, tenant.id, actorOf(authority))
      const changed = await connections.update(stored.id, { name: title, settings: rest, ...(secrets && { secrets }) })
      forgetWebhook(stored.id)
      return Response.json(view(requireFound(changed)))
    },
  }),
  route({
    method: 'delete',
    path: '/api/webhooks/:id',
    scope: 'write',
    tag,
    summary: 'Remove a webhook; its sessions stay',
    responses: { 204: { description: 'Removed' } },
    handle: async (call) => {
      const { env, authority, tenant } = call
      const { id } = await getWebhook(call)
      requireFound((await createConnections(env.DB, tenant.id, actorOf(authority)).delete(id)) || undefined)
      forgetWebhook(id)
      return new Response(null, { status: 204 })
    },
  }),
  setStatus('paused', 'Ignore events until the webhook is resumed'),
  setStatus('active', 'Accept events again'),
]

function readCursor(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, at, id] = /^(\d{1,16})-([A-Za-z0-9_]{1,100})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw invalidCursor()
  return { at: Number(at), id }
}
