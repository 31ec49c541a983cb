/** The tenant's object hears that a run has ended: its place is free, and this is what it cost. */

import type { SessionBilling } from '../tenant/session-billing.ts'
import type { Journal } from '../storage/journal.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'
import { runCost } from '../storage/session-record.ts'
import type { SessionStore } from '../storage/store.ts'

type Session = {
  readonly journal: Journal
  readonly store: SessionStore
  readonly meta: SessionMetadata
  readonly billing: SessionBilling
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined
}

/** Rejects while the tenant's object is away; it is kept for later then. */
export function settleRun(session: Session, runId: string): Promise<void> {
  const { store, meta, billing: account } = session
  const turn = store.current()
  // It may have followed another one at once, and the object have died before the tenant heard of that.
  if (runId === session.openAtWake) account.restore(endedBefore(session, runId))
  return account.settle(runId, turn?.id === runId ? runCost(meta, turn) : undefined)
}

function endedBefore({ journal, meta }: Session, runId: string) {
  const turn = journal.turnBefore(runId)
  return turn && { id: turn.id, ...runCost(meta, turn) }
}
