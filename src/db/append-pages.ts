/**
 * Writing pages: one batch, one transaction. Every statement is keyed by the session and n and does
 * nothing when the same is already there, so an append may be repeated after any failure.
 */

import type { Known, Page, SessionRecord } from '../agent/model/history.ts'
import { auditStatements } from './audit-log.ts'
import type { Bound } from './tenant-db.ts'
import { piecesIn, plainText, separated, tenantPiece, tenantWord, weekOf, weekWord, wordsIn } from './index-text.ts'
import { storedPage, type StoredPage } from './page-row.ts'

const dayLength = 24 * 60 * 60 * 1000
export const dayOf = (at: number) => Math.floor(at / dayLength)

const here = 'FROM session WHERE tenant_id = ?1 AND id = ?2'

// active_day is missing among what is updated: an unchanged index column would still be written again.
const putSession = `INSERT INTO session(tenant_id, id, title, source, model, parent_id, created_at, updated_at, active_day,
    through, usage, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
  ON CONFLICT(tenant_id, id) DO UPDATE SET title = excluded.title, source = excluded.source, model = excluded.model,
    parent_id = excluded.parent_id, updated_at = excluded.updated_at, through = max(session.through, excluded.through),
    usage = excluded.usage, state = excluded.state
  WHERE excluded.through > session.through
    OR (session.title, session.source, session.model, session.parent_id, session.updated_at, session.usage, session.state)
      IS NOT (excluded.title, excluded.source, excluded.model, excluded.parent_id, excluded.updated_at, excluded.usage,
        excluded.state)`
const moveDay = 'UPDATE session SET active_day = ?3 WHERE tenant_id = ?1 AND id = ?2 AND active_day <> ?3'

// Before the session is written: its old title is still there to compare with.
const oldTitle = `(SELECT num << 20 ${here} AND title IS NOT ?3)`
const dropTitleWords = `DELETE FROM words WHERE rowid = ${oldTitle}`
const dropTitlePieces = `DELETE FROM pieces WHERE rowid = ${oldTitle}`
const putTitleWords = `INSERT INTO words(rowid, tenant, week, text) SELECT num << 20, ?3, ?4, ?5 ${here}
  AND NOT EXISTS (SELECT 1 FROM words WHERE rowid = num << 20)`
const putTitlePieces = `INSERT INTO pieces(rowid, tenant, title) SELECT num << 20, ?3, ?4 ${here}
  AND NOT EXISTS (SELECT 1 FROM pieces WHERE rowid = num << 20)`

// Before the page is written: an equal mark says that its index rows are there too.
const changed = 'NOT EXISTS (SELECT 1 FROM page WHERE page.id = (num << 20) + ?3 AND mark = ?4)'
const putWords = `INSERT OR REPLACE INTO words(rowid, tenant, week, text)
  SELECT (num << 20) + ?3, ?5, ?6, ?7 ${here} AND ${changed}`
const putPieces = `INSERT OR REPLACE INTO pieces(rowid, tenant, text)
  SELECT (num << 20) + ?3, ?5, ?6 ${here} AND ${changed}`
const dropWords = `DELETE FROM words WHERE rowid = (SELECT (num << 20) + ?3 ${here} AND ${changed})`
const dropPieces = `DELETE FROM pieces WHERE rowid = (SELECT (num << 20) + ?3 ${here} AND ${changed})`
const putPage = `INSERT INTO page(id, tenant_id, run_id, at, last, size, mark, indexed, model, usage, turn, body)
  SELECT (num << 20) + ?3, ?1, ?5, ?6, ?7, ?8, ?4, ?9, ?10, ?11, ?12, ?13 ${here}
  ON CONFLICT(id) DO UPDATE SET run_id = excluded.run_id, at = excluded.at, last = excluded.last, size = excluded.size,
    mark = excluded.mark, indexed = excluded.indexed, model = excluded.model, usage = excluded.usage,
    turn = excluded.turn, body = excluded.body
  WHERE page.mark <> excluded.mark`

