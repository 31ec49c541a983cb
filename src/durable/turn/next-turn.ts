/** Which turn follows the one that has ended: what was said too late for it, then what was queued. */

import { joinMessages } from '../../agent/loop/enter.ts'
import type { UserMessage } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/turn-options.ts'
import { newRunId } from '../platform/ids.ts'
import type { SessionStore } from '../storage/store.ts'

export type TurnRequest = {
  readonly runId: string
  readonly message: UserMessage
  readonly options: TurnOptions
  /** In the inbox, and part of the message: taken out, and told, as the turn opens. */
  readonly drain?: readonly number[]
}

/** Takes it out of the inbox. After a stop, what was said into the stopped turn is let go. */
export function nextTurn(store: SessionStore): TurnRequest | undefined {
  const late = store.inbox()
  const { stage, options } = store.turn()
  const isStopped = stage.at === 'done' && stage.outcome === 'stopped'
  const [first, ...others] = isStopped ? [] : late
  if (first) {
    store.removeFromInbox([first.id])
    // Repeated requests find the turn: the first by the id, the others by the events that tell of them.
    const drain = others.map(({ id }) => id)
    return { runId: first.requestId ?? newRunId(), message: joinMessages(late), options, drain }
  }
  store.removeFromInbox(late.map(({ id }) => id))
  const [queued] = store.queued()
  if (queued) store.removeFromInbox([queued.id])
  else store.write()
  return queued?.item
}
