/**
 * Time in which a turn waits for nobody but people: for leave to run a call, for the answer to a question. They may
 * take as long as they like, so it is kept apart from the time of the turn.
 */

import type { ToolCall, Turn } from '../model/turn.ts'

const isForPeople = (call: ToolCall): boolean =>
  call.state === 'away' && (call.awaits.kind === 'approval' || call.awaits.kind === 'question')

/** Nothing else is left to do. */
const isHeld = ({ stage }: Turn): boolean =>
  stage.at === 'tools' &&
  stage.calls.some(isForPeople) &&
  stage.calls.every((call) => call.state === 'settled' || isForPeople(call))

/** A result is in: from here on it may be people who are waited for. */
export const held = (turn: Turn, now: number): Turn =>
  isHeld(turn) && turn.people?.since === undefined ? { ...turn, people: { ms: heldFor(turn, now), since: now } } : turn

/** The turn moves again. */
export const released = (turn: Turn, now: number): Turn =>
  turn.people?.since === undefined ? turn : { ...turn, people: { ms: heldFor(turn, now) } }

/** Milliseconds of it, up to this time. */
export const heldFor = ({ people }: Turn, at: number): number =>
  people ? people.ms + (people.since === undefined ? 0 : Math.max(0, at - people.since)) : 0
