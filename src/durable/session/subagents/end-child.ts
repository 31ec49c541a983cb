/** Takes the end of a subagent into its parent: its row, its cost and its event are one write. */

import { allMarks } from '#agent/core/marks.ts'
import type { SubagentReport, SubagentStatus } from '#agent/core/subagent.ts'
import { addDelegatedUsage } from '#agent/loop/turn-changes.ts'
import { noUsage } from '#agent/core/usage.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ChildRow, type ChildRows, isSubagent } from './child-rows.ts'
import type { Session } from '../session.ts'

const maxPreviewChars = 200

/** Does nothing when the subagent has ended before. */
export function endChild(session: Session, rows: ChildRows, { id }: ChildRow, report: SubagentReport): void {
  const row = rows.get(id)
  if (!row || row.state.at === 'ended') return
  const { store } = session
  rows.put({ ...row, state: { at: 'ended', endedAt: clock.now(), report } })
  // The session that was asked has its own books.
  if (!isSubagent(row)) return
  const turn = store.current()
  if (turn) {
    store.save(addDelegatedUsage(turn, report.usage))
    store.addEvent({
      type: 'subagent.complete',
      subagent_id: id,
      delegation_id: row.delegation,
      task_index: row.index,
      status: report.status,
      summary: report.output.slice(0, maxPreviewChars),
      duration_ms: report.durationMs,
      cost_usd: report.usage.costUsd,
    })
    store.write()
  }
  if (turn && !store.hasOpenTurn) {
    // History has the usage of the session as it was when the turn ended.
    session.projection.repeatTurn(turn.id)
    session.runInBackground(session.turns.project())
  }
}

const lostTexts: Readonly<Partial<Record<SubagentStatus, string>>> = {
  unknown: 'The session of the subagent was lost. It is unknown what it has done; check before you delegate again.',
}

/** The report of a subagent that cannot report any more. */
export function lostReport(row: ChildRow, status: SubagentStatus, error = lostTexts[status]): SubagentReport {
  const since = row.state.at === 'running' ? row.state.since : clock.now()
  return {
    status,
    output: '',
    ...(error !== undefined && { error }),
    exitReason: status,
    model: row.task.model ?? null,
    apiCalls: row.state.at === 'running' ? row.state.watched.progress.apiCalls : 0,
    usage: noUsage,
    durationMs: Math.max(0, clock.now() - since),
    toolTrace: [],
    missedSteers: [],
    marks: allMarks,
  }
}
