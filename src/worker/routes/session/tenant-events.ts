/** `/api/events`: what changes in the sessions of the tenant, for lists and inboxes. */

import { authorityHeader, encodeAuthority } from '#durable/platform/authority-header.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { relayStub, tenantStub } from '#durable/platform/addresses.ts'
import { relayHeader } from '#durable/tenant/events/event-relays.ts'
import { AppError } from '../../errors.ts'
import { streamEvents } from '../../event-bridge.ts'
import { type RouteCall, route } from '../../route.ts'
import { requireFound } from '../../sessions.ts'

/** A relay may have become full since its last report. */
const maxRelayAttempts = 3

/** Opens a socket in the tenant's object, or in the relay that this one names when it is full. */
async function connect({ env, tenant, authority }: RouteCall<unknown, unknown>): Promise<Response> {
  const headers = new Headers({ upgrade: 'websocket', [authorityHeader]: encodeAuthority(authority) })
  const createRequest = () => new Request('https://tenant/events', { headers })
  for (let attempt = 1; ; attempt++) {
    const answer = await tenantStub(env, tenant.id).fetch(createRequest())
    const relay = answer.headers.get(relayHeader)
    if (relay === null) return answer
    const relayed = await relayStub(env, tenant.id, Number(relay)).fetch(createRequest())
    if (relayed.status !== 429 || attempt === maxRelayAttempts) return relayed
    headers.set(relayHeader, relay)
  }
}

async function listen(call: RouteCall<unknown, unknown>): Promise<Response> {
  const { tenant } = call
  const answer = await connect(call)
  if (answer.status === 429)
    throw new AppError(429, 'limit_exceeded', 'This tenant has too many subscribers.', { retryAfter: 15 })
  // Sessions learn from the next snapshot that somebody listens.
  forgetSnapshot(tenant.id)
  return answer
}

export const tenantEventRoutes = [
  route({
    method: 'get',
    path: '/api/events',
    id: 'streamTenantEvents',
    scope: 'read',
    tag: 'Sessions',
    summary: 'Stream what changes in all sessions: server-sent events, or a WebSocket on upgrade',
    responses: { 200: { description: 'Server-sent events', type: 'text/event-stream' } },
    handle: async (call) => {
      const { req } = call.web
      if (req.header('upgrade')?.toLowerCase() === 'websocket') {
        const answer = await listen(call)
        requireFound(answer.webSocket ?? undefined)
        return answer
      }
      const socket = async () => (await listen(call)).webSocket ?? undefined
      return requireFound(await streamEvents({ page: async () => undefined, socket }, undefined, req.raw.signal))
    },
  }),
]
