/** Reports the cost of an ended run to the tenant's object, which releases its slot. */

import type { Turn } from '#agent/core/turn.ts'
import { isUnattendedTurn } from '#agent/policy/unattended.ts'
import type { SessionBilling } from '#durable/tenant/billing/session-billing.ts'
import type { Journal } from '#durable/storage/journal.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { runCost } from '#durable/storage/session-record.ts'
import type { SessionStore } from '#durable/storage/store.ts'

type SettledSession = {
  readonly journal: Journal
  readonly store: SessionStore
  readonly meta: SessionMetadata
  readonly billing: SessionBilling
  /** The turn that was open when the object woke. */
  readonly openAtWake: string | undefined
}

/** Rejects when the tenant's object cannot be reached; the report is kept and sent again. */
export function settleRun(session: SettledSession, runId: string): Promise<void> {
  const { store, meta, billing } = session
  const turn = store.current()
  // The object may have died between the end of this run and its report, with the next run already open.
  if (runId === session.openAtWake) billing.restore(findEndedRun(session, runId))
  return billing.settle(runId, turn?.id === runId ? costOf(meta, turn) : undefined)
}

function findEndedRun({ journal, meta }: SettledSession, runId: string) {
  const turn = journal.turnBefore(runId)
  return turn && { id: turn.id, ...costOf(meta, turn) }
}

const costOf = (meta: SessionMetadata, turn: Turn) => ({
  ...runCost(meta, turn),
  isUnattended: isUnattendedTurn(meta.source, turn.options.authority),
})
