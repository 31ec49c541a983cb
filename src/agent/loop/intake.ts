/**
 * The door into a turn that is open: what the world may do to it. Each is one small change, safe at
 * any moment and twice.
 */

import type { ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import { type Commit, type CompressionRequest, mapCalls, type Turn } from '../model/turn.ts'
import { settleCall } from './settle.ts'

export const requestStop = (turn: Turn): Commit => ({ turn: { ...turn, stopRequested: true } })

/** The context is to be shortened before the next model call. */
export const requestCompression = (turn: Turn, compress: CompressionRequest): Commit => ({
  turn: { ...turn, compress },
})

/** A person allowed a call that waits for it: it is planned again. Who says no delivers its result. */
export const allowCall = (turn: Turn, callId: string, granted: string): Commit => ({
  turn: mapCalls(turn, (call) => {
    if (call.id !== callId || call.state !== 'away' || call.awaits.kind !== 'approval') return call
    const { id, name, input, effect } = call
    return { id, name, input, effect, granted, state: 'planned' }
  }),
})

/** The result of a call that went away: a person answered, a child session finished, a process ended. */
export function settlePendingCall(turn: Turn, message: ToolMessage, view: View): Commit {
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const waits = calls.some(({ id, state }) => id === message.callId && state === 'away')
  return waits ? settleCall(turn, message, view) : { turn }
}
