/**
 * Appends pages to the history, in one transaction for each batch. Every statement is keyed by session and page
 * number, and writes nothing when the same data is already stored. So an append can be repeated after any failure.
 */

import type { KnownRecord, Page, SessionRecord } from '#agent/core/history.ts'
import { decisionStatements } from './audit-log.ts'
import type { TenantDb } from './tenant-db.ts'
import {
  getPagePieces,
  normalizeText,
  renderTenantPieces,
  renderTenantWords,
  renderWords,
  type RenderForms,
  weekNumber,
  weekWord,
  getPageWords,
} from './index-text.ts'
import { encodeJson, encodePage, type EncodedPage } from './page-row.ts'

const dayMs = 24 * 60 * 60 * 1000
export const dayNumber = (at: number) => Math.floor(at / dayMs)

const ownSession = 'FROM session WHERE tenant_id = ?1 AND id = ?2'

// The update omits active_day, chat, parent_id and project_id: SQLite would write their indexes again even if the values are unchanged.
const upsertSession = `INSERT INTO session(tenant_id, id, title, source, model, parent_id, created_at, updated_at, active_day,
    through, usage, state, chat, pinned, archived, message_count, tool_call_count, tools, tags, line, project_id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
  ON CONFLICT(tenant_id, id) DO UPDATE SET title = excluded.title, source = excluded.source, model = excluded.model,
    updated_at = excluded.updated_at, through = max(session.through, excluded.through),
    usage = excluded.usage, state = excluded.state, pinned = excluded.pinned, archived = excluded.archived,
    message_count = excluded.message_count, tool_call_count = excluded.tool_call_count, tools = excluded.tools,
    tags = excluded.tags, line = excluded.line
  WHERE excluded.through > session.through
    OR (session.title, session.source, session.model, session.updated_at, session.usage, session.state,
        session.message_count, session.line)
      IS NOT (excluded.title, excluded.source, excluded.model, excluded.updated_at, excluded.usage, excluded.state,
        excluded.message_count, excluded.line)`
const updateProject = 'UPDATE session SET project_id = ?3 WHERE tenant_id = ?1 AND id = ?2 AND project_id IS NOT ?3'
const updateActiveDay = 'UPDATE session SET active_day = ?3 WHERE tenant_id = ?1 AND id = ?2 AND active_day <> ?3'

// Runs before the session is written, so that the old title can be compared.
const changedTitleKey = `(SELECT num << 20 ${ownSession} AND title IS NOT ?3)`
const deleteTitleWords = `DELETE FROM words WHERE rowid = ${changedTitleKey}`
const deleteTitlePieces = `DELETE FROM pieces WHERE rowid = ${changedTitleKey}`
const insertTitleWords = `INSERT INTO words(rowid, tenant, week, text) SELECT num << 20, ?3, ?4, ?5 ${ownSession}
  AND NOT EXISTS (SELECT 1 FROM words WHERE rowid = num << 20)`
const insertTitlePieces = `INSERT INTO pieces(rowid, tenant, title) SELECT num << 20, ?3, ?4 ${ownSession}
  AND NOT EXISTS (SELECT 1 FROM pieces WHERE rowid = num << 20)`

// Runs before the page is written. An equal mark means that the index rows exist too.
const whenChanged = 'NOT EXISTS (SELECT 1 FROM page WHERE page.id = (num << 20) + ?3 AND mark = ?4)'
const upsertWords = `INSERT OR REPLACE INTO words(rowid, tenant, week, text)
  SELECT (num << 20) + ?3, ?5, ?6, ?7 ${ownSession} AND ${whenChanged}`
const upsertPieces = `INSERT OR REPLACE INTO pieces(rowid, tenant, text)
  SELECT (num << 20) + ?3, ?5, ?6 ${ownSession} AND ${whenChanged}`
const deleteWords = `DELETE FROM words WHERE rowid = (SELECT (num << 20) + ?3 ${ownSession} AND ${whenChanged})`
const deletePieces = `DELETE FROM pieces WHERE rowid = (SELECT (num << 20) + ?3 ${ownSession} AND ${whenChanged})`
const upsertPage = `INSERT INTO page(id, tenant_id, run_id, at, last, size, mark, indexed, model, usage, turn, body)
  SELECT (num << 20) + ?3, ?1, ?5, ?6, ?7, ?8, ?4, ?9, ?10, ?11, ?12, ?13 ${ownSession}
  ON CONFLICT(id) DO UPDATE SET run_id = excluded.run_id, at = excluded.at, last = excluded.last, size = excluded.size,
    mark = excluded.mark, indexed = excluded.indexed, model = excluded.model, usage = excluded.usage,
    turn = excluded.turn, body = excluded.body
  WHERE page.mark <> excluded.mark`

/** Limits of one batch. A backlog after an outage can exceed them. */
const maxBatchPages = 64
const maxBatchBytes = 8 * 2 ** 20

/**
 * Appends pages and updates the record of the session. A long backlog is split into several batches in order; after
 * each, `through` is the last stored seq. Throws before the first write when a page cannot be stored.
 */
