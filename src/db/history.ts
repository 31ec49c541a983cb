/** Implements the history port on D1, for one tenant. The storage and its cost: docs/design/history.md. */

import type { HistoryReach } from '#agent/core/permission/authority.ts'
import type { Entry, HistoryStore, Page } from '#agent/core/history.ts'
import type { HistoryMessage, HistoryPort } from '#agent/core/tool.ts'
import { appendPages } from './append-pages.ts'
import { historyDb, type HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb, type TenantDb } from './tenant-db.ts'
import { describeSessions, getSession, listBranches, listRecentSessions, listSessions } from './session-directory.ts'
import { deletePagesFrom, forgetKeptUsage, deleteSession } from './delete-pages.ts'
import type { searchMessages as SearchMessages } from './search/search.ts'
import type { FindSimilar } from './search/similar.ts'
import { callsIn, textIn } from '#agent/core/message.ts'
import {
  decodeEntries,
  decodePage,
  getMessageMarks,
  getMessageSource,
  keysPerSession,
  pageColumns,
  type PageRow,
} from './page-row.ts'

const findWrongDate = async (query: string) => (await import('./search/search.ts')).findWrongDate(query)

/** The search is loaded when it is first used. */
const searchMessages: typeof SearchMessages = async (...parameters) =>
  (await import('./search/search.ts')).searchMessages(...parameters)

/** Opens the history of a tenant in the database that has it. */
export const openHistory = (env: Env, tenantId: string, findSimilar?: FindSimilar): HistoryStore =>
  createD1History(historyDb(env, tenantId), tenantId, { directory: env.DB, blobs: env.BLOBS, findSimilar })

type HistoryOptions = NonNullable<Parameters<typeof createTenantDb>[2]> & {
  readonly findSimilar?: FindSimilar | undefined
}

export function createD1History(
  db: HistoryDb,
  tenantId: string,
  { findSimilar, ...options }: HistoryOptions = {},
): HistoryStore {
  const tenantDb = createTenantDb(db, tenantId, options)
  return {
    readSyncState: (sessionId) => getSession(tenantDb, sessionId),
    append: (record, list, known) => appendPages(tenantDb, record, list, known),
    truncate: (sessionId, from, unsent) => deletePagesFrom(tenantDb, sessionId, from, unsent),
    forgetKeptUsage: (runIds) => forgetKeptUsage(tenantDb, runIds),
    listPages: (sessionId, after, bytes) => listPages(tenantDb, sessionId, after, bytes),
    listSessions: (filter) => listSessions(tenantDb, filter),
    listBranches: (sessionId) => listBranches(tenantDb, sessionId),
    deleteSession: (sessionId, unsent, audit) => deleteSession(tenantDb, sessionId, unsent, audit),
    recent: (limit) => listRecentSessions(tenantDb, limit, {}),
    describe: (ids) => describeSessions(tenantDb, ids),
    search: async (query, limit, sort, filter) =>
      (await searchMessages(tenantDb, query, limit, { sort, filter, findSimilar, now: Date.now() })).hits,
    searchPage: (query, limit, sort, filter) =>
      searchMessages(tenantDb, query, limit, { sort, filter, findSimilar, now: Date.now() }),
    findWrongDate,
    read: (sessionId, range) => readMessages(tenantDb, sessionId, range),
  }
}

type ReachableSource = {
  readonly db: HistoryDb
  readonly blobs?: R2Bucket | undefined
  readonly findSimilar?: FindSimilar | undefined
}

/** Reads the history for a call of a session: not more than the authority of the call reaches. */
export function createReachableHistory(
  { db, blobs, findSimilar }: ReachableSource,
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
  reach: HistoryReach,
): HistoryPort {
  const tenantDb = createTenantDb(db, tenantId, { blobs })
  const chat = reach.kind === 'chat' ? reach.chat : undefined
  const scope = { chat, notOf: sessionId }
  const searching = { ...scope, findSimilar }
  const isOwnOnly = reach.kind === 'session'
  return {
    describe: async (ids) => (isOwnOnly ? [] : describeSessions(tenantDb, ids, chat)),
    recent: async (limit) => (isOwnOnly ? [] : listRecentSessions(tenantDb, limit, scope)),
    search: async (query, limit, sort, filter) =>
      isOwnOnly
        ? []
        : (await searchMessages(tenantDb, query, limit, { ...searching, sort, filter, now: Date.now() })).hits,
    findWrongDate,
    read: async (id, range) =>
      isOwnOnly && id !== sessionId ? undefined : readMessages(tenantDb, id, range, isOwnOnly ? undefined : chat),
  }
}

