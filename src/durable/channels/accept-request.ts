/**
 * Accepts a request of a messaging platform, in this order: signature, parsing, durable acceptance of each event,
 * response. An earlier response would lose an event after a crash; any response but 2xx makes the platform deliver
 * again.
 */

import { fullAccess } from '../../agent/model/permission/access.ts'
import type { InboundRequest } from '../../channels/channel.ts'
import { fetchTenantSnapshot } from '../tenant/tenant-snapshot.ts'
import { type AcceptContext, acceptEvents } from './accept-events.ts'
import type { LoadedConnection } from '../tenant/channels/connection.ts'

/** A paused connection and a suspended tenant answer like others, and nothing happens. */
export async function acceptRequest(
  context: AcceptContext,
  connection: LoadedConnection,
  request: InboundRequest,
): Promise<Response> {
  const { response, events } = await connection.channel.receive(request, connection)
  const isActive = connection.status === 'active' && events.length > 0 && (await isTenantActive(context, connection))
  if (isActive) await acceptEvents(context, connection, events)
  return response ?? new Response(null, { status: 200 })
}

/** Connections are cached for longer than the status of their tenant. */
async function isTenantActive({ env }: AcceptContext, { tenantId }: LoadedConnection): Promise<boolean> {
  const { access = fullAccess } = await fetchTenantSnapshot(env, tenantId)
  return access.status === 'active'
}
