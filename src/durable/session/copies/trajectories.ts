/**
 * Keeps each ended run as a trajectory, when the tenant has switched it on: one object of R2 with one line of JSON, sorted
 * by outcome and by the time of its end. A run has one key, so that storing it again after a crash adds nothing.
 */

import { outcomeOf, type TrajectoryOutcome, trajectoryKey, trajectoryPrefix } from '#durable/tenant/trajectories.ts'
import type { Turn } from '#agent/core/turn.ts'
import { runUsage } from '#durable/storage/session-record.ts'
import type { Session } from '../session.ts'
import { exportSession } from './export.ts'
import { iso } from '../views/api-views.ts'

/** A line is held in memory. */
const maxChars = 8_000_000

/** Rejects when one could not be stored. */
export async function keepTrajectories(session: Session): Promise<void> {
  const { BLOBS } = session.outside.env
  const isOn = session.settings.sessions?.trajectory_days !== undefined
  // Runs of the time in which it was off stay out when it is on again.
  if (!isOn) return session.updateMeta({ trajectoriesThrough: undefined })
  if (!BLOBS || session.expiresAt !== undefined) return
  for (const { turn, n } of listEnded(session)) {
    const outcome = outcomeOf(turn)
    if (outcome) {
      const line = await renderTrajectory(session, turn, outcome)
      // First, so that no deletion misses it.
      if (!session.meta.hasTrajectories) session.updateMeta({ hasTrajectories: true })
      await BLOBS.put(trajectoryKey(session.tenantId, { outcome, sessionId: session.sessionId, turn }), line)
    }
    if (!session.exists || session.turns.isClosing) return
    session.updateMeta({ trajectoriesThrough: n })
  }
}

/**
 * The ended runs that were not kept yet, with their newest rows. A run that was open when it was switched on has no
 * mark before it, so that only it is known to be asked for.
 */
function listEnded({ journal, store, meta }: Session): readonly { readonly turn: Turn; readonly n: number }[] {
  const current = store.current()
  const after = meta.trajectoriesThrough
  const newest = new Map<string, number>()
  for (const { n, run } of journal.listRows())
    if (after === undefined ? run === current?.id : n > after) newest.set(run, n)
  return [...newest].flatMap(([run, n]) => {
    const turn = run === current?.id ? current : journal.turnOfRun(run)
    // Turns of a fork may be older than the fork: they are trajectories of its parent.
    return turn?.stage.at === 'done' && turn.stage.endedAt >= meta.createdAt ? [{ turn, n }] : []
  })
}

async function renderTrajectory(session: Session, turn: Turn, outcome: TrajectoryOutcome): Promise<string> {
  const { meta, sessionId } = session
  // Without the storage: the form names images and does not hold them.
  const body = exportSession(session, { format: 'sharegpt', hasFiles: false, runId: turn.id }, undefined)
  const text = await new Response(body).text()
  const isFitting = text.length <= maxChars
  const { conversations } = isFitting
    ? (JSON.parse(text) as { readonly conversations: unknown })
    : { conversations: [] }
  const { input, output, cachedRead, cachedWrite, reasoning, costUsd, by } = runUsage(meta, turn)
  const endedAt = turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt
  const line = {
    session_id: sessionId,
    run_id: turn.id,
    conversations,
    ...(!isFitting && { omitted: 'too large' }),
    model: turn.options.model ?? meta.model,
    models: Object.keys(by ?? {}),
    source: meta.source,
    started_at: iso(turn.startedAt),
    ended_at: iso(endedAt),
    duration_ms: endedAt - turn.startedAt,
    model_calls: turn.budget.spent,
    usage: {
      input_tokens: input,
      output_tokens: output,
      cache_read_tokens: cachedRead,
      cache_write_tokens: cachedWrite,
      reasoning_tokens: reasoning,
      cost_usd: costUsd,
    },
    exit_reason: turn.stage.at === 'done' ? turn.stage.outcome : '',
    completed: outcome === 'completed',
  }
  return `${session.redact(JSON.stringify(line))}\n`
}

/** Called when the session is deleted. */
export async function deleteTrajectories({ outside, tenantId, sessionId }: Session): Promise<void> {
  const { deleteTrajectories: deleteAll } = await import('#durable/tenant/trajectories.ts')
  for (const outcome of ['completed', 'failed'] as const)
    await deleteAll(outside.env.BLOBS, trajectoryPrefix(tenantId, outcome), { ofSession: sessionId })
}
