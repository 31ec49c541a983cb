/** Builds the view of one session: its record, what runs and waits in it, and how full its context is. */

import { textIn } from '#agent/core/message.ts'
import { contextTokens } from '#durable/turn/context-tokens.ts'
import { type RunView, sessionView, type SessionView } from '../api-views.ts'
import { assumedWindow } from '../read-context.ts'
import { statusOf } from '#durable/turn/pending-requests.ts'
import { runOf } from '../read-session.ts'
import type { Session } from '../session.ts'

export type SessionDetail = SessionView & {
  readonly event_seq: number
  readonly run: Pick<RunView, 'run_id' | 'status' | 'activity' | 'started_at'> | null
  readonly queued: readonly { readonly run_id: string; readonly input: string }[]
  readonly context: { readonly tokens: number; readonly window: number }
}

const maxInputChars = 2_000

/** Everything is read in one turn of the object: the events behind `event_seq` are what happens afterwards. */
export async function readSessionDetail(session: Session): Promise<SessionDetail> {
  await session.ensureTenant()
  const { store, meta } = session
  const run = store.hasOpenTurn ? runOf(session, store.turn().id) : undefined
  const model = session.promptModel(store.current()?.options.model ?? meta.model ?? undefined)
  return {
    ...sessionView(session.record(), statusOf(session)),
    event_seq: store.shownThrough(),
    run: run ? { run_id: run.run_id, status: run.status, activity: run.activity, started_at: run.started_at } : null,
    queued: store
      .queued()
      .map(({ item: { runId, message } }) => ({ run_id: runId, input: textIn(message).slice(0, maxInputChars) })),
    context: { tokens: contextTokens(session), window: model?.contextWindow ?? assumedWindow },
  }
}
