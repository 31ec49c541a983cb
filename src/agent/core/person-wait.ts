/**
 * Measures the time in which a turn waits only for its caller: for an approval, an answer to a question or the result of
 * a tool of the client. This time does not count for the time limit of the turn.
 */

import { waitsForCaller } from './pending-request.ts'
import type { ToolCall, Turn } from './turn.ts'

const isPendingOnPerson = (call: ToolCall): boolean => call.state === 'away' && waitsForCaller(call.awaits)

const waitsOnlyForPersons = ({ stage }: Turn): boolean =>
  stage.at === 'tools' &&
  stage.calls.some(isPendingOnPerson) &&
  stage.calls.every((call) => call.state === 'settled' || isPendingOnPerson(call))

/** Starts the measurement when a result leaves only requests to the caller open. */
export const startPersonWait = (turn: Turn, now: number): Turn =>
  waitsOnlyForPersons(turn) && turn.people?.since === undefined
    ? { ...turn, people: { ms: personWaitMs(turn, now), since: now } }
    : turn

/** Ends the measurement when the next step begins. */
export const endPersonWait = (turn: Turn, now: number): Turn =>
  turn.people?.since === undefined ? turn : { ...turn, people: { ms: personWaitMs(turn, now) } }

/** Returns the milliseconds up to this time. */
export const personWaitMs = ({ people }: Turn, at: number): number =>
  people ? people.ms + (people.since === undefined ? 0 : Math.max(0, at - people.since)) : 0
