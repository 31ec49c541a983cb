/** Calls a person by telephone for a session. Only people whom a telephone channel lists by their number are called. */

import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { loadChannel } from '#channels/channels.ts'
import { createConnections } from '#db/channel-connections.ts'
import { callStub, waitingName } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import type { CallOutcome, OutgoingCall } from '#tools/plugins/define-plugin.ts'
import { type LoadedConnection, loadConnection } from './connection.ts'

const maxChannels = 100

type Caller = { readonly env: Env; readonly tenantId: string; readonly authority: Authority }

export async function placeCall(
  { env, tenantId, authority }: Caller,
  { number: named, brief, opening, sessionId }: OutgoingCall,
): Promise<CallOutcome> {
  // The call rings at another person, so that guests of a chat order none, nor turns to which they contribute.
  if (authority.principal.kind === 'person' && !hasScope(authority, 'approve'))
    return { error: 'Only an admin of this channel may order calls.' }
  const found = await findPhone(env, tenantId, named)
  if ('error' in found) return found
  return ring(env, { ...found, tenantId, order: { sessionId, authority, brief, opening } })
}

type OrderedCall = {
  readonly phone: LoadedConnection
  readonly number: string
  readonly tenantId: string
  readonly order: Omit<OutgoingCall, 'number'> & { readonly authority: Authority }
}

/** The brief is stored before the phone rings: a crash in between loses neither it nor the report. */
async function ring(env: Env, { phone, number, tenantId, order }: OrderedCall): Promise<CallOutcome> {
  const objectOf = (callSid: string) => callStub(env, tenantId, { id: phone.id, callSid })
  const waiting = objectOf(waitingName(number))
  if (!waiting) return { error: 'Calls need the binding CONNECTION.' }
  const call = { from: number, at: clock.now(), owner: { id: phone.id, tenantId } }
  const unplaced = { ...call, callSid: `${waitingName(number)}:${call.at}` }
  if (!(await waiting.orderCall(unplaced, { ...order, isUncertain: true })))
    return { error: 'This number is being called. Wait for the report.' }
  const placed = (await phone.channel.placeCall?.(phone, number)) ?? { refused: 'This carrier makes no calls.' }
  await failpoint('call-placed')
  if ('refused' in placed) {
    await waiting.waitingOrder(true)
    return { error: placed.refused }
  }
  const { callSid } = placed
  // A call without an id may ring, and then finds its order here.
  if (callSid === undefined) return { number }
  await objectOf(callSid)?.orderCall({ ...call, callSid }, order)
  await waiting.waitingOrder(true)
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
