/** Removes the last run of a conversation by its response. */

import type { ResponsePart } from '#agent/public-api/responses/response-ids.ts'
import type { Session } from '../session.ts'
import { isLastRun } from '../read-session.ts'
import { undoTurns } from '../undo.ts'
import { readResponse } from './read-response.ts'

/** `followed`: other runs come after it. `open`: it has not ended. `only`: nothing was removed, the session can be. */
export type ResponseDeletion = 'deleted' | 'followed' | 'open' | 'only'

/** Undefined when there is no such response. */
export function deleteResponse(session: Session, part: ResponsePart): ResponseDeletion | undefined {
  if (!readResponse(session, part, false)) return undefined
  if (!isLastRun(session, part.runId) || !hasLastMessage(session, part.runId)) return 'followed'
  if (isOnlyRun(session, part.runId)) return 'only'
  if (session.store.hasOpenTurn) return 'open'
  undoTurns(session, 1)
  return 'deleted'
}

export function isOnlyRun(session: Session, runId: string): boolean {
  if (!isLastRun(session, runId)) return false
  for (const { entries } of session.journal.entriesNewestFirst())
    if (entries.some((entry) => entry.runId !== runId)) return false
  return true
}

/** Answers beside the conversation and queued runs have no messages in it. */
function hasLastMessage({ journal }: Session, runId: string): boolean {
  const [newest] = journal.entriesNewestFirst()
  return newest?.entries.at(-1)?.runId === runId
}
