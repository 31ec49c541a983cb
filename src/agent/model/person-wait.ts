/**
 * Time in which a turn waits for nobody but people: for leave to run a call, for the answer to a question. They may
 * take as long as they like, so it is kept apart from the time of the turn.
 */

import { waitsForPerson } from '../model/pending-request.ts'
import type { ToolCall, Turn } from './turn.ts'

const isPendingOnPerson = (call: ToolCall): boolean => call.state === 'away' && waitsForPerson(call.awaits)

/** Nothing else is left to do. */
const waitsOnlyForPersons = ({ stage }: Turn): boolean =>
  stage.at === 'tools' &&
  stage.calls.some(isPendingOnPerson) &&
  stage.calls.every((call) => call.state === 'settled' || isPendingOnPerson(call))

/** A result is in: from here on it may be people who are waited for. */
export const startPersonWait = (turn: Turn, now: number): Turn =>
  waitsOnlyForPersons(turn) && turn.people?.since === undefined
    ? { ...turn, people: { ms: personWaitMs(turn, now), since: now } }
    : turn

/** The turn moves again. */
export const endPersonWait = (turn: Turn, now: number): Turn =>
  turn.people?.since === undefined ? turn : { ...turn, people: { ms: personWaitMs(turn, now) } }

/** Milliseconds of it, up to this time. */
export const personWaitMs = ({ people }: Turn, at: number): number =>
  people ? people.ms + (people.since === undefined ? 0 : Math.max(0, at - people.since)) : 0
