/** Returns whether the call that has delegated still takes its results. */

import type { EndedProgram } from '#agent/core/pending-request.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import type { Session } from '../session.ts'
import type { ChildRow } from './child-rows.ts'
import { delegationOf } from './delegation-id.ts'

/**
 * The call of a delegation: it waits, it is being made, a program waits for it, or it is over. `program`: the call is that
 * of a program which is over.
 */
export type PlaceOfCall =
  | { readonly at: 'away'; readonly callId: string; readonly program?: EndedProgram }
  | { readonly at: 'starting' | 'program' | 'gone' }

const gone: PlaceOfCall = { at: 'gone' }

export function getPlace({ store }: Session, { delegation, callId }: ChildRow): PlaceOfCall {
  const turn = store.current()
  if (callId === undefined || turn?.stage.at !== 'tools' || turn.stopRequested) return gone
  if (delegationOf(turn, store.lastMessageSeq(), callId) !== delegation) return gone
  const own = turn.stage.calls.find(({ id }) => id === callId)
  return own ? placeOf(own) : placeInProgram(turn.stage.calls.find(({ id }) => id === programOf(callId)))
}

function placeOf(call: ToolCall): PlaceOfCall {
  if (call.state === 'settled') return gone
  return call.state === 'away' ? { at: 'away', callId: call.id } : { at: 'starting' }
}

function placeInProgram(call: ToolCall | undefined): PlaceOfCall {
  if (call?.state === 'running') return { at: 'program' }
  const program = call?.state === 'away' && call.awaits.kind === 'child' ? call.awaits.program : undefined
  return call && program ? { at: 'away', callId: call.id, program } : gone
}

/** The call of the program that has made a call. */
export const programOf = (callId: string): string => callId.slice(0, callId.lastIndexOf('.'))

export const isAwaited = (session: Session, row: ChildRow): boolean => getPlace(session, row).at !== 'gone'
