/** Reading a session: its messages page by page, its runs, its status. */

import { runEnded } from '../agent/loop/announce.ts'
import type { RunEnded } from '../agent/model/event.ts'
import type { Entry } from '../agent/model/history.ts'
import type { SessionCore } from './session-core.ts'
import { messageView, type MessageView, queuedRun, type RunView, runView, type SessionStatus } from './views.ts'

/** The newest `limit` messages with a seq below `before`; given back oldest first. */
export type MessagePage = { readonly limit: number; readonly before?: number | undefined }

export function listMessages(
  { journal }: SessionCore,
  { limit, before = Number.MAX_SAFE_INTEGER }: MessagePage,
): { readonly data: MessageView[]; readonly next_cursor: string | null } {
  const newestFirst: Entry[] = []
  let compactedThrough = 0
  for (const row of journal.entriesBackwards()) {
    for (const entry of row.entries.toReversed()) {
      compactedThrough = Math.max(compactedThrough, entry.covers ?? 0)
      if (entry.seq < before) newestFirst.push(entry)
    }
    if (newestFirst.length > limit) break
  }
  const page = newestFirst.slice(0, limit).toReversed()
  const more = newestFirst.length > limit
  return {
    data: page.map((entry) => messageView(entry, compactedThrough)),
    next_cursor: more ? String(page[0]?.seq ?? 0) : null,
  }
}

export function statusOf({ store, isWaiting }: SessionCore): SessionStatus {
  if (!store.hasOpenTurn) return 'idle'
  return isWaiting ? 'waiting' : 'running'
}

export function runOf(core: SessionCore, runId: string): RunView | ReturnType<typeof queuedRun> | undefined {
  const current = core.store.current()
  const turn = current?.id === runId ? current : core.journal.turnOf(runId)
  if (turn) return runView(turn, core.sessionId, turn.stage.at === 'done' ? core.journal.entriesOf(runId) : [])
  return core.store.queued().some(({ item }) => item.runId === runId) ? queuedRun(runId, core.sessionId) : undefined
}

/** How a run ended; undefined while it has not. */
export function endOf(core: SessionCore, runId: string): RunEnded | undefined {
  const current = core.store.current()
  const turn = current?.id === runId ? current : core.journal.turnOf(runId)
  if (turn?.stage.at !== 'done') return undefined
  return runEnded(
    turn,
    core.journal.entriesOf(runId).map(({ message }) => message),
  )
}
