/** Tells whether the call that has delegated still takes its results. */

import type { Session } from '../session.ts'
import type { ChildRow } from './child-rows.ts'
import { delegationOf } from './delegation-id.ts'

/** The call of a delegation: it waits, it is being made, or it is over. */
export function getPlace({ store }: Session, { delegation, callId }: ChildRow): 'away' | 'starting' | 'gone' {
  const turn = store.current()
  if (!turn || turn.stage.at !== 'tools' || turn.stopRequested) return 'gone'
  const step = store.lastMessageSeq()
  const call = turn.stage.calls.find(({ id }) => id === callId)
  if (!call || call.state === 'settled' || delegationOf(turn, step, call.id) !== delegation) return 'gone'
  return call.state === 'away' ? 'away' : 'starting'
}

export const isAwaited = (session: Session, row: ChildRow): boolean => getPlace(session, row) !== 'gone'
