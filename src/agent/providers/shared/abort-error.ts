/** Calls that were cancelled, told from those that failed. */

export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

/**
 * For what an SDK throws when its call was cancelled: its errors have no names of their own, and bundlers change those
 * of classes.
 */
export const cancelled =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    if (!signal.aborted) throw error
    throw Object.assign(new Error('The call was cancelled.', { cause: error }), { name: 'AbortError' })
  }
