/** Implements the history port on D1, for one tenant. The storage and its cost: docs/design/history.md. */

import type { HistoryReach } from '#agent/core/permission/authority.ts'
import type { HistoryStore } from '#agent/core/history.ts'
import type { HistoryPort } from '#agent/core/tool.ts'
import { appendPages } from './append-pages.ts'
import { createTenantDb } from './tenant-db.ts'
import { listRecentSessions, listSessions, getSession } from './session-directory.ts'
import { listPages, readMessages } from './read-pages.ts'
import { deleteSession, deletePagesFrom } from './delete-pages.ts'
import type { searchMessages as SearchMessages } from './search/search.ts'

/** The search is loaded when it is first used. */
const searchMessages: typeof SearchMessages = async (...parameters) =>
  (await import('./search/search.ts')).searchMessages(...parameters)

export function createD1History(db: D1Database, tenantId: string): HistoryStore {
  const tenantDb = createTenantDb(db, tenantId)
  return {
    readSyncState: (sessionId) => getSession(tenantDb, sessionId),
    append: (record, list, known) => appendPages(tenantDb, record, list, known),
    truncate: (sessionId, from, unsent) => deletePagesFrom(tenantDb, sessionId, from, unsent),
    listPages: (sessionId, after, bytes) => listPages(tenantDb, sessionId, after, bytes),
    listSessions: (filter) => listSessions(tenantDb, filter),
    deleteSession: (sessionId, unsent, audit) => deleteSession(tenantDb, sessionId, unsent, audit),
    recent: (limit) => listRecentSessions(tenantDb, limit, {}),
    search: async (query, limit, sort, filter) =>
      (await searchMessages(tenantDb, query, limit, { sort, filter, now: Date.now() })).hits,
    searchPage: (query, limit, sort, filter) =>
      searchMessages(tenantDb, query, limit, { sort, filter, now: Date.now() }),
    read: (sessionId, range) => readMessages(tenantDb, sessionId, range),
  }
}

/** Reads the history for a call of a session: not more than the authority of the call reaches. */
export function createReachableHistory(
  db: D1Database,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
  reach: HistoryReach,
): HistoryPort {
  const tenantDb = createTenantDb(db, tenantId)
  const chat = reach.kind === 'chat' ? reach.chat : undefined
  const scope = { chat, notOf: sessionId }
  const isOwnOnly = reach.kind === 'session'
  return {
    recent: async (limit) => (isOwnOnly ? [] : listRecentSessions(tenantDb, limit, scope)),
    search: async (query, limit, sort, filter) =>
      isOwnOnly ? [] : (await searchMessages(tenantDb, query, limit, { ...scope, sort, filter, now: Date.now() })).hits,
    read: async (id, range) =>
      isOwnOnly && id !== sessionId ? undefined : readMessages(tenantDb, id, range, isOwnOnly ? undefined : chat),
  }
}
