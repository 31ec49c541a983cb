/** Tests the header `X-Talaria-Toolsets` on every route that starts a run. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant } from '../client.ts'

beforeAll(applyMigrations)

const limit = (names: string) => ({ 'x-talaria-toolsets': names })
const namesOf = (asked: { readonly tools?: readonly { readonly function: { readonly name: string } }[] } | undefined) =>
  asked?.tools?.map((tool) => tool.function.name).toSorted() ?? []

type Target = { readonly path: string; readonly body: object }
const targets: readonly [string, (using: { id: string; model: string }) => Target][] = [
  [
    'chat completions',
    ({ model: name }) => ({
      path: '/v1/chat/completions',
      body: { model: name, messages: [{ role: 'user', content: 'hi' }] },
    }),
  ],
  ['responses', ({ model: name }) => ({ path: '/v1/responses', body: { model: name, input: 'hi' } })],
  ['runs', ({ model: name }) => ({ path: '/v1/runs', body: { model: name, input: 'hi' } })],
  ['a session', ({ id, model: name }) => ({ path: `/api/sessions/${id}/chat`, body: { model: name, input: 'hi' } })],
]

describe.each(targets)('a request to %s', (_name, targetOf) => {
  it('offers the model the named toolsets only', async () => {
    const { key } = await newTenant()
    const scripted = model(() => says('done'))
    const { id } = await newSession({}, key)
    const { path, body } = targetOf({ id, model: scripted.id })
    const { status } = await call('POST', path, { key, body, headers: limit('todo, read_file') })
    expect(status).toBeLessThan(300)
    await until(() => scripted.requests.length)
    expect(namesOf(scripted.requests[0])).toEqual(['read_file', 'todo'])
  })

  it('is refused with a toolset that does not exist, or that policy excludes', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { toolsets: { disabled: ['terminal'] } } })
    const { id } = await newSession({}, key)
    const { path, body } = targetOf({ id, model: model(() => says('done')).id })
    for (const [names, expected, code] of [
      ['todo,termnal', 400, 'invalid_request'],
      ['', 400, 'invalid_request'],
      ['todo,terminal', 403, 'policy'],
      ['all', 403, 'policy'],
    ] as const) {
      const { status, body: answer } = await call<ErrorBody>('POST', path, { key, body, headers: limit(names) })
      expect([names, status, answer.error.code, answer.error.param]).toEqual([
        names,
        expected,
        code,
        'X-Talaria-Toolsets',
      ])
    }
  })
})

it('counts the policy of the session that the request continues', async () => {
  const { key } = await newTenant()
  const { id } = await newSession({ settings: { toolsets: { enabled: ['todo'] } } }, key)
  const body = { input: 'hi', model: model(() => says('done')).id }
  const ask = (names: string) => call('POST', `/api/sessions/${id}/chat`, { key, body, headers: limit(names) })
  expect([(await ask('file')).status, (await ask('todo')).status]).toEqual([403, 200])
})

it('runs no other tool, and holds for this request only', async () => {
  const { key } = await newTenant()
  const scripted = model([calls({ name: 'terminal', input: { command: 'echo ran' } }), says('done'), says('more')])
  const { id } = await newSession({}, key)
  const ask = (headers: Record<string, string>) =>
    call('POST', `/api/sessions/${id}/chat`, { key, headers, body: { input: 'hi', model: scripted.id } })
  await ask(limit('todo'))
  const result = scripted.requests[1]?.messages.find(({ role }) => role === 'tool')
  expect(JSON.stringify(result?.content)).not.toContain('ran\\n')
  await ask({})
  expect(namesOf(scripted.requests[2])).toContain('terminal')
})
