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
  /** Only sessions that began there. */
  readonly source?: string | undefined
  /** Only this session. */
  readonly session?: string | undefined
  /** Only sessions with this tag. */
  readonly tag?: string | undefined
  /** Only sessions in which this tool was called. */
  readonly tool?: string | undefined
}

/** A chain of forks longer than this is not followed to its end. */
const maxAncestors = 64
const maxLineage = 500

/** Sessions that may be searched, with at most so many numbers in a statement. */
const selectOwn = (conditions: string, limit: number) =>
  `SELECT num FROM session WHERE tenant_id = ?1 ${conditions} ORDER BY num DESC LIMIT ${limit}`
const maxOfChat = 200
const maxOfSource = 2_000

/**
 * Climbs to the oldest ancestor, then collects its descendants. UNION ends a circle. CROSS JOIN makes SQLite look up each
 * session by an index instead of reading all sessions of the tenant.
 */
const lineage = `WITH RECURSIVE
  up(id, parent, depth) AS (
    SELECT id, parent_id, 0 FROM session WHERE tenant_id = ?1 AND id = ?2
    UNION SELECT session.id, session.parent_id, depth + 1 FROM up
      CROSS JOIN session ON session.tenant_id = ?1 AND session.id = up.parent WHERE depth < ${maxAncestors}),
  down(id, num) AS (
    SELECT * FROM (SELECT session.id, session.num FROM up
      CROSS JOIN session ON session.tenant_id = ?1 AND session.id = up.id ORDER BY depth DESC LIMIT 1)
    UNION SELECT session.id, session.num FROM down
      CROSS JOIN session ON session.tenant_id = ?1 AND session.parent_id = down.id LIMIT ${maxLineage})`
const selectLineage = `${lineage} SELECT num FROM down`
/** The branches of a conversation, oldest first: what shares a lineage, without subagents and reviews. */
export const selectBranches = `${lineage} SELECT session.id, title, parent_id, created_at, updated_at FROM down
  CROSS JOIN session ON session.tenant_id = ?1 AND session.id = down.id
  WHERE source NOT IN ('subagent', 'learning') ORDER BY created_at, session.id LIMIT 100`

export const hasTag = (value: string): string => `EXISTS (SELECT 1 FROM json_each(session.tags) WHERE value = ${value})`
export const hasTool = (value: string): string => `EXISTS (SELECT 1 FROM json_each(session.tools) WHERE key = ${value})`

const scopeNames = ['chat', 'source', 'session', 'tag', 'tool'] as const
const scopeConditions: Readonly<Record<(typeof scopeNames)[number], (value: string) => string>> = {
  chat: (value) => `chat = ${value}`,
  source: (value) => `source = ${value}`,
  session: (value) => `id = ${value}`,
  tag: hasTag,
  tool: hasTool,
}

/** Undefined when no session is in the scope. The numbers are our own, so they need no parameters. */
export async function resolveScope(scope: SessionScope, tenantDb: TenantDb): Promise<Within | undefined> {
  const { statement, readAll } = tenantDb
  const { notOf } = scope
  const wanted = scopeNames.filter((name) => scope[name] !== undefined)
  if (!wanted.length && notOf === undefined) return () => ''
  const conditions = wanted.map((name, i) => `AND ${scopeConditions[name](`?${i + 2}`)}`).join(' ')
  const own = statement(
    selectOwn(conditions, wanted.includes('chat') ? maxOfChat : maxOfSource),
    ...wanted.map((name) => scope[name] ?? ''),
  )
  const relatives = statement(selectLineage, notOf ?? '')
  const results = await readAll<{ readonly num: number }>([
    ...(notOf === undefined ? [] : [relatives]),
    ...(wanted.length ? [own] : []),
  ])
  const numbersOf = (rows: readonly { readonly num: number }[] = []) => rows.map(({ num }) => Number(num))
  const left = new Set(notOf === undefined ? [] : numbersOf(results[0]))
  const without = left.size ? (key: string) => `AND ${key} >> 20 NOT IN (${[...left].join()})` : () => ''
  if (!wanted.length) return without
  const nums = numbersOf(results.at(-1)).filter((num) => !left.has(num))
  if (!nums.length) return undefined
  // The range lets SQLite skip all other rows.
  const [from, to] = [Math.min(...nums) * keysPerSession, (Math.max(...nums) + 1) * keysPerSession]
  return (key) => `AND ${key} >= ${from} AND ${key} < ${to} AND ${key} >> 20 IN (${nums.join()})`
}
