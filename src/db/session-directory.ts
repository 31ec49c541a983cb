/**
 * The tenant's directory of sessions, newest first. The index knows days only: rows of one day are
 * sorted when they are read, which is what makes a turn cheap to write.
 */

import type { SessionFilter, SessionRecord } from '../agent/model/history.ts'
import type { HistorySession } from '../agent/model/tool.ts'
import type { Usage } from '../agent/model/usage.ts'
import { dayOf } from './append-pages.ts'
import type { Bound, Value } from './tenant-db.ts'
import { plainText, tenantPiece } from './index-text.ts'

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
}
const columns = 'id, title, source, model, parent_id, created_at, updated_at, through, usage, state'
const newestFirst = 'ORDER BY active_day DESC, updated_at DESC, id'
const atMost = 200

const recordOf = (row: SessionRow): SessionRecord => ({
  id: row.id,
  title: row.title,
  source: row.source,
  model: row.model,
  parentId: row.parent_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  usage: JSON.parse(row.usage) as Usage,
  state: JSON.parse(row.state) as unknown,
})

export async function standing({ read }: Bound, sessionId: string) {
  const [row] = await read<SessionRow>(`SELECT ${columns} FROM session WHERE tenant_id = ?1 AND id = ?2`, sessionId)
  return row && { record: recordOf(row), through: row.through }
}

export async function recent({ read }: Bound, limit: number): Promise<readonly HistorySession[]> {
  const rows = await read<Pick<SessionRow, 'id' | 'title' | 'source' | 'updated_at'>>(
    `SELECT id, title, source, updated_at FROM session WHERE tenant_id = ?1 ${newestFirst} LIMIT ?2`,
    Math.min(limit, atMost),
  )
  return rows.map((row) => ({
    session_id: row.id,
    title: row.title,
    source: row.source,
    updated_at: new Date(row.updated_at).toISOString(),
  }))
}

/** A cursor names the last row seen, so that pages stay stable while sessions come and go. Unreadable: an empty page. */
export async function sessions({ read, tenantId }: Bound, filter: SessionFilter) {
  const values: Value[] = []
  const add = (value: Value) => `?${values.push(value) + 1}`
  const conditions = ['tenant_id = ?1']
  if (filter.cursor !== undefined) {
    const after = readCursor(filter.cursor)
    if (!after) return { data: [], nextCursor: null }
    const [at, id] = [add(after.updatedAt), add(after.id)]
    conditions.push(`active_day <= ${add(dayOf(after.updatedAt))}`)
    conditions.push(`(updated_at < ${at} OR (updated_at = ${at} AND id > ${id}))`)
  }
  if (filter.source !== undefined) conditions.push(`source = ${add(filter.source)}`)
  if (filter.q) conditions.push(titleCondition(filter.q, tenantId, add))
  const limit = Math.max(1, Math.min(filter.limit, atMost))
  const rows = await read<SessionRow>(
    `SELECT ${columns} FROM session WHERE ${conditions.join(' AND ')} ${newestFirst} LIMIT ${add(limit + 1)}`,
    ...values,
  )
  const data = rows.slice(0, limit).map(recordOf)
  const last = data.at(-1)
  return { data, nextCursor: rows.length > limit && last ? writeCursor(last) : null }
}

/** Three characters or more are looked up among the pieces of titles; fewer are compared, row by row. */
function titleCondition(q: string, tenantId: string, add: (value: Value) => string): string {
  const plain = plainText(q).replaceAll('"', ' ')
  if ([...plain].length < 3 || plain !== plainText(q)) return `instr(lower(title), lower(${add(q)})) > 0`
  const match = add(`tenant:"${tenantPiece(tenantId)}" AND title:"${plain}"`)
  return `num IN (SELECT rowid >> 20 FROM pieces WHERE pieces MATCH ${match})`
}

type Place = { readonly updatedAt: number; readonly id: string }

const writeCursor = ({ updatedAt, id }: Place) =>
  btoa(encodeURIComponent(JSON.stringify([updatedAt, id])))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** Exported so that the API can refuse a cursor it did not write. */
export function readCursor(cursor: string): Place | undefined {
  try {
    const place: unknown = JSON.parse(decodeURIComponent(atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))))
    if (!Array.isArray(place) || place.length !== 2) return undefined
    const [updatedAt, id] = place as readonly unknown[]
    return Number.isSafeInteger(updatedAt) && typeof id === 'string' ? { updatedAt: Number(updatedAt), id } : undefined
  } catch (error) {
    // atob, decodeURIComponent and JSON.parse speak with these; anything else is a bug.
    if (error instanceof SyntaxError || error instanceof URIError || error instanceof DOMException) return undefined
    throw error
  }
}
