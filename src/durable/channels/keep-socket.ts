/** Starts and stops the object that keeps the socket of a connection, for platforms that need one. */

type Connection = { readonly id: string; readonly tenantId: string; readonly platform: string; readonly status: string }

/** Does nothing for other platforms, and without the binding: then only webhooks arrive. */
export async function keepSocket(env: Env, { id, tenantId, platform, status }: Connection): Promise<void> {
  if (platform !== 'discord' || !env.CONNECTION) return
  const object = env.CONNECTION.getByName(`t/${tenantId}/c/${id}`)
  await (status === 'active' ? object.start({ id, tenantId }) : object.stop())
}

/** Describes the state of the socket in words, and opens one that was given up. */
export async function checkSocket(env: Env, connection: Connection): Promise<string | undefined> {
  const { id, tenantId, platform, status } = connection
  if (platform !== 'discord' || !env.CONNECTION || status !== 'active') return undefined
  const socket = await env.CONNECTION.getByName(`t/${tenantId}/c/${id}`).getStatus()
  if (socket.status === 'stopped') await keepSocket(env, connection)
  return `The gateway: ${socket.isOpen ? 'connected' : socket.detail || 'connecting'}.`
}