export async function appendPages(
  tenantDb: TenantDb,
  record: SessionRecord,
  pages: readonly Page[],
  known?: KnownRecord,
): Promise<void> {
  const { renderBaseForms } = await import('./search/word-forms.ts')
  let before = known
  for (const batch of splitIntoBatches(pages.map(encodePage))) {
    const entries = batch.flatMap(({ page }) => decisionStatements(tenantDb.directory, record.id, page))
    const statements = [
      ...recordStatements(tenantDb, {
        record,
        through: Math.max(0, ...batch.map((page) => page.last)),
        before,
        renderBaseForms,
      }),
      ...batch.flatMap((page) => pageStatements(tenantDb, record, page, renderBaseForms)),
    ]
    await tenantDb.write(statements, entries)
    before = record
  }
}

type RecordChange = {
  readonly record: SessionRecord
  readonly through: number
  readonly before: KnownRecord | undefined
  readonly renderBaseForms: RenderForms
}

function recordStatements(
  tenantDb: TenantDb,
  { record, through, before, renderBaseForms }: RecordChange,
): D1PreparedStatement[] {
  const isNew = before === 'nothing'
  const previous = before === 'nothing' ? undefined : before
  const isTitled = !previous || previous.title !== record.title
  const isMoved = !isNew && (!previous || dayNumber(previous.updatedAt) !== dayNumber(record.updatedAt))
  return [
    ...(isTitled && !isNew
      ? [
          tenantDb.statement(deleteTitleWords, record.id, record.title),
          tenantDb.statement(deleteTitlePieces, record.id, record.title),
        ]
      : []),
    sessionStatement(tenantDb, record, through),
    ...(isNew ? [] : projectStatements(tenantDb, record, previous)),
    ...(isMoved ? [tenantDb.statement(updateActiveDay, record.id, dayNumber(record.updatedAt))] : []),
    ...(isTitled ? titleStatements(tenantDb, record, renderBaseForms) : []),
  ]
}

const projectStatements = ({ statement }: TenantDb, record: SessionRecord, previous: SessionRecord | undefined) =>
  previous && previous.projectId === record.projectId
    ? []
    : [statement(updateProject, record.id, record.projectId ?? null)]

/** Returns at least one batch, because a record can be written without pages. */
function splitIntoBatches(pages: readonly EncodedPage[]): EncodedPage[][] {
  const batches: EncodedPage[][] = [[]]
  let bytes = 0
  for (const page of pages) {
    const batch = batches.at(-1)!
    if (batch.length === maxBatchPages || (batch.length > 0 && bytes + page.size > maxBatchBytes)) {
      batches.push([page])
      bytes = page.size
    } else {
      batch.push(page)
      bytes += page.size
    }
  }
  return batches
}

function sessionStatement({ statement }: TenantDb, record: SessionRecord, through: number): D1PreparedStatement {
  const { id, title, source, model, parentId, createdAt, updatedAt } = record
  const day = dayNumber(updatedAt)
  const usage = JSON.stringify(record.usage)
  const state = JSON.stringify(record.state ?? null)
  const values = [id, title, source, model, parentId, createdAt, updatedAt, day, through, usage, state]
  const { chat = null, pinned = false, archived = false, projectId = null } = record
  const { tags, facets } = record
  const counts = [facets?.messages ?? null, facets?.calls ?? null, encodeJson(facets?.tools)]
  const marks = [Number(pinned), Number(archived)]
  const texts = [encodeJson(tags), encodeJson(facets?.line)]
  return statement(upsertSession, ...values, chat, ...marks, ...counts, ...texts, projectId)
}

export function titleStatements(
  { statement, tenantId }: TenantDb,
  { id, title, source, updatedAt }: Pick<SessionRecord, 'id' | 'title' | 'source' | 'updatedAt'>,
  renderBaseForms: RenderForms,
) {
  if (!title?.trim()) return []
  const week = weekWord(tenantId, weekNumber(updatedAt))
  return [
    statement(insertTitleWords, id, renderTenantWords(tenantId, source), week, renderWords(title, renderBaseForms)),
    statement(insertTitlePieces, id, renderTenantPieces(tenantId, source), normalizeText(title)),
  ]
}

export function pageStatements(
  { statement, tenantId }: TenantDb,
  { id: sessionId, source }: Pick<SessionRecord, 'id' | 'source'>,
  stored: EncodedPage,
  renderBaseForms: RenderForms,
) {
  const { page, mark, last, size, model, usage, turn, body } = stored
  const { n, at, runId } = page
  const words = getPageWords(page, renderBaseForms)
  const pieces = getPagePieces(page)
  const tenantWords = renderTenantWords(tenantId, source)
  const indexed = page.indexed === false ? 0 : 1
  return [
    words
      ? statement(upsertWords, sessionId, n, mark, tenantWords, weekWord(tenantId, weekNumber(at)), words)
      : statement(deleteWords, sessionId, n, mark),
    pieces
      ? statement(upsertPieces, sessionId, n, mark, renderTenantPieces(tenantId, source), pieces)
      : statement(deletePieces, sessionId, n, mark),
    statement(upsertPage, sessionId, n, mark, runId, at, last, size, indexed, model, usage, turn, body),
  ]
}