/** Statements and bytes of one batch have their limits; after an outage there may be more to send than that. */
const batchPages = 64
const batchBytes = 8 * 2 ** 20

/**
 * One batch, or for a long backlog several in order: each leaves a beginning of the pages, with `through`
 * at its end. Throws before anything is written when a page cannot be stored.
 */
export async function append(
  bound: Bound,
  record: SessionRecord,
  pages: readonly Page[],
  known?: Known,
): Promise<void> {
  let before = known
  for (const batch of batchesOf(pages.map(storedPage))) {
    await bound.write([
      ...recordStatements(bound, { record, through: Math.max(0, ...batch.map((page) => page.last)), before }),
      ...batch.flatMap((page) => pageStatements(bound, record.id, page)),
      ...batch.flatMap(({ page }) => auditStatements(bound, record.id, page)),
    ])
    before = record
  }
}

type RecordChange = {
  readonly record: SessionRecord
  readonly through: number
  readonly before: Known | undefined
}

function recordStatements(bound: Bound, { record, through, before }: RecordChange): D1PreparedStatement[] {
  const isNew = before === 'nothing'
  const old = before === 'nothing' ? undefined : before
  const isTitled = !old || old.title !== record.title
  const isMoved = !isNew && (!old || dayOf(old.updatedAt) !== dayOf(record.updatedAt))
  return [
    ...(isTitled && !isNew
      ? [
          bound.statement(dropTitleWords, record.id, record.title),
          bound.statement(dropTitlePieces, record.id, record.title),
        ]
      : []),
    sessionStatement(bound, record, through),
    ...(isMoved ? [bound.statement(moveDay, record.id, dayOf(record.updatedAt))] : []),
    ...(isTitled ? titleStatements(bound, record) : []),
  ]
}

/** At least one: a record may come without pages. */
function batchesOf(pages: readonly StoredPage[]): StoredPage[][] {
  const batches: StoredPage[][] = [[]]
  let bytes = 0
  for (const page of pages) {
    const open = batches.at(-1)!
    if (open.length === batchPages || (open.length > 0 && bytes + page.size > batchBytes)) {
      batches.push([page])
      bytes = page.size
    } else {
      open.push(page)
      bytes += page.size
    }
  }
  return batches
}

function sessionStatement({ statement }: Bound, record: SessionRecord, through: number): D1PreparedStatement {
  const { id, title, source, model, parentId, createdAt, updatedAt } = record
  const day = dayOf(updatedAt)
  const usage = JSON.stringify(record.usage)
  const state = JSON.stringify(record.state ?? null)
  return statement(putSession, id, title, source, model, parentId, createdAt, updatedAt, day, through, usage, state)
}

function titleStatements({ statement, tenantId }: Bound, { id, title, updatedAt }: SessionRecord) {
  if (!title?.trim()) return []
  const week = weekWord(tenantId, weekOf(updatedAt))
  return [
    statement(putTitleWords, id, tenantWord(tenantId), week, separated(title)),
    statement(putTitlePieces, id, tenantPiece(tenantId), plainText(title)),
  ]
}

function pageStatements({ statement, tenantId }: Bound, sessionId: string, stored: StoredPage) {
  const { page, mark, last, size, model, usage, turn, body } = stored
  const { n, at, runId } = page
  const words = wordsIn(page)
  const pieces = piecesIn(page)
  const indexed = page.indexed === false ? 0 : 1
  return [
    words
      ? statement(putWords, sessionId, n, mark, tenantWord(tenantId), weekWord(tenantId, weekOf(at)), words)
      : statement(dropWords, sessionId, n, mark),
    pieces
      ? statement(putPieces, sessionId, n, mark, tenantPiece(tenantId), pieces)
      : statement(dropPieces, sessionId, n, mark),
    statement(putPage, sessionId, n, mark, runId, at, last, size, indexed, model, usage, turn, body),
  ]
}
