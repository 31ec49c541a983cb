/** The audit log of a tenant, and how much of it is read. */

import { beforeAll, expect, it } from 'vitest'
import type { Decision } from '../../src/agent/model/approval.ts'
import { type AuditFilter, listAuditEntries } from '../../src/db/audit-log.ts'
import { billedRows } from '../../src/db/tenant-db.ts'
import { createD1History } from '../../src/db/history.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord } from './fixtures.ts'

beforeAll(applyMigrations)

const decision = (at: number): Decision => ({
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

it('is read newest first, all of it or that of a session, and no more of it than is asked for', async () => {
  const tenant = newTenant()
  const store = createD1History(database, tenant)
  for (let n = 0; n < 40; n++) {
    const [session, at] = [`s${n % 10}`, noonMs + n]
    await store.append(createRecord(session), [
      createPage(n + 1, ['go'], { runId: `r${n}`, turn: { decisions: [decision(at)] } }),
    ])
  }
  const read = async (filter: AuditFilter) => {
    const before = billedRows.read
    const entries = await listAuditEntries(database, tenant, filter)
    return { at: entries.map(({ at }) => at - noonMs), read: billedRows.read - before }
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
