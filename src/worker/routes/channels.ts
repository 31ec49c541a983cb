/** Serves `/api/channels`: the tenant's connections to messaging platforms. No response contains a secret. */

import * as z from 'zod'
import { actorOf } from '../../agent/model/permission/audit.ts'
import type { Channel, Secrets } from '../../channels/channel.ts'
import { listPlatforms, loadChannel } from '../../channels/channels.ts'
import { channelSettings, settingsChange } from '../../channels/settings.ts'
import {
  type Connection,
  type ConnectionChange,
  createConnections,
  isAddressTaken,
  webhookPlatform,
} from '../../db/channel-connections.ts'
import {
  forgetConnection,
  sealSecrets,
  unsealConnection,
  unsealSecrets,
} from '../../durable/tenant/channels/connection.ts'
import { checkSocket, keepSocket } from '../../durable/channels/keep-socket.ts'
import { AppError, invalid, invalidCursor } from '../errors.ts'
import { type Call, route } from '../route.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { requireChannelPolicy, requireSecretsPolicy } from '../input/channel-policy.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const tag = 'Channels'

const channelShape = z.object({
  id: z.string(),
  platform: z.string(),
  name: z.string(),
  status: z.enum(['active', 'paused']),
  webhook_url: z.string().describe('The address to which the platform has to send its updates.'),
  settings: channelSettings,
  secrets: z.record(z.string(), z.string()).describe('The last four characters of each.'),
  generated: z.record(z.string(), z.string()).optional().describe('Secrets that were generated. Shown only here.'),
  registration: z
    .object({ ok: z.boolean(), detail: z.string() })
    .optional()
    .describe(
      'Whether the platform sends its updates here now. Only after a change, and only where it has an API for it.',
    ),
  created_at: z.iso.datetime(),
})
nameSchemas({ Channel: channelShape })

const name = z.string().trim().min(1).max(200)
const secretsField = z.record(z.string().max(100), z.string().max(4_096))

const view = (connection: Connection) => ({
  id: connection.id,
  platform: connection.platform,
  name: connection.name,
  status: connection.status,
  webhook_url: connection.webhookUrl,
  settings: channelSettings.parse(connection.settings),
  secrets: connection.endings,
  created_at: new Date(connection.createdAt).toISOString(),
})

/** Throws unless all secrets of the platform are given, and no others. */
function validateSecrets({ platform, secrets: required }: Channel, secrets: Secrets): Secrets {
  for (const key of Object.keys(secrets))
    if (!Object.hasOwn(required, key)) throw invalid(`${platform} has no secret ${key}.`, `secrets.${key}`)
  for (const [needed, { shape, hint }] of Object.entries(required)) {
    const value = Object.hasOwn(secrets, needed) ? secrets[needed] : undefined
    if (value === undefined) throw invalid(`${platform} needs the secret ${needed}: ${hint}`, `secrets.${needed}`)
    if (!shape.test(value)) throw invalid(`secrets.${needed}: ${hint}`, `secrets.${needed}`)
  }
  return secrets
}

/** Generates the secrets that are not given and that need not come from the platform. */
const generateSecrets = ({ secrets }: Channel, given: Secrets): Secrets =>
  Object.fromEntries(
    Object.entries(secrets)
      .filter(([key, { isGenerated }]) => isGenerated && !Object.hasOwn(given, key))
      .map(([key]) => [key, [...crypto.getRandomValues(new Uint8Array(32))].map(toHex).join('')]),
  )

const toHex = (byte: number) => byte.toString(16).padStart(2, '0')

/** The end of a short secret would reveal too much of it. */
const endingsOf = (secrets: Secrets) =>
  Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, value.length < 8 ? '****' : value.slice(-4)]))

async function requireChannel(platform: string): Promise<Channel> {
  const channel = await loadChannel(platform)
  if (channel) return channel
  throw invalid(`Unknown platform ${platform}. Supported: ${listPlatforms().join(', ')}.`, 'platform')
}

function requireAddress({ platform, needsAddress }: Channel, { address }: z.infer<typeof channelSettings>): void {
  if (needsAddress && address === null)
    throw invalid(`${platform} needs settings.address: the address of the agent.`, 'settings.address')
}

/** Mail to an address belongs to one connection. The index decides, so that of two requests one is refused. */
function refuseTakenAddress(error: unknown): never {
  if (!isAddressTaken(error)) throw error
  throw new AppError(409, 'conflict', 'This address belongs to another channel.', { param: 'settings.address' })
}

