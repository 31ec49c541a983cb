/** Reads the files of a session as they were when a run had ended, from its checkpoints. */

import { checkpointLimits } from '#backends/checkpoints.ts'
import type { SnapshotEntry } from '#backends/portable-backend.ts'
import { turnOf } from '../views/segments.ts'
import type { Session } from '../session.ts'

/** The checkpoint that was taken before the first change after the run; undefined when nothing has changed since. */
async function findCheckpoint(session: Session, runId: string) {
  const all = await session.toolRuntime.backend.checkpoints()
  const turn = turnOf(session, runId)
  if (!all || turn?.stage.at !== 'done') return undefined
  const { endedAt } = turn.stage
  const runs = session.journal.listRows().map(({ run }) => run)
  const kept = new Set(runs.slice(0, runs.lastIndexOf(runId) + 1))
  const first = (await all.list()).findLast(({ run, at }) => !kept.has(run) && at >= endedAt)
  return first && { all, id: first.id }
}

/** Files that no checkpoint has are read as they are now. A link that was changed since becomes a file. */
export async function* snapshotAfter(session: Session, runId: string): AsyncGenerator<SnapshotEntry> {
  const { backend } = session.toolRuntime
  const checkpoint = await findCheckpoint(session, runId)
  const changed = new Set<string>()
  if (checkpoint)
    for await (const change of checkpoint.all.changes(checkpoint.id, checkpointLimits.fileBytes)) {
      if ('tooLarge' in change) continue
      changed.add(change.path)
      const { path, before } = change
      if (before) yield { path, kind: 'file', mode: 0o644, modified: 0, bytes: before }
    }
  for await (const entry of backend.snapshot((path) => !changed.has(path))) if (!changed.has(entry.path)) yield entry
}
