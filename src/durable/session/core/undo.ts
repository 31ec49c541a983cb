/** Removes the last n turns from the conversation and the search, and returns their user messages. */

import type { Entry } from '#agent/core/history.ts'
import { textIn, type UserMessage } from '#agent/core/message.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import type { OwnedOptions, TurnOptions } from '#agent/core/turn-options.ts'
import { leastAuthority } from '#durable/turn/turn-authority.ts'
import { importRunId } from '#durable/storage/journal.ts'
import { contributionsBefore } from './contributions.ts'
import type { Session } from '../session.ts'

export type UndoResult = {
  /** Newest first: the user message that started the turn, and its options. */
  readonly turns: readonly { readonly message: UserMessage; readonly options: TurnOptions; readonly text: string }[]
}

type Keep = (session: Session, from: number) => void
const keepNothing: Keep = () => {}

/** `keep` is called before the rows go. */
export function undoTurns(session: Session, n: number, keep = keepNothing): UndoResult {
  const turns: { message: UserMessage; options: TurnOptions; text: string }[] = []
  let runId: string | undefined
  let from: number | undefined
  let first: Entry | undefined
  const close = () => {
    if (first?.message.role !== 'user' || runId === undefined) return
    const options = session.journal.turnOfRun(runId)?.options ?? {}
    turns.push({ message: first.message, options, text: textIn(first.message) })
  }
  for (const row of session.journal.rowsNewestFirst()) {
    if (row.runId === importRunId || row.n <= (session.meta.earlierThrough ?? 0)) break
    if (row.runId !== runId) {
      close()
      first = undefined
      if (turns.length === n) break
      runId = row.runId
    }
    from = row.n
    first = row.entries.find(({ message }) => message.role === 'user' && !message.source) ?? first
  }
  if (turns.length < n) close()
  if (from === undefined) return { turns: [] }
  keep(session, from)
  session.store.undo(from)
  session.updateMeta({
    retractedFrom: Math.min(from, session.meta.retractedFrom ?? from),
    ...contributionsBefore(session.meta, from),
  })
  session.runInBackground(session.turns.project())
  return { turns }
}

/** Undoes a run and all runs behind it. Nothing when the conversation has no such run. */
export function undoFromRun(session: Session, runId: string, keep = keepNothing): UndoResult {
  const runs = [...new Set(session.journal.listRows().map(({ run }) => run))]
  const at = runs.indexOf(runId)
  return at < 0 ? { turns: [] } : undoTurns(session, runs.length - at, keep)
}

/** The options of an undone turn that somebody repeats. It runs for the one who repeats it, with what its authors may do too. */
export const repeatOptions = (session: Session, options: TurnOptions, by: Authority): OwnedOptions => ({
  ...options,
  authority: combineAuthorities([by, options.authority ?? leastAuthority(session)]),
})
