/**
 * Decides whether a server that failed is called again: after three failures in a row it rests for a minute. Each call
 * began within a minute of the failure before, so that a server counts too that lets every call wait.
 */

export type Breaker = {
  /** Times of the last transport failures. Errors of tools never count. */
  readonly failures: readonly number[]
  /** Milliseconds since 1970. Until then nothing is called; then one call tries. */
  readonly openUntil?: number
}

export const closedBreaker: Breaker = { failures: [] }

const windowMs = 60_000
const restMs = 60_000
const maxFailures = 3

export const stateOf = ({ openUntil }: Breaker, now: number): 'closed' | 'open' | 'half_open' => {
  if (openUntil === undefined) return 'closed'
  return now < openUntil ? 'open' : 'half_open'
}

/** `tookMs`: how long the call was waited for. */
export function addFailure({ failures, openUntil }: Breaker, now: number, tookMs = 0): Breaker {
  const isInRow = now - tookMs - (failures.at(-1) ?? 0) < windowMs
  const recent = [...(isInRow ? failures : []), now].slice(-maxFailures)
  const isOpen = recent.length >= maxFailures || openUntil !== undefined
  return { failures: recent, ...(isOpen && { openUntil: now + restMs }) }
}

/** Lets a call through, or undefined. The call of a half-open breaker closes it for others until its result is known. */
export function admitCall(breaker: Breaker, now: number): Breaker | undefined {
  const state = stateOf(breaker, now)
  if (state === 'open') return undefined
  return state === 'closed' ? breaker : { ...breaker, openUntil: now + restMs }
}
