/** Chooses the turn that follows an ended one: first messages that came too late for it, then the queue. */

import { joinMessages } from '#agent/loop/enter.ts'
import type { OpeningMessage, ToolCallPart } from '#agent/core/message.ts'
import type { OwnedOptions } from '#agent/core/turn-options.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { turnAuthority } from './turn-authority.ts'
import type { TurnSession } from './turn-session.ts'

export type TurnRequest = {
  readonly runId: string
  readonly message: OpeningMessage
  readonly options: OwnedOptions
  /** Inbox items that are part of the message. They are removed, with their events, when the turn opens. */
  readonly drain?: readonly number[]
  /** Calls that run before the model is asked. */
  readonly calls?: readonly ToolCallPart[]
  /** Milliseconds until the turn begins. It is stored at once. */
  readonly startsAfterMs?: number
}

/** Removes the chosen messages from the inbox. After a stop, messages for the stopped turn are dropped. */
export function nextTurn(session: TurnSession): TurnRequest | undefined {
  const { store } = session
  const late = store.inbox()
  const { stage, options } = store.turn()
  const isStopped = stage.at === 'done' && stage.outcome === 'stopped'
  const [first, ...others] = isStopped ? [] : late
  if (first) {
    store.removeFromInbox([first.id])
    // A repeated request finds the turn: the first message by the run id, the others by their events.
    const drain = others.map(({ id }) => id)
    const authority = combineAuthorities([turnAuthority(session), ...listSenders(session)])
    const runId = first.requestId ?? newRunId(store.sessionId)
    return { runId, message: joinMessages(late), options: { ...options, authority }, drain }
  }
  store.removeFromInbox(late.map(({ id }) => id))
  const [queued] = store.queued()
  if (queued) store.removeFromInbox([queued.id])
  else store.write()
  return queued?.item
}

/** The senders of messages that are no part of a turn yet. */
const listSenders = ({ store }: TurnSession) =>
  store.inboxRows().flatMap(({ item }) => (item.kind === 'said' ? [item.by] : []))
