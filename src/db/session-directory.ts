/**
 * Lists the sessions of a tenant, newest first. The index contains the day only, and the rows of one day are sorted
 * when they are read. So a turn on the same day does not write the index.
 */

import type { SessionBranch, SessionFilter, SessionRecord } from '#agent/core/history.ts'
import { hiddenSources, scheduledSources } from '#agent/memory/session-source.ts'
import type { HistorySession } from '#agent/core/tool.ts'
import { type Facets, listTools, type SessionLine } from '#agent/core/facets.ts'
import { joinMarks, privateMarks } from '#agent/core/marks.ts'
import type { Usage } from '#agent/core/usage.ts'
import { keysPerSession } from './page-row.ts'
import { dayNumber } from './append-pages.ts'
import type { TenantDb, SqlValue } from './tenant-db.ts'
import { normalizeText, tenantPiece } from './index-text.ts'
import { hasTag, hasTool, resolveScope, selectBranches, type SessionScope } from './search/session-scope.ts'

type SessionRow = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly model: string | null
  readonly parent_id: string | null
  readonly created_at: number
  readonly updated_at: number
  readonly through: number
  readonly usage: string
  readonly state: string
  readonly project_id: string | null
} & FacetsRow
const sessionColumns = `id, title, source, model, parent_id, created_at, updated_at, through, usage, state, tool_call_count,
  tools, tags, line, project_id`

type FacetsRow = {
  readonly message_count: number | null
  readonly tool_call_count: number | null
  readonly tools: string | null
  readonly tags: string | null
  readonly line: string | null
}
/** Sessions that were not used since they are counted: the keys of their pages tell how many messages they have. */
const messageCount = `coalesce(message_count, (SELECT sum(page.last - page.id % ${keysPerSession} + 1) FROM page
  WHERE page.id > num << 20 AND page.id < (num + 1) << 20 AND page.tenant_id = ?1)) AS message_count`
const newestFirst = 'ORDER BY active_day DESC, updated_at DESC, id'
const maxSessions = 200

const parseRow = (row: SessionRow): SessionRecord => ({
  id: row.id,
  title: row.title,
  source: row.source,
  model: row.model,
  parentId: row.parent_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  usage: JSON.parse(row.usage) as Usage,
  state: JSON.parse(row.state) as unknown,
  ...(row.project_id !== null && { projectId: row.project_id }),
  ...parseFacets(row),
})

const parseFacets = (row: FacetsRow) => ({
  ...(row.tags !== null && { tags: JSON.parse(row.tags) as readonly string[] }),
  facets: {
    messages: row.message_count ?? 0,
    calls: row.tool_call_count ?? undefined,
    tools: JSON.parse(row.tools ?? '{}') as Facets['tools'],
    ...(row.line !== null && { line: JSON.parse(row.line) as SessionLine }),
  },
})

export async function getSession({ read }: TenantDb, sessionId: string) {
  const [row] = await read<SessionRow>(
    `SELECT ${sessionColumns}, ${messageCount} FROM session WHERE tenant_id = ?1 AND id = ?2`,
    sessionId,
  )
  return row && { record: parseRow(row), through: row.through }
}

/** `chat`: its name, as in `chatName`. */
export const hasSessionOfChat = async ({ read }: TenantDb, chat: string): Promise<boolean> =>
  (await read('SELECT 1 FROM session WHERE tenant_id = ?1 AND chat = ?2 LIMIT 1', chat)).length > 0

/** The chats of sessions, as `chatName` names them, the latest first. */
export const listChats = ({ read }: TenantDb, limit: number) =>
  read<{ readonly chat: string; readonly title: string | null }>(
    `SELECT chat, max(title) AS title FROM session WHERE tenant_id = ?1 AND chat IS NOT NULL
      GROUP BY chat ORDER BY max(updated_at) DESC LIMIT ?2`,
    limit,
  )

/** Sessions of other classes between the listed ones are skipped; after this many the list ends. */
const maxScannedSessions = 300

const quoteList = (sources: readonly string[]) => sources.map((source) => `'${source}'`).join()

/** Lists the latest sessions, runs of jobs after all others, without hidden ones. */
export async function listRecentSessions(
  tenantDb: TenantDb,
  limit: number,
  { chat, notOf }: SessionScope,
): Promise<readonly HistorySession[]> {
  const within = await resolveScope({ notOf }, tenantDb)
  const rows = await tenantDb.read<ListedRow>(
    `SELECT ${listedColumns} FROM (SELECT num, ${listedColumns}, active_day FROM session
        WHERE tenant_id = ?1 ${chat === undefined ? '' : 'AND chat = ?3'} ${newestFirst} LIMIT ${maxScannedSessions})
      WHERE source NOT IN (${quoteList(hiddenSources)}) ${within?.(`(num << 20)`) ?? ''}
      ORDER BY source IN (${quoteList(scheduledSources)}), active_day DESC, updated_at DESC, id LIMIT ?2`,
    Math.min(limit, maxSessions),
    ...(chat === undefined ? [] : [chat]),
  )
  return rows.map(renderListed)
}

type ListedRow = Pick<SessionRow, 'id' | 'title' | 'source' | 'updated_at' | keyof FacetsRow>
const listedColumns = 'id, title, source, updated_at, message_count, tool_call_count, tools, tags, line'

