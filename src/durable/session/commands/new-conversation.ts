/**
 * Begins a new conversation in a session. Its id stays: a chat is always the same session. Earlier messages stay in the
 * history and the search, but no model gets them any more, and an undo does not reach them.
 */

import { clock } from '../../platform/clock.ts'
import { stopAll } from './turn-commands.ts'
import { conversationAfter } from '../../storage/session-metadata.ts'
import type { Session } from '../session.ts'

/** A tool that does not react to its stop delays the new conversation at most so long. */
const stopTimeoutMs = 3_000

/** Stops what runs. While the stopped turn has not ended, the next turn begins the conversation. */
export async function startNewConversation(
  session: Session,
  { title = null }: { readonly title?: string | null } = {},
): Promise<void> {
  stopAll(session)
  if (session.driver.isDriving) await Promise.race([session.driver.start(), clock.wait(stopTimeoutMs)])
  if (!session.exists) return
  const ended = { goal: undefined, heartbeat: undefined, loop: undefined, grants: [], todos: [], title } as const
  const forgotten = { ...ended, prompt: undefined, promptRecord: undefined } as const
  session.updateMeta(
    session.store.hasOpenTurn
      ? { ...ended, startsAnew: true }
      : { ...forgotten, ...conversationAfter(session.store.lastMessageSeq()) },
  )
  session.store.dropContext()
  session.runInBackground(session.turns.project())
}
