/** Creates, changes, tests and deletes the connections of a tenant to messaging platforms. */

import type * as z from 'zod'
import type { Channel, Manifest, Registration, Secrets } from '#channels/channel.ts'
import { listPlatforms, loadChannel } from '#channels/channels.ts'
import {
  channelSettings,
  type ChannelSettings,
  normalizeIds,
  type settingsChange,
  type writableSettings,
} from '#channels/settings.ts'
import { type Connection, type ConnectionChange, isAddressTaken, webhookPlatform } from '#db/channel-connections.ts'
import { checkSocket, endSocket, keepSocket } from '#durable/channels/keep-socket.ts'
import {
  apiBaseOf,
  forgetConnection,
  sealSecrets,
  unsealConnection,
  unsealSecrets,
} from '#durable/tenant/channels/connection.ts'
import { AppError, invalid } from '../errors.ts'
import { createTenants, hasMailAddress } from '#db/tenants.ts'
import { policyError } from '../input/settings-patch.ts'
import { requireChannelPolicy, requireSecretsPolicy } from '../input/channel-policy.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { requireFound } from '../sessions.ts'
import { type ConnectionCall, connectionsOf, createWebhookUrl, newConnectionId } from './connection-routes.ts'
import { toHex } from '#durable/platform/hash.ts'
import { projectsOf } from '#durable/tenant/projects/project.ts'
import { createTenantAddressGuard } from '#durable/tenant/tenant-fetch.ts'
import { chooseDelivery } from './choose-delivery.ts'

type NewChannel = {
  readonly platform: string
  readonly name?: string | undefined
  readonly secrets: Secrets
  readonly settings: z.infer<typeof writableSettings>
}
type ChannelChange = {
  readonly name?: string | undefined
  readonly secrets?: Secrets | undefined
  readonly settings?: z.infer<typeof settingsChange> | undefined
}
/** `registration`: absent where the platform has no API for webhooks. */
type Registered = { readonly connection: Connection; readonly registration?: Registration | undefined }

export async function getChannel(call: ConnectionCall): Promise<Connection> {
  const stored = requireFound(await connectionsOf(call).get(call.param('id')))
  return requireFound(stored.platform === webhookPlatform ? undefined : stored)
}

async function requirePlatform(platform: string): Promise<Channel> {
  const channel = await loadChannel(platform)
  if (channel) return channel
  throw invalid(`Unknown platform ${platform}. Supported: ${listPlatforms().join(', ')}.`, 'platform')
}

/** The operator owns the domains of the deployment, and says which tenant has which address. */
async function requireAddress(
  { env, tenant }: ConnectionCall,
  { platform, needsAddress }: Channel,
  { address }: ChannelSettings,
): Promise<void> {
  if (!needsAddress) return
  if (address === null)
    throw invalid(`${platform} needs settings.address: the address of the agent.`, 'settings.address')
  const owner = await createTenants(env.DB).get(tenant.id)
  if (owner && hasMailAddress(owner, address)) return
  throw policyError(
    'settings.address',
    `The address is not assigned to this tenant. The operator assigns it: PATCH /api/admin/tenants/${tenant.id} {"mail": ["${address}"]}.`,
  )
}

/** The guard judges it again at each call: a name may lead elsewhere later. */
async function requireUrl(
  { env, tenant }: ConnectionCall,
  { platform, needsUrl }: Channel,
  { url }: ChannelSettings,
): Promise<void> {
  if (!needsUrl) {
    if (url !== null) throw invalid(`${platform} has no setting url.`, 'settings.url')
    return
  }
  if (url === null) throw invalid(`${platform} needs settings.url: the address of the server.`, 'settings.url')
  const reason = await createTenantAddressGuard(env, tenant.id, (work) => void work).check(url)
  if (reason !== undefined)
    throw new AppError(400, 'blocked_url', `The server may not be called: ${reason}.`, { param: 'settings.url' })
}

/** A doorbell without the object that fetches would lose every message. */
function requireReceiver({ env }: ConnectionCall, { platform, pull }: Channel): void {
  if (pull && !env.CONNECTION)
    throw invalid(`${platform} needs the binding CONNECTION, which fetches its messages.`, 'platform')
}

