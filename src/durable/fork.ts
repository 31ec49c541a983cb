/** Copying a session, files included. The copy is a session of its own from then on. */

import type { Entry } from '../agent/model/history.ts'
import type { Turn } from '../agent/model/turn.ts'
import type { SnapshotEntry } from '../backends/virtual/snapshot.ts'
import type { SessionCore } from './session-core.ts'
import type { NewSession, SessionMeta } from './session-meta.ts'

export type SessionCopy = {
  readonly meta: SessionMeta
  readonly rows: readonly {
    readonly n: number
    readonly runId: string
    readonly entries: readonly Entry[]
    readonly turn?: Turn
  }[]
  readonly files: readonly SnapshotEntry[]
}

export async function copySession(core: SessionCore): Promise<SessionCopy> {
  const rows = [...core.journal.unsent(0)].map(({ row, turn }) => ({
    n: row.n,
    runId: row.runId,
    entries: row.entries,
    ...(turn?.stage.at === 'done' && { turn }),
  }))
  const files: SnapshotEntry[] = []
  for await (const file of core.workbench.backend.snapshot()) files.push(file)
  // A turn that is still open stays with the original: its last words are not in yet.
  const open = core.store.hasOpenTurn ? core.store.turn().id : undefined
  return { meta: core.meta, rows: rows.filter(({ runId }) => runId !== open), files }
}

export async function takeCopy(core: SessionCore, { meta, rows, files }: SessionCopy, spec: NewSession): Promise<void> {
  if (core.exists) return
  // The chat stays with the original.
  const { origin: _origin, ...copied } = meta
  core.adopt(
    {
      ...copied,
      id: core.sessionId,
      tenantId: core.tenantId,
      title: spec.title ?? meta.title,
      source: spec.source ?? meta.source,
      parentId: spec.parentId ?? null,
      // A machine of its own, of the same kind.
      ...(meta.machine && { machine: { kind: meta.machine.kind, been: meta.machine.been } }),
      createdAt: Date.now(),
    },
    rows,
  )
  await core.workbench.backend.restore(files)
}
