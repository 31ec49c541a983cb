/** Takes an answer back that has just left: parts that wait are not sent, and sent ones are deleted at the platform. */

import { log } from '#agent/core/log.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import { clock } from '#durable/platform/clock.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import type { Outbox } from './outbox.ts'

/** Later, people have read it: deleting would only confuse. */
const withdrawMs = 10_000

/** Returns the ids of the messages that were sent. */
export function dropAnswer(outbox: Outbox, run: string): readonly string[] {
  const ids = new Set<string>()
  for (const row of outbox.listByRun(run)) {
    if (row.kind !== 'reply' && row.kind !== 'preview') continue
    const { state, preparedAt, platformId } = row.deliveryState
    if (state === 'prepared') outbox.expand(row, [])
    else if (state === 'sent' && platformId !== undefined && clock.now() - preparedAt <= withdrawMs) ids.add(platformId)
  }
  return [...ids]
}

/** Never rejects: a message that stays does no harm. */
export async function removeSent(
  connection: LoadedConnection,
  origin: ChatOrigin,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    const removed = await connection.channel.remove?.(connection, origin, id)
    if (removed && removed.kind !== 'sent')
      log.warn('channel.message_stays', 'An undone message could not be deleted.', { detail: removed.detail })
  }
}