function renderListed(row: ListedRow): HistorySession {
  const { facets, tags = [] } = parseFacets(row)
  const { line } = facets
  return {
    session_id: row.id,
    title: row.title,
    source: row.source,
    updated_at: new Date(row.updated_at).toISOString(),
    ...(row.message_count !== null && { message_count: row.message_count }),
    ...(row.tool_call_count !== null && { tool_call_count: row.tool_call_count }),
    tools: listTools(facets).map(({ name }) => name),
    tags,
    ...(line && { summary: line.text, marks: joinMarks(privateMarks, line.marks) }),
  }
}

/** Describes some sessions, for those who have found messages of them. */
export async function describeSessions(
  { read }: TenantDb,
  ids: readonly string[],
  chat?: string,
): Promise<readonly HistorySession[]> {
  const rows = await read<ListedRow>(
    `SELECT ${listedColumns} FROM session WHERE tenant_id = ?1 AND id IN (SELECT value FROM json_each(?2))
      ${chat === undefined ? '' : 'AND chat = ?3'} LIMIT ${maxSessions}`,
    JSON.stringify(ids),
    ...(chat === undefined ? [] : [chat]),
  )
  return rows.map(renderListed)
}

/** The forks of a conversation and what it was forked from. */
export async function listBranches({ read }: TenantDb, sessionId: string): Promise<readonly SessionBranch[]> {
  const rows = await read<Pick<SessionRow, 'id' | 'parent_id' | 'title' | 'created_at' | 'updated_at'>>(
    selectBranches,
    sessionId,
  )
  return rows.map(({ id, parent_id, title, created_at, updated_at }) => ({
    session_id: id,
    parent_id,
    title,
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
  }))
}

/** The cursor names the last row, so that pages stay stable while sessions change. An invalid cursor gives an empty page. */
export async function listSessions({ read, tenantId }: TenantDb, filter: SessionFilter) {
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => `?${values.push(value) + 1}`
  const conditions = ['tenant_id = ?1']
  if (filter.cursor !== undefined) {
    const after = decodeCursor(filter.cursor)
    if (!after) return { data: [], nextCursor: null }
    const [at, id] = [bind(after.updatedAt), bind(after.id)]
    conditions.push(`active_day <= ${bind(dayNumber(after.updatedAt))}`)
    conditions.push(`(updated_at < ${at} OR (updated_at = ${at} AND id > ${id}))`)
  }
  conditions.push(...renderFieldConditions(filter, bind))
  if (filter.q) conditions.push(renderTitleCondition(filter.q, tenantId, bind))
  const limit = Math.max(1, Math.min(filter.limit, maxSessions))
  const rows = await read<SessionRow>(
    `SELECT ${sessionColumns}, ${messageCount} FROM (SELECT * FROM session WHERE ${conditions.join(' AND ')} ${newestFirst}
      LIMIT ${bind(limit + 1)}) AS session ${newestFirst}`,
    ...values,
  )
  const data = rows.slice(0, limit).map(parseRow)
  const last = data.at(-1)
  return { data, nextCursor: rows.length > limit && last ? encodeCursor(last) : null }
}

function renderFieldConditions(filter: SessionFilter, bind: (value: SqlValue) => string): readonly string[] {
  const { source, notSource, pinned, archived, tag, tool, project, isForPeople } = filter
  const render = <Value>(value: Value | undefined, condition: (value: Value) => string) =>
    value === undefined ? [] : [condition(value)]
  return [
    ...render(source, (value) => `source = ${bind(value)}`),
    ...(source === undefined && isForPeople ? [`source NOT IN (${quoteList(hiddenSources)})`] : []),
    ...render(notSource, (value) => `source <> ${bind(value)}`),
    ...render(pinned, (value) => `pinned = ${bind(Number(value))}`),
    ...render(archived, (value) => `archived = ${bind(Number(value))}`),
    ...render(project, (value) => `project_id = ${bind(value)}`),
    ...render(tag, (value) => hasTag(bind(value))),
    ...render(tool, (value) => hasTool(bind(value))),
  ]
}

/** Searches three or more characters in the trigram index of titles. Fewer are compared row by row. */
function renderTitleCondition(q: string, tenantId: string, bind: (value: SqlValue) => string): string {
  const plain = normalizeText(q).replaceAll('"', ' ')
  if ([...plain].length < 3 || plain !== normalizeText(q)) return `instr(lower(title), lower(${bind(q)})) > 0`
  const match = bind(`tenant:"${tenantPiece(tenantId)}" AND title:"${plain}"`)
  return `num IN (SELECT rowid >> 20 FROM pieces WHERE pieces MATCH ${match})`
}

type SessionCursor = { readonly updatedAt: number; readonly id: string }

const encodeCursor = ({ updatedAt, id }: SessionCursor) =>
  btoa(encodeURIComponent(JSON.stringify([updatedAt, id])))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** Exported so that the API can refuse an invalid cursor. */
export function decodeCursor(cursor: string): SessionCursor | undefined {
  try {
    const cursorParts: unknown = JSON.parse(decodeURIComponent(atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))))
    if (!Array.isArray(cursorParts) || cursorParts.length !== 2) return undefined
    const [updatedAt, id] = cursorParts as readonly unknown[]
    return Number.isSafeInteger(updatedAt) && typeof id === 'string' ? { updatedAt: Number(updatedAt), id } : undefined
  } catch (error) {
    // These are the errors of atob, decodeURIComponent and JSON.parse. Any other error is a bug.
    if (error instanceof SyntaxError || error instanceof URIError || error instanceof DOMException) return undefined
    throw error
  }
}
