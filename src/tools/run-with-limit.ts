/**
 * Runs the work of a tool call within its time limit. The signal of the work aborts at the limit or when the user stops
 * the turn. Work that does not end then is abandoned, and its late result or error is discarded.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'

/** Time for stopped work to return what it has so far. */
const stopGraceMs = 10_000

export type LimitedRun = {
  readonly limitMs: number
  /** Aborts when the user stops the turn. */
  readonly stop: AbortSignal
  readonly schedule: ScheduleTimer
}

/** Returns the result of the work, or why there is none. Errors of the work are thrown. */
export async function runWithLimit<T>(
  { limitMs, stop, schedule }: LimitedRun,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly result: T } | { readonly abandoned: 'timeout' | 'stopped' }> {
  const limit = new AbortController()
  const abandoned = Promise.withResolvers<{ readonly abandoned: 'timeout' | 'stopped' }>()
  const cancels: (() => void)[] = []
  if (Number.isFinite(limitMs))
    cancels.push(
      schedule(limitMs, () => {
        // Resolved first, so that a result which the abort brings about is late.
        abandoned.resolve({ abandoned: 'timeout' })
        limit.abort(new Error('The time limit of the call is over.'))
      }),
    )
  const onStop = () => cancels.push(schedule(stopGraceMs, () => abandoned.resolve({ abandoned: 'stopped' })))
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) onStop()
  try {
    const running = work(AbortSignal.any([stop, limit.signal])).then((result) => ({ result }))
    // Nothing awaits abandoned work.
    running.catch(() => undefined)
    return await Promise.race([abandoned.promise, running])
  } finally {
    stop.removeEventListener('abort', onStop)
    for (const cancel of cancels) cancel()
  }
}
