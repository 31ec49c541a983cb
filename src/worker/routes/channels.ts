/** `/api/channels`: connections of the tenant to messaging platforms. Their secrets are only ever written. */

import * as z from 'zod'
import type { Channel, Secrets } from '../../channels/channel.ts'
import { channelOf, channels } from '../../channels/channels.ts'
import { channelSettings, settingsChange } from '../../channels/settings.ts'
import { type Connection, type ConnectionChange, connections } from '../../db/channels.ts'
import { forgetConnection, lineOf, openSecrets, sealSecrets } from '../../durable/channels/connection.ts'
import { AppError, invalid, invalidCursor } from '../errors.ts'
import { type Call, route } from '../route.ts'
import { requireSealing } from '../sealing.ts'
import { found } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'

const tag = 'Channels'

const channelShape = z.object({
  id: z.string(),
  platform: z.string(),
  name: z.string(),
  status: z.enum(['active', 'paused']),
  webhook_url: z.string().describe('The address to which the platform has to send its updates.'),
  settings: channelSettings,
  secrets: z.record(z.string(), z.string()).describe('The last four characters of each.'),
  created_at: z.iso.datetime(),
})

const name = z.string().trim().min(1).max(200)
const secretsGiven = z.record(z.string().max(100), z.string().max(4_096))

const view = (connection: Connection) => ({
  id: connection.id,
  platform: connection.platform,
  name: connection.name,
  status: connection.status,
  webhook_url: connection.webhookUrl,
  settings: connection.settings,
  secrets: connection.endings,
  created_at: new Date(connection.createdAt).toISOString(),
})

/** Those that are needed and those that are known; what is missing is named. */
function secretsOf({ platform, secrets }: Channel, given: Secrets): Secrets {
  for (const known of Object.keys(given))
    if (!Object.hasOwn(secrets, known)) throw invalid(`${platform} has no secret ${known}.`, `secrets.${known}`)
  for (const [needed, { shape, hint }] of Object.entries(secrets)) {
    const value = Object.hasOwn(given, needed) ? given[needed] : undefined
    if (value === undefined) throw invalid(`${platform} needs the secret ${needed}: ${hint}`, `secrets.${needed}`)
    if (!shape.test(value)) throw invalid(`secrets.${needed}: ${hint}`, `secrets.${needed}`)
  }
  return given
}

/** Of a short secret its end would tell too much. */
const endingsOf = (secrets: Secrets) =>
  Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, value.length < 8 ? '****' : value.slice(-4)]))

function platformOf(platform: string): Channel {
  const channel = channelOf(platform)
  if (channel) return channel
  const there = channels.map((one) => one.platform).join(', ')
  throw invalid(`There is no platform ${platform} here. There is: ${there}.`, 'platform')
}

/** The origin under which everybody reaches this deployment. */
const originOf = ({ env, web }: Pick<Call<unknown, unknown>, 'env' | 'web'>): string =>
  (env.PUBLIC_URL || new URL(web.req.url).origin).replace(/\/+$/, '')

const one = ({ env, tenant, param }: Call<unknown, unknown>): Promise<Connection> =>
  connections(env.DB, tenant.id).get(param('id')).then(found)

async function change({ env, tenant, param }: Call<unknown, unknown>, to: ConnectionChange): Promise<Response> {
  const changed = found(await connections(env.DB, tenant.id).change(param('id'), to))
  forgetConnection(changed.id)
  return Response.json(view(changed))
}

/** Secrets are sealed as one: whoever was overtaken by another change begins again with what that one left. */
async function changeSecrets(
  call: Call<unknown, unknown>,
  given: Secrets,
  wish: ConnectionChange,
): Promise<Connection> {
  const { env, tenant } = call
  for (let attempt = 0; attempt < attempts; attempt++) {
    const known = await one(call)
    // Those of before may not open any more: then all of them are needed.
    const kept = await openSecrets(env, known)
    const secrets = secretsOf(platformOf(known.platform), { ...kept, ...given })
    const sealed = await sealSecrets(env, tenant.id, known.id, secrets)
    const to = { ...wish, secrets: { secrets: sealed, endings: endingsOf(secrets), before: known.secrets } }
    const changed = await connections(env.DB, tenant.id).change(known.id, to)
    if (changed) return changed
  }
  throw new AppError(409, 'conflict', 'These secrets are being changed by another request. Try again.', {
    param: 'secrets',
  })
}

