/** Tests that a goal comes back with a session that is restored from a backup. */

import { beforeAll, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, request } from './client.ts'

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
