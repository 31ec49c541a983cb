/**
 * The full history of a tenant, outside the sessions. It is a projection: a session is the truth of
 * itself and sends what is new, keyed, so that sending twice changes nothing.
 */

import type { History } from './tool.ts'
import type { Message } from './message.ts'
import type { Usage } from './usage.ts'

/** A message in its place. `seq` counts the messages of a session from 1 and is never given out twice. */
export type Entry = {
  readonly id: string
  readonly seq: number
  readonly runId: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Estimated tokens of the message as it is sent to a model. */
  readonly tokens: number
  readonly message: Message
  /** On a summary: messages up to and including this seq are no longer sent to models. */
  readonly covers?: number
}

/**
 * Consecutive messages of one turn: what is stored and searched as one row. `n` is the seq of the
 * first entry; a turn always ends a page, so that taking back a turn is deleting pages.
 */
export type Page = {
  readonly n: number
  readonly runId: string
  readonly at: number
  readonly entries: readonly Entry[]
  /** The record of the turn (plain JSON), on the page that ends it. */
  readonly turn?: unknown
  readonly model?: string
  readonly usage?: Usage
  /** false: stored but not searched (imported history). Default true. */
  readonly indexed?: boolean
}

/** What a tenant's directory says about a session. Times are milliseconds since 1970. */
export type SessionRecord = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parentId: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly usage: Usage
  /** Settings of the session and all else that a rebuilt object needs; opaque JSON. */
  readonly state: unknown
}

/** What a turn has spent whose page history does not get any more. */
export type SpentTurn = {
  readonly runId: string
  readonly at: number
  readonly source: string
  readonly model?: string | undefined
  readonly usage: Usage
}

export type SessionFilter = {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly source?: string | undefined
  /** Substring of the title. */
  readonly q?: string | undefined
}

/** What history holds of a session's record, as far as its writer knows: nothing, or what it wrote last. */
export type KnownRecord = 'nothing' | SessionRecord

/** Every method is bound to one tenant at construction; there is no way to name another. */
export type HistoryStore = History & {
  /** The session's record and the last seq stored, or undefined when the directory has never heard of it. */
  readonly readSyncState: (
    sessionId: string,
  ) => Promise<{ readonly record: SessionRecord; readonly through: number } | undefined>
  /**
   * One atomic batch: upserts the record and the pages. Repeating it changes nothing. What is `known` to be there
   * already costs no statement; after a failure nothing is known.
   */
  readonly append: (record: SessionRecord, listPages: readonly Page[], known?: KnownRecord) => Promise<void>
  /** Deletes pages with n ≥ `from` (undo) and their index rows. What the turns spent stays counted. */
  readonly truncate: (sessionId: string, from: number, unsent?: readonly SpentTurn[]) => Promise<void>
  /** Pages in order, for rebuilding a session: those with n > `after`, at most `bytes` of them. */
  readonly pages: (sessionId: string, after: number, bytes?: number) => Promise<readonly Page[]>
  readonly listSessions: (
    filter: SessionFilter,
  ) => Promise<{ readonly data: readonly SessionRecord[]; readonly nextCursor: string | null }>
  /** Removes the record, the pages and the index rows; what the turns spent stays counted. True when there was something. */
  readonly deleteSession: (sessionId: string, unsent?: readonly SpentTurn[]) => Promise<boolean>
}
