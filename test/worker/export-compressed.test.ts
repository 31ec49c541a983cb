/** Tests that a compressed conversation goes on in an imported session with the same context. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, type Reply, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from './client.ts'
import { listMessages, send } from './listen.ts'

beforeAll(applyMigrations)

type Exported = {
  readonly messages: readonly {
    readonly covers?: number
    readonly keeps?: object
    readonly effects?: readonly string[]
  }[]
}

it('an import keeps head, summary, tail and the list of effects', async () => {
  const write = calls({ id: 'w1', name: 'write_file', input: { path: 'notes.txt', content: 'alpha' } })
  const main = model([
    says('zero'),
    write,
    ...Array<Reply>(9).fill(says('many words '.repeat(100))),
    says('next'),
    says('next'),
  ])
  const side = model([says('SUMMARY')])
  const compression = { protect_last_n: 4, protect_first_n: 2 }
  const settings = { compression, auxiliary: { compression: { model: side.id, fallback_providers: [] } } }
  const { id } = await newSession({ model: main.id, settings })
  for (const n of [1, 2, 3, 4, 5, 6, 7]) await send(id, `question ${n}`)
  expect((await call('POST', `/api/sessions/${id}/compress`, { body: {} })).body['compressed']).toBe(true)

  const text = await (await request('GET', `/api/sessions/${id}/export?format=json`)).text()
  const exported = JSON.parse(text) as Exported
  const summary = exported.messages.find(({ covers }) => covers !== undefined)
  expect(summary).toMatchObject({
    keeps: { head: [1, 2], requests: [] },
    effects: ['write_file {"path":"notes.txt"} → done'],
  })
  const imported = await call<{ id: string }>('POST', '/api/sessions/import', { body: exported })
  expect(imported.status).toBe(201)
  const flags = async (session: string) =>
    (await listMessages<{ compacted: boolean }>(session)).map((one) => one.compacted)
  expect(await flags(imported.body.id)).toEqual(await flags(id))

  await send(id, 'and then?')
  await send(imported.body.id, 'and then?')
  const [first, second] = main.requests.slice(-2).map(({ messages }) => JSON.stringify(messages.slice(1)))
  expect(second).toBe(first)
  expect(first).toContain('Do not repeat')
})
