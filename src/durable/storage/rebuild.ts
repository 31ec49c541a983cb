/** An object that lost its storage gets the session back from history: messages, settings, prompt, records of turns. */

import type { HistoryStore, Page } from '../../agent/model/history.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { Journal, StepRow } from './journal.ts'
import type { SessionMetadata } from './session-metadata.ts'

/** Undefined when history has never heard of the session. Returns the last seq that history has. */
export async function rebuild(journal: Journal, history: HistoryStore, sessionId: string): Promise<number | undefined> {
  const standing = await history.standing(sessionId)
  if (!standing) return undefined
  const meta = standing.record.state as SessionMetadata
  const pages: Page[] = []
  for (let after = 0; after < standing.through;) {
    const more = await history.pages(sessionId, after)
    if (!more.length) break
    pages.push(...more)
    after = more.at(-1)?.entries.at(-1)?.seq ?? standing.through
  }
  // Somebody else may have come here first while we waited.
  if (!journal.isBlank) return standing.through
  journal.putMeta(meta)
  for (const page of pages) journal.putStep(rowOf(page), page.turn as Turn | undefined)
  return standing.through
}

const rowOf = ({ n, runId, entries }: Page): StepRow => ({
  n,
  runId,
  entries: [...entries],
  texts: entries.map((entry) => JSON.stringify(entry)),
  events: [],
})
