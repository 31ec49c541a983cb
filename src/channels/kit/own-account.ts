/** Remembers the account of a connection, so that its own messages are known by their sender. Kept by isolate. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import type { BotAccount, Channel, ChannelConnection } from '../channel.ts'

/** Undefined while the platform does not say. */
export type GetOwnAccount = (connection: ChannelConnection) => Promise<BotAccount | undefined>

export function defineOwnAccount(ask: Channel['getAccount']): GetOwnAccount {
  const known = new BoundedMap<string, BotAccount>(500)
  return async (connection) => {
    const key = await sha256Hex(JSON.stringify([connection.apiBase, connection.secrets]))
    const found = known.get(key)
    if (found) return found
    const account = await ask(connection)
    if ('refused' in account) return undefined
    known.set(key, account)
    return account
  }
}
