/**
 * The door into a turn that is open: what the world may do to it. Each is one small change, safe at
 * any moment and twice.
 */

import type { ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import { type Commit, mapCalls, type Turn } from '../model/turn.ts'
import { refuse } from '../policy/plan.ts'
import { closeBatch, settleCall } from './settle.ts'

export const requestStop = (turn: Turn): Commit => ({ turn: { ...turn, stopRequested: true } })

/** A person decided about a call that asks. */
export const decide = (turn: Turn, callId: string, allowed: boolean, view: View): Commit =>
  closeBatch(
    {
      turn: mapCalls(turn, (call) => {
        if (call.id !== callId || call.state !== 'asking') return call
        return allowed
          ? { ...call, state: 'planned' }
          : {
              ...call,
              state: 'settled',
              result: refuse(call, 'The user did not allow this call. Do not try it again.'),
            }
      }),
    },
    view,
  )

/** The result of a call that went away: a person answered, a child session finished, a process ended. */
export function deliver(turn: Turn, message: ToolMessage, view: View): Commit {
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const waits = calls.some(({ id, state }) => id === message.callId && state === 'away')
  return waits ? settleCall(turn, message, view) : { turn }
}
