/**
 * What a turn found in storage means. If an effect was in flight when the object went away, nobody
 * knows whether it happened; this is the one place that says what we do about that.
 */

import type { View } from '../model/ports.ts'
import { type Commit, mapCalls, type ToolCall, type Turn } from '../model/turn.ts'
import { died } from '../policy/lost-effects.ts'
import { refuse } from '../policy/plan.ts'
import { begunBy } from './nested.ts'
import { closeBatch, settle } from './settle.ts'

const lost =
  'Interrupted: the system restarted during this call. It is unknown whether it took effect; check before you repeat it.'

export function resume(turn: Turn, view: View): Commit {
  const after = died(turn, view.now)
  switch (turn.stage.at) {
    // The reply is lost, though it may have been paid for. To the policies that is one more failure.
    case 'calling-model':
    case 'compressing':
      return settle(after, { of: 'failure', failure: { kind: 'interrupted', message: '' }, ...view.lost }, view)

    case 'tools':
      return closeBatch({ turn: mapCalls(after, (call) => afterDeath(call, turn.deaths.here)) }, view)

    case 'ready':
    case 'waiting':
    case 'done':
      return { turn }
  }
}

/** A call that can be repeated is planned again, but one that keeps killing us is not. */
function afterDeath(call: ToolCall, deaths: number): ToolCall {
  if (call.state !== 'running') return call
  const { id, name, input, effect, granted } = call
  return effect === 'effect' || deaths >= 3
    ? { id, name, input, effect, state: 'settled', result: refuse(call, lost + begunBy(call)) }
    : { id, name, input, effect, ...(granted !== undefined && { granted }), state: 'planned' }
}
