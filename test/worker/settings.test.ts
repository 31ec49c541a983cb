/** Any part of the settings, of a tenant and of a session: what may be a part, and whose providers a model may have. */

import { beforeAll, describe, expect, it } from 'vitest'
import { call, migrated, newSession, newTenant, type Problem, type Session } from './client.ts'

beforeAll(migrated)

const own = { base_url: 'https://llm.example.com/v1', dialect: 'openai-chat' }
const patcher =
  (path: string, key: string) =>
  async (settings: object): Promise<{ status: number; settings: object; param: string | null | undefined }> => {
    const body = path === '/api/settings' ? settings : { settings }
    const answer = await call<Problem & Session>('PATCH', path, { key, body })
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

  it('may be a part of an entry that is there', async () => {
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

  it('is refused where something would be missing then', async () => {
    const patch = await setUp()
    const [param, headers] = ['providers.custom:x.base_url', { 'x-team': 'a' }]
    expect(await patch({ providers: { 'custom:x': { headers } } })).toMatchObject({ status: 400, param })
    await patch({ providers: { 'custom:x': own } })
    expect(await patch({ providers: { 'custom:x': { base_url: null } } })).toMatchObject({ status: 400, param })
    expect(await patch({ providers: { 'custom:x': null } })).toMatchObject({ status: 200, settings: { providers: {} } })
  })
})
