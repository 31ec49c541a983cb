/** Tests the lists of usable models, their facts, and the refusal of others. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { model, listTexts, says } from '../support/scripted-model.ts'
import { type Answer, call, applyMigrations, newSession, newTenant, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

type Known = {
  readonly id: string
  readonly context_window: number
  readonly source: string
  readonly [more: string]: unknown
}
type Models = {
  readonly data: readonly Known[]
  readonly unavailable: readonly {
    readonly provider: string
    readonly model: string | null
    readonly reason: string
  }[]
}
const modelsOf = async (key: string) => (await call<Models>('GET', '/api/settings/models', { key })).body
const patch = (body: object, key: string) => call<ErrorBody>('PATCH', '/api/settings', { body, key })
const errorOf = ({ status, body }: Answer<ErrorBody>) => [status, body.error.code, body.error.param]

describe('GET /api/settings/models', () => {
  it('lists the facts of usable models, the default first', async () => {
    const { key } = await newTenant()
    await patch({ models: { 'openai/gpt-4.1': { prices: { input: 2, output: 8 } } } }, key)
    const { data } = await modelsOf(key)
    expect(data[0]?.id).toBe('openai/test')
    expect(data.find(({ id }) => id === 'openai/gpt-4.1')).toEqual({
      id: 'openai/gpt-4.1',
      provider: 'openai',
      dialect: 'openai-chat',
      context_window: 1_047_576,
      max_output: 32_768,
      prices: { input: 2, output: 8, cached_read: 2, cached_write: 2 },
      abilities: { images: true, audio: null, reasoning: false, tools: true, caching: true },
      efforts: null,
      prompt_cache: null,
      knowledge: null,
      deprecated: false,
      source: 'built-in',
    })
    expect(data.find(({ id }) => id === 'demo/agent')).toMatchObject({ dialect: 'demo' })
  })

  it('lists what the others are missing', async () => {
    const { key } = await newTenant()
    const { unavailable, data } = await modelsOf(key)
    const reasonFor = (provider: string) => unavailable.find((one) => one.provider === provider)?.reason
    expect(reasonFor('anthropic')).toBe('set ANTHROPIC_API_KEY, or store a key of your own with POST /api/credentials')
    expect(reasonFor('custom')).toBe('set CUSTOM_BASE_URL')
    expect(reasonFor('workers-ai')).toBe('needs the AI binding')
    expect(reasonFor('openai')).toBe(undefined)
    const usable = new Set(data.map(({ id }) => id.split('/')[0]))
    expect(unavailable.filter(({ provider }) => usable.has(provider))).toEqual([])
  })

  it('explains why a named model is unavailable', async () => {
    const { key } = await newTenant()
    const small = { context_window: 8_000 }
    const nobody = { reason: 'there is no provider of this name' }
    await patch({ providers: { 'custom:gone': { base_url: 'https://llm.example.com/v1' } } }, key)
    await patch(
      {
        model: { default: 'openai/gpt-4' },
        fallback_providers: ['custom:gone/some-model', 'openai/gpt-4.1'],
        models: { 'nobody/some-model': small, 'openai/meant-to-be-small': small },
      },
      key,
    )
    await patch({ providers: null }, key)
    const { data, unavailable } = await modelsOf(key)
    const ids = data.map(({ id }) => id)
    expect(unavailable.filter(({ model: name }) => name === 'some-model')).toEqual([
      { provider: 'custom:gone', model: 'some-model', ...nobody },
      { provider: 'nobody', model: 'some-model', ...nobody },
    ])
    expect(unavailable.find(({ provider }) => provider === 'openai')).toMatchObject({
      model: 'gpt-4',
      reason: expect.stringContaining('8192 tokens; 64000 are needed'),
    })
    expect(ids).toContain('openai/gpt-4.1')
    expect(ids).toContain('openai/meant-to-be-small')
    expect(ids).not.toContain('openai/gpt-4')
  })

  it('lists the models of one provider, by any of its names', async () => {
    const { key } = await newTenant()
    const { data } = (await call<Models>('GET', '/api/settings/models?provider=or', { key })).body
    expect(data.map(({ id }) => id)).toEqual(['openrouter/openrouter/auto'])
    expect((await call<Models>('GET', '/api/settings/models?provider=nobody', { key })).body.data).toEqual([])
  })

  it('never shows a key or an address', async () => {
    const { key } = await newTenant()
    const text = await (await request('GET', '/api/settings/models', { key })).text()
    expect(text).not.toMatch(/test-key|test-router-key|model\.test/)
  })
})

describe('a model', () => {
  it('with a too small window is refused, unless the settings override it', async () => {
    const { key } = await newTenant()
    const create = (body: object) => call<ErrorBody>('POST', '/api/sessions', { key, body })
    const refused = await create({ model: 'openai/gpt-4' })
    expect(errorOf(refused)).toEqual([400, 'unsupported', 'model'])
    expect(refused.body.error.message).toMatch(/8192 tokens; 64000 are needed.*context_window/)
    const settings = { models: { 'openai/gpt-4': { context_window: 8_000 } } }
    expect((await create({ model: 'openai/gpt-4', settings })).status).toBe(201)
    const { data } = (await call<{ data: { id: string }[] }>('GET', '/v1/models', { key })).body
    expect(data.map(({ id }) => id)).not.toContain('openai/gpt-4')
  })

  it('that is the default and has a too small window is refused as well', async () => {
    const { key } = await newTenant()
    const session = await call<{ id: string }>('POST', '/api/sessions', { key, body: {} })
    await patch({ model: { default: 'openai/gpt-4' } }, key)
    const answer = await call<ErrorBody>('POST', `/api/sessions/${session.body.id}/chat`, {
      key,
      body: { input: 'hi', model: 'talaria' },
    })
    expect(errorOf(answer)).toEqual([400, 'unsupported', 'model'])
  })

  it('that is an unusable default does not affect a session with its own model', async () => {
    const { key } = await newTenant()
    const scripted = model([says('hello')]).id
    const { id } = await newSession({ model: scripted }, key)
    await patch({ model: { default: 'openai/gpt-4' } }, key)
    const change = (body: object) => call<ErrorBody>('PATCH', `/api/sessions/${id}`, { key, body })
    expect((await change({ title: 'x' })).status).toBe(200)
    expect((await change({ settings: { timezone: 'Europe/Berlin' } })).status).toBe(200)
    const answer = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ output: 'hello' })])
    expect(errorOf(await change({ model: null }))).toEqual([400, 'unsupported', 'model'])
  })

  it('with a missing setting is refused with its name', async () => {
    const answer = await call<ErrorBody>('POST', '/api/sessions', { body: { model: 'claude/claude-opus-5' } })
    expect(errorOf(answer)).toEqual([404, 'model_not_found', 'model'])
    expect(answer.body.error.message).toContain('set ANTHROPIC_API_KEY')
  })

  it('may be named by settings before it can be asked, and the end of a turn says what is missing', async () => {
    const { key } = await newTenant()
    await patch({ providers: { 'custom:gone': { base_url: 'https://llm.example.com/v1' } } }, key)
    const settings = { model: { default: 'claude/claude-opus-5' }, fallback_providers: ['custom:gone/x'] }
    const session = await newSession({ settings }, key)
    await patch({ providers: null }, key)
    const { body } = await call('POST', `/api/sessions/${session.id}/chat`, { body: { input: 'hi' }, key })
    expect(body).toMatchObject({ status: 'failed', exit_reason: 'failed_unconfigured' })
    expect(body['output']).toContain('claude/claude-opus-5: set ANTHROPIC_API_KEY, or store a key of your own')
    expect(body['output']).toContain('; custom:gone/x: there is no provider of this name')
  })

  it.each([
    ['PATCH', '/api/settings', 'model.default', { model: { default: 'opnai/gpt-4.1' } }],
    ['PATCH', '/api/settings', 'fallback_providers', { fallback_providers: ['openai/x', 'opnai/gpt-4.1'] }],
    ['PATCH', '/api/settings', 'auxiliary.vision.model', { auxiliary: { vision: { model: 'opnai/gpt-4.1' } } }],
    ['PATCH', '/api/settings', 'delegation.model', { delegation: { model: 'opnai/gpt-4.1' } }],
    [
      'PATCH',
      '/api/settings',
      'moa.presets.two.references',
      { moa: { presets: { two: { references: ['opnai/gpt-4.1'], aggregator: 'openai/x' } } } },
    ],
    ['POST', '/api/sessions', 'model.default', { settings: { model: { default: 'opnai/gpt-4.1' } } }],
    ['POST', '/api/sessions', 'model', { model: 'opnai/gpt-4.1' }],
    ['POST', '/api/batches', 'model', { model: 'opnai/gpt-4.1', prompts: [{ prompt: 'x' }] }],
    ['POST', '/api/jobs', 'model', { model: 'opnai/gpt-4.1', prompt: 'x', schedule: 'every 2h' }],
  ])('that does not exist is refused with the nearest name: %s %s, %s', async (method, path, param, body) => {
    const { key } = await newTenant()
    await patch({ models: { 'openai/gpt-4.1': { images: true } } }, key)
    const answer = await call<ErrorBody>(method, path, { key, body })
    expect([answer.status >= 400, answer.body.error.param]).toEqual([true, param])
    expect(answer.body.error.message).toContain('Did you mean openai/gpt-4.1?')
    expect((await call<object>('GET', '/api/settings', { key })).body).toEqual({
      models: { 'openai/gpt-4.1': { images: true } },
    })
  })

  it('of a provider, and a mixture, may be named by the change that adds it', async () => {
    const { key } = await newTenant()
    const provider = { 'custom:mine': { base_url: 'https://llm.example.com/v1' } }
    const added = await patch({ providers: provider, model: { default: 'custom:mine/x' } }, key)
    const preset = { references: ['custom:mine/x'], aggregator: 'custom:mine/y' }
    const mixed = await patch({ moa: { presets: { two: preset } }, delegation: { model: 'moa/two' } }, key)
    expect([added.status, mixed.status]).toEqual([200, 200])
    // What is stored may be sent again, though its provider has gone.
    await patch({ providers: null }, key)
    expect((await patch({ model: { default: 'custom:mine/x', temperature: 1 } }, key)).status).toBe(200)
  })

  it.each([
    ['oproute/openruter/auto', 'openrouter/openrouter/auto'],
    ['opnai/gpt-4.1', 'openai/gpt-4.1'],
    ['opnai/GPT4.1', 'openai/gpt-4.1'],
  ])('that does not exist is refused with the nearest names: %s', async (name, nearest) => {
    const { key } = await newTenant()
    await patch({ models: { 'openai/gpt-4.1': { images: true } } }, key)
    const { status, body } = await call<ErrorBody>('POST', '/api/sessions', {
      key,
      body: { model: name },
    })
    expect([status, body.error.message]).toEqual([404, expect.stringContaining(`Did you mean ${nearest}`)])
  })

  it('that resembles none is refused without a guess', async () => {
    const { body } = await call<ErrorBody>('POST', '/api/sessions', { body: { model: 'nobody/completely-else' } })
    expect(body.error.message).not.toContain('Did you mean')
  })

  it('may be requested by an alias of its provider', async () => {
    const scripted = model([says('Hello.')], 'by-alias')
    const { id } = await newSession({ model: `or/by-alias` })
    expect((await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'hi' } })).body['output']).toBe('Hello.')
    expect(listTexts(scripted.requests[0]!)).toEqual(['user: hi'])
  })
})

describe('a name that clients of OpenAI have built in', () => {
  const ask = (path: string, fields: object, key: string) =>
    call<ErrorBody & { model: string }>('POST', path, {
      key,
      body: path.endsWith('responses')
        ? { input: 'hi', ...fields }
        : { messages: [{ role: 'user', content: 'hi' }], ...fields },
    })
  const tenantWith = async (id: string) => {
    const { key } = await newTenant()
    await patch({ model: { default: id } }, key)
    return key
  }

  it.each(['/v1/chat/completions', '/v1/responses'])(
    'is served by the default model of the tenant: %s',
    async (path) => {
      const scripted = model(() => says('Hello.'))
      const key = await tenantWith(scripted.id)
      for (const name of ['gpt-5.6-luna', 'gpt-4o', 'o3-mini', 'chatgpt-4o-latest', 'codex-mini-latest']) {
        const answer = await ask(path, { model: name }, key)
        expect([answer.status, answer.body.model]).toEqual([200, name])
        expect(JSON.stringify(answer.body)).toContain('Hello.')
      }
      expect(scripted.requests).toHaveLength(5)
    },
  )

  it.each([
    [{ model: 'nobody/gpt-4o' }],
    [{ model: 'claude-opus-5' }],
    [{ model: 'ogpt-4o' }],
    [{ model: 'gpt-4o', provider: 'anthropic' }],
  ])('is refused where it is not such a name: %j', async (fields) => {
    const key = await tenantWith(model(() => says('Hello.')).id)
    for (const path of ['/v1/chat/completions', '/v1/responses'])
      expect((await ask(path, fields, key)).body.error.code).toBe('model_not_found')
  })

  itInTurn('is never served by the demo', async () => {
    const key = await tenantWith('demo/agent')
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const refused = await ask(path, { model: 'gpt-4o' }, key)
      expect(errorOf(refused)).toEqual([404, 'model_not_found', 'model'])
      expect(refused.body.error.message).toMatch(/gpt-4o.*Use talaria.*set MODEL/)
      expect((await ask(path, { model: 'talaria' }, key)).status).toBe(200)
    }
  })
})

describe('a custom provider of a tenant', () => {
  const mine = (base_url: string, more: object = {}) => ({ providers: { 'custom:mine': { base_url, ...more } } })

  it.each([
    'http://localhost:8787/v1',
    'http://127.0.0.1/v1',
    'http://0x7f.1/v1',
    'http://[::1]:11434/v1',
    'http://169.254.169.254/latest',
    'http://10.0.0.7/v1',
    'https://metadata.google.internal/v1',
    'https://user:pass@llm.example.com/v1',
    'https://llm.example.com/{OPENAI_API_KEY}/{ADMIN_KEY}',
    'https://llm.example.com/v1?key={ENCRYPTION_KEY}',
    'http://{169.254.169.254}/',
    'http://{127.0.0.1}:9000/v1',
  ])('is refused at %s, wherever it is stored', async (address) => {
    const { key } = await newTenant()
    const blocked = [400, 'blocked_url', 'providers.custom:mine.base_url']
    expect(errorOf(await patch(mine(address), key))).toEqual(blocked)
    const body = { settings: mine(address) }
    expect(errorOf(await call<ErrorBody>('POST', '/api/sessions', { key, body }))).toEqual(blocked)
    const { id } = await newSession({}, key)
    expect(errorOf(await call<ErrorBody>('PATCH', `/api/sessions/${id}`, { key, body }))).toEqual(blocked)
    expect((await call('GET', '/api/settings', { key })).body).toEqual({})
  })

  it.each<readonly [object, number]>([
    [{ providers: { mine: { base_url: 'https://llm.example.com' } } }, 400],
    [{ providers: { openai: { base_url: 'https://llm.example.com' } } }, 400],
    [mine('https://llm.example.com', { dialect: 'smoke-signals' }), 400],
    [mine('https://llm.example.com', { headers: { 'x-a': 'line\nbreak' } }), 400],
    [mine('https://llm.example.com', { headers: { host: 'elsewhere' } }), 400],
    [mine('llm.example.com'), 400],
    [mine('https://llm.example.com/v1', { dialect: 'anthropic', headers: { 'x-team': 'a' } }), 200],
  ])('%j gives %i', async (body, status) => {
    const { key } = await newTenant()
    expect((await patch(body, key)).status).toBe(status)
  })

  it('is called at its address, with its headers, and with no key of the deployment', async () => {
    const { key } = await newTenant()
    const receivedRequests: { url: string; headers: Headers; redirect: string; body: { model: string } }[] = []
    const outside = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      const received = new Request(input as RequestInfo, { ...init, signal: null })
      if (!received.url.startsWith('https://llm.example.com/')) return outside(input as RequestInfo, init)
      const { url, headers, redirect } = received
      receivedRequests.push({ url, headers, redirect, body: await received.json() })
      return Response.json({ choices: [{ message: { content: 'From afar.' }, finish_reason: 'stop' }] })
    }
    try {
      await patch(mine('https://llm.example.com/v1', { headers: { 'x-team': 'a' } }), key)
      const { id } = await newSession({ model: 'custom:mine/some/model' }, key)
      const run = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
      expect(run.body['output']).toBe('From afar.')
    } finally {
      globalThis.fetch = outside
    }
    const [received] = receivedRequests
    expect(received?.url).toBe('https://llm.example.com/v1/chat/completions')
    expect(received?.headers.get('x-team')).toBe('a')
    expect(received?.redirect).toBe('manual')
    expect(JSON.stringify([...received!.headers])).not.toMatch(/test-key|test-router-key/)
    expect(received?.body.model).toBe('some/model')
  })

  it('is asked for its models, with their windows and prices, and nothing is stored', async () => {
    const { key } = await newTenant()
    const asked: [string, string | null][] = []
    const outside = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      const { url, headers } = new Request(input as RequestInfo, { ...init, signal: null })
      if (!url.startsWith('https://llm.example.com/')) return outside(input as RequestInfo, init)
      asked.push([url, headers.get('authorization')])
      if (!url.includes('/v1/')) return new Response('nothing here', { status: 404 })
      if (headers.get('authorization') !== 'Bearer sk-1') return new Response('no', { status: 401 })
      return Response.json({ data: [{ id: 'tiny', max_model_len: 32_768, pricing: { input: 0.2, output: 0.4 } }, {}] })
    }
    try {
      const discover = (body: object) => call<ErrorBody>('POST', '/api/settings/models/discover', { key, body })
      const found = await discover({ base_url: 'https://llm.example.com/', key: 'sk-1' })
      expect([found.status, found.body]).toMatchObject([
        200,
        {
          base_url: 'https://llm.example.com/v1',
          data: [{ id: 'tiny', context_window: 32_768, prices: { input: 0.2, output: 0.4 }, max_output: null }],
        },
      ])
      expect(errorOf(await discover({ base_url: 'https://llm.example.com/v1', key: 'sk-2' }))).toEqual([
        400,
        'invalid_request',
        'key',
      ])
      expect(errorOf(await discover({ base_url: 'http://169.254.169.254/v1' }))).toEqual([
        400,
        'blocked_url',
        'base_url',
      ])
    } finally {
      globalThis.fetch = outside
    }
    expect(asked.map(([url]) => url)).toEqual([
      'https://llm.example.com/models',
      'https://llm.example.com/v1/models',
      'https://llm.example.com/v1/models',
    ])
    expect((await call('GET', '/api/settings', { key })).body).toEqual({})
  })

  it('belongs to its tenant alone', async () => {
    const { key } = await newTenant()
    const other = await newTenant()
    await patch(mine('https://llm.example.com/v1'), key)
    expect((await call('GET', '/v1/models/custom:mine/x', { key })).status).toBe(200)
    expect((await call('GET', '/v1/models/custom:mine/x', { key: other.key })).status).toBe(404)
  })
})
