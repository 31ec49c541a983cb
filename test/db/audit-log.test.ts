import { beforeAll, expect, it } from 'vitest'
import type { ApprovalDecision } from '../../src/agent/model/approval.ts'
import { type AuditFilter, listAuditEntries } from '../../src/db/audit-log.ts'
import { createD1History } from '../../src/db/history.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord } from './fixtures.ts'
import { countD1, newRowCount } from '../support/billed-rows.ts'

beforeAll(applyMigrations)

const decision = (at: number): ApprovalDecision => ({
  at,
  callId: `c${at}`,
  tool: 'terminal',
  risk: 'exec',
  did: 'allowed',
  by: 'person',
  choice: 'once',
  reason: 'It deletes files.',
  subject: 'rm -r build',
  hash: 'h',
})

it('lists the audit log newest first, for all sessions or one, and reads few more rows than requested', async () => {
  const tenant = newTenant()
  const store = createD1History(database, tenant)
  for (let n = 0; n < 40; n++) {
    const [session, at] = [`s${n % 10}`, noonMs + n]
    await store.append(createRecord(session), [
      createPage(n + 1, ['go'], { runId: `r${n}`, turn: { decisions: [decision(at)] } }),
    ])
  }
  const read = async (filter: AuditFilter) => {
    const count = newRowCount()
    const entries = await listAuditEntries(countD1(database, count), tenant, filter)
    return { at: entries.map(({ at }) => at - noonMs), read: count.read }
  }
  const all = await read({ limit: 3 })
  expect(all.at).toEqual([39, 38, 37])
  expect(all.read).toBeLessThanOrEqual(8)
  const own = await read({ limit: 3, sessionId: 's1' })
  expect(own.at).toEqual([31, 21, 11])
  expect(own.read).toBeLessThanOrEqual(8)
  const [, , third] = await listAuditEntries(database, tenant, { limit: 3, sessionId: 's1' })
  expect((await read({ limit: 3, sessionId: 's1', ...(third && { before: third }) })).at).toEqual([1])
})
