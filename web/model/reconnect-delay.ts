/** Decides how long a page waits before it connects again. */

const minDelayMs = 500
const maxDelayMs = 15_000
/** A deployment closes the connections of all pages at once: they come back within this time. */
const spreadMs = 10_000

/** `isLost`: the connection was open. Else an attempt failed, after so many others. */
export function reconnectDelayMs(isLost: boolean, failures: number, random = Math.random()): number {
  if (isLost) return spreadMs * random
  return Math.min(maxDelayMs, minDelayMs * 2 ** failures) * (0.75 + random / 2)
}
