/**
 * Ends a turn whose last step is too large for a row. Memory is ahead of the journal then: the store is read again, and
 * the turn ends from its last stored step.
 */

import { userText } from '#agent/core/message.ts'
import type { Turn } from '#agent/core/turn.ts'
import { giveUp } from '#agent/policy/give-up.ts'
import type { SessionStore } from './store.ts'

/** `store` was read from the journal; `lost` is the turn as memory had it. */
export function abandonTurn(lost: Turn, store: SessionStore, now: number): void {
  // Inbox messages are dropped with the turn: they would not fit into the next one either.
  store.removeFromInbox(store.inbox().map(({ id }) => id))
  if (store.current()?.id !== lost.id)
    store.openTurn(lost.id, [userText(tooLargeNotice, 'notice')], {
      options: lost.options,
      limit: lost.budget.limit,
      usageBefore: lost.usageBefore,
    })
  // Only memory has the usage of the lost step.
  const stored = { ...store.turn(), usage: lost.usage }
  store.save(giveUp(stored, { kind: 'unknown', message: 'an internal error: the step could not be stored' }, now))
  store.write()
}

const tooLargeNotice = '[A message was here that was too large to store.]'