/** Everybody who may write in the channel gets what the project has, so that this is for those who choose its members. */
async function requireProject({ env, tenant, authority }: ConnectionCall, id: string): Promise<void> {
  const param = 'settings.project'
  const found = await projectsOf(env, tenant.id).find(authority, id)
  if (!found) throw invalid('There is no such project.', param)
  if (found.access !== 'manage')
    throw new AppError(403, 'policy', 'Only members who manage the project may give it to a channel.', { param })
}

/** Mail to an address belongs to one connection. The index decides, so that of two requests one is refused. */
function refuseTakenAddress(error: unknown): never {
  if (!isAddressTaken(error)) throw error
  throw new AppError(409, 'conflict', 'This address belongs to another channel.', { param: 'settings.address' })
}

/** Registers the address of the webhook with the platform. A failure is shown, and a test tries again. */
async function register(env: Env, stored: Connection, isOn: boolean): Promise<Registration | undefined> {
  const channel = await loadChannel(stored.platform)
  if (!channel?.register) return undefined
  const connection = await unsealConnection(env, channel, stored)
  const isCalled = channelSettings.parse(stored.settings).delivery === 'webhook'
  const registration = await channel.register(connection, isOn && isCalled)
  if (!isOn || isCalled || !registration.ok) return registration
  return { ok: true, detail: `${stored.platform} is asked for messages by this server.` }
}

type DeliveryRequest = {
  readonly webhookUrl: string
  readonly delivery: ChannelSettings['delivery'] | undefined
  readonly secrets?: Secrets
}

function requireDelivery(
  { env }: ConnectionCall,
  channel: Channel,
  { webhookUrl, delivery, secrets = {} }: DeliveryRequest,
): ChannelSettings['delivery'] {
  const hasSocketSecret = Object.keys(secrets).some((key) => channel.secrets[key]?.for === 'socket')
  const chosen = chooseDelivery({
    asked: delivery,
    platform: channel.platform,
    ways: [...(channel.poll ? (['polling'] as const) : []), ...(channel.openSocket ? (['socket'] as const) : [])],
    hasSocketSecret,
    hasReceiver: env.CONNECTION !== undefined,
    webhookUrl,
    apiBase: apiBaseOf(env, channel),
  })
  if (typeof chosen === 'string') return chosen
  throw invalid(chosen.refusal, 'settings.delivery')
}

/** `generated`: secrets that the request did not give. */
export async function createChannel(
  call: ConnectionCall,
  { platform, name, secrets: given, settings: written }: NewChannel,
): Promise<Registered & { readonly generated: Secrets }> {
  const { env, tenant } = call
  const channel = await requirePlatform(platform)
  const named = { id: newConnectionId('ch'), tenantId: tenant.id, platform: channel.platform }
  const webhookUrl = createWebhookUrl(call, named)
  const settings = channelSettings.parse({
    ...(channel.normalizeId ? normalizeIds(written, channel.normalizeId) : written),
    delivery: requireDelivery(call, channel, { webhookUrl, delivery: written.delivery, secrets: given }),
  })
  requireChannelPolicy(call, undefined, settings)
  await requireAddress(call, channel, settings)
  await requireUrl(call, channel, settings)
  if (settings.project !== null) await requireProject(call, settings.project)
  requireReceiver(call, channel)
  const generated = generateSecrets(channel, given)
  const secrets = validateSecrets(channel, { ...given, ...generated }, settings.delivery)
  requireEncryptionKey(env)
  const connection: Connection = {
    ...named,
    name: name ?? channel.platform,
    status: 'active',
    createdAt: Date.now(),
    webhookUrl,
    settings,
    ...(await sealChannelSecrets(env, named, secrets)),
    account: null,
  }
  await connectionsOf(call).create(connection).catch(refuseTakenAddress)
  // The object has its cursor before the platform rings.
  if (channel.pull) await keepSocket(env, connection)
  const registration = await register(env, connection, true)
  if (!channel.pull) await keepSocket(env, connection)
  return { connection, generated, registration }
}

