/**
 * Decides how a turn from storage goes on. An effect that was in flight when the object stopped may or may not have
 * happened: this file alone decides what follows from that.
 */

import { noMarks } from '#agent/core/marks.ts'
import { errorResult } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import {
  type Commit,
  describeInFlight,
  describeRestart,
  mapCalls,
  addNote,
  type ToolCall,
  type Turn,
  fieldsOf,
} from '#agent/core/turn.ts'
import { delegationIn, describeNested } from './nested.ts'
import { endSegment } from './segment.ts'
import { settle } from './settle.ts'
import { closeBatch } from './settle-calls.ts'

const lostCall =
  'Interrupted: the system restarted during this call. It is unknown whether it took effect; check before you repeat it.'
const lostRead =
  'Interrupted: the system restarted during this call. The call may have caused it; do not repeat it with the same input.'

export function resume(turn: Turn, view: View): Commit {
  const after = countDeath(turn, view.now)
  switch (turn.stage.at) {
    // The reply is lost, although it may have been billed. The policies treat it like any other failure.
    case 'calling-model':
    case 'compressing':
      return settle(after, { of: 'failure', failure: { kind: 'interrupted', message: '' }, ...view.lostCall }, view)

    case 'tools':
      return resumeCalls(turn, after, view)

    case 'ready':
    case 'waiting':
    case 'done':
      return { turn }
  }
}

function resumeCalls(turn: Turn, after: Turn, view: View): Commit {
  const resumed = closeBatch({ turn: mapCalls(after, (call) => resumeCall(call, turn.crashes.here)) }, view)
  return endSegment(turn, resumed, view)
}

/** Counts a crash of the object when an effect was in flight. */
function countDeath(turn: Turn, now: number): Turn {
  if (describeInFlight(turn) === undefined) return turn
  const counted = { ...turn, crashes: { here: turn.crashes.here + 1, total: turn.crashes.total + 1 } }
  // Recovery adds its own note about a lost model call or summary.
  return turn.stage.at === 'tools' ? addNote(counted, now, 'go on', describeRestart(turn)) : counted
}

/** Plans a repeatable call again, unless the object crashed too often during it. */
function resumeCall(call: ToolCall, crashes: number): ToolCall {
  if (call.state !== 'running') return call
  const { effect, granted } = call
  const fields = fieldsOf(call)
  const text = effect === 'once' ? lostRead : lostCall
  const workId = delegationIn(call)
  // The subagents of a lost program go on: nothing of their work is lost with it.
  if (workId !== undefined) {
    const answer = JSON.stringify({ error: text + describeNested(call) })
    return {
      ...fields,
      state: 'away',
      awaits: { kind: 'child', workId, program: { answer, failed: true, marks: noMarks } },
    }
  }
  return effect === 'effect' || effect === 'once' || crashes >= 3
    ? { ...fields, state: 'settled', result: errorResult(call, text + describeNested(call)) }
    : { ...fields, ...(granted !== undefined && { granted }), state: 'planned' }
}
