/** Ends the last answer of a session where the person stopped listening. */

import { cutAfter } from '#channels/phone/relay-frames.ts'
import type { Session } from '../session.ts'

/** A message without text is no message for some providers. */
const nothingHeard = '…'

/** False while a turn is open, and when the conversation does not end with an answer. */
export function cutAnswer(session: Session, heard: string): boolean {
  const { store } = session
  if (store.hasOpenTurn) return false
  const row = store.cutAnswer((text) => cutAfter(text, heard) || nothingHeard)
  if (!row) return false
  const from = Math.min(row.n, session.meta.retractedFrom ?? row.n)
  session.updateMeta({ retractedFrom: from, restoredRuns: [...(session.meta.restoredRuns ?? []), row.runId] })
  session.runInBackground(session.turns.project())
  return true
}
