/**
 * Loads connections from D1 and opens their secrets. Each isolate caches them for ten seconds, and for an hour while D1
 * is unavailable, so that answers still leave. Of many webhooks at once one loads the connection again; the others use
 * the cached one.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { BotAccount, Channel, ChannelConnection, Secrets, Speech } from '#channels/channel.ts'
import { loadChannel } from '#channels/channels.ts'
import { channelSettings, type ChannelSettings } from '#channels/settings.ts'
import { getConnectionById, type Connection } from '#db/channel-connections.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { type SecretOwner, unseal } from '#durable/platform/seal.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { sealForTenant } from '../secrets/tenant-seal.ts'
import { variablesOf } from '#durable/platform/variables.ts'

export type LoadedConnection = ChannelConnection & {
  readonly id: string
  readonly tenantId: string
  readonly status: Connection['status']
  readonly channel: Channel
  readonly settings: ChannelSettings
  readonly sealedSecrets: string
  readonly account: BotAccount | undefined
}

/** A connection that exists but cannot be used, and the reason. */
type Unusable = { readonly refused: string }

const freshMs = 10_000
/** At this age one request loads the connection again. The others do not wait for it, because it may be cancelled. */
const refreshAfterMs = 5_000
const staleMs = 3_600_000

/** `refreshedAt`: when the last load began. */
type CachedConnection = { readonly at: number; readonly value: LoadedConnection | Unusable; refreshedAt: number }
const cache = new BoundedMap<string, CachedConnection>(5_000)
/** Counts changes: a connection that was loaded across one may be older than it and is not cached. */
let changeCount = 0

function isFresh({ at, refreshedAt }: CachedConnection, now: number): boolean {
  const age = now - at
  return age < refreshAfterMs || (age < freshMs && now - refreshedAt < refreshAfterMs)
}

/** Returns undefined when the connection does not exist. Rejects while D1 is unavailable and nothing is cached. */
export async function loadConnection(
  env: Env,
  id: string,
  now: number,
): Promise<LoadedConnection | Unusable | undefined> {
  const cached = cache.get(id)
  if (cached && isFresh(cached, now)) return cached.value
  if (cached) cached.refreshedAt = now
  const before = changeCount
  let stored: Connection | undefined
  try {
    stored = await getConnectionById(env.DB, id)
  } catch (error) {
    if (cached && now - cached.at < staleMs) return cached.value
    throw error
  }
  if (!stored) {
    cache.delete(id)
    return undefined
  }
  const value = await openConnection(env, stored)
  if (changeCount === before) cache.set(id, { at: now, value, refreshedAt: now })
  return value
}

/** Drops a changed connection from the cache. Other isolates use the old one for up to ten seconds. */
export function forgetConnection(id: string): void {
  cache.delete(id)
  changeCount++
}

async function openConnection(env: Env, stored: Connection): Promise<LoadedConnection | Unusable> {
  const { id, tenantId, platform, status, secrets: sealedSecrets, settings, account } = stored
  const channel = await loadChannel(platform)
  if (!channel) return { refused: `There is no platform ${platform}.` }
  const unsealed = await unseal(env, sealedSecrets, connectionOwner(tenantId, id))
  if (unsealed.kind === 'unreadable') return { refused: unsealed.reason }
  rememberSecrets(tenantId, `channel ${id}`, Object.values(JSON.parse(unsealed.secret) as Secrets))
  return {
    ...getAccess(env, channel, stored, JSON.parse(unsealed.secret) as Secrets),
    id,
    tenantId,
    status,
    channel,
    settings: channelSettings.parse(settings),
    sealedSecrets,
    account: (account as BotAccount | null) ?? undefined,
  }
}

export const apiBaseOf = (env: Env, { apiBase: { variable, url } }: Pick<Channel, 'apiBase'>): string =>
  (variable && variablesOf(env)[variable]) || url

