/** Chooses the turn that follows an ended one: first messages that came too late for it, then the queue. */

import { joinMessages } from '#agent/loop/enter.ts'
import type { OpeningMessage, ToolCallPart } from '#agent/core/message.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { newRunId } from '#durable/platform/ids.ts'
import type { SessionStore } from '#durable/storage/store.ts'

export type TurnRequest = {
  readonly runId: string
  readonly message: OpeningMessage
  readonly options: TurnOptions
  /** Inbox items that are part of the message. They are removed, with their events, when the turn opens. */
  readonly drain?: readonly number[]
  /** Calls that run before the model is asked. */
  readonly calls?: readonly ToolCallPart[]
  /** Milliseconds until the turn begins. It is stored at once. */
  readonly startsAfterMs?: number
}

/** Removes the chosen messages from the inbox. After a stop, messages for the stopped turn are dropped. */
export function nextTurn(store: SessionStore): TurnRequest | undefined {
  const late = store.inbox()
  const { stage, options } = store.turn()
  const isStopped = stage.at === 'done' && stage.outcome === 'stopped'
  const [first, ...others] = isStopped ? [] : late
  if (first) {
    store.removeFromInbox([first.id])
    // A repeated request finds the turn: the first message by the run id, the others by their events.
    const drain = others.map(({ id }) => id)
    return { runId: first.requestId ?? newRunId(store.sessionId), message: joinMessages(late), options, drain }
  }
  store.removeFromInbox(late.map(({ id }) => id))
  const [queued] = store.queued()
  if (queued) store.removeFromInbox([queued.id])
  else store.write()
  return queued?.item
}
