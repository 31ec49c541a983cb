/** Changes an open turn from outside. Each change is safe at any stage, and a repetition changes nothing. */

import type { AccessRefusal } from '#agent/core/permission/access.ts'
import type { Authority, ContributedRights } from '#agent/core/permission/authority.ts'
import { joinContributors, joinSpeaker } from '#agent/core/permission/contribution.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import type { Continuation } from '#agent/core/pending-request.ts'
import {
  type Commit,
  type CompressionRequest,
  fieldsOf,
  mapCalls,
  planAgain,
  type ToolCall,
  type Turn,
} from '#agent/core/turn.ts'
import { addUsage, type Usage } from '#agent/core/usage.ts'
import { endSegment } from './segment.ts'
import { settleCall } from './settle-calls.ts'

/** `reason` is given when tenant or key may not go on; a person needs none. */
export const requestStop = (turn: Turn, reason?: AccessRefusal): Commit => ({
  turn: { ...turn, stopRequested: true, ...(reason && { stopReason: reason }) },
})

/** Narrows the authority of the turn by that of somebody who contributes to it. Returns the same turn when nothing changes. */
export function narrowTurn(turn: Turn, by: Authority): Turn {
  const { authority } = turn.options
  // A turn that was stored before there were authorities may do the least already.
  if (!authority) return turn
  const joint = joinSpeaker(authority, by)
  return joint === authority ? turn : { ...turn, options: { ...turn.options, authority: joint } }
}

/** Narrows the authority of the turn by those who contributed to a child of it. */
export function narrowByContributors(turn: Turn, contributors: readonly ContributedRights[]): Turn {
  const { authority } = turn.options
  if (!authority || !contributors.length) return turn
  return { ...turn, options: { ...turn.options, authority: joinContributors(authority, contributors) } }
}

/** Adds the usage of a subagent that has ended. */
export const addDelegatedUsage = (turn: Turn, usage: Usage): Commit => ({
  turn: { ...turn, delegated: turn.delegated ? addUsage(turn.delegated, usage) : usage },
})

/** Requests a compression of the context before the next model call. */
export const requestCompression = (turn: Turn, compress: CompressionRequest): Commit => ({
  turn: { ...turn, compress },
})

/** Plans a call again after a person has allowed it. A denial is stored as its result instead. */
export const allowCall = (turn: Turn, callId: string, granted: string): Commit => ({
  turn: mapCalls(turn, (call) => {
    if (call.id !== callId || call.state !== 'away' || call.awaits.kind !== 'approval') return call
    return { ...fieldsOf(call), granted, state: 'planned' }
  }),
})

/** Plans a call again that waits for a server, with the answer or without one. */
export const continueCall = (turn: Turn, callId: string, answer?: Continuation['answer']): Commit => ({
  turn: mapCalls(turn, (call) => (call.id === callId ? planAgain(call, answer) : call)),
})

/** Other calls are counted when they have run. */
function countDelegation(turn: Turn, call: ToolCall): Turn {
  if (call.state !== 'away' || call.awaits.kind !== 'child') return turn
  return { ...turn, ran: { ...turn.ran, [call.name]: (turn.ran[call.name] ?? 0) + 1 } }
}

/** Stores the result of a pending call: an answer, or the end of a child session, a job or a process. */
export function settlePendingCall(turn: Turn, message: ToolMessage, view: View): Commit {
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const call = calls.find(({ id, state }) => id === message.callId && state === 'away')
  return call ? endSegment(turn, settleCall(countDelegation(turn, call), message, view), view) : { turn }
}
