/**
 * Sessions that share an isolate share its one thread. Here they know how many of them are being answered, and leave
 * each other the thread for that.
 */

import { clock } from './clock.ts'

/** When a session was last heard of, by its id. Objects die without a word, so nobody is counted for long. */
const answered = new Map<string, number>()
const forgottenMs = 5_000
let swept = 0

/** This session is being answered. Tells how many are. */
export function joinCrowd(sessionId: string, now: number): number {
  answered.set(sessionId, now)
  return crowdSize(now)
}

function crowdSize(now: number): number {
  if (now - swept > forgottenMs) {
    swept = now
    for (const [one, at] of answered) if (now - at > forgottenMs) answered.delete(one)
  }
  return answered.size
}

export const leaveCrowd = (sessionId: string): void => void answered.delete(sessionId)

const pauseMs = 100
const longestMs = 2_000

/**
 * A moment for work that nobody waits for: soon, but not while anybody is being answered, and in time all the same.
 * Where the database is in the same process, as it is locally, its work would make a first word a quarter later.
 */
export async function quietMoment({ now, wait } = clock): Promise<void> {
  const latest = now() + longestMs
  do await wait(pauseMs)
  while (crowdSize(now()) > 0 && now() < latest)
}
