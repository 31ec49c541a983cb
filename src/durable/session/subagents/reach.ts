/** Limits the time of calls to the sessions of subagents and of their parents. */

import { withTimeout } from '#durable/platform/timeout.ts'

const timeoutMs = 60_000

/** Rejects when the other session does not answer in time. The call may have reached it all the same. */
export const withinLimit = <T>(call: () => Promise<T>): Promise<T> =>
  withTimeout(call(), timeoutMs, () => {
    throw new Error('The other session did not answer in time.')
  })
