/** Tests what comes back from a backup: the goal of a session, and the state of a tenant, also when it is sent twice. */

import { beforeAll, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type GoalBody = { readonly text: string; readonly state: string; readonly reason?: string | null }
const backup = (session: string) => `/api/admin/tenants/default/backup/sessions/${session}`

it('a goal comes back paused, with what it was', async () => {
  const { id: modelId } = model(() => says('Not yet.'))
  const { id } = (await call<{ id: string }>('POST', '/api/sessions', { body: { model: modelId } })).body
  const goal = { text: 'Write the report.', state: 'draft' }
  expect((await call('PUT', `/api/sessions/${id}/goal`, { body: goal })).status).toBe(200)
  const lines = (await (await request('GET', backup(id))).text()).replace('"at":"draft"', '"at":"active"')
  expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
  expect((await request('PUT', backup(id), { body: lines })).status).toBe(204)
  const restored = (await call<GoalBody>('GET', `/api/sessions/${id}/goal`)).body
  expect(restored).toMatchObject({ text: goal.text })
  expect(JSON.stringify(restored)).toContain('restored from a backup')
})

it('a goal that is a draft stays one', async () => {
  const { id } = (await call<{ id: string }>('POST', '/api/sessions', { body: {} })).body
  await call('PUT', `/api/sessions/${id}/goal`, { body: { text: 'Later.', state: 'draft' } })
  const lines = await (await request('GET', backup(id))).text()
  await call('DELETE', `/api/sessions/${id}`)
  expect((await request('PUT', backup(id), { body: lines })).status).toBe(204)
  const restored = (await call<GoalBody>('GET', `/api/sessions/${id}/goal`)).body
  expect(JSON.stringify(restored)).toContain('draft')
})

it('the state of a tenant may be restored again after an interruption, and not over that of another', async () => {
  const [from, to, other] = [await newTenant(), await newTenant(), await newTenant()]
  const remember = (key: string, content: string) =>
    call('PATCH', '/api/memory', { key, body: { target: 'memory', operations: [{ action: 'add', content }] } })
  await remember(from.key, 'A fact.')
  await remember(other.key, 'Another fact.')
  const path = (id: string) => `/api/admin/tenants/${id}/backup/state`
  const stateOf = async (id: string) => (await request('GET', path(id))).text()
  const restore = async (state: string) => (await request('PUT', path(to.id), { body: state })).status
  const state = await stateOf(from.id)
  expect([await restore(state), await restore(state)]).toEqual([204, 204])
  const { body } = await call<{ memory: { entries: readonly string[] } }>('GET', '/api/memory', { key: to.key })
  expect(body.memory.entries).toEqual(['A fact.'])
  expect(await stateOf(to.id)).toBe(state)
  expect(await restore(await stateOf(other.id))).toBe(409)
})
