/** Tests that a session knows which client made it, and that its answers are formatted for that client. */

import { beforeAll, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from './client.ts'

beforeAll(applyMigrations)

type Session = { readonly id: string; readonly source: string }
type List = { readonly data: readonly Session[] }

it.each([
  [undefined, 'api', 'The answer goes to a program'],
  ['cli', 'cli', 'The answer is read in a terminal'],
  ['acp', 'acp', 'The answer is read in a code editor'],
  ['web', 'web', 'The answer is read in a browser'],
])('a session made with the source %s is one of %s', async (source, stored, hint) => {
  const { key } = await newTenant()
  const scripted = model(() => says('Hello.'))
  const made = await call<Session>('POST', '/api/sessions', { key, body: { source, model: scripted.id } })
  expect([made.status, made.body.source]).toEqual([201, stored])
  await call('POST', `/api/sessions/${made.body.id}/chat`, { key, body: { input: 'hi' } })
  expect(JSON.stringify(scripted.requests[0])).toContain(hint)
  const listed = await call<List>('GET', `/api/sessions?source=${stored}`, { key })
  expect(listed.body.data.map(({ id }) => id)).toEqual([made.body.id])
})

it.each(['telegram', 'cron', 'batch', 'subagent', 'CLI', ''])(
  'no client makes a session with the source %j',
  async (source) => {
    const { key } = await newTenant()
    const { status, body } = await call<{ error: { param: string } }>('POST', '/api/sessions', {
      key,
      body: { source },
    })
    expect([status, body.error.param]).toEqual([400, 'source'])
  },
)
