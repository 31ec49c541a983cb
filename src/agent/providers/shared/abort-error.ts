/** Distinguishes aborted calls from failed ones. */

export const isAbortError = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

export const createAbortError = (cause?: unknown): Error =>
  Object.assign(new Error('The call was aborted.', { cause }), { name: 'AbortError' })

/**
 * Replaces any error of an aborted call by an `AbortError`. The abort errors of the SDKs have no `name`, and bundlers
 * rename their classes.
 */
export const rethrowAsAbort =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    if (!signal.aborted) throw error
    throw createAbortError(error)
  }
