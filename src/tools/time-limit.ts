/** Decides how long a tool call may run, and describes a call that was stopped by its limit. */

import type { Effect } from '#agent/core/tool.ts'

/** Long enough for a host that starts and restores its workspace first. */
export const defaultToolTimeoutMs = 300_000
/** For calls that run concurrently. The slowest one would hold back the results of the others. */
const batchTimeoutMs = 420_000

/**
 * Returns the limit of one call in milliseconds. A call that runs alone has its tool's limit; concurrent ones have at
 * most that of the batch. Infinity: a call that waits for a person has no limit.
 */
export function limitToolTime(toolTimeoutMs: number | undefined, concurrentCalls: number): number {
  const own = toolTimeoutMs ?? defaultToolTimeoutMs
  return concurrentCalls > 1 && own !== Number.POSITIVE_INFINITY ? Math.min(own, batchTimeoutMs) : own
}

const outcomes: Readonly<Record<Effect, string>> = {
  pure: 'Try a smaller part, or another way.',
  once: 'Try a smaller part, or another way.',
  keyed: 'It may have taken effect; the same call can be repeated.',
  effect: 'Outcome unknown: it may have taken effect. Check before you repeat it.',
}

/** Explains to the model why a call has no result. */
export const describeToolTimeout = (limitMs: number, effect: Effect): string =>
  `Stopped: no result after ${Math.round(limitMs / 1_000)} seconds. ${outcomes[effect]}`