/** Builds the part of a connection that the channel port needs. */
function getAccess(env: Env, channel: Channel, stored: Connection, secrets: Secrets): ChannelConnection {
  const settings = channelSettings.parse(stored.settings)
  const { url } = settings
  const apiBase = (channel.needsUrl && url) || apiBaseOf(env, channel)
  const isGuarded = channel.apiBase.variable === undefined
  const loginBase = channel.loginVariable && variablesOf(env)[channel.loginVariable]
  return {
    apiBase,
    secrets,
    webhookUrl: stored.webhookUrl,
    ...(loginBase && { loginBase }),
    ...ownSettingsOf(channel, settings),
    ...(isGuarded && { fetchApi: guardedApi(env, stored.tenantId) }),
    fetchForeign: foreignFetch(env, stored.tenantId, isGuarded ? undefined : apiBase),
    ...(env.EMAIL && { sendEmail: mailSender(env.EMAIL) }),
  }
}

/** The settings that a platform reads itself. */
function ownSettingsOf(channel: Channel, settings: ChannelSettings) {
  const { address, audience, direct_rooms: directRooms, domain } = settings
  return {
    ...(audience !== null && { audience }),
    ...(address !== null && { ownAddress: address }),
    ...(directRooms.length > 0 && { directRooms }),
    ...(settings.secretary && { isSecretary: true as const }),
    ...(domain !== null && { domain }),
    ...(channel.openRelay && { speech: speechOf(settings) }),
  }
}

const speechOf = ({ greeting, language, voice }: ChannelSettings): Speech => ({
  ...(greeting !== null && { greeting }),
  ...(language !== null && { language }),
  ...(voice !== null && { voice }),
})

/** The API of the platform is trusted, also where a platform's answer names an address of it. */
function foreignFetch(env: Env, tenantId: string, apiBase: string | undefined): ChannelConnection['fetchForeign'] {
  const guardedFetch = createTenantFetch(env, tenantId, (work) => void work)
  const origin = apiBase && new URL(apiBase).origin
  return async ({ url, ...request }) => {
    const isTrusted = URL.canParse(url) && new URL(url).origin === origin
    const { response } = await guardedFetch({ ...request, url, isTrusted, follow: true })
    return response
  }
}

/** Redirects are not followed: a token belongs to the address that was judged. */
function guardedApi(env: Env, tenantId: string): NonNullable<ChannelConnection['fetchApi']> {
  const guardedFetch = createTenantFetch(env, tenantId, (work) => void work)
  return async (url, { method = 'GET', headers, body, signal }) => {
    const request = { url, method, body, ...(headers && { headers }), signal: signal ?? undefined }
    return (await guardedFetch(request)).response
  }
}

const mailSender =
  (binding: SendEmail): NonNullable<ChannelConnection['sendEmail']> =>
  async ({ attachments, ...mail }) => {
    await binding.send({
      ...mail,
      attachments: attachments.map(({ name: filename, mime: type, bytes: content }) => ({
        disposition: 'attachment' as const,
        filename,
        type,
        content,
      })),
    })
  }

/** Builds it from a stored connection. Secrets that cannot be opened are left out. */
export const unsealConnection = async (env: Env, channel: Channel, stored: Connection): Promise<ChannelConnection> =>
  getAccess(env, channel, stored, await unsealSecrets(env, stored))

export const connectionOwner = (tenant: string, id: string): SecretOwner => ({ tenant, kind: 'channel', id })

export const sealSecrets = (env: Env, tenantId: string, id: string, secrets: Secrets): Promise<string> =>
  sealForTenant(env, JSON.stringify(secrets), connectionOwner(tenantId, id))

/** Returns no secrets when they cannot be opened. */
export async function unsealSecrets(env: Env, { tenantId, id, secrets }: Connection): Promise<Secrets> {
  const unsealed = await unseal(env, secrets, connectionOwner(tenantId, id))
  return unsealed.kind === 'opened' ? (JSON.parse(unsealed.secret) as Secrets) : {}
}
