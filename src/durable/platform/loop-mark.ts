/**
 * Marks the requests that leave through the guard, so that the API refuses those that come back: an agent that calls
 * its own API could start turns without end.
 */

export const loopHeader = 'x-talaria-loop'

const marks = new Map<string, Promise<string>>()

/** Returns the mark of this deployment. It reveals nothing about the key. */
export function createLoopMark({ ENCRYPTION_KEY = '' }: Pick<Env, 'ENCRYPTION_KEY'>): Promise<string> {
  let mark = marks.get(ENCRYPTION_KEY)
  if (!mark) marks.set(ENCRYPTION_KEY, (mark = digest(`loop mark ${ENCRYPTION_KEY}`)))
  return mark
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Whether the request was sent by this deployment. */
export const isOwnRequest = async (headers: Headers, env: Pick<Env, 'ENCRYPTION_KEY'>): Promise<boolean> =>
  headers.has(loopHeader) && headers.get(loopHeader) === (await createLoopMark(env))
