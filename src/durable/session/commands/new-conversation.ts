/**
 * Begins a conversation in a session: a new one, or an earlier one that is resumed. The id of the session stays: a chat
 * is always the same session. Other conversations stay in the history and the search, but no model gets them, and an
 * undo does not reach them.
 */

import { clock } from '#durable/platform/clock.ts'
import { stopAll } from './turn-commands.ts'
import { beginConversation, type MessageSpan } from '#durable/storage/conversation-span.ts'
import type { Session } from '../session.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

/** A tool that does not react to its stop delays the new conversation at most so long. */
const stopTimeoutMs = 3_000

type Begun = { readonly title?: string | null; readonly spans?: readonly MessageSpan[] }

/** Stops what runs. While the stopped turn has not ended, the next turn begins the conversation. */
export async function startNewConversation(session: Session, { title = null, spans = [] }: Begun = {}): Promise<void> {
  stopAll(session)
  if (session.driver.isDriving) await withTimeout(session.driver.start(), stopTimeoutMs, () => undefined)
  if (!session.exists) return
  const { meta, store } = session
  const next = { leftTitle: meta.title, spans }
  const ended = { goal: undefined, heartbeat: undefined, loop: undefined, grants: [], todos: [], title } as const
  const forgotten = { ...ended, prompt: undefined, promptRecord: undefined } as const
  session.updateMeta(
    store.hasOpenTurn
      ? { ...ended, startsAnew: next }
      : { ...forgotten, ...beginConversation(meta, { lastSeq: store.lastMessageSeq(), now: clock.now() }, next) },
  )
  store.dropContext()
  session.runInBackground(session.turns.project())
}