/** Fields that are not given stay. New secrets are registered with the platform. */
export async function updateChannel(
  call: ConnectionCall,
  { secrets: given, settings: written, ...more }: ChannelChange,
): Promise<Registered> {
  const { env, param } = call
  const { platform, settings, webhookUrl } = await getChannel(call)
  const changes = { ...more, ...(written && { settings: await normalizeChange(platform, written) }) }
  const before = channelSettings.parse(settings)
  if (changes.settings) await requireSettings(call, { platform, before, change: changes.settings, webhookUrl })
  requireSecretsOfUrl({ before: before.url, after: changes.settings?.url }, given, await requirePlatform(platform))
  const isMoved = changes.settings?.delivery !== undefined && changes.settings.delivery !== before.delivery
  const write = (change: ConnectionChange) => connectionsOf(call).update(param('id'), change).catch(refuseTakenAddress)
  if (!given) {
    if (isMoved) await requireStoredSecrets(call, changes.settings?.delivery)
    const connection = requireFound(await write(changes))
    forgetConnection(connection.id)
    return isMoved ? receiveAnew(env, connection, isMoved) : { connection }
  }
  requireSecretsPolicy(call, before)
  requireEncryptionKey(env)
  const connection = await updateSecrets(env, {
    channel: await requirePlatform(platform),
    delivery: changes.settings?.delivery ?? before.delivery,
    given,
    load: () => getChannel(call),
    write: (secrets) => write({ ...changes, secrets }),
  })
  forgetConnection(connection.id)
  return receiveAnew(env, connection, isMoved)
}

/** A token goes to the server that it belongs to, and to no other. */
function requireSecretsOfUrl(
  { before, after }: { readonly before: string | null; readonly after: string | null | undefined },
  given: Secrets = {},
  { secrets }: Channel,
): void {
  if (after === undefined || before === null || after === null || new URL(after).origin === new URL(before).origin)
    return
  const missing = Object.keys(secrets).find((name) => secrets[name]?.for === undefined && !Object.hasOwn(given, name))
  if (missing !== undefined)
    throw invalid('Another server needs its own secrets: give all of them.', `secrets.${missing}`)
}

/** Ends one way of receiving before the other begins: a platform delivers by one of them. */
async function receiveAnew(env: Env, connection: Connection, isMoved: boolean): Promise<Registered> {
  if (isMoved && channelSettings.parse(connection.settings).delivery === 'webhook') await endSocket(env, connection)
  const registration = await register(env, connection, true)
  await keepSocket(env, connection)
  return { connection, registration }
}

/** A channel whose platform this deployment does not have can still be changed. */
async function normalizeChange(platform: string, change: z.infer<typeof settingsChange>) {
  const { normalizeId } = (await loadChannel(platform)) ?? {}
  return normalizeId ? normalizeIds(change, normalizeId) : change
}

type SettingsUpdate = {
  readonly platform: string
  readonly before: ChannelSettings
  readonly change: z.infer<typeof settingsChange>
  readonly webhookUrl: string
}

async function requireSettings(
  call: ConnectionCall,
  { platform, before, change, webhookUrl }: SettingsUpdate,
): Promise<void> {
  const after = channelSettings.parse({ ...before, ...change })
  requireChannelPolicy(call, before, after)
  if (change.delivery !== undefined && change.delivery !== before.delivery)
    requireDelivery(call, await requirePlatform(platform), { webhookUrl, delivery: change.delivery })
  if (after.address !== before.address) await requireAddress(call, await requirePlatform(platform), after)
  if (after.project !== null && after.project !== before.project) await requireProject(call, after.project)
  if (after.url !== before.url) await requireUrl(call, await requirePlatform(platform), after)
}

export async function setChannelStatus(call: ConnectionCall, status: Connection['status']): Promise<Connection> {
  await getChannel(call)
  const changed = requireFound(await connectionsOf(call).update(call.param('id'), { status }))
  forgetConnection(changed.id)
  await keepSocket(call.env, changed)
  return changed
}

export async function deleteChannel(call: ConnectionCall): Promise<void> {
  const { env, web } = call
  const stored = await getChannel(call)
  requireFound((await connectionsOf(call).delete(stored.id)) || undefined)
  forgetConnection(stored.id)
  await keepSocket(env, { ...stored, status: 'removed' })
  // The platform would go on sending to an address that is gone.
  web.executionCtx.waitUntil(register(env, stored, false))
}

/** Checks the secrets with the platform, and registers the webhook again. */
export async function testChannel(call: ConnectionCall): Promise<Registration> {
  const { env } = call
  const connection = await getChannel(call)
  const channel = await requirePlatform(connection.platform)
  const account = await channel.getAccount(await unsealConnection(env, channel, connection))
  if ('refused' in account) return { ok: false, detail: account.refused }
  await connectionsOf(call).setAccount(connection, account)
  forgetConnection(connection.id)
  const registration = await register(env, connection, true)
  const parts = [
    `Connected as ${account.name || account.id}.`,
    registration?.detail,
    await checkSocket(env, connection),
  ]
  return { ok: registration?.ok ?? true, detail: parts.filter(Boolean).join(' ') }
}

