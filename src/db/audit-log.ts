/**
 * Writes and lists the audit log: the decisions about tool calls. Decisions are part of a turn's record and are
 * written with the page that ends the turn, so a crash loses none and a repeated append adds none.
 */

import type { ApprovalDecision } from '../agent/model/approval.ts'
import type { Page } from '../agent/model/history.ts'
import { hash53 } from '../agent/model/hash53.ts'
import { type TenantDb, createTenantDb } from './tenant-db.ts'

export type AuditEntry = ApprovalDecision & { readonly num: number; readonly sessionId: string; readonly runId: string }

const insertEntry = `INSERT INTO audit(tenant_id, session_id, run_id, at, mark, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT(tenant_id, at, run_id, mark) DO NOTHING`

export function auditStatements(
  { statement }: TenantDb,
  sessionId: string,
  { runId, turn }: Page,
): D1PreparedStatement[] {
  const { decisions = [] } = (turn ?? {}) as { readonly decisions?: readonly ApprovalDecision[] }
  return decisions.map((decision) => {
    const body = JSON.stringify(decision)
    return statement(insertEntry, sessionId, runId, decision.at, hash53(body), body)
  })
}

export type AuditFilter = {
  readonly limit: number
  /** Entries older than this one. */
  readonly before?: { readonly at: number; readonly num: number } | undefined
  readonly sessionId?: string | undefined
}

type Row = {
  readonly num: number
  readonly session_id: string
  readonly run_id: string
  readonly at: number
  readonly body: string
}

const selectNewest = (condition = '') => `SELECT num, session_id, run_id, at, body FROM audit
  WHERE tenant_id = ?1 ${condition} AND (at, num) < (?2, ?3) ORDER BY at DESC, num DESC LIMIT ?4`

/** Newest first. */
export async function listAuditEntries(
  db: D1Database,
  tenantId: string,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const { at, num } = filter.before ?? { at: Number.MAX_SAFE_INTEGER, num: 0 }
  const { read } = createTenantDb(db, tenantId)
  const rows =
    filter.sessionId === undefined
      ? await read<Row>(selectNewest(), at, num, filter.limit)
      : await read<Row>(selectNewest('AND session_id = ?5'), at, num, filter.limit, filter.sessionId)
  return rows.map(({ num: n, session_id, run_id, body }) => ({
    ...(JSON.parse(body) as ApprovalDecision),
    num: n,
    sessionId: session_id,
    runId: run_id,
  }))
}
