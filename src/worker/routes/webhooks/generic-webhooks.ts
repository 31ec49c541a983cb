/** Serves `/api/webhooks`: addresses to which other services deliver events. No response contains a secret. */

import { sendAction } from '#tools/tool-names.ts'
import { requireAction } from '../../input/require-action.ts'
import * as z from 'zod'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { parseTargets } from '#agent/schedule/job/targets.ts'
import { webhookFields, webhookSettings } from '#channels/webhook/definition.ts'
import { decodeKey } from '#channels/webhook/verify-webhook.ts'
import { type Connection, webhookPlatform } from '#db/channel-connections.ts'
import { addAuthor, forgetWebhook } from '#durable/channels/webhooks/load-webhook.ts'
import { replaceSecret } from '#durable/channels/webhooks/webhook-secrets.ts'
import { sealSecrets, unsealSecrets } from '#durable/tenant/channels/connection.ts'
import { resolveChat } from '#durable/tenant/channels/resolve-chat.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { listConnections } from '../../connections/connection-page.ts'
import {
  type ConnectionCall,
  connectionsOf,
  createWebhookUrl,
  newConnectionId,
  statusRoutes,
} from '../../connections/connection-routes.ts'
import { invalid } from '../../errors.ts'
import { type RouteCall, route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { requireEncryptionKey } from '../../secrets/require-encryption-key.ts'
import { requireFound } from '../../sessions.ts'
import { created, listOf, ok, pageQuery } from '../../shapes.ts'
import { webhookParam } from '../../openapi/path-params.ts'

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
nameSchemas(
  { Webhook: webhookShape },
  {
    Webhook: {
      id: webhookParam.example,
      name: 'Pull requests',
      webhook_url: `https://talaria.example.com/webhooks/webhook/${webhookParam.example}`,
    },
  },
)

const { name, secret, signature, ...changeable } = webhookFields
const fields = {
  prompt: changeable.prompt.optional(),
  events: changeable.events.optional(),
  filters: changeable.filters.optional(),
  deliver: changeable.deliver.optional(),
  deliver_only: changeable.deliver_only.optional(),
  job: changeable.job.optional(),
}

type StoredWebhookSettings = z.infer<typeof webhookSettings>

const view = (stored: Connection) => ({
  id: stored.id,
  name: stored.name,
  status: stored.status,
  webhook_url: stored.webhookUrl,
  ...webhookSettings.parse(stored.settings),
  secret: stored.endings['secret'] ?? '****',
  created_at: new Date(stored.createdAt).toISOString(),
})

async function getWebhook(call: ConnectionCall): Promise<Connection> {
  const stored = requireFound(await connectionsOf(call).get(call.param('id')))
  return requireFound(stored.platform === webhookPlatform ? stored : undefined)
}

/** A target that does not exist would be found out with the first event, when nobody looks. */
async function requireUsable(
  call: RouteCall<unknown, unknown>,
  settings: StoredWebhookSettings,
  given: string | undefined,
) {
  const { env, tenant, authority } = call
  if (given !== undefined && settings.signature === 'standard' && !decodeKey(given))
    throw invalid('The secret of `standard` is base64, like whsec_….', 'secret')
  if (settings.job !== null && !(await tenantStub(env, tenant.id).jobs.get(authority, settings.job)))
    throw invalid(`There is no job "${settings.job.slice(0, 100)}" for this key.`, 'job')
  if (settings.deliver_only && settings.deliver === null)
    throw invalid('deliver_only needs deliver: the chat that gets the text.', 'deliver')
  if (settings.deliver === null) return
  await requireChat(call, settings.deliver)
  await requireAction(call, { tool: sendAction, input: { target: settings.deliver }, isOrdered: true }, 'deliver')
}

async function requireChat({ env, tenant }: RouteCall<unknown, unknown>, deliver: string): Promise<void> {
  const parsed = parseTargets(deliver)
  const [target, ...others] = parsed.ok ? parsed.targets : []
  if ((target?.kind !== 'chat' && target?.kind !== 'home') || others.length)
    throw invalid('deliver is one chat: platform:chat[:thread], or a platform with a home chat.', 'deliver')
  const reader = systemAuthority(tenant.id, { kind: 'job', id: 'webhook' })
  const findHome = (platform: string) => tenantStub(env, tenant.id).chats.home(reader, platform)
  const resolved = await resolveChat({ env, tenantId: tenant.id, findHome }, target)
  if (resolved.kind === 'unknown') throw invalid(resolved.detail, 'deliver')
}

async function sealReplacement(env: Env, stored: Connection, given: string) {
  const replaced = replaceSecret(await unsealSecrets(env, stored), given, Date.now())
  const secrets = await sealSecrets(env, stored.tenantId, stored.id, replaced)
  return { secrets, endings: { secret: given.slice(-4) }, before: stored.secrets }
}

async function setStatus(call: ConnectionCall, status: Connection['status']) {
  const { id } = await getWebhook(call)
  const changed = await connectionsOf(call).update(id, { status })
  forgetWebhook(id)
  return view(requireFound(changed))
}

export const genericWebhookRoutes = [
  route({
    method: 'get',
    path: '/api/webhooks',
    id: 'listWebhooks',
    scope: 'read',
    tag,
    summary: 'Webhooks of other services',
    query: z.strictObject(pageQuery),
    responses: ok('Webhooks, newest first', listOf(webhookShape)),
    handle: async (call) => {
      const { page, next_cursor } = await listConnections(call, 'webhook')
      return Response.json({ data: page.map(view), next_cursor })
    },
  }),
  route({
    method: 'post',
    path: '/api/webhooks',
    id: 'createWebhook',
    scope: 'write',
    tag,
    summary: 'Create an address for the events of another service',
    example: {
      name: 'Pull requests',
      signature: 'github',
      secret: 'an-example-secret-of-yours',
      events: ['pull_request.opened'],
      prompt: 'Summarise this pull request: {pull_request.title}',
    },
    body: z.strictObject({ name, signature, secret, ...fields }),
    responses: created('The webhook', webhookShape),
    handle: async (call) => {
      const { env, tenant, body } = call
      const { name: title, secret: given, ...rest } = body
      const settings = webhookSettings.parse(rest)
      await requireUsable(call, settings, given)
      requireEncryptionKey(env)
      const named = { id: newConnectionId('wh'), tenantId: tenant.id, platform: webhookPlatform }
      const made: Connection = {
        ...named,
        name: title,
        status: 'active',
        createdAt: Date.now(),
        webhookUrl: createWebhookUrl(call, named),
        settings: { ...settings, ...addAuthor(undefined, call.authority) },
        secrets: await sealSecrets(env, tenant.id, named.id, { secret: given }),
        endings: { secret: given.slice(-4) },
        account: null,
      }
      await connectionsOf(call).create(made)
      return Response.json(view(made), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/webhooks/:id',
    id: 'getWebhook',
    params: { id: webhookParam },
    scope: 'read',
    tag,
    summary: 'One webhook',
    responses: ok('The webhook', webhookShape),
    handle: async (call) => Response.json(view(await getWebhook(call))),
  }),
  route({
    method: 'patch',
    path: '/api/webhooks/:id',
    id: 'updateWebhook',
    params: { id: webhookParam },
    scope: 'write',
    tag,
    summary: 'Change a webhook; fields that are not given stay',
    example: { prompt: 'Review this pull request: {pull_request.title}' },
    body: z.strictObject({ name: name.optional(), secret: secret.optional(), ...fields }),
    responses: ok('The webhook', webhookShape),
    handle: async (call) => {
      const { env, body } = call
      const { name: title, secret: given, ...rest } = body
      const stored = await getWebhook(call)
      const settings = webhookSettings.parse({ ...webhookSettings.parse(stored.settings), ...rest })
      await requireUsable(call, settings, given)
      const secrets = given === undefined ? undefined : await sealReplacement(env, stored, given)
      const authors = addAuthor(stored.settings, call.authority)
      const change = { name: title, settings: { ...rest, ...authors }, ...(secrets && { secrets }) }
      const changed = await connectionsOf(call).update(stored.id, change)
      forgetWebhook(stored.id)
      return Response.json(view(requireFound(changed)))
    },
  }),
  route({
    method: 'delete',
    path: '/api/webhooks/:id',
    id: 'deleteWebhook',
    params: { id: webhookParam },
    scope: 'write',
    tag,
    summary: 'Remove a webhook; its sessions stay',
    responses: { 204: { description: 'Removed' } },
    handle: async (call) => {
      const { id } = await getWebhook(call)
      requireFound((await connectionsOf(call).delete(id)) || undefined)
      forgetWebhook(id)
      return new Response(null, { status: 204 })
    },
  }),
  ...statusRoutes({
    path: '/api/webhooks/:id',
    name: 'Webhook',
    param: webhookParam,
    tag,
    noun: 'webhook',
    shape: webhookShape,
    update: setStatus,
  }),
]
