/**
 * Defines the port of a tenant's full history, which is a projection of its sessions. Each session owns its data and
 * sends new pages with keys, so that sending twice changes nothing.
 */

import type { KeptMessages } from './compression.ts'
import type { Facets } from './facets.ts'
import type { AuditEvent } from './permission/audit.ts'
import type { HistoryPort, HistoryHit, SearchFilter } from './tool.ts'
import type { Message } from './message.ts'
import type { Usage } from './usage.ts'

/** A message with its position. `seq` counts the messages of a session from 1 and is never used twice. */
export type Entry = {
  readonly id: string
  readonly seq: number
  readonly runId: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** The estimated tokens of the message in a request. */
  readonly tokens: number
  readonly message: Message
  /** On a summary: messages up to this seq are no longer sent to models. */
  readonly covers?: number
  /** On a summary: older messages that are still sent. */
  readonly keeps?: KeptMessages
  /** On a summary: one line for each call with an effect that it replaces. */
  readonly effects?: readonly string[]
}

/** Whether models no longer get a message. `summary` is the newest one of the session. */
export const isCompacted = (seq: number, summary: Pick<Entry, 'covers' | 'keeps'> | undefined): boolean =>
  seq <= (summary?.covers ?? 0) && !summary?.keeps?.head.includes(seq) && !summary?.keeps?.requests.includes(seq)

/**
 * Consecutive messages of one turn, stored and searched as one row. `n` is the seq of the first entry. The end of a turn
 * always ends a page, so that an undo deletes whole pages.
 */
export type Page = {
  readonly n: number
  readonly runId: string
  readonly at: number
  readonly entries: readonly Entry[]
  /** The record of the turn (plain JSON), on its last page. */
  readonly turn?: unknown
  readonly model?: string
  readonly usage?: Usage
  /** False for history that a client repeated: it is stored but not searched. Default: true. */
  readonly indexed?: boolean
}

/** A session in the tenant's directory. Times are milliseconds since 1970. */
export type SessionRecord = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parentId: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly usage: Usage
  /** The name of the chat that the session belongs to. */
  readonly chat?: string | undefined
  readonly pinned?: boolean | undefined
  /** Left out of lists that do not ask for it. */
  readonly archived?: boolean | undefined
  /** Set by a person, to find it again. */
  readonly tags?: readonly string[] | undefined
  readonly projectId?: string | undefined
  /** Absent: not counted. */
  readonly facets?: Facets | undefined
  /** The settings and other state that a rebuilt object needs; opaque JSON. */
  readonly state: unknown
}

/** The usage of a turn whose page never reached history. */
export type SpentTurn = {
  readonly runId: string
  readonly at: number
  readonly source: string
  readonly model?: string | undefined
  readonly usage: Usage
}

export type SessionFilter = {
  /** Leaves out subagents and the like, which their parents show. A `source` brings them back. */
  readonly isForPeople?: boolean
  readonly limit: number
  readonly cursor?: string | undefined
  readonly source?: string | undefined
  /** Leaves out sessions of this source. */
  readonly notSource?: string | undefined
  readonly pinned?: boolean | undefined
  readonly archived?: boolean | undefined
  readonly tag?: string | undefined
  /** The id of a project. */
  readonly project?: string | undefined
  /** The name of a tool that was called in the session. */
  readonly tool?: string | undefined
  /** Substring of the title. */
  readonly q?: string | undefined
}

/** The record that the writer stored last, or `nothing` when there is none in memory. */
export type KnownRecord = 'nothing' | SessionRecord

/** A session of a tree of forks. Times are ISO 8601, UTC. */
export type SessionBranch = {
  readonly session_id: string
  readonly parent_id: string | null
  readonly title: string | null
  readonly created_at: string
  readonly updated_at: string
}

/** The store of one tenant, bound at construction: no method can name another tenant. */
export type HistoryStore = HistoryPort & {
  /** The forks of a conversation and what it was forked from, oldest first; itself too. */
  readonly listBranches: (sessionId: string) => Promise<readonly SessionBranch[]>
  /** Searches like `search`, and also tells whether a higher limit may find more. */
  readonly searchPage: (
    query: string,
    limit: number,
    sort?: 'newest' | 'oldest',
    filter?: SearchFilter,
  ) => Promise<{ readonly hits: readonly HistoryHit[]; readonly hasMore: boolean }>
  /** Reads the stored record and the last stored seq; undefined for an unknown session. */
  readonly readSyncState: (
    sessionId: string,
  ) => Promise<{ readonly record: SessionRecord; readonly through: number } | undefined>
  /**
   * Upserts the record and the pages in one atomic batch. Repeating it changes nothing. A record that equals `known` is
   * not written again; pass `nothing` after a failure.
   */
  readonly append: (record: SessionRecord, pages: readonly Page[], known?: KnownRecord) => Promise<void>
  /** Deletes pages with n ≥ `from` (undo) and their index rows. Their usage stays counted. */
  readonly truncate: (sessionId: string, from: number, unsent?: readonly SpentTurn[]) => Promise<void>
  /** The usage of these runs is in their pages again. */
  readonly forgetKeptUsage: (runIds: readonly string[]) => Promise<void>
  /** Lists pages with n > `after` in order, at most `bytes` in all, to rebuild a session. */
  readonly listPages: (sessionId: string, after: number, bytes?: number) => Promise<readonly Page[]>
  readonly listSessions: (
    filter: SessionFilter,
  ) => Promise<{ readonly data: readonly SessionRecord[]; readonly nextCursor: string | null }>
  /**
   * Deletes the record, the pages and the index rows. Their usage stays counted. False for an unknown session. `audit` is
   * written in the same transaction.
   */
  readonly deleteSession: (sessionId: string, unsent?: readonly SpentTurn[], audit?: AuditEvent) => Promise<boolean>
}
