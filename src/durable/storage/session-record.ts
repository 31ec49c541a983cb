/** What history's directory says about a session, made from its living parts; and what it has cost. */

import type { SessionRecord } from '../../agent/model/history.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { addUsage, type Usage } from '../../agent/model/usage.ts'
import type { SessionMetadata } from './session-metadata.ts'
import type { SessionStore } from './store.ts'
import { clock } from '../platform/clock.ts'

export function sessionRecord(meta: SessionMetadata, store: SessionStore): SessionRecord {
  const turn = store.current()
  return {
    id: meta.id,
    title: meta.title,
    source: meta.source,
    model: meta.model,
    parentId: meta.parentId,
    createdAt: meta.createdAt,
    updatedAt: Math.max(meta.createdAt, movedAt(turn)),
    usage: sessionUsage(meta, store),
    state: { ...meta, given: { message: store.lastMessageSeq(), event: store.lastEventSeq() } },
  }
}

/** How long an ephemeral session stays behind its answer, for whoever is still reading it. */
const readingMs = 60_000

/** When a session goes by itself: behind its last turn, or without any. Undefined while one is open, and for all others. */
export const expiresAt = (meta: SessionMetadata, store: SessionStore): number | undefined =>
  meta.ephemeral && !store.hasOpenTurn ? Math.max(meta.createdAt, movedAt(store.current())) + readingMs : undefined

/** Turns of a fork are older than the fork. */
function movedAt(turn: Turn | undefined): number {
  if (!turn) return 0
  return turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt
}

/** What a run has cost, with what was spent for it after its end. */
export const usageOf = ({ after }: SessionMetadata, run: { readonly id: string; readonly usage: Usage }): Usage =>
  after?.run === run.id ? addUsage(run.usage, after.usage) : run.usage

/** What is spent for a run whose turn is written already. */
export const bookedAfter = ({ after }: SessionMetadata, run: string, usage: Usage): Pick<SessionMetadata, 'after'> => ({
  after: { run, usage: after?.run === run ? addUsage(after.usage, usage) : usage },
})

/** The same with the time it counts at. */
export const spentBy = (meta: SessionMetadata, turn: Turn): { readonly usage: Usage; readonly at: number } => ({
  usage: usageOf(meta, turn),
  at: turn.stage.at === 'done' ? turn.stage.endedAt : clock.now(),
})

/** Of the whole session, the open turn included. */
export function sessionUsage(meta: SessionMetadata, store: SessionStore): Usage {
  const turn = store.current()
  return turn ? addUsage(turn.usageBefore, usageOf(meta, turn)) : meta.usageBefore
}