/** Undefined where the platform has no app to install. */
export async function getManifest(call: ConnectionCall): Promise<Manifest | undefined> {
  const connection = await getChannel(call)
  const channel = await requirePlatform(connection.platform)
  return channel.manifest?.(await unsealConnection(call.env, channel, connection), connection.name)
}

/** Another delivery may need secrets that the connection does not have. */
async function requireStoredSecrets(call: ConnectionCall, delivery: ChannelSettings['delivery'] = 'webhook') {
  const stored = await getChannel(call)
  validateSecrets(await requirePlatform(stored.platform), await unsealSecrets(call.env, stored), delivery)
}

/** Throws unless all secrets that the platform needs for this delivery are given, and no unknown ones. */
function validateSecrets(
  { platform, secrets: required, secretSets }: Channel,
  secrets: Secrets,
  delivery: ChannelSettings['delivery'],
): Secrets {
  for (const key of Object.keys(secrets))
    if (!Object.hasOwn(required, key)) throw invalid(`${platform} has no secret ${key}.`, `secrets.${key}`)
  for (const [needed, { shape, hint, isOptional, for: way = delivery }] of Object.entries(required)) {
    const value = Object.hasOwn(secrets, needed) ? secrets[needed] : undefined
    if (value === undefined && (isOptional || way !== delivery)) continue
    if (value === undefined) throw invalid(`${platform} needs the secret ${needed}: ${hint}`, `secrets.${needed}`)
    if (!shape.test(value)) throw invalid(`secrets.${needed}: ${hint}`, `secrets.${needed}`)
  }
  requireSecretSet(platform, secretSets, secrets)
  return secrets
}

function requireSecretSet(platform: string, sets: Channel['secretSets'], secrets: Secrets): void {
  if (!sets || sets.some((set) => set.every((name) => Object.hasOwn(secrets, name)))) return
  const choices = sets.map((set) => set.join(', ')).join(', or ')
  throw invalid(`${platform} needs ${choices}.`, `secrets.${sets[0]?.[0]}`)
}

/** Generates the secrets that are not given and that need not come from the platform. */
const generateSecrets = ({ secrets }: Channel, given: Secrets): Secrets =>
  Object.fromEntries(
    Object.entries(secrets)
      .filter(([key, { isGenerated }]) => isGenerated && !Object.hasOwn(given, key))
      .map(([key]) => [key, toHex(crypto.getRandomValues(new Uint8Array(32)))]),
  )

type SealedConnection = Pick<Connection, 'secrets' | 'endings'>

const sealChannelSecrets = async (
  env: Env,
  { tenantId, id }: Pick<Connection, 'tenantId' | 'id'>,
  secrets: Secrets,
): Promise<SealedConnection> => ({
  secrets: await sealSecrets(env, tenantId, id, secrets),
  endings: endingsOf(secrets),
})

/** The end of a short secret would reveal too much of it. */
const endingsOf = (secrets: Secrets) =>
  Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, value.length < 8 ? '****' : value.slice(-4)]))

type SecretsUpdate = {
  readonly channel: Channel
  readonly delivery: ChannelSettings['delivery']
  readonly given: Secrets
  readonly load: () => Promise<Connection>
  /** Undefined when the secrets changed since they were loaded. */
  readonly write: (secrets: NonNullable<ConnectionChange['secrets']>) => Promise<Connection | undefined>
}

/** Of several concurrent changes, one succeeds in each round. */
const maxAttempts = 8

/**
 * Secrets are sealed as one value, so a change of one reads and replaces all of them. A change that another one overtook
 * starts again from the new value.
 */
async function updateSecrets(env: Env, { channel, delivery, given, load, write }: SecretsUpdate): Promise<Connection> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = await load()
    // Secrets that cannot be opened any more are missing here, so the request must give all of them.
    const merged = validateSecrets(channel, { ...(await unsealSecrets(env, stored)), ...given }, delivery)
    const changed = await write({ ...(await sealChannelSecrets(env, stored, merged)), before: stored.secrets })
    if (changed) return changed
  }
  throw new AppError(409, 'conflict', 'These secrets are being changed by another request. Try again.', {
    param: 'secrets',
  })
}