/** Tells the platform the address of the webhook. A failure is shown, and `test` tries again. */
async function register({ env }: Pick<Call<unknown, unknown>, 'env'>, stored: Connection, isOn: boolean) {
  const channel = await loadChannel(stored.platform)
  if (!channel?.register) return undefined
  return channel.register(await unsealConnection(env, channel, stored), isOn)
}

const viewWithRegistration = async (call: Pick<Call<unknown, unknown>, 'env'>, stored: Connection) => {
  const registration = await register(call, stored, true)
  return { ...view(stored), ...(registration && { registration }) }
}

/** The public origin of the deployment. */
const publicOrigin = ({ env, web }: Pick<Call<unknown, unknown>, 'env' | 'web'>): string =>
  (env.PUBLIC_URL || new URL(web.req.url).origin).replace(/\/+$/, '')

async function getConnection({ env, tenant, param }: Call<unknown, unknown>): Promise<Connection> {
  const stored = requireFound(await createConnections(env.DB, tenant.id).get(param('id')))
  return requireFound(stored.platform === webhookPlatform ? undefined : stored)
}

async function changeConnection(call: Call<unknown, unknown>, to: ConnectionChange): Promise<Response> {
  const { env, authority, tenant, param } = call
  await getConnection(call)
  const connections = createConnections(env.DB, tenant.id, actorOf(authority))
  const changed = requireFound(await connections.update(param('id'), to).catch(refuseTakenAddress))
  forgetConnection(changed.id)
  if (to.status !== undefined) await keepSocket(env, changed)
  return Response.json(view(changed))
}

/** Of several concurrent changes, one succeeds in each round. */
const maxAttempts = 8

/**
 * Secrets are sealed as one value, so a change of one reads and replaces all of them. A change that another one overtook
 * starts again from the new value.
 */
async function changeSecrets(
  call: Call<unknown, unknown>,
  secrets: Secrets,
  changes: ConnectionChange,
): Promise<Connection> {
  const { env, authority, tenant } = call
  const connections = createConnections(env.DB, tenant.id, actorOf(authority))
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = await getConnection(call)
    // Secrets that cannot be opened any more are missing here, so the request must give all of them.
    const current = await unsealSecrets(env, stored)
    const merged = validateSecrets(await requireChannel(stored.platform), { ...current, ...secrets })
    const sealed = await sealSecrets(env, tenant.id, stored.id, merged)
    const to = { ...changes, secrets: { secrets: sealed, endings: endingsOf(merged), before: stored.secrets } }
    const changed = await connections.update(stored.id, to).catch(refuseTakenAddress)
    if (changed) return changed
  }
  throw new AppError(409, 'conflict', 'These secrets are being changed by another request. Try again.', {
    param: 'secrets',
  })
}

const setStatus = (status: Connection['status'], summary: string) =>
  route({
    method: 'post',
    path: `/api/channels/:id/${status === 'paused' ? 'pause' : 'resume'}`,
    scope: 'write',
    tag,
    summary,
    responses: ok('The channel', channelShape),
    handle: (call) => changeConnection(call, { status }),
  })

