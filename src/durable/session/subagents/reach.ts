/** Limits the time of calls to the sessions of subagents and of their parents. */

import { clock } from '#durable/platform/clock.ts'

const timeoutMs = 60_000

/** Rejects when the other session does not answer in time. The call may have reached it all the same. */
export async function withinLimit<T>(call: () => Promise<T>): Promise<T> {
  const timer = new AbortController()
  const expired = clock.wait(timeoutMs, { signal: timer.signal }).then(() => {
    throw new Error('The other session did not answer in time.')
  })
  try {
    return await Promise.race([call(), expired])
  } finally {
    expired.catch(() => undefined)
    timer.abort()
  }
}
