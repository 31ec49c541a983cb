/** Tests sessions whose names are those of their clients, with the separators of other ids in them. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, type Reply, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from './client.ts'
import { listMessages } from './listen.ts'

beforeAll(applyMigrations)

const deleting: Reply = calls({ name: 'terminal', input: { command: 'rm -rf build' } })
const scripted = model(({ messages }) => (messages.at(-1)?.content === 'go' ? deleting : says('Yes.'))).id

async function send(name: string, content: string, key?: string) {
  const body = { model: scripted, messages: [{ role: 'user', content }] }
  const headers = { 'x-talaria-session-id': name }
  const answer = await call('POST', '/v1/chat/completions', { body, headers, ...(key && { key }) })
  const header = (one: string) => answer.headers.get(one) ?? ''
  return { status: answer.status, session: header('x-talaria-session-id'), run: header('x-talaria-run-id') }
}

describe('a session that a client names', () => {
  it.each(['plain', 'user:42.chat-7', 'a.b.a.b', '.hidden', 'run_0123456789abcdef_x'])(
    'is made and works on all paths: %s',
    async (name) => {
      const { key } = await newTenant()
      await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
      const first = await send(name, 'hello', key)
      const second = await send(name, 'more', key)
      expect([first.status, first.session, second.session]).toEqual([200, name, name])
      expect((await call('GET', `/v1/runs/${first.run}`, { key })).body).toMatchObject({
        session_id: name,
        output: 'Yes.',
      })
      expect((await call('GET', `/api/sessions/${name}`, { key })).body).toMatchObject({ id: name, expires_at: null })
      expect(await listMessages(name, key)).toHaveLength(4)
      await send(name, 'go', key)
      const [approval] = (await call<{ data: { id: string }[] }>('GET', '/api/approvals', { key })).body.data
      const path = `/api/approvals/${approval?.id}`
      expect((await call('POST', path, { key, body: { decision: 'once' } })).status).toBe(200)
      expect((await call('POST', path, { key, body: { decision: 'once' } })).status).toBe(409)
      const body = { model: scripted, input: 'hello', conversation: name }
      const response = await call<{ id: string }>('POST', '/v1/responses', { key, body })
      const stored = await call<{ id: string }>('GET', `/v1/responses/${response.body.id}`, { key })
      expect([response.status, stored.status, stored.body.id]).toEqual([200, 200, response.body.id])
      const other = await newTenant()
      expect((await call('GET', `/api/sessions/${name}`, { key: other.key })).status).toBe(404)
    },
  )

  it.each(['..', '.', 'a/b', 'x'.repeat(129), 'ü'])('is refused with another name: %j', async (name) => {
    expect((await send(encodeURI(name), 'hello')).status).toBe(404)
  })
})
