/**
 * Accepts events of other accounts of an app. They arrived at the connection of one account, proven by the secret of the
 * app, and belong to the connection of the same tenant that has the account and the same secret. Others are dropped.
 */

import type { Received } from '#channels/channel.ts'
import { createConnections } from '#db/channel-connections.ts'
import { type LoadedConnection, loadConnection } from '#durable/tenant/channels/connection.ts'
import type { AcceptContext } from './accept-events.ts'
import { acceptReceived } from './accept-request.ts'

const maxConnections = 200

export async function acceptOthers(
  context: AcceptContext,
  connection: LoadedConnection,
  others: NonNullable<Received['others']>,
): Promise<void> {
  const known = await listSiblings(context.env, connection)
  const { accountSecret = '' } = connection.channel
  for (const { account, events } of others) {
    const owner = known.find(({ secrets }) => secrets[accountSecret] === account)
    if (owner) await acceptReceived(context, owner, events)
  }
}

/** The other connections of the tenant with the same platform and app. */
async function listSiblings(env: Env, connection: LoadedConnection): Promise<readonly LoadedConnection[]> {
  const { id, tenantId, channel, secrets } = connection
  const stored = await createConnections(env.DB, tenantId).list({ kind: 'channel', limit: maxConnections })
  const siblings = stored.filter((one) => one.platform === channel.platform && one.id !== id)
  const loaded = await Promise.all(siblings.map((one) => loadConnection(env, one.id, Date.now())))
  return loaded.flatMap((one) =>
    one && !('refused' in one) && one.secrets['app_secret'] === secrets['app_secret'] ? [one] : [],
  )
}
