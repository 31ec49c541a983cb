/**
 * Accepts a request of a messaging platform, in this order: signature, parsing, durable acceptance of each event,
 * response. An earlier response would lose an event after a crash; any response but 2xx makes the platform deliver
 * again.
 */

import { fullAccess } from '#agent/core/permission/access.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import type { InboundEvent, InboundRequest, PressResult } from '#channels/channel.ts'
import { stripMention } from '#channels/classify-event.ts'
import { connectionStub } from '#durable/platform/addresses.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { type AcceptContext, acceptEvents } from './accept-events.ts'
import { listCommands, getPerson, resolveSender } from './gateway.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'

/** A paused connection and a suspended tenant answer like others, and nothing happens. */
export async function acceptRequest(
  context: AcceptContext,
  connection: LoadedConnection,
  request: InboundRequest,
): Promise<Response> {
  const received = await connection.channel.receive(request, connection)
  const { response, ignoredResponse, events, others, settle, isRing } = received
  let settled: Response | undefined
  const settling = settle && { settle: (result: PressResult) => void (settled = settle(result)) }
  const accepted = await acceptReceived({ ...context, ...settling }, connection, events)
  if (isRing) await ring(context.env, connection)
  if (others?.length) {
    const { acceptOthers } = await import('./accept-others.ts')
    await acceptOthers(context, connection, others)
  }
  return settled ?? (accepted ? response : (ignoredResponse ?? response)) ?? new Response(null, { status: 200 })
}

/** The object of the connection fetches the events. It stores the ring first. */
async function ring(env: Env, { id, tenantId }: LoadedConnection): Promise<void> {
  await connectionStub(env, tenantId, id)?.ring({ id, tenantId })
}

/** Accepts events that are proven to come from the platform. Returns how many were not ignored. */
export async function acceptReceived(
  context: AcceptContext,
  connection: LoadedConnection,
  events: readonly InboundEvent[],
): Promise<number> {
  const isActive = events.length > 0 && (await isTenantActive(context, connection))
  return isActive ? acceptEvents(context, connection, await selectAccepted(context, connection, events)) : 0
}

/** A paused connection accepts nothing but the `/pause off` of those who may say it. */
async function selectAccepted(
  { env }: AcceptContext,
  connection: LoadedConnection,
  events: readonly InboundEvent[],
): Promise<readonly InboundEvent[]> {
  if (connection.status === 'active') return events
  const accepted: InboundEvent[] = []
  for (const event of events) {
    if (!isResume(event, connection)) continue
    const { sender } = await resolveSender(env, connection, event, true)
    if (listCommands(connection, getPerson(connection, sender)).isOperator) accepted.push(event)
  }
  return accepted
}

function isResume(event: InboundEvent, { account }: LoadedConnection): boolean {
  if (event.kind !== 'message' && event.kind !== 'command') return false
  const command = parseCommand(stripMention(event.text, account))
  return command?.name === 'pause' && command.text.toLowerCase() === 'off'
}

/** Connections are cached for longer than the status of their tenant. */
async function isTenantActive({ env }: AcceptContext, { tenantId }: LoadedConnection): Promise<boolean> {
  const { access = fullAccess } = await fetchTenantSnapshot(env, tenantId)
  return access.status === 'active'
}
