/** Taking turns back: their messages leave the conversation and the search, and are told once more. */

import type { Entry } from '../../agent/model/history.ts'
import { textIn, type UserMessage } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/turn-options.ts'
import { importRunId } from '../storage/journal.ts'
import type { Session } from './session.ts'

export type UndoneTurns = {
  /** Newest first: what a person said to begin the turn, and what it asked for. */
  readonly turns: readonly { readonly message: UserMessage; readonly options: TurnOptions; readonly text: string }[]
}

export function undoTurns(core: Session, n: number): UndoneTurns {
  const turns: { message: UserMessage; options: TurnOptions; text: string }[] = []
  let runId: string | undefined
  let from: number | undefined
  let first: Entry | undefined
  const close = () => {
    if (first?.message.role !== 'user' || runId === undefined) return
    const options = core.journal.turnOfRun(runId)?.options ?? {}
    turns.push({ message: first.message, options, text: textIn(first.message) })
  }
  for (const row of core.journal.rowsNewestFirst()) {
    if (row.runId === importRunId) break
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
  core.store.undo(from)
  core.updateMeta({ retractedFrom: Math.min(from, core.meta.retractedFrom ?? from) })
  core.later(core.turns.project())
  return { turns }
}
