/** Starts and stops the object that keeps the socket of a connection, for platforms that need one. */

import { connectionStub } from '#durable/platform/addresses.ts'

type SocketConnection = {
  readonly id: string
  readonly tenantId: string
  readonly platform: string
  readonly status: string
}

/** Does nothing for other platforms, and without the binding: then only webhooks arrive. */
export async function keepSocket(env: Env, { id, tenantId, platform, status }: SocketConnection): Promise<void> {
  const object = platform === 'discord' ? connectionStub(env, tenantId, id) : undefined
  if (!object) return
  await (status === 'active' ? object.start({ id, tenantId }) : object.stop())
}

/** Describes the state of the socket in words, and opens one that was given up. */
export async function checkSocket(env: Env, connection: SocketConnection): Promise<string | undefined> {
  const { id, tenantId, platform, status } = connection
  const object = platform === 'discord' && status === 'active' ? connectionStub(env, tenantId, id) : undefined
  if (!object) return undefined
  const socket = await object.getStatus()
  if (socket.status === 'stopped') await keepSocket(env, connection)
  return `The gateway: ${socket.isOpen ? 'connected' : socket.detail || 'connecting'}.`
}
