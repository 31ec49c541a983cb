/** Starts and stops the object that receives for a connection whose platform does not call a webhook. */

import { channelSettings } from '#channels/settings.ts'
import { connectionStub } from '#durable/platform/addresses.ts'

type SocketConnection = {
  readonly id: string
  readonly tenantId: string
  readonly platform: string
  readonly status: string
  readonly settings: unknown
}

export type ReceivingBy = 'gateway' | 'polling'

const receivingBy = ({ platform, settings }: SocketConnection): ReceivingBy | undefined => {
  if (platform === 'discord') return 'gateway'
  return channelSettings.parse(settings).delivery === 'polling' ? 'polling' : undefined
}

/** Does nothing for other connections, and without the binding: then only webhooks arrive. */
export async function keepSocket(env: Env, connection: SocketConnection): Promise<void> {
  const { id, tenantId, status } = connection
  const by = receivingBy(connection)
  const object = by && connectionStub(env, tenantId, id)
  if (!object) return
  // A paused bot that is asked for its messages hears the command that ends the pause.
  const isKept = status === 'active' || (by === 'polling' && status === 'paused')
  await (isKept ? object.start({ id, tenantId, by }) : object.stop())
}

/** Ends it for a connection that was removed, or whose messages come by webhook from now on. */
export async function endSocket(env: Env, { id, tenantId }: SocketConnection): Promise<void> {
  await connectionStub(env, tenantId, id)?.stop()
}

/** Describes in words how messages arrive, and starts again what was given up. */
export async function checkSocket(env: Env, connection: SocketConnection): Promise<string | undefined> {
  const { id, tenantId, status } = connection
  const by = receivingBy(connection)
  const object = by && status === 'active' ? connectionStub(env, tenantId, id) : undefined
  if (!object) return undefined
  const socket = await object.getStatus()
  if (socket.status === 'stopped') await keepSocket(env, connection)
  const state = socket.isOpen ? 'connected' : socket.detail || 'connecting'
  return by === 'gateway' ? `The gateway: ${state}.` : `Messages are asked for: ${state}.`
}
