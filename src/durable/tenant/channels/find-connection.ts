/** Finds the connection that a target names. */

import { createConnections, webhookPlatform } from '#db/channel-connections.ts'

type ConnectionMatch = { readonly id: string; readonly platform: string; readonly settings: unknown }

/** By its id, else the only active one of a platform. */
export async function findConnection(
  { env, tenantId }: { readonly env: Env; readonly tenantId: string },
  name: string,
): Promise<ConnectionMatch | { readonly error: string }> {
  const connections = createConnections(env.DB, tenantId)
  const byId = await connections.get(name)
  if (byId && byId.platform !== webhookPlatform) return byId
  const all = await connections.list({ limit: 1_000, kind: 'channel' })
  const [first, ...others] = all.filter(({ platform, status }) => platform === name && status === 'active')
  if (!first) return { error: `There is no active channel "${name}". Connect it first, or use its id.` }
  return others.length ? { error: `There is more than one channel of ${name}. Use the id of one.` } : first
}
