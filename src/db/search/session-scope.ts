/**
 * Limits a search to sessions: to those of a chat, and without the lineage of the session that searches. A lineage is a
 * session with the sessions it was forked from, their other forks, and its own.
 */

import type { TenantDb } from '../tenant-db.ts'
import { keysPerSession } from '../page-row.ts'

/** Renders a condition on the key of a row, or nothing. */
export type Within = (key: string) => string

export type SessionScope = {
  /** Only the sessions of this chat. */
  readonly chat?: string | undefined
  /** Without the lineage of this session. */
  readonly notOf?: string | undefined
}

/** A chain of forks longer than this is not followed to its end. */
const maxAncestors = 64
const maxLineage = 500

const selectChat = 'SELECT num FROM session WHERE tenant_id = ?1 AND chat = ?2 ORDER BY num DESC LIMIT 200'

/**
 * Climbs to the oldest ancestor, then collects its descendants. UNION ends a circle. CROSS JOIN makes SQLite look up each
 * session by an index instead of reading all sessions of the tenant.
 */
const selectLineage = `WITH RECURSIVE
  up(id, parent, depth) AS (
    SELECT id, parent_id, 0 FROM session WHERE tenant_id = ?1 AND id = ?2
    UNION SELECT session.id, session.parent_id, depth + 1 FROM up
      CROSS JOIN session ON session.tenant_id = ?1 AND session.id = up.parent WHERE depth < ${maxAncestors}),
  down(id, num) AS (
    SELECT * FROM (SELECT session.id, session.num FROM up
      CROSS JOIN session ON session.tenant_id = ?1 AND session.id = up.id ORDER BY depth DESC LIMIT 1)
    UNION SELECT session.id, session.num FROM down
      CROSS JOIN session ON session.tenant_id = ?1 AND session.parent_id = down.id LIMIT ${maxLineage})
  SELECT num FROM down`

/** Undefined when no session is in the scope. The numbers are our own, so they need no parameters. */
export async function resolveScope({ chat, notOf }: SessionScope, tenantDb: TenantDb): Promise<Within | undefined> {
  const { statement, readAll } = tenantDb
  if (chat === undefined && notOf === undefined) return () => ''
  const [own = [], lineage = []] = await readAll<{ readonly num: number }>([
    statement(selectChat, chat ?? ''),
    statement(selectLineage, notOf ?? ''),
  ])
  const left = new Set(lineage.map(({ num }) => Number(num)))
  const nums = own.map(({ num }) => Number(num)).filter((num) => !left.has(num))
  if (chat !== undefined && !nums.length) return undefined
  const without = left.size ? (key: string) => `AND ${key} >> 20 NOT IN (${[...left].join()})` : () => ''
  if (chat === undefined) return without
  // The range lets SQLite skip all other rows.
  const [from, to] = [Math.min(...nums) * keysPerSession, (Math.max(...nums) + 1) * keysPerSession]
  return (key) => `AND ${key} >= ${from} AND ${key} < ${to} AND ${key} >> 20 IN (${nums.join()})`
}
