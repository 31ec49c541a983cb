/** Decides when a subagent makes no progress any more. A long tool gets more time than a silent model. */

import type { SubagentProgress } from '#agent/core/subagent.ts'

/** The last progress that the parent has seen. Times are milliseconds since 1970. */
export type Watched = {
  readonly progress: SubagentProgress
  /** When the marker changed last. */
  readonly changedAt: number
}

const idleTimeoutMs = 450_000
const toolTimeoutMs = 1_200_000
/** A report may be on its way. */
const graceMs = 120_000

export const startWatching = (now: number): Watched => ({
  progress: { marker: -1, activity: 'starting', isInTool: false, isWaiting: false, apiCalls: 0 },
  changedAt: now,
})

export const watch = (before: Watched, progress: SubagentProgress, now: number): Watched => ({
  progress,
  changedAt: progress.isWaiting || progress.marker !== before.progress.marker ? now : before.changedAt,
})

/** Explains why the subagent counts as stalled; undefined while it does not. */
export function explainStall({ progress, changedAt }: Watched, now: number): string | undefined {
  const timeoutMs = progress.isInTool ? toolTimeoutMs : idleTimeoutMs
  if (now - changedAt < timeoutMs + graceMs) return undefined
  const seconds = Math.round((now - changedAt) / 1_000)
  return `No progress for ${seconds} s (${progress.activity}).`
}
