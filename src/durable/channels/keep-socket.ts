/** Starts and stops the object that receives for a connection whose platform does not call a webhook. */

import { loadChannel } from '#channels/channels.ts'
import { channelSettings } from '#channels/settings.ts'
import { connectionStub } from '#durable/platform/addresses.ts'

type SocketConnection = {
  readonly id: string
  readonly tenantId: string
  readonly platform: string
  readonly status: string
  readonly settings: unknown
}

export type ReceivingBy = 'gateway' | 'polling' | 'socket' | 'pull'

const receivingBy = async ({ platform, settings }: SocketConnection): Promise<ReceivingBy | undefined> => {
  if (platform === 'discord') return 'gateway'
  if ((await loadChannel(platform))?.pull) return 'pull'
  const { delivery } = channelSettings.parse(settings)
  return delivery === 'webhook' ? undefined : delivery
}

/** Does nothing for other connections, and without the binding: then only webhooks arrive. */
export async function keepSocket(env: Env, connection: SocketConnection): Promise<void> {
  const { id, tenantId, status } = connection
  const by = await receivingBy(connection)
  const object = by && connectionStub(env, tenantId, id)
  if (!object) return
  // A paused bot that receives by itself hears the command that ends the pause.
  const isKept = status === 'active' || (by !== 'gateway' && status === 'paused')
  await (isKept ? object.start({ id, tenantId, by }) : object.stop())
}

/** Ends it for a connection that was removed, or whose messages come by webhook from now on. */
export async function endSocket(env: Env, { id, tenantId }: SocketConnection): Promise<void> {
  await connectionStub(env, tenantId, id)?.stop()
}

const stateNames: Readonly<Record<ReceivingBy, string>> = {
  gateway: 'The gateway',
  polling: 'Messages are asked for',
  socket: 'The socket',
  pull: 'Messages are fetched',
}

/** Describes in words how messages arrive, and starts again what was given up. */
export async function checkSocket(env: Env, connection: SocketConnection): Promise<string | undefined> {
  const { id, tenantId, status } = connection
  const by = await receivingBy(connection)
  const object = connectionStub(env, tenantId, id)
  if (!by || !object || status !== 'active') return undefined
  const socket = await object.getStatus()
  const hasEnded = socket.status === 'stopped'
  if (hasEnded) await keepSocket(env, connection)
  const reason = hasEnded && socket.detail ? `started again after "${socket.detail}"` : socket.detail
  const state = socket.isOpen ? 'connected' : reason || 'connecting'
  return `${stateNames[by]}: ${state}.`
}
