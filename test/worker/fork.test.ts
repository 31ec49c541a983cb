/** Tests forks of sessions with large workspaces. */

import { beforeAll, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { call, applyMigrations, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

const MIB = 1024 * 1024

it('a fork copies files that are larger than one message between objects', async () => {
  const { key } = await newTenant()
  const { id } = await newSession({}, key)
  const at = (session: string, name: string) => `/api/sessions/${session}/files/${name}`
  const put = (name: string, body: Uint8Array) => call('PUT', at(id, name), { key, body })
  for (const n of [1, 2, 3, 4]) expect((await put(`d/large-${n}`, new Uint8Array(10 * MIB).fill(n))).status).toBe(201)
  await put('small.txt', new TextEncoder().encode('small'))
  const fork = await call<{ id: string; parent_id: string }>('POST', `/api/sessions/${id}/fork`, { key, body: {} })
  expect([fork.status, fork.body.parent_id]).toEqual([201, id])
  await put('small.txt', new TextEncoder().encode('changed'))
  const read = async (name: string) =>
    new Uint8Array(await (await request('GET', at(fork.body.id, name), { key })).arrayBuffer())
  for (const n of [1, 4]) {
    const bytes = await read(`d/large-${n}`)
    expect([bytes.byteLength, bytes[0], bytes.at(-1)]).toEqual([10 * MIB, n, n])
  }
  expect(new TextDecoder().decode(await read('small.txt'))).toBe('small')
})

it('a fork has its own creation time', async () => {
  const { id } = await newSession({ model: model([says('Hello.')]).id })
  expect(await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'hello' } })).toMatchObject({ status: 200 })
  type View = { created_at: string; updated_at: string }
  const { body } = await call<View>('POST', `/api/sessions/${id}/fork`, { body: {} })
  expect(body.updated_at >= body.created_at).toBe(true)
})
