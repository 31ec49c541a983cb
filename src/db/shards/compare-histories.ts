/** Compares the histories of a tenant in two databases, session by session, without reading pages. */

import { keysPerSession } from '../page-row.ts'
import type { TenantDb } from '../tenant-db.ts'

/** The state of a session is part of each row. */
const sessionsPerRead = 200

/** Every column of a session but its number, and a sum of the marks of its pages, each weighted by the page's number. */
const selectDigests = `SELECT session.id, json_array(title, source, session.model, parent_id, created_at, updated_at,
    active_day, through, session.usage, state, chat, pinned, archived, message_count, tool_call_count, tools, tags, line, project_id,
    (SELECT count(*) || ' ' || coalesce(sum((mark % 1073741789) * ((page.id & ${keysPerSession - 1}) % 4093 + 1)), 0)
      FROM page WHERE page.id > session.num << 20 AND page.id < (session.num + 1) << 20)) AS digest
  FROM session WHERE session.tenant_id = ?1 AND session.id > ?2 AND session.id <= ?3 ORDER BY session.id LIMIT ?4`

type Digest = { readonly id: string; readonly digest: string }

/** Above every id of a session. */
const lastId = '\u{10ffff}'

/** The ids of sessions that differ, or that only one of both has. */
export async function listDifferences(one: TenantDb, other: TenantDb): Promise<readonly string[]> {
  const different: string[] = []
  for (let after = ''; ;) {
    const rows = await one.read<Digest>(selectDigests, after, lastId, sessionsPerRead)
    const through = rows.length < sessionsPerRead ? lastId : rows.at(-1)!.id
    const others = await readAll(other, after, through)
    for (const { id, digest } of rows) if (others.get(id) !== digest) different.push(id)
    const known = new Set(rows.map(({ id }) => id))
    for (const id of others.keys()) if (!known.has(id)) different.push(id)
    if (through === lastId) return different
    after = through
  }
}

async function readAll({ read }: TenantDb, from: string, through: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (let after = from; ;) {
    const rows = await read<Digest>(selectDigests, after, through, sessionsPerRead)
    for (const { id, digest } of rows) found.set(id, digest)
    if (rows.length < sessionsPerRead) return found
    after = rows.at(-1)!.id
  }
}
