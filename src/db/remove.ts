/** Taking pages back: the rows, their words and their pieces go in one transaction, never one without the others. */

import type { Bound } from './bound.ts'

const here = 'FROM session WHERE tenant_id = ?1 AND id = ?2'
const range = (key: string) =>
  `${key} >= (SELECT (num << 20) + ?3 ${here}) AND ${key} < (SELECT (num + 1) << 20 ${here})`
const dropWords = `DELETE FROM words WHERE ${range('rowid')}`
const dropPieces = `DELETE FROM pieces WHERE ${range('rowid')}`
const dropPages = `DELETE FROM page WHERE ${range('page.id')}`
const dropSession = 'DELETE FROM session WHERE tenant_id = ?1 AND id = ?2'

/** The last seq is that of the last page left. */
const stepBack = `UPDATE session SET through = coalesce((SELECT last FROM page
    WHERE page.id > session.num << 20 AND page.id < (session.num << 20) + ?3 ORDER BY page.id DESC LIMIT 1), 0)
  WHERE tenant_id = ?1 AND id = ?2 AND through >= ?3`

export async function truncate({ statement, write }: Bound, sessionId: string, from: number): Promise<void> {
  const first = Math.max(1, from)
  await write([
    statement(dropWords, sessionId, first),
    statement(dropPieces, sessionId, first),
    statement(dropPages, sessionId, first),
    statement(stepBack, sessionId, first),
  ])
}

export async function forget({ statement, write }: Bound, sessionId: string): Promise<boolean> {
  const results = await write([
    // Key 0 is the title.
    statement(dropWords, sessionId, 0),
    statement(dropPieces, sessionId, 0),
    statement(dropPages, sessionId, 0),
    statement(dropSession, sessionId),
  ])
  return results.at(-1)!.meta.changes > 0
}
