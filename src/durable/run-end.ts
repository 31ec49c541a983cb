/** The tenant's object hears that a run has ended: its place is free, and this is what it cost. */

import type { Account } from './account.ts'
import type { SessionMeta } from './session-meta.ts'
import { spentBy } from './session-record.ts'
import type { SessionStore } from './store.ts'

type Session = { readonly store: SessionStore; readonly meta: SessionMeta; readonly account: Account }

/** Rejects while the tenant's object is away; it is kept for later then. */
export function settle({ store, meta, account }: Session, runId: string): Promise<void> {
  const turn = store.current()
  return account.settle(runId, turn?.id === runId ? spentBy(meta, turn) : undefined)
}