export const channelRoutes = [
  route({
    method: 'get',
    path: '/api/channels',
    scope: 'read',
    tag,
    summary: 'Connections to messaging platforms',
    query: z.strictObject(pageQuery),
    responses: ok('Channels, newest first', listOf(channelShape)),
    handle: async ({ env, tenant, query: { limit, cursor } }) => {
      const listed = await createConnections(env.DB, tenant.id).list({
        kind: 'channel',
        limit: limit + 1,
        before: readCursor(cursor),
      })
      const page = listed.slice(0, limit)
      const last = page.at(-1)
      const next = listed.length > limit && last ? `${last.createdAt}-${last.id}` : null
      return Response.json({ data: page.map(view), next_cursor: next })
    },
  }),
  route({
    method: 'post',
    path: '/api/channels',
    scope: 'write',
    tag,
    summary: 'Connect a messaging platform',
    body: z.strictObject({
      platform: z.string().max(100),
      name: name.optional(),
      secrets: secretsField.default({}),
      settings: channelSettings.prefault({}),
    }),
    responses: created('The channel', channelShape),
    handle: async (call) => {
      const { env, authority, tenant, body } = call
      requireChannelPolicy(call, undefined, body.settings)
      const channel = await requireChannel(body.platform)
      requireAddress(channel, body.settings)
      const generated = generateSecrets(channel, body.secrets)
      const secrets = validateSecrets(channel, { ...body.secrets, ...generated })
      requireEncryptionKey(env)
      const id = `ch_${crypto.randomUUID().replaceAll('-', '')}`
      const made: Connection = {
        id,
        tenantId: tenant.id,
        platform: channel.platform,
        name: body.name ?? channel.platform,
        status: 'active',
        createdAt: Date.now(),
        webhookUrl: `${publicOrigin(call)}/webhooks/${channel.platform}/${id}`,
        settings: body.settings,
        secrets: await sealSecrets(env, tenant.id, id, secrets),
        endings: endingsOf(secrets),
        account: null,
      }
      await createConnections(env.DB, tenant.id, actorOf(authority)).create(made).catch(refuseTakenAddress)
      await keepSocket(env, made)
      const shown = await viewWithRegistration(call, made)
      return Response.json(Object.keys(generated).length ? { ...shown, generated } : shown, { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/channels/:id',
    scope: 'read',
    tag,
    summary: 'One channel',
    responses: ok('The channel', channelShape),
    handle: async (call) => Response.json(view(await getConnection(call))),
  }),
  route({
    method: 'patch',
    path: '/api/channels/:id',
    scope: 'write',
    tag,
    summary: 'Change name, settings or secrets; fields that are not given stay',
    body: z.strictObject({
      name: name.optional(),
      secrets: secretsField.optional(),
      settings: settingsChange.optional(),
    }),
    responses: ok('The channel', channelShape),
    handle: async (call) => {
      const { env, body } = call
      const { secrets, ...changes } = body
      const { platform, settings } = await getConnection(call)
      const before = channelSettings.parse(settings)
      if (changes.settings) {
        const after = channelSettings.parse({ ...before, ...changes.settings })
        requireChannelPolicy(call, before, after)
        if (after.address !== before.address) requireAddress(await requireChannel(platform), after)
      }
      if (!secrets) return changeConnection(call, changes)
      requireSecretsPolicy(call, before)
      requireEncryptionKey(env)
      const changed = await changeSecrets(call, secrets, changes)
      forgetConnection(changed.id)
      await keepSocket(env, changed)
      return Response.json(await viewWithRegistration(call, changed))
    },
  }),
  route({
    method: 'delete',
    path: '/api/channels/:id',
    scope: 'write',
    tag,
    summary: 'Remove a channel; its sessions stay',
    responses: { 204: { description: 'Removed' } },
    handle: async (call) => {
      const { env, web, authority, tenant } = call
      const stored = await getConnection(call)
      requireFound((await createConnections(env.DB, tenant.id, actorOf(authority)).delete(stored.id)) || undefined)
      forgetConnection(stored.id)
      await keepSocket(env, { ...stored, status: 'paused' })
      // The platform would go on sending to an address that is gone.
      web.executionCtx.waitUntil(register(call, stored, false))
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/channels/:id/test',
    scope: 'write',
    tag,
    summary: 'Check the secrets with the platform, and register the webhook where it has an API for it',
    responses: ok('The result of the check', z.object({ ok: z.boolean(), detail: z.string() })),
    handle: async (call) => {
      const { env, tenant } = call
      const connection = await getConnection(call)
      const channel = await requireChannel(connection.platform)
      const account = await channel.getAccount(await unsealConnection(env, channel, connection))
      if ('refused' in account) return Response.json({ ok: false, detail: account.refused })
      await createConnections(env.DB, tenant.id).setAccount(connection, account)
      forgetConnection(connection.id)
      const registration = await register(call, connection, true)
      const socket = await checkSocket(env, connection)
      const parts = [`Connected as ${account.name || account.id}.`, registration?.detail, socket]
      const detail = parts.filter(Boolean).join(' ')
      return Response.json({ ok: registration?.ok ?? true, detail })
    },
  }),
  setStatus('paused', 'Ignore events until the channel is resumed'),
  setStatus('active', 'Accept events again'),
]

function readCursor(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, at, id] = /^(\d{1,16})-([A-Za-z0-9_]{1,100})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw invalidCursor()
  return { at: Number(at), id }
}
