/**
 * Ends a turn whose last step cannot be written, because a row does not hold it. Memory is ahead of the journal
 * then: it is read anew, and from there the turn gets an end that can be written.
 */

import { userText } from '../../agent/model/message.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { giveUp } from '../../agent/policy/ending.ts'
import type { SessionStore } from './store.ts'

/** `store` is what the journal has; `lost` the turn as memory had it. */
export function abandon(lost: Turn, store: SessionStore, now: number): void {
  // Whatever was to join the turn is let go with it: the next turn could not take it in either.
  store.unsay(store.inbox().map(({ id }) => id))
  if (store.current()?.id !== lost.id)
    store.open(lost.id, [userText(unkept, 'notice')], {
      options: lost.options,
      limit: lost.budget.limit,
      usageBefore: lost.usageBefore,
    })
  // What was spent is known to memory alone.
  const stored = { ...store.turn(), usage: lost.usage }
  store.save(giveUp(stored, { kind: 'unknown', message: 'an internal error: the step could not be stored' }, now))
  store.write()
}

const unkept = '[What was said here was too large to be kept.]'
