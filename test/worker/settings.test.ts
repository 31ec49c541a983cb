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
        providers: { 'custom:x': { ...own, headers: { 'x-team': '****' } } },
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

describe('settings that would have no effect', () => {
  it.each<[string, string, object]>([
    ['toolsets.enabled', 'terminl', { toolsets: { enabled: ['file', 'terminl'] } }],
    ['api.toolsets_with_client_tools', 'fiel', { api: { toolsets_with_client_tools: ['fiel'] } }],
    ['toolsets.disabled', 'wbe', { toolsets: { disabled: ['wbe'] } }],
    ['approvals.rules.0.tool', 'write_fil', { approvals: { rules: [{ do: 'deny', tool: 'write_fil' }] } }],
    [
      'approvals.rules.1.tool',
      'toolset:fil',
      {
        approvals: {
          rules: [
            { do: 'deny', tool: '*' },
            { do: 'deny', tool: 'toolset:fil' },
          ],
        },
      },
    ],
    ['limits.sandboxes', 'sandboxes', { limits: { sandboxes: 1 } }],
    ['auxiliary.titel', 'auxiliary.titel', { auxiliary: { titel: { timeout: 1 } } }],
  ])('are refused: %s names %s', async (param, name, settings) => {
    const { key } = await newTenant()
    const { id } = await newSession({}, key)
    const answers = [
      await call<ErrorBody>('PATCH', '/api/settings', { key, body: settings }),
      await call<ErrorBody>('PATCH', `/api/sessions/${id}`, { key, body: { settings } }),
    ]
    for (const { status, body } of answers) {
      expect([status, body.error.param]).toEqual([400, param])
      expect(body.error.message).toContain(name)
    }
  })

  it.each([
    [
      'toolset',
      {
        toolsets: {
          disabled: [
            'hermes-webhook',
            'talaria-telegram',
            'mcp__git__log',
            'plugin__words__count',
            'plugin-words',
            'all',
            'read_file',
          ],
        },
      },
    ],
    [
      'pattern',
      {
        approvals: {
          rules: ['*', 'web_*', 'toolset:file', 'toolset:*', 'mcp__git__*', 'plugin__*'].map((tool) => ({
            do: 'ask',
            tool,
          })),
        },
      },
    ],
  ])('are not those with a known %s', async (_what, body) => {
    const { key } = await newTenant()
    expect((await call('PATCH', '/api/settings', { key, body })).status).toBe(200)
  })

  it('are not the limit of running subagents, which a tenant may set for itself', async () => {
    const { key } = await newTenant()
    const answer = await call('PATCH', '/api/settings', { key, body: { limits: { children: 2 } } })
    expect(answer).toMatchObject({ status: 200, body: { limits: { children: 2 } } })
  })

  it('of a session are limits of the whole tenant, which the operator may still set', async () => {
    const { id: tenant, key } = await newTenant()
    const settings = { limits: { usd_per_day: 1 } }
    const made = await call<ErrorBody>('POST', '/api/sessions', { key, body: { settings } })
    expect([made.status, made.body.error.param]).toEqual([400, 'limits.usd_per_day'])
    const limits = { jobs: 1, children: 1 }
    expect((await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits } })).body).toMatchObject({ limits })
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
