/** Builds the record of a session for history's directory, and sums its cost. */

import { chatName } from '#agent/core/permission/authority.ts'
import type { SessionRecord } from '#agent/core/history.ts'
import { temporarySource } from '#agent/memory/session-source.ts'
import { callerCalls, totalUsage, type Turn } from '#agent/core/turn.ts'
import { addUsage, type Usage } from '#agent/core/usage.ts'
import type { SessionMetadata } from './session-metadata.ts'
import type { SessionStore } from './store.ts'
import { clock } from '#durable/platform/clock.ts'

export function sessionRecord(meta: SessionMetadata, store: SessionStore, expires?: number): SessionRecord {
  const turn = store.current()
  return {
    id: meta.id,
    title: meta.title,
    source: meta.source,
    model: meta.model,
    parentId: meta.parentId,
    createdAt: meta.createdAt,
    updatedAt: Math.max(meta.createdAt, lastActivityAt(turn)),
    usage: sessionUsage(meta, store),
    ...(meta.origin && { chat: chatName(meta.origin) }),
    ...(meta.pinned && { pinned: true }),
    ...(meta.archived && { archived: true }),
    ...(meta.tags?.length && { tags: meta.tags }),
    ...(meta.project && { projectId: meta.project.id }),
    facets: store.facets(),
    state: { ...meta, expiresAt: expires, given: { message: store.lastMessageSeq(), event: store.lastEventSeq() } },
  }
}

/** An ephemeral session stays this long after its answer for clients that still read it. */
const ephemeralRetentionMs = 60_000

/** A session that nothing continues stays this long: longer with files, because they may be what was wanted. */
const oneShotRetentionMs = 24 * 3_600_000
const oneShotFilesRetentionMs = 7 * oneShotRetentionMs

/** A temporary chat that nobody has closed. */
const temporaryRetentionMs = 24 * 3_600_000

export type ExpiryFacts = { readonly hasFiles: () => boolean; readonly hasEarlierRun: () => boolean }

/** When a session deletes itself. Undefined while a turn is open, and for sessions that stay. */
export function expiresAt(meta: SessionMetadata, store: SessionStore, facts: ExpiryFacts): number | undefined {
  if (store.hasOpenTurn) return meta.ephemeral ? waitingUntil(store.turn()) : undefined
  const isTemporary = meta.source === temporarySource
  if (!(meta.ephemeral || meta.oneShot || isTemporary)) return undefined
  const last = Math.max(meta.createdAt, lastActivityAt(store.current()))
  if (isTemporary) return last + temporaryRetentionMs
  if (meta.ephemeral) return last + ephemeralRetentionMs
  // A second run keeps the session. Its rows say so: a mark would be one more row of that turn.
  if (facts.hasEarlierRun()) return undefined
  return last + (facts.hasFiles() ? oneShotFilesRetentionMs : oneShotRetentionMs)
}

/** A session that is not stored waits this long for the results of its client. */
const ephemeralWaitMs = 60 * 60_000

function waitingUntil({ stage, segments = [] }: Turn): number | undefined {
  const since = callerCalls(stage).length ? segments.at(-1)?.endedAt : undefined
  return since === undefined ? undefined : since + ephemeralWaitMs
}

/** Turns of a fork may be older than the fork. */
function lastActivityAt(turn: Turn | undefined): number {
  if (!turn) return 0
  return turn.stage.at === 'done' ? turn.stage.endedAt : turn.startedAt
}

/** The usage of a run, with what was billed after its end. */
export const runUsage = ({ after }: SessionMetadata, run: { readonly id: string; readonly usage: Usage }): Usage =>
  after?.run === run.id ? addUsage(run.usage, after.usage) : run.usage

/** Adds usage to a run whose turn is already written. */
export const addLateUsage = (
  { after }: SessionMetadata,
  run: string,
  usage: Usage,
): Pick<SessionMetadata, 'after'> => ({
  after: { run, usage: after?.run === run ? addUsage(after.usage, usage) : usage },
})

/** The usage of a turn and the time it is counted at. */
export const runCost = (meta: SessionMetadata, turn: Turn): { readonly usage: Usage; readonly at: number } => ({
  usage: runUsage(meta, turn),
  at: turn.stage.at === 'done' ? turn.stage.endedAt : clock.now(),
})

/** The usage of the whole session with its subagents, the open turn included. */
export function sessionUsage(meta: SessionMetadata, store: SessionStore): Usage {
  const turn = store.current()
  return turn ? addUsage(turn.usageBefore, totalUsage({ ...turn, usage: runUsage(meta, turn) })) : meta.usageBefore
}
