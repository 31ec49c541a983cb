/** Serves `/api/channels`: the tenant's connections to messaging platforms. No response contains a secret. */

import * as z from 'zod'
import type { Channel } from '#channels/channel.ts'
import { listPlatforms, loadChannel } from '#channels/channels.ts'
import { channelSettings, settingsChange, writableSettings } from '#channels/settings.ts'
import type { Connection } from '#db/channel-connections.ts'
import {
  createChannel,
  deleteChannel,
  getChannel,
  getManifest,
  setChannelStatus,
  testChannel,
  updateChannel,
} from '../connections/channel-connections.ts'
import { listConnections } from '../connections/connection-page.ts'
import { respondWithFile } from '../files/file-response.ts'
import { requireFound } from '../sessions.ts'
import { statusRoutes } from '../connections/connection-routes.ts'
import { route } from '../route.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'
import { channelParam } from '../openapi/path-params.ts'

const tag = 'Channels'

const channelShape = z.object({
  id: z.string(),
  platform: z.string(),
  name: z.string(),
  status: z.enum(['active', 'paused']),
  webhook_url: z.string().describe('The address to which the platform has to send its updates.'),
  settings: writableSettings,
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
nameSchemas(
  { Channel: channelShape },
  {
    Channel: {
      id: channelParam.example,
      platform: 'telegram',
      name: 'support',
      webhook_url: `https://talaria.example.com/webhooks/telegram/${channelParam.example}`,
      settings: {},
    },
  },
)

const platformShape = z.object({
  platform: z.string(),
  name: z.string().describe('As people write it.'),
  delivery: z.array(z.string()).describe('The values of settings.delivery that the platform has.'),
  secrets: z.array(
    z.object({
      name: z.string(),
      required: z.boolean(),
      hint: z.string(),
      delivery: z.string().optional().describe('Needed only for this settings.delivery.'),
    }),
  ),
  settings: z.array(z.string()).describe('Settings that only this platform has.'),
  choices: z
    .record(z.string(), z.array(z.string()))
    .describe('The values of those settings that are no free text. An empty list: any texts.'),
  guide: z.string().describe('The page of the documentation, at this server.'),
})
nameSchemas(
  { Platform: platformShape },
  {
    Platform: {
      platform: 'telegram',
      name: 'Telegram',
      delivery: ['webhook', 'polling'],
      secrets: [{ name: 'bot_token', required: true, hint: 'The token that @BotFather gave.' }],
      settings: ['secretary'],
      choices: { secretary: ['true', 'false'] },
      guide: '/docs/telegram.html',
    },
  },
)

const name = z.string().trim().min(1).max(200)
const secretsField = z.record(z.string().max(100), z.string().max(4_096))

function shownSettings({ settings }: Connection) {
  const { moved_chats: _kept, ...shown } = channelSettings.parse(settings)
  return shown
}

const view = (connection: Connection) => ({
  id: connection.id,
  platform: connection.platform,
  name: connection.name,
  status: connection.status,
  webhook_url: connection.webhookUrl,
  settings: shownSettings(connection),
  secrets: connection.endings,
  created_at: new Date(connection.createdAt).toISOString(),
})

export const channelRoutes = [
  route({
    method: 'get',
    path: '/api/channels',
    id: 'listChannels',
    scope: 'read',
    tag,
    summary: 'Connections to messaging platforms',
    query: z.strictObject(pageQuery),
    responses: ok('Channels, newest first', listOf(channelShape)),
    handle: async (call) => {
      const { page, next_cursor } = await listConnections(call, 'channel')
      return Response.json({ data: page.map(view), next_cursor })
    },
  }),
  route({
    method: 'post',
    path: '/api/channels',
    id: 'createChannel',
    scope: 'write',
    tag,
    summary: 'Connect a messaging platform',
    example: {
      platform: 'telegram',
      secrets: { bot_token: '123456:AAExampleExampleExampleExampleExample' },
      settings: { allow_users: ['4711'] },
    },
    body: z.strictObject({
      platform: z.string().max(100),
      name: name.optional(),
      secrets: secretsField.default({}),
      settings: writableSettings.prefault({}),
    }),
    responses: created('The channel', channelShape),
    handle: async (call) => {
      const { connection, generated, registration } = await createChannel(call, call.body)
      const shown = {
        ...view(connection),
        ...(registration && { registration }),
        ...(Object.keys(generated).length > 0 && { generated }),
      }
      return Response.json(shown, { status: 201 })
    },
  }),
  route({
    method: 'get',
    path: '/api/channels/platforms',
    id: 'listPlatforms',
    scope: 'read',
    tag,
    summary: 'Messaging platforms, with the secrets and settings that a connection to each needs',
    responses: ok('The platforms', z.object({ data: z.array(platformShape) })),
    handle: async () => {
      return Response.json({ data: await listCatalogue() })
    },
  }),
  route({
    method: 'get',
    path: '/api/channels/:id',
    id: 'getChannel',
    params: { id: channelParam },
    scope: 'read',
    tag,
    summary: 'One channel',
    responses: ok('The channel', channelShape),
    handle: async (call) => Response.json(view(await getChannel(call))),
  }),
  route({
    method: 'patch',
    path: '/api/channels/:id',
    id: 'updateChannel',
    params: { id: channelParam },
    scope: 'write',
    tag,
    summary: 'Change name, settings or secrets; fields that are not given stay',
    example: { name: 'support' },
    body: z.strictObject({
      name: name.optional(),
      secrets: secretsField.optional(),
      settings: settingsChange.optional(),
    }),
    responses: ok('The channel', channelShape),
    handle: async (call) => {
      const { connection, registration } = await updateChannel(call, call.body)
      return Response.json({ ...view(connection), ...(registration && { registration }) })
    },
  }),
  route({
    method: 'delete',
    path: '/api/channels/:id',
    id: 'deleteChannel',
    params: { id: channelParam },
    scope: 'write',
    tag,
    summary: 'Remove a channel; its sessions stay',
    responses: { 204: { description: 'Removed' } },
    handle: async (call) => {
      await deleteChannel(call)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'post',
    path: '/api/channels/:id/test',
    id: 'testChannel',
    params: { id: channelParam },
    scope: 'write',
    tag,
    summary: 'Check the secrets with the platform, and register the webhook where it has an API for it',
    responses: ok('The result of the check', z.object({ ok: z.boolean(), detail: z.string() })),
    handle: async (call) => Response.json(await testChannel(call)),
  }),
  route({
    method: 'get',
    path: '/api/channels/:id/manifest',
    id: 'getChannelManifest',
    params: { id: channelParam },
    scope: 'read',
    tag,
    summary: 'The app to install at the platform: a zip file for Teams, JSON for Slack',
    responses: { 200: { description: 'The app', type: 'application/octet-stream' } },
    handle: async (call) => {
      const { bytes, mime, name: file } = requireFound(await getManifest(call))
      return respondWithFile(bytes, mime, file)
    },
  }),
  ...statusRoutes({
    path: '/api/channels/:id',
    name: 'Channel',
    param: channelParam,
    tag,
    noun: 'channel',
    shape: channelShape,
    update: async (call, status) => view(await setChannelStatus(call, status)),
  }),
]

/** Loads the code of every platform. Only set-up pages ask. */
async function listCatalogue() {
  const channels = await Promise.all(listPlatforms().map(loadChannel))
  return channels.flatMap((channel) => (channel ? [describePlatform(channel)] : []))
}

const describePlatform = ({
  platform,
  name: title,
  secrets,
  needsAddress,
  needsUrl,
  ownSettings = [],
  poll,
  openSocket,
}: Channel) => ({
  platform,
  name: title,
  delivery: ['webhook', ...(poll ? ['polling'] : []), ...(openSocket ? ['socket'] : [])],
  secrets: Object.entries(secrets).map(([key, { hint, isGenerated, isOptional, for: delivery }]) => ({
    name: key,
    required: !isGenerated && !isOptional && delivery !== 'socket',
    hint,
    ...(delivery && { delivery }),
  })),
  settings: [...(needsAddress ? ['address'] : []), ...(needsUrl ? ['url'] : []), ...ownSettings],
  choices: Object.fromEntries(ownSettings.flatMap(listChoices)),
  guide: `/docs/${platform.replaceAll('_', '-')}.html`,
})

function listChoices(setting: string): readonly (readonly [string, readonly string[]])[] {
  let shape: unknown = channelSettings.shape[setting as keyof typeof channelSettings.shape]
  while (shape instanceof z.ZodDefault || shape instanceof z.ZodNullable) shape = shape.unwrap()
  if (shape instanceof z.ZodBoolean) return [[setting, ['true', 'false']]]
  if (shape instanceof z.ZodEnum) return [[setting, shape.options.map(String)]]
  return shape instanceof z.ZodArray ? [[setting, []]] : []
}
