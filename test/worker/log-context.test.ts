/** Tests that the log lines of a request have its ids, in the worker and in the objects, also after a crash. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { log } from '#agent/core/log.ts'
import { noteLogIds, withLogContext } from '#durable/platform/log-context.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { objectOf } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { outage } from '../support/outage.ts'
import { calls, Gate, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant } from './client.ts'

type Line = Readonly<Record<string, unknown>>
let lines: Line[] = []

beforeAll(applyMigrations)
beforeEach(() => {
  lines = []
  for (const level of ['warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((text: unknown) => void lines.push(JSON.parse(String(text)) as Line))
})
afterEach(() => vi.restoreAllMocks())

const linesOf = (event: string) => lines.filter((line) => line['event'] === event)
const idsOf = ({ request_id, tenant_id, session_id, run_id }: Line) => ({ request_id, tenant_id, session_id, run_id })

/** Every search, and every projection to history, fails meanwhile. */
async function withoutHistory<T>(work: () => Promise<T>): Promise<T> {
  outage.isDatabaseDown = true
  try {
    return await work()
  } finally {
    outage.restore()
  }
}

const searching = calls({ name: 'session_search', input: { query: 'word' } })

it('have the ids of the request in the worker, in the session and in its tools', async () => {
  const { id: tenant, key } = await newTenant()
  const { id } = await newSession({ model: model([searching, says('done')]).id }, key)
  const unusable = { provider: 'groq', name: 'x', lastFour: '', createdAt: 1, mark: 'm', sealed: 'broken' }
  await bindings.TENANT.getByName(`t/${tenant}`).credentials.add(ownerAuthority(tenant), { id: 'cred_1', ...unusable })
  forgetSnapshot(tenant)
  const headers = { 'x-request-id': 'req-42' }
  const body = { input: 'find it' }
  // Sessions of other files write lines too while the database is down.
  const linesHere = (event: string) => linesOf(event).filter((line) => line['tenant_id'] === tenant)
  const run = await withoutHistory(async () => {
    const answer = await call<{ run_id: string }>('POST', `/api/sessions/${id}/chat`, { key, body, headers })
    await until(() => linesHere('history.unreachable').length)
    return answer.body.run_id
  })
  const ids = { request_id: 'req-42', tenant_id: tenant, session_id: id }
  expect(idsOf(linesHere('credential.unusable')[0] ?? {})).toEqual(ids)
  expect(idsOf(linesHere('tool.failed')[0] ?? {})).toEqual({ ...ids, run_id: run })
  expect(idsOf(linesHere('history.unreachable')[0] ?? {})).toEqual({ ...ids, run_id: run })
})

it('have the ids of the request that began the turn, after a crash', async () => {
  const { id: tenant, key } = await newTenant()
  const gate = new Gate()
  const { id } = await newSession({ model: model([[gate], searching, says('done')]).id }, key)
  const path = `/api/sessions/${id}/steer`
  const headers = { 'x-request-id': 'req-before' }
  const { body } = await call<{ run_id: string }>('POST', path, { key, body: { input: 'go' }, headers })
  await gate.waitUntilReached()
  await runInDurableObject(objectOf(id, tenant), (_object, state) => state.abort('killed')).catch(() => undefined)
  await withoutHistory(async () => {
    await runDurableObjectAlarm(objectOf(id, tenant))
    await until(() => linesOf('tool.failed').length)
  })
  const ids = { request_id: 'req-before', tenant_id: tenant, session_id: id, run_id: body.run_id }
  expect(idsOf(linesOf('tool.failed')[0] ?? {})).toEqual(ids)
})

it('have the ids of a request whose handler failed', async () => {
  const { id: tenant, key } = await newTenant()
  await call('GET', '/api/usage', { key })
  const headers = { 'x-request-id': 'req-failed' }
  vi.spyOn(bindings.DB, 'prepare').mockImplementation(() => {
    throw new TypeError('broken')
  })
  const { status } = await call('GET', '/api/usage', { key, headers })
  expect(status).toBeGreaterThanOrEqual(500)
  const [line = {}] = lines.filter((one) => String(one['event']).startsWith('request.'))
  expect(idsOf(line)).toMatchObject({ request_id: 'req-failed', tenant_id: tenant })
})

it('have the session and the run that a request learns on its way', async () => {
  await withLogContext(
    () => ({ request_id: 'req-1' }),
    async () => {
      await Promise.resolve().then(() => noteLogIds({ session_id: 'ses_1', run_id: 'run_1' }))
      log.warn('test.noted', 'Noted.')
      withLogContext(
        () => ({ run_id: 'run_2' }),
        () => log.warn('test.inner', 'Inner.'),
      )
    },
  )
  noteLogIds({ session_id: 'nobody' })
  log.warn('test.outside', 'Outside.')
  expect(idsOf(linesOf('test.noted')[0] ?? {})).toEqual({ request_id: 'req-1', session_id: 'ses_1', run_id: 'run_1' })
  expect(idsOf(linesOf('test.inner')[0] ?? {})).toEqual({ request_id: 'req-1', session_id: 'ses_1', run_id: 'run_2' })
  expect(idsOf(linesOf('test.outside')[0] ?? {})).toEqual({})
})