/** Of those that change the secrets of one channel at once, one gets through each time. */
const attempts = 8

const setStatus = (status: Connection['status'], summary: string) =>
  route({
    method: 'post',
    path: `/api/channels/:id/${status === 'paused' ? 'pause' : 'resume'}`,
    scope: 'write',
    tag,
    summary,
    responses: ok('The channel', channelShape),
    handle: (call) => change(call, { status }),
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
      const listed = await connections(env.DB, tenant.id).list({ limit: limit + 1, before: readCursor(cursor) })
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
      secrets: secretsGiven.default({}),
      settings: channelSettings.prefault({}),
    }),
    responses: created('The channel', channelShape),
    handle: async (call) => {
      const { env, tenant, body } = call
      const channel = platformOf(body.platform)
      const secrets = secretsOf(channel, body.secrets)
      requireSealing(env)
      const id = `ch_${crypto.randomUUID().replaceAll('-', '')}`
      const made: Connection = {
        id,
        tenantId: tenant.id,
        platform: channel.platform,
        name: body.name ?? channel.platform,
        status: 'active',
        createdAt: Date.now(),
        webhookUrl: `${originOf(call)}/webhooks/${channel.platform}/${id}`,
        settings: body.settings,
        secrets: await sealSecrets(env, tenant.id, id, secrets),
        endings: endingsOf(secrets),
        account: null,
      }
      await connections(env.DB, tenant.id).add(made)
      return Response.json(view(made), { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/channels/:id',
    scope: 'read',
    tag,
    summary: 'One channel',
    responses: ok('The channel', channelShape),
    handle: async (call) => Response.json(view(await one(call))),
  }),
  route({
    method: 'patch',
    path: '/api/channels/:id',
    scope: 'write',
    tag,
    summary: 'Change name, settings or secrets; what is not named stays',
    body: z.strictObject({
      name: name.optional(),
      secrets: secretsGiven.optional(),
      settings: settingsChange.optional(),
    }),
    responses: ok('The channel', channelShape),
    handle: async (call) => {
      const { env, body } = call
      const { secrets: given, ...wish } = body
      if (!given) return change(call, wish)
      requireSealing(env)
      const changed = await changeSecrets(call, given, wish)
      forgetConnection(changed.id)
      return Response.json(view(changed))
    },
  }),
  route({
    method: 'delete',
    path: '/api/channels/:id',
    scope: 'write',
    tag,
    summary: 'Remove a channel; its sessions stay',
    responses: { 204: { description: 'Removed' } },
    handle: async ({ env, tenant, param }) => {
      found((await connections(env.DB, tenant.id).remove(param('id'))) || undefined)
      forgetConnection(param('id'))
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/channels/:id/test',
    scope: 'write',
    tag,
    summary: 'Ask the platform whether the secrets are right',
    responses: ok('What it says', z.object({ ok: z.boolean(), detail: z.string() })),
    handle: async (call) => {
      const { env, tenant } = call
      const connection = await one(call)
      const channel = platformOf(connection.platform)
      const account = await channel.account(lineOf(env, channel, await openSecrets(env, connection)))
      if ('refused' in account) return Response.json({ ok: false, detail: account.refused })
      await connections(env.DB, tenant.id).setAccount(connection, account)
      forgetConnection(connection.id)
      return Response.json({ ok: true, detail: `Connected as ${account.name || account.id}.` })
    },
  }),
  setStatus('paused', 'Listen to nobody until it is resumed'),
  setStatus('active', 'Listen again'),
]

function readCursor(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, at, id] = /^(\d{1,16})-([A-Za-z0-9_]{1,100})$/.exec(cursor) ?? []
  if (at === undefined || id === undefined) throw invalidCursor()
  return { at: Number(at), id }
}
