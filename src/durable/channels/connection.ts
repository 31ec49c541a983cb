/**
 * Connections as they are used: with their secrets open, remembered for a moment in the isolate. While D1 is away, what
 * was known last goes on being used, so that answers still get out.
 */

import { Bounded } from '../../agent/model/bounded.ts'
import type { Account, Channel, Line } from '../../channels/channel.ts'
import { channelOf } from '../../channels/channels.ts'
import { channelSettings, type ChannelSettings } from '../../channels/settings.ts'
import { connectionById, type Connection } from '../../db/channels.ts'
import { open, seal } from '../platform/seal.ts'
import { variablesOf } from '../platform/variables.ts'

export type Connected = {
  readonly id: string
  readonly tenantId: string
  readonly status: Connection['status']
  readonly channel: Channel
  readonly settings: ChannelSettings
  readonly line: Line
  /** Those of the line, sealed. */
  readonly secrets: string
  readonly account: Account | undefined
}

const freshMs = 10_000
const staleMs = 3_600_000
const remembered = new Bounded<
  string,
  { readonly at: number; readonly value: Connected | { readonly refused: string } }
>(5_000)

/** Undefined when there is none. Rejects when that cannot be found out now. */
export async function connected(
  env: Env,
  id: string,
  now: number,
): Promise<Connected | { readonly refused: string } | undefined> {
  const known = remembered.get(id)
  if (known && now - known.at < freshMs) return known.value
  const found = await connectionById(env.DB, id).catch((error: unknown) => {
    if (known && now - known.at < staleMs) return known.value
    throw error
  })
  if (!found) remembered.delete(id)
  if (!found || 'refused' in found || 'line' in found) return found
  const value = await opened(env, found)
  remembered.set(id, { at: now, value })
  return value
}

/** After a change: elsewhere it is seen within ten seconds. */
export const forgetConnection = (id: string): void => void remembered.delete(id)

async function opened(env: Env, connection: Connection): Promise<Connected | { readonly refused: string }> {
  const { id, tenantId, platform, status, secrets, settings, account } = connection
  const channel = channelOf(platform)
  if (!channel) return { refused: `There is no platform ${platform}.` }
  const sealed = await open(env, secrets, sealedFor(tenantId, id))
  if (sealed.is === 'shut') return { refused: sealed.reason }
  return {
    id,
    tenantId,
    status,
    channel,
    settings: channelSettings.parse(settings),
    line: lineOf(env, channel, JSON.parse(sealed.secret) as Record<string, string>),
    secrets,
    account: (account as Account | null) ?? undefined,
  }
}

export const lineOf = (env: Env, { apiBase }: Channel, secrets: Line['secrets']): Line => ({
  apiBase: variablesOf(env)[apiBase.variable] || apiBase.url,
  secrets,
})

const sealedFor = (tenant: string, id: string) => ({ tenant, kind: 'channel', id })

export const sealSecrets = (env: Env, tenantId: string, id: string, secrets: Line['secrets']): Promise<string> =>
  seal(env, JSON.stringify(secrets), sealedFor(tenantId, id))

export async function openSecrets(env: Env, { tenantId, id, secrets }: Connection): Promise<Line['secrets']> {
  const opening = await open(env, secrets, sealedFor(tenantId, id))
  return opening.is === 'open' ? (JSON.parse(opening.secret) as Line['secrets']) : {}
}