const defaultPortionBytes = 8 * 2 ** 20
const maxPages = 256
const maxWindow = 100
const headMessages = 20
const tailMessages = 10
const maxMessageChars = 16_384

/**
 * Selects pages with ?3 < n < ?4: the first ?5 in the given direction, and of these as many as start within ?6 bytes,
 * but at least one. The sizes are summed before any body is read. The bounds are clamped to the keys of the session,
 * because the adjacent keys may belong to another tenant.
 */
const selectPages = (direction: 'ASC' | 'DESC') => `WITH here AS (SELECT num << 20 AS base FROM session
    WHERE tenant_id = ?1 AND id = ?2),
  near AS (SELECT page.id, page.size FROM here JOIN page
      ON page.id > base + max(0, ?3) AND page.id < base + min(${keysPerSession}, ?4) AND page.tenant_id = ?1
    ORDER BY page.id ${direction} LIMIT ?5),
  cut AS (SELECT id, sum(size) OVER (ORDER BY id ${direction} ROWS UNBOUNDED PRECEDING) - size AS ahead FROM near)
  SELECT ${pageColumns} FROM cut JOIN page ON page.id = cut.id WHERE ahead < ?6 ORDER BY page.id`
const selectForward = selectPages('ASC')
const selectBackward = selectPages('DESC')
const selectSession = 'SELECT num FROM session WHERE tenant_id = ?1 AND id = ?2'
const selectSessionOfChat = `${selectSession} AND chat = ?3`

/** Reads the pages of a session in portions of limited size, and the messages around a position. */
async function listPages(
  tenantDb: TenantDb,
  sessionId: string,
  after: number,
  bytes: number = defaultPortionBytes,
): Promise<readonly Page[]> {
  const rows = await tenantDb.read<PageRow>(
    selectForward,
    sessionId,
    Math.max(0, after),
    keysPerSession,
    maxPages,
    bytes,
  )
  return rows.map(decodePage)
}

/**
 * Reads the first and last messages, or those around a position. Undefined when the session does not exist, or is not of
 * this `chat`.
 */
async function readMessages(
  { statement, readAll }: TenantDb,
  sessionId: string,
  range?: { readonly around: number; readonly window: number },
  chat?: string,
): Promise<readonly HistoryMessage[] | undefined> {
  const sessionQuery =
    chat === undefined ? statement(selectSession, sessionId) : statement(selectSessionOfChat, sessionId, chat)
  const pagesQuery = (sql: string, from: number, to: number, limit: number) =>
    statement(sql, sessionId, from, to, limit, defaultPortionBytes / 2)
  if (!range) {
    const [found, first, last] = await readAll<PageRow>([
      sessionQuery,
      pagesQuery(selectForward, 0, keysPerSession, headMessages),
      pagesQuery(selectBackward, 0, keysPerSession, tailMessages),
    ])
    if (!found?.length) return undefined
    const head = decodeRows(first!).slice(0, headMessages)
    const tail = decodeRows(last!).slice(-tailMessages)
    return [...head, ...tail.filter((entry) => entry.seq > (head.at(-1)?.seq ?? 0))].map(renderMessage)
  }
  const window = Math.min(Math.max(0, Math.trunc(range.window)), maxWindow)
  const around = Math.trunc(range.around)
  // Each page has at least one message, so `window + 1` pages on each side are enough.
  const [found, before, after] = await readAll<PageRow>([
    sessionQuery,
    pagesQuery(selectBackward, 0, around + 1, window + 1),
    pagesQuery(selectForward, around, keysPerSession, window + 1),
  ])
  if (!found?.length) return undefined
  const entries = [...decodeRows(before!), ...decodeRows(after!)]
  const upTo = entries.filter((entry) => entry.seq <= around).slice(-(window + 1))
  const later = entries.filter((entry) => entry.seq > around).slice(0, window)
  return [...upTo, ...later].map(renderMessage)
}

const decodeRows = (rows: readonly PageRow[]) => rows.flatMap((row) => decodeEntries(row.body))

function renderMessage(entry: Entry): HistoryMessage {
  const { id, seq, at, message } = entry
  const calls = message.role === 'assistant' ? callsIn(message).map((call) => `[called ${call.name}]`) : []
  const text = [textIn(message), ...calls].filter((line) => line !== '').join('\n')
  const content =
    text.length > maxMessageChars
      ? `${text.slice(0, maxMessageChars)}\n[${text.length - maxMessageChars} more characters are not shown]`
      : text
  return {
    id,
    seq,
    role: message.role,
    ...getMessageSource(entry),
    marks: getMessageMarks(entry),
    content,
    at: new Date(at).toISOString(),
  }
}
