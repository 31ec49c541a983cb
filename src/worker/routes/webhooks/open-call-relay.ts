/** Opens the socket of a telephone call in the object of the call, once its handshake is proven. */

import { callHeader } from '#durable/channels/phone-call.ts'
import { callStub } from '#durable/platform/addresses.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { AppError, notFound } from '../../errors.ts'
import type { RequestContext } from '../../route.ts'

export async function openCallRelay({ req, env }: RequestContext, connection: LoadedConnection): Promise<Response> {
  const { id, tenantId, status, channel } = connection
  if (!channel.openRelay) throw notFound()
  const { method, headers } = req.raw
  const url = new URL(req.url)
  const request = { method, url, headers, body: new Uint8Array(), receivedAt: Date.now() }
  const call = status === 'active' ? await channel.openRelay(request, connection) : undefined
  if (!call) return new Response(null, { status: 401 })
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket') return new Response(null, { status: 426 })
  const stub = callStub(env, tenantId, { id, callSid: call.callSid })
  if (!stub) throw new AppError(503, 'not_configured', 'Calls need the binding CONNECTION.')
  const owner = encodeURIComponent(JSON.stringify({ ...call, owner: { id, tenantId } }))
  return stub.fetch(new Request(url, { headers: { upgrade: 'websocket', [callHeader]: owner } }))
}
