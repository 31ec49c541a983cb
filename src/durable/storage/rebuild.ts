/** Rebuilds a session from history in an object that lost its storage: messages, settings, prompt and turns. */

import type { HistoryStore, Page } from '#agent/core/history.ts'
import type { Journal, StepRow } from './journal.ts'
import type { SessionMetadata } from './session-metadata.ts'
import { fromStoredTurn, type StoredTurn } from './stored-turn.ts'

/** Returns the last seq that history has. Undefined when history does not have the session. */
export async function rebuild(journal: Journal, history: HistoryStore, sessionId: string): Promise<number | undefined> {
  const standing = await history.readSyncState(sessionId)
  if (!standing) return undefined
  const meta = standing.record.state as SessionMetadata
  const pages: Page[] = []
  for (let after = 0; after < standing.through;) {
    const more = await history.listPages(sessionId, after)
    if (!more.length) break
    pages.push(...more)
    after = more.at(-1)?.entries.at(-1)?.seq ?? standing.through
  }
  // Another call may have rebuilt the session during the wait.
  if (!journal.isBlank) return standing.through
  journal.putMetadata(meta)
  for (const page of pages)
    journal.putStep(createRow(page), page.turn ? fromStoredTurn(page.turn as StoredTurn) : undefined)
  return standing.through
}

const createRow = ({ n, runId, entries }: Page): StepRow => ({
  n,
  runId,
  entries: [...entries],
  texts: [],
  events: [],
})
