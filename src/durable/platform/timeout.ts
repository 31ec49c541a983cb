/** Bounds how long work is waited for. */

import { clock } from './clock.ts'

/**
 * Waits for the work at most `ms`, then returns or throws what `onTimeout` does. The work itself goes on, and its later
 * error is ignored. The timer ends with the work: it would keep a Durable Object in memory.
 */
export async function withTimeout<T, L>(work: Promise<T>, ms: number, onTimeout: () => L): Promise<T | L> {
  const { promise: expired, resolve } = Promise.withResolvers<void>()
  const cancel = clock.schedule(ms, resolve)
  try {
    return await Promise.race([work, expired.then(onTimeout)])
  } finally {
    cancel()
  }
}
