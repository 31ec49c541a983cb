/**
 * Marks the requests that leave through the guard, so that the API refuses those that come back: an agent that calls
 * its own API could start turns without end.
 */

import { sha256Hex } from './hash.ts'

export const loopHeader = 'x-talaria-loop'

const marks = new Map<string, Promise<string>>()

/** Returns the mark of this deployment. It reveals nothing about the key. */
export function createLoopMark({ ENCRYPTION_KEY = '' }: Pick<Env, 'ENCRYPTION_KEY'>): Promise<string> {
  let mark = marks.get(ENCRYPTION_KEY)
  if (!mark) marks.set(ENCRYPTION_KEY, (mark = sha256Hex(`loop mark ${ENCRYPTION_KEY}`, 8)))
  return mark
}

/** Whether the request was sent by this deployment. */
export const isOwnRequest = async (headers: Headers, env: Pick<Env, 'ENCRYPTION_KEY'>): Promise<boolean> =>
  headers.has(loopHeader) && headers.get(loopHeader) === (await createLoopMark(env))
