/** Reports the cost of an ended run to the tenant's object, which releases its slot. */

import type { Turn } from '#agent/core/turn.ts'
import { isUnattendedTurn } from '#agent/policy/unattended.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { runCost } from '#durable/storage/session-record.ts'
import type { TurnSession } from './turn-session.ts'

/** Rejects when the tenant's object cannot be reached; the report is kept and sent again. */
export function settleRun(session: TurnSession, runId: string): Promise<void> {
  const { store, meta, billing } = session
  const turn = store.current()
  // The object may have died between the end of this run and its report, with the next run already open.
  if (runId === session.openAtWake) billing.restore(findEndedRun(session, runId))
  return billing.settle(runId, turn?.id === runId ? estimateCost(meta, turn) : undefined)
}

function findEndedRun({ journal, meta }: TurnSession, runId: string) {
  const turn = journal.turnBefore(runId)
  return turn && { id: turn.id, ...estimateCost(meta, turn) }
}

const estimateCost = (meta: SessionMetadata, turn: Turn) => ({
  ...runCost(meta, turn),
  isUnattended: isUnattendedTurn(meta.source, turn.options.authority),
})
