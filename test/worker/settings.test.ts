/** Tests patches of settings of tenants and sessions, and the providers that a session's settings add. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { call, applyMigrations, newSession, newTenant, type ErrorBody, type Session } from './client.ts'

beforeAll(applyMigrations)

const own = { base_url: 'https://llm.example.com/v1', dialect: 'openai-chat' }
const patcher =
  (path: string, key: string) =>
  async (settings: object): Promise<{ status: number; settings: object; param: string | null | undefined }> => {
    const body = path === '/api/settings' ? settings : { settings }
    const answer = await call<ErrorBody & Session>('PATCH', path, { key, body })
    const { settings: inside, error } = answer.body
    return { status: answer.status, settings: inside ?? answer.body, param: error?.param }
  }

describe.each(['tenant', 'session'])('a part of the settings of a %s', (whose) => {
  const setUp = async () => {
    const { key } = await newTenant()
    const path = whose === 'tenant' ? '/api/settings' : `/api/sessions/${(await newSession({}, key)).id}`
    return patcher(path, key)
  }

  it.each([
    ['agnet', { agnet: null }],
    ['agent.max_turn', { agent: { max_turn: null } }],
    ['auxiliary.titel', { auxiliary: { titel: null } }],
    ['providers.mine', { providers: { mine: null } }],
  ])('is refused where there is no %s, also when it is null', async (param, part) => {
    const patch = await setUp()
    expect(await patch(part)).toMatchObject({ status: 400, param })
  })

  it('may change a part of an existing entry', async () => {
    const patch = await setUp()
    const preset = { references: ['openai/a'], aggregator: 'openai/b' }
    await patch({ providers: { 'custom:x': own }, moa: { presets: { p: preset } } })
    const changed = await patch({
      providers: { 'custom:x': { headers: { 'x-team': 'a' } } },
      moa: { presets: { p: { max_tokens: 5 } } },
    })
    expect(changed).toMatchObject({
      status: 200,
      settings: {
        providers: { 'custom:x': { ...own, headers: { 'x-team': 'a' } } },
        moa: { presets: { p: { ...preset, max_tokens: 5 } } },
      },
    })
  })

  it('is refused when the result would be incomplete', async () => {
    const patch = await setUp()
    const [param, headers] = ['providers.custom:x.base_url', { 'x-team': 'a' }]
    expect(await patch({ providers: { 'custom:x': { headers } } })).toMatchObject({ status: 400, param })
    await patch({ providers: { 'custom:x': own } })
    expect(await patch({ providers: { 'custom:x': { base_url: null } } })).toMatchObject({ status: 400, param })
    expect(await patch({ providers: { 'custom:x': null } })).toMatchObject({ status: 200, settings: { providers: {} } })
  })
})

describe('a provider that only the settings of a session name', () => {
  it('can be requested in this session', async () => {
    const { key } = await newTenant()
    const preset = { references: [model(() => says('a hint')).id], aggregator: model(() => says('one')).id }
    const session = await newSession({ settings: { moa: { presets: { mine: preset } } } }, key)
    const body = { model: 'moa/mine' }
    const chat = (id: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi', ...body } })
    expect((await chat(session.id)).body['output']).toBe('one')
    const headers = { 'x-talaria-session-id': session.id }
    const asks = { ...body, messages: [{ role: 'user', content: 'hi' }] }
    expect((await call('POST', '/v1/chat/completions', { key, headers, body: asks })).status).toBe(200)
    const respond = (more: object) =>
      call<{ id: string }>('POST', '/v1/responses', { key, body: { ...body, input: 'hi', ...more } })
    const first = await respond({ conversation: session.id })
    expect(first.status).toBe(200)
    expect((await respond({ previous_response_id: first.body.id })).status).toBe(200)
    expect([(await respond({})).status, (await chat((await newSession({}, key)).id)).status]).toEqual([404, 404])
  })

  it('can become its model in the same patch', async () => {
    const { key } = await newTenant()
    const settings = { providers: { 'custom:x': own } }
    const path = `/api/sessions/${(await newSession({}, key)).id}`
    const change = (body: object) => call<ErrorBody & Session>('PATCH', path, { key, body })
    expect((await change({ model: 'custom:x/m' })).status).toBe(404)
    expect((await change({ model: 'custom:x/m', settings })).body['model']).toBe('custom:x/m')
    expect((await change({ model: 'custom:x/other' })).body['model']).toBe('custom:x/other')
    const none = await change({ model: 'custom:y/m', settings })
    expect([none.status, none.body.error.param]).toEqual([404, 'model'])
  })
})
