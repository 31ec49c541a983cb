/**
 * Taking pages back: the rows, their words and their pieces go in one transaction, never one without the
 * others. What the turns have spent stays counted (`usage_kept`).
 */

import type { SpentTurn } from '../agent/model/history.ts'
import type { Bound } from './tenant-db.ts'

const here = 'FROM session WHERE tenant_id = ?1 AND id = ?2'
const range = (key: string) =>
  `${key} >= (SELECT (num << 20) + ?3 ${here}) AND ${key} < (SELECT (num + 1) << 20 ${here})`
const dropWords = `DELETE FROM words WHERE ${range('rowid')}`
const dropPieces = `DELETE FROM pieces WHERE ${range('rowid')}`
const dropPages = `DELETE FROM page WHERE ${range('page.id')}`
const keepUsage = `INSERT INTO usage_kept(tenant_id, run_id, at, session_id, source, model, usage)
  SELECT ?1, page.run_id, page.at, session.id, session.source, page.model, page.usage
    FROM session JOIN page ON page.id >= (session.num << 20) + ?3 AND page.id < (session.num + 1) << 20
    WHERE session.tenant_id = ?1 AND session.id = ?2 AND page.tenant_id = ?1 AND page.usage IS NOT NULL
  ON CONFLICT DO NOTHING`
const keepUnsent = `INSERT INTO usage_kept(tenant_id, run_id, at, session_id, source, model, usage)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`
const dropSession = 'DELETE FROM session WHERE tenant_id = ?1 AND id = ?2'

/** The last seq is that of the last page left. */
const stepBack = `UPDATE session SET through = coalesce((SELECT last FROM page
    WHERE page.id > session.num << 20 AND page.id < (session.num << 20) + ?3 ORDER BY page.id DESC LIMIT 1), 0)
  WHERE tenant_id = ?1 AND id = ?2 AND through >= ?3`

const unsentStatements = ({ statement }: Bound, sessionId: string, turns: readonly SpentTurn[]) =>
  turns.map(({ runId, at, source, model, usage }) =>
    statement(keepUnsent, runId, at, sessionId, source, model ?? null, JSON.stringify(usage)),
  )

/** `unsent`: turns that are taken back before history had them. */
export async function truncate(
  bound: Bound,
  sessionId: string,
  from: number,
  unsent: readonly SpentTurn[] = [],
): Promise<void> {
  const { statement, write } = bound
  const first = Math.max(1, from)
  await write([
    statement(keepUsage, sessionId, first),
    ...unsentStatements(bound, sessionId, unsent),
    statement(dropWords, sessionId, first),
    statement(dropPieces, sessionId, first),
    statement(dropPages, sessionId, first),
    statement(stepBack, sessionId, first),
  ])
}

export async function forget(bound: Bound, sessionId: string, unsent: readonly SpentTurn[] = []): Promise<boolean> {
  const { statement, write } = bound
  const results = await write([
    statement(keepUsage, sessionId, 0),
    ...unsentStatements(bound, sessionId, unsent),
    // Key 0 is the title.
    statement(dropWords, sessionId, 0),
    statement(dropPieces, sessionId, 0),
    statement(dropPages, sessionId, 0),
    statement(dropSession, sessionId),
  ])
  return results.at(-1)!.meta.changes > 0
}
