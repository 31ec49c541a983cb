/**
 * Writes and lists the audit log. Every entry is keyed, so that it can be sent again after any failure. Nothing updates
 * or deletes entries, except the deletion of their tenant.
 */

import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { type AuditEvent, createDecisionEvent } from '#agent/core/permission/audit.ts'
import type { Page } from '#agent/core/history.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { type SqlValue, type TenantDb, createTenantDb } from './tenant-db.ts'

export type AuditEntry = AuditEvent & { readonly num: number }

const columns = 'tenant_id, session_id, run_id, at, mark, body, kind, actor'
const onConflict = 'ON CONFLICT(tenant_id, at, run_id, mark) DO NOTHING'
const insertEntry = `INSERT INTO audit(${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ${onConflict}`
/** SQLite needs the WHERE before ON CONFLICT after a SELECT. */
const insertEntryIfChanged = `INSERT INTO audit(${columns})
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE changes() > 0 ${onConflict}`

const insertEntryOnce = `INSERT INTO audit(${columns})
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (SELECT 1 FROM audit
    WHERE tenant_id = ?1 AND kind = ?7 AND at > ?9 AND actor = ?8 AND body = ?6) ${onConflict}`

/** The first decisions were stored without kind and actor: their mark is a hash of the body alone. */
const markOf = ({ kind, actor, sessionId, runId }: AuditEvent, body: string) =>
  hash53(runId === '' ? JSON.stringify([kind, actor, sessionId, body]) : body)

function listValues(event: AuditEvent): readonly SqlValue[] {
  const body = JSON.stringify(event.body)
  return [event.sessionId, event.runId, event.at, markOf(event, body), body, event.kind, event.actor]
}

export const auditStatement = ({ statement }: Pick<TenantDb, 'statement'>, event: AuditEvent): D1PreparedStatement =>
  statement(insertEntry, ...listValues(event))

/** Writes the entry only if the statement before it in the same batch has changed a row. */
export const auditStatementIfChanged = ({ statement }: TenantDb, event: AuditEvent): D1PreparedStatement =>
  statement(insertEntryIfChanged, ...listValues(event))

/** The decisions of a turn, which its last page contains. They may have been written before. */
export function decisionStatements(
  tenantDb: Pick<TenantDb, 'statement'>,
  sessionId: string,
  { runId, turn }: Page,
): D1PreparedStatement[] {
  const { decisions = [] } = (turn ?? {}) as { readonly decisions?: readonly ApprovalDecision[] }
  return decisions.map((decision) => auditStatement(tenantDb, createDecisionEvent(sessionId, runId, decision)))
}

/** Writes entries in one transaction. Repeating it changes nothing. */
export async function writeAuditEvents(db: D1Database, tenantId: string, events: readonly AuditEvent[]): Promise<void> {
  const tenantDb = createTenantDb(db, tenantId)
  if (events.length > 0) await tenantDb.write(events.map((event) => auditStatement(tenantDb, event)))
}

/** Writes an entry unless there is an equal one since a time. */
export async function writeAuditEventOnce(
  db: D1Database,
  tenantId: string,
  { event, since }: { readonly event: AuditEvent; readonly since: number },
): Promise<void> {
  const { statement, write } = createTenantDb(db, tenantId)
  await write([statement(insertEntryOnce, ...listValues(event), since)])
}

export type AuditFilter = {
  readonly limit: number
  /** Entries older than this one. */
  readonly before?: { readonly at: number; readonly num: number } | undefined
  readonly sessionId?: string | undefined
  /** A kind, or the word before its dot for all of them. */
  readonly kind?: string | undefined
  readonly actor?: string | undefined
  /** Milliseconds since 1970: `from` is included, `to` is not. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

type AuditRow = {
  readonly num: number
  readonly session_id: string
  readonly run_id: string
  readonly at: number
  readonly body: string
  readonly kind: string
  readonly actor: string
}

/** Newest first. */
export async function listAuditEntries(
  db: D1Database,
  tenantId: string,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const { at, num } = filter.before ?? { at: Number.MAX_SAFE_INTEGER, num: 0 }
  const { conditions, values } = renderConditions(filter)
  const rows = await createTenantDb(db, tenantId).read<AuditRow>(
    `SELECT num, session_id, run_id, at, body, kind, actor FROM audit
      WHERE tenant_id = ?1 AND (at, num) < (?2, ?3) ${conditions} ORDER BY at DESC, num DESC LIMIT ?4`,
    at,
    num,
    filter.limit,
    ...values,
  )
  return rows.map(parseRow)
}

function renderConditions({ sessionId, kind, actor, from, to }: AuditFilter) {
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => `?${values.push(value) + 4}`
  const conditions = [
    sessionId === undefined ? '' : `AND session_id = ${bind(sessionId)}`,
    kind === undefined ? '' : kind.includes('.') ? `AND kind = ${bind(kind)}` : renderKinds(kind, bind),
    // The index contains only entries with an actor.
    actor === undefined ? '' : `AND actor = ${bind(actor)} AND actor <> ''`,
    from === undefined ? '' : `AND at >= ${bind(from)}`,
    to === undefined ? '' : `AND at < ${bind(to)}`,
  ]
  return { conditions: conditions.join(' '), values }
}

/** `/` is the character after the dot. */
const renderKinds = (group: string, bind: (value: SqlValue) => string) =>
  `AND kind > ${bind(`${group}.`)} AND kind < ${bind(`${group}/`)}`

const parseRow = ({ num, session_id, run_id, at, body, kind, actor }: AuditRow): AuditEntry =>
  // Only this module writes rows, from values of this type.
  ({ num, sessionId: session_id, runId: run_id, at, kind, actor, body: JSON.parse(body) as unknown }) as AuditEntry
