/** Names the trajectories of a tenant in R2, and deletes them after their days or with their session. */

import { isCancelled, type Turn } from '#agent/core/turn.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'

export const trajectoryOutcomes = ['completed', 'failed'] as const
export type TrajectoryOutcome = (typeof trajectoryOutcomes)[number]

/** Undefined for a run that somebody has stopped: it says nothing about the model. */
export function outcomeOf({ stage }: Turn): TrajectoryOutcome | undefined {
  if (stage.at !== 'done' || isCancelled(stage.outcome)) return undefined
  return stage.outcome === 'failed' || stage.outcome === 'out-of-budget' || stage.outcome === 'partial'
    ? 'failed'
    : 'completed'
}

export const trajectoryPrefix = (tenantId: string, outcome: TrajectoryOutcome): string =>
  blobPrefix(tenantId, 'trajectories', outcome)

type Kept = { readonly outcome: TrajectoryOutcome; readonly sessionId: string; readonly turn: Turn }

/** Sorted by the time of the end. */
export function trajectoryKey(tenantId: string, { outcome, sessionId, turn }: Kept): string {
  const endedAt = new Date(turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt).toISOString()
  const name = [endedAt, encodeURIComponent(sessionId), encodeURIComponent(turn.id)].join('~')
  return `${trajectoryPrefix(tenantId, outcome)}${name}`
}

/** Those of a session, or those that ended before a time. */
type Doomed = { readonly ofSession: string } | { readonly before: number }

export async function deleteTrajectories(blobs: R2Bucket | undefined, prefix: string, doomed: Doomed): Promise<void> {
  const isDoomed = (key: string): boolean => {
    const [endedAt = '', session] = key.slice(prefix.length).split('~')
    return 'before' in doomed ? Date.parse(endedAt) < doomed.before : session === encodeURIComponent(doomed.ofSession)
  }
  let startAfter: string | undefined
  for (;;) {
    const page = await blobs?.list({ prefix, ...(startAfter !== undefined && { startAfter }) })
    const keys = page?.objects.map(({ key }) => key) ?? []
    const old = keys.filter(isDoomed)
    if (old.length) await blobs?.delete(old)
    // The oldest ones are first.
    if (!page?.truncated || ('before' in doomed && old.length < keys.length)) return
    startAfter = keys.at(-1)
  }
}
