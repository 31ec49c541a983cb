import { beforeAll, expect, it } from 'vitest'
import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { createAuditEvent, listChanges, type NewAuditEvent } from '#agent/core/permission/audit.ts'
import { type AuditFilter, auditStatementIfChanged, listAuditEntries, writeAuditEvents } from '#db/audit-log.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { createD1History } from '#db/history.ts'
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

const action = (changes: Partial<NewAuditEvent> = {}) =>
  createAuditEvent({ at: noonMs, kind: 'key.created', actor: 'key:admin', subject: 'k1', ...changes })

const kindsOf = async (tenant: string, filter: Partial<AuditFilter> = {}) =>
  (await listAuditEntries(database, tenant, { limit: 50, ...filter })).map(({ kind }) => kind)

it('filters by kind, by all kinds of a group, by actor and by time', async () => {
  const tenant = newTenant()
  await writeAuditEvents(database, tenant, [
    action(),
    action({ at: noonMs + 1, kind: 'key.revoked', actor: 'key:two' }),
    action({ at: noonMs + 2, kind: 'settings.changed', subject: tenant }),
    action({ at: noonMs + 3, kind: 'session.deleted', actor: 'person:ch_1:7', sessionId: 's1' }),
  ])
  expect(await kindsOf(tenant)).toEqual(['session.deleted', 'settings.changed', 'key.revoked', 'key.created'])
  expect(await kindsOf(tenant, { kind: 'key' })).toEqual(['key.revoked', 'key.created'])
  expect(await kindsOf(tenant, { kind: 'key.created' })).toEqual(['key.created'])
  expect(await kindsOf(tenant, { actor: 'key:admin' })).toEqual(['settings.changed', 'key.created'])
  expect(await kindsOf(tenant, { from: noonMs + 1, to: noonMs + 3 })).toEqual(['settings.changed', 'key.revoked'])
  expect(await kindsOf(tenant, { sessionId: 's1', kind: 'session' })).toEqual(['session.deleted'])
  expect(await kindsOf(newTenant())).toEqual([])
})

it('stores an entry once, however often it is sent, and two different ones of the same time', async () => {
  const tenant = newTenant()
  const events = [action(), action({ subject: 'k2' }), action({ actor: 'key:two' })]
  await writeAuditEvents(database, tenant, events)
  await writeAuditEvents(database, tenant, events)
  expect((await kindsOf(tenant)).length).toBe(3)
})

it('has an entry exactly when the change before it in the batch took place', async () => {
  const tenant = newTenant()
  const change = (id: string) => database.prepare("UPDATE tenant SET name = 'changed' WHERE id = ?1").bind(id)
  for (const [i, id] of ['default', 'unknown'].entries())
    await database.batch([
      change(id),
      auditStatementIfChanged(createTenantDb(database, tenant), action({ at: noonMs + i, subject: id })),
    ])
  expect((await listAuditEntries(database, tenant, { limit: 9 })).map(({ body }) => body.subject)).toEqual(['default'])
})

it('lists changed fields with their values, without secrets', () => {
  const before = { approvals: { mode: 'smart' }, instructions: 'a', providers: { 'custom:x': { headers: { a: 'b' } } } }
  const after = {
    approvals: {
      mode: 'off',
      rules: [{ do: 'allow', tool: 'terminal', match: 'curl -H "Authorization: Bearer abcdefgh12345678"' }],
    },
    instructions: 'x'.repeat(5_000),
    providers: { 'custom:x': { headers: { a: 'plain words' } } },
  }
  const changes = listChanges(before, after)
  expect(changes.map(({ field }) => field)).toEqual([
    'approvals.mode',
    'approvals.rules',
    'instructions',
    'providers.custom:x.headers.a',
  ])
  expect(changes[0]).toEqual({ field: 'approvals.mode', before: 'smart', after: 'off' })
  expect(JSON.stringify(changes)).not.toMatch(/abcdefgh12345678|plain words/)
  expect(JSON.stringify(changes).length).toBeLessThan(2_000)
  expect(listChanges(before, before)).toEqual([])
})
