/** Calls a person by telephone for a session. Only people whom a telephone channel lists by their number are called. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { loadChannel } from '#channels/channels.ts'
import { createConnections } from '#db/channel-connections.ts'
import { callStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import type { CallOutcome, OutgoingCall } from '#tools/plugins/define-plugin.ts'
import { type LoadedConnection, loadConnection } from './connection.ts'

const maxChannels = 100

type Caller = { readonly env: Env; readonly tenantId: string; readonly authority: Authority }

export async function placeCall(
  { env, tenantId, authority }: Caller,
  { number: named, brief, opening, sessionId }: OutgoingCall,
): Promise<CallOutcome> {
  const found = await findPhone(env, tenantId, named)
  if ('error' in found) return found
  const { phone, number } = found
  if (!env.CONNECTION) return { error: 'Calls need the binding CONNECTION.' }
  const placed = await phone.channel.placeCall?.(phone, number)
  if (!placed || 'refused' in placed) return { error: placed?.refused ?? 'This carrier makes no calls.' }
  const { callSid } = placed
  const call = { callSid, from: number, at: clock.now(), owner: { id: phone.id, tenantId } }
  await callStub(env, tenantId, { id: phone.id, callSid })?.orderCall(call, { sessionId, authority, brief, opening })
  return { number }
}

/** The channel that lists the number. */
async function findPhone(env: Env, tenantId: string, named: string) {
  let hasPhone = false
  for (const { id, platform, status } of await listChannels(env, tenantId)) {
    if (status !== 'active' || !(await loadChannel(platform))?.placeCall) continue
    hasPhone = true
    const phone = await loadConnection(env, id, clock.now())
    const number = phone && !('refused' in phone) ? findNumber(phone, named) : undefined
    if (number !== undefined && phone && !('refused' in phone)) return { phone, number }
  }
  if (!hasPhone) return { error: 'There is no telephone channel that makes calls. Connect one of the platform phone.' }
  return { error: `${named} is in allow_users of no telephone channel. Only listed numbers are called.` }
}

const listChannels = (env: Env, tenantId: string) =>
  createConnections(env.DB, tenantId).list({ limit: maxChannels, kind: 'channel' })

function findNumber({ channel, settings }: LoadedConnection, named: string): string | undefined {
  const number = channel.normalizeId?.(named) ?? named
  return [...settings.allow_users, ...settings.admins].includes(number) ? number : undefined
}
