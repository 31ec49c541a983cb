/** Tests the provider keys of tenants: who may store and list them, and which calls use them. */

import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from 'cloudflare:test'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createApp } from '#worker/app.ts'
import { ownerAuthority } from '../support/authority.ts'
import { answerRequests } from '../support/answered-requests.ts'
import { createSkippingClock } from '../support/clock.ts'
import { objectOf } from '../durable/support/object.ts'
import { Gate, until } from '../support/scripted-model.ts'
import { createVertexApi } from '../support/vertex-api.ts'
import {
  adminKey,
  type Answer,
  bindings,
  call,
  applyMigrations,
  newKey,
  newSession,
  newTenant,
  type ErrorBody,
  request,
} from './client.ts'

beforeAll(applyMigrations)

type Credential = {
  readonly id: string
  readonly provider: string
  readonly last_four: string
  readonly status: string
  readonly until: string | null
  readonly reason: string | null
}
type List = { readonly data: readonly Credential[]; readonly next_cursor: null }
type Run = { readonly output: string | null; readonly error: string | null }

const path = '/api/credentials'
const store = (body: object, key: string) => call<Credential & ErrorBody>('POST', path, { body, key })
const listOf = async (key: string) => (await call<List>('GET', path, { key })).body.data
const errorOf = ({ status, body }: Answer<ErrorBody>) => [status, body.error.code, body.error.param]
const patch = (body: object, key: string) => call<ErrorBody>('PATCH', '/api/settings', { body, key })

/** Every request to these hosts, with what names the one who pays; what is answered is the script's business. */
type ReceivedRequest = { readonly url: string; readonly bearer: string | null; readonly apiKey: string | null }
type Script = (received: ReceivedRequest, nth: number) => Response | Promise<Response>

const answer = (content: string) => {
  const frames = [{ delta: { content } }, { delta: {}, finish_reason: 'stop' }].map(
    (choice) => `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] })}\n\n`,
  )
  return new Response([...frames, 'data: [DONE]\n\n'].join(''), { headers: { 'content-type': 'text/event-stream' } })
}
const refusal = (status: number, message: string, headers: HeadersInit = {}) =>
  Response.json({ error: { message } }, { status, headers })

let receivedRequests: ReceivedRequest[] = []
let stopAnswering = () => {}
let script: Script = () => answer('ok')
const hosts = /^https:\/\/(?:model\.test|llm\.example\.com|evil\.example\.com|api\.deepseek\.com)\//

beforeEach(() => {
  receivedRequests = []
  script = () => answer('ok')
  stopAnswering = answerRequests((url, input, init) => {
    if (!hosts.test(url)) return undefined
    const { headers } = new Request(input as RequestInfo, { ...init, signal: null, body: null })
    const one = { url, bearer: headers.get('authorization'), apiKey: headers.get('x-api-key') }
    receivedRequests.push(one)
    return Promise.resolve(script(one, receivedRequests.length - 1))
  })
})
afterEach(() => {
  stopAnswering()
  replaceClock()
})

const sendMessage = async (sessionId: string, key: string, more: object = {}) =>
  (await call<Run>('POST', `/api/sessions/${sessionId}/chat`, { key, body: { input: 'hi', ...more } })).body

const sessionWith = (model: string, key: string, more: object = {}) => newSession({ model, ...more }, key)
const bearers = () => receivedRequests.map(({ bearer }) => bearer)

describe('POST /api/credentials', () => {
  it('answers with the credential and never with the key', async () => {
    const { key } = await newTenant()
    const { status, body } = await store({ provider: 'claude', key: ' sk-ant-0123456789-wxyz\n', name: 'Mine' }, key)
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^cred_[0-9a-f]{32}$/),
      provider: 'anthropic',
      name: 'Mine',
      last_four: 'wxyz',
      created_at: expect.stringMatching(/Z$/),
      status: 'usable',
      until: null,
      reason: null,
    })
    expect(await listOf(key)).toEqual([body])
  })

  it.each<readonly [object, string]>([
    [{ provider: 'openai' }, 'key'],
    [{ provider: 'openai', key: '' }, 'key'],
    [{ provider: 'openai', key: '   ' }, 'key'],
    [{ provider: 'openai', key: 'x'.repeat(4_097) }, 'key'],
    [{ provider: 'openai', key: 'two words' }, 'key'],
    [{ provider: 'openai', key: 'line\nbreak' }, 'key'],
    [{ provider: 'openai', key: '{"a": "key of a service account"}' }, 'key'],
    [{ provider: 'vertex', key: 'AIza-of-gemini' }, 'key'],
    [{ provider: 'vertex', key: '{"client_email": "a@b", "private_key": "x"}' }, 'key'],
    [{ provider: 'vertex', key: '{"client_email": "a@b", "private_key": "x", "project_id": "p"}' }, 'key'],
    [{ provider: 'openai', key: 'schlüssel' }, 'key'],
    [{ key: 'k' }, 'provider'],
    [{ provider: 'nobody', key: 'k' }, 'provider'],
    [{ provider: 'custom:', key: 'k' }, 'provider'],
    [{ provider: 'custom:Not So', key: 'k' }, 'provider'],
    [{ provider: 'demo', key: 'k' }, 'provider'],
    [{ provider: 'workers-ai', key: 'k' }, 'provider'],
    [{ provider: 'openai', key: 'k', name: '' }, 'name'],
    [{ provider: 'openai', key: 'k', secret: 'k' }, 'secret'],
  ])('refuses %j and names %s', async (body, param) => {
    const { key } = await newTenant()
    const refused = await store(body, key)
    expect(errorOf(refused)).toEqual([400, 'invalid_request', param])
    expect(await listOf(key)).toEqual([])
  })

  it('takes a key of the longest length, and says nothing of a very short one', async () => {
    const { key } = await newTenant()
    expect((await store({ provider: 'xai', key: 'x'.repeat(4_096) }, key)).body.last_four).toBe('xxxx')
    expect((await store({ provider: 'xai', key: '1234567' }, key)).body.last_four).toBe('')
  })

  it('refuses a key that is stored for the same provider, even when two come at once', async () => {
    const { key } = await newTenant()
    const both = await Promise.all([
      store({ provider: 'claude', key: 'same-key-0001' }, key),
      store({ provider: 'anthropic', key: 'same-key-0001' }, key),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409])
    expect(errorOf(await store({ provider: 'anthropic', key: 'same-key-0001' }, key))).toEqual([409, 'conflict', 'key'])
    expect((await store({ provider: 'xai', key: 'same-key-0001' }, key)).status).toBe(201)
    const other = await newTenant()
    expect((await store({ provider: 'anthropic', key: 'same-key-0001' }, other.key)).status).toBe(201)
  })

  it('keeps fifty and no more', async () => {
    const { key } = await newTenant()
    for (let i = 0; i < 50; i++) await store({ provider: 'xai', key: `key-number-${i}` }, key)
    expect(errorOf(await store({ provider: 'xai', key: 'one-too-many' }, key))).toEqual([409, 'conflict', null])
    expect(await listOf(key)).toHaveLength(50)
  })

  it.each([undefined, 'not 32 bytes'])(
    'is refused while ENCRYPTION_KEY is %j, with what to do',
    async (ENCRYPTION_KEY) => {
      const context = createExecutionContext()
      const request = new Request(`https://talaria.test${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}` },
        body: JSON.stringify({ provider: 'xai', key: 'some-key-0001' }),
      })
      const { ENCRYPTION_KEY: _set, ...rest } = bindings
      const response = await createApp().fetch(request, { ...rest, ...(ENCRYPTION_KEY && { ENCRYPTION_KEY }) }, context)
      await waitOnExecutionContext(context)
      const { error } = (await response.json()) as ErrorBody
      expect([response.status, error.code, error.param]).toEqual([503, 'not_configured', 'ENCRYPTION_KEY'])
      expect(error.message).toContain('openssl rand -base64 32 | npx wrangler secret put ENCRYPTION_KEY')
      expect(await listOf(adminKey)).toEqual([])
      const health = new Request('https://talaria.test/health/detailed', { headers: request.headers })
      const answered = await createApp().fetch(health, { ...rest, ...(ENCRYPTION_KEY && { ENCRYPTION_KEY }) }, context)
      expect(await answered.json()).toMatchObject({ secrets: { ENCRYPTION_KEY: error.message } })
    },
  )

  it('lists the configured keys in /health/detailed without their values', async () => {
    const answered = await request('GET', '/health/detailed')
    expect(await answered.json()).toMatchObject({ secrets: { ENCRYPTION_KEY: 'set' } })
  })

  it('shows nothing of the deployment to others than its owner', async () => {
    const { key } = await newTenant()
    expect((await call('GET', '/health/detailed', { key })).body).toEqual({ status: 'ok' })
    const reader = await newKey('default', ['read'])
    expect((await call('GET', '/health/detailed', { key: reader })).body).toEqual({ status: 'ok' })
  })

  it('needs the scope write, as deleting does; listing needs read', async () => {
    const { id, key } = await newTenant()
    const { body } = await store({ provider: 'xai', key: 'some-key-0001' }, key)
    const reader = await newKey(id, ['read', 'chat'])
    const writer = await newKey(id, ['write'])
    expect((await store({ provider: 'xai', key: 'some-key-0002' }, reader)).status).toBe(403)
    expect((await call('DELETE', `${path}/${body.id}`, { key: reader })).status).toBe(403)
    expect((await call('GET', path, { key: reader })).status).toBe(200)
    expect((await call('GET', path, { key: writer })).status).toBe(403)
    expect((await call('DELETE', `${path}/${body.id}`, { key: writer })).status).toBe(204)
  })
})

describe('stored credentials', () => {
  it('are listed newest first, and are gone once deleted', async () => {
    const { key } = await newTenant()
    const { body: one } = await store({ provider: 'xai', key: 'first-key-0001' }, key)
    const { body: two } = await store({ provider: 'xai', key: 'second-key-0002' }, key)
    expect((await listOf(key)).map(({ id }) => id)).toEqual([two.id, one.id])
    expect((await call('DELETE', `${path}/${one.id}`, { key })).status).toBe(204)
    expect((await listOf(key)).map(({ id }) => id)).toEqual([two.id])
    expect((await call('DELETE', `${path}/${one.id}`, { key })).status).toBe(404)
    expect((await store({ provider: 'xai', key: 'first-key-0001' }, key)).status).toBe(201)
  })

  it('are nothing to other tenants', async () => {
    const mine = await newTenant()
    const other = await newTenant()
    const { body } = await store({ provider: 'xai', key: 'some-key-0001' }, mine.key)
    const missing = await call<ErrorBody>('DELETE', `${path}/cred_nothing`, { key: other.key })
    const foreign = await call<ErrorBody>('DELETE', `${path}/${body.id}`, { key: other.key })
    expect(foreign).toMatchObject({ status: 404, body: missing.body })
    expect(await listOf(other.key)).toEqual([])
    expect(await listOf(mine.key)).toHaveLength(1)
  })

  it('are stored encrypted, and cannot be opened for another owner', async () => {
    const { id, key } = await newTenant()
    await store({ provider: 'xai', key: 'plain-key-to-find' }, key)
    await sessionWith('xai/grok-4', key)
    const object = bindings.TENANT.getByName(`t/${id}`)
    const rows = await runInDurableObject(object, (_object, { storage }) =>
      JSON.stringify(storage.sql.exec('SELECT * FROM kept').toArray()),
    )
    expect(rows).toContain('credentials')
    expect(rows).not.toContain('plain-key-to-find')
    expect(JSON.stringify(await object.snapshot())).not.toContain('plain-key-to-find')
    expect(await (await request('GET', '/api/settings', { key })).text()).not.toContain('plain-key')
  })

  it('that another tenant’s object is given do not open, and are named dead', async () => {
    const mine = await newTenant()
    const thief = await newTenant()
    await store({ provider: 'xai', key: 'stolen-key-0001' }, mine.key)
    const { list } = await bindings.TENANT.getByName(`t/${mine.id}`).credentials.list(ownerAuthority())
    await bindings.TENANT.getByName(`t/${thief.id}`).credentials.add(ownerAuthority(thief.id), list[0]!)
    expect(await listOf(thief.key)).toMatchObject([
      { status: 'dead', reason: expect.stringContaining('Enter it again') },
    ])
    const refused = await call<ErrorBody>('POST', '/api/sessions', { key: thief.key, body: { model: 'xai/grok-4' } })
    expect(refused.status).toBe(404)
  })

  it('make the models of their provider usable for their tenant', async () => {
    const { key } = await newTenant()
    const other = await newTenant()
    type Models = { data: { id: string; provider?: string }[]; unavailable?: { provider: string; reason: string }[] }
    const providersOf = async (one: string) =>
      (await call<Models>('GET', '/api/settings/models', { key: one })).body.data.map(({ provider }) => provider)
    expect(await providersOf(key)).not.toContain('xai')
    const { body } = await store({ provider: 'grok', key: 'some-key-0001' }, key)
    expect(await providersOf(key)).toContain('xai')
    const openai = (await call<Models>('GET', '/v1/models', { key })).body.data
    expect(openai.some(({ id }) => id.startsWith('xai/'))).toBe(true)
    const { unavailable } = (await call<Models>('GET', '/api/settings/models', { key: other.key })).body
    expect(unavailable?.find(({ provider }) => provider === 'xai')?.reason).toMatch(
      /^set XAI_API_KEY, .*POST \/api\/credentials$/,
    )
    await call('DELETE', `${path}/${body.id}`, { key })
    expect(await providersOf(key)).not.toContain('xai')
  })
})

describe('a call of a model', () => {
  it('is paid for by the tenant whose call it is', async () => {
    const one = await newTenant()
    const two = await newTenant()
    await store({ provider: 'deepseek', key: 'key-of-one-0001' }, one.key)
    await store({ provider: 'deepseek', key: 'key-of-two-0002' }, two.key)
    const [first, second] = [
      await sessionWith('deepseek/deepseek-v4-flash', one.key),
      await sessionWith('deepseek/deepseek-v4-flash', two.key),
    ]
    for (const _ of [1, 2]) await Promise.all([sendMessage(first.id, one.key), sendMessage(second.id, two.key)])
    expect(bearers().toSorted()).toEqual(
      ['key-of-one-0001', 'key-of-one-0001', 'key-of-two-0002', 'key-of-two-0002'].map((key) => `Bearer ${key}`),
    )
    const modelsPaidBy = async (key: string) =>
      (await call<{ data: { key: string }[] }>('GET', '/api/usage?group=model', { key })).body.data.map(
        (row) => row.key,
      )
    const third = await newTenant()
    for (const { key } of [one, two])
      await until(async () => (await modelsPaidBy(key)).includes('deepseek/deepseek-v4-flash'))
    expect(await modelsPaidBy(third.key)).toEqual([])
  })

  it('uses the keys of the tenant before those of the deployment, and those while all of them are suspended', async () => {
    const { key } = await newTenant()
    await store({ provider: 'openrouter', key: 'own-key-0001' }, key)
    await store({ provider: 'openrouter', key: 'own-key-0002' }, key)
    await patch({ credential_pool: { openrouter: { strategy: 'round_robin' } } }, key)
    const { id } = await sessionWith('openrouter/some-model', key)
    for (const _ of [1, 2, 3, 4]) await sendMessage(id, key)
    const own = ['Bearer own-key-0001', 'Bearer own-key-0002']
    expect(bearers().slice(0, 2).toSorted()).toEqual(own)
    expect(bearers().slice(2).toSorted()).toEqual(own)

    script = ({ bearer }) =>
      own.includes(bearer ?? '') ? refusal(429, 'Rate limit reached.', { 'retry-after': '3000' }) : answer('ok')
    await sendMessage(id, key)
    expect(bearers().slice(4).toSorted()).toEqual([...own, 'Bearer test-router-key'])
    const listed = await until(async () => {
      const all = await listOf(key)
      return all.every(({ status }) => status === 'resting') ? all : undefined
    })
    expect(listed.map(({ reason }) => reason)).toEqual(['Its rate limit was reached.', 'Its rate limit was reached.'])
    expect(Date.parse(listed[0]?.until ?? '')).toBeGreaterThan(Date.now())
    receivedRequests = []
    await sendMessage(id, key)
    expect(bearers()).toEqual(['Bearer test-router-key'])
  })

  it('goes without a key from the turn on after it was deleted, in a session that runs on', async () => {
    const { key } = await newTenant()
    const { body: one } = await store({ provider: 'deepseek', key: 'own-key-0001' }, key)
    await store({ provider: 'deepseek', key: 'own-key-0002' }, key)
    const { id } = await sessionWith('deepseek/deepseek-v4-flash', key)
    await sendMessage(id, key)
    await call('DELETE', `${path}/${one.id}`, { key })
    await sendMessage(id, key)
    expect(bearers()).toEqual(['Bearer own-key-0001', 'Bearer own-key-0002'])
  })

  it('of a queued turn uses the keys at its start', async () => {
    const { key, id: tenantId } = await newTenant()
    const { body: one } = await store({ provider: 'deepseek', key: 'own-key-0001' }, key)
    await store({ provider: 'deepseek', key: 'own-key-0002' }, key)
    const { id } = await sessionWith('deepseek/deepseek-v4-flash', key)
    const clock = createSkippingClock()
    replaceClock(clock)
    const gate = new Gate()
    script = async (_heard, nth) => {
      if (nth === 0) await gate.waitUntilOpen()
      return answer('ok')
    }
    const first = sendMessage(id, key)
    await gate.waitUntilReached()
    const second = sendMessage(id, key, { mode: 'queue' })
    await until(() =>
      runInDurableObject(objectOf(id, tenantId), (_object, { storage }) =>
        storage.sql
          .exec("SELECT name FROM sqlite_master WHERE name = 'inbox'")
          .toArray()
          .some(() => storage.sql.exec('SELECT 1 FROM inbox').toArray().length > 0),
      ),
    )
    await call('DELETE', `${path}/${one.id}`, { key })
    // A session reads its tenant again after five seconds.
    clock.pass(5_500)
    gate.open()
    await Promise.all([first, second])
    expect(bearers()).toEqual(['Bearer own-key-0001', 'Bearer own-key-0002'])
  })

  it('that is refused does not show the key', async () => {
    const { key } = await newTenant()
    await store({ provider: 'deepseek', key: 'Zq7-odd-looking-key' }, key)
    script = ({ bearer }) => refusal(401, `Incorrect API key provided: ${bearer?.slice('Bearer '.length)}.`)
    const { id } = await sessionWith('deepseek/deepseek-v4-flash', key)
    const run = await sendMessage(id, key)
    expect(run.error).toContain('Incorrect API key provided')
    const shown = await Promise.all(
      [`/api/sessions/${id}/messages`, `/api/sessions/${id}/export?format=json`, path].map(async (one) =>
        (await request('GET', one, { key })).text(),
      ),
    )
    expect([JSON.stringify(run), ...shown].filter((text) => text.includes('Zq7-odd-looking-key'))).toEqual([])
    const [listed] = await listOf(key)
    expect(listed?.status).not.toBe('usable')
  })
})

describe('a key that the provider has revoked', () => {
  it('is dead, and its provider is not among those that can be used', async () => {
    const { key } = await newTenant()
    await store({ provider: 'deepseek', key: 'own-key-0001' }, key)
    script = () => refusal(401, 'This API key has been revoked.')
    const { id } = await sessionWith('deepseek/deepseek-v4-flash', key)
    await sendMessage(id, key)
    const dead = await until(async () => (await listOf(key)).find(({ status }) => status === 'dead'))
    expect(dead).toMatchObject({ until: null, reason: 'The provider says that it is not valid any more.' })
    type Models = { data: { provider: string }[]; unavailable: { provider: string; reason: string }[] }
    const { data, unavailable } = (await call<Models>('GET', '/api/settings/models', { key })).body
    expect(data.map(({ provider }) => provider)).not.toContain('deepseek')
    expect(unavailable.find(({ provider }) => provider === 'deepseek')?.reason).toContain('refuses every key')
    await store({ provider: 'deepseek', key: 'own-key-0002' }, key)
    script = () => answer('ok')
    expect((await sendMessage(id, key)).output).toBe('ok')
    expect(receivedRequests.at(-1)?.bearer).toBe('Bearer own-key-0002')
    // A person who enters it once more means it.
    await call('DELETE', `${path}/${dead.id}`, { key })
    expect((await store({ provider: 'deepseek', key: 'own-key-0001' }, key)).body.status).toBe('usable')
  })
})

it('side tasks and mixtures carry the key of the tenant too', async () => {
  const { key } = await newTenant()
  await store({ provider: 'deepseek', key: 'own-key-0001' }, key)
  const preset = { references: ['deepseek/one', 'deepseek/two'], aggregator: 'deepseek/three' }
  await patch({ moa: { presets: { mine: preset } } }, key)
  const { id } = await sessionWith('moa/mine', key)
  expect((await sendMessage(id, key)).output).toBe('ok')
  expect(bearers()).toEqual(Array.from({ length: 3 }, () => 'Bearer own-key-0001'))
})

describe('the key of a service account', () => {
  it('is stored as its file is pasted, known again in base64, and calls Vertex AI', async () => {
    const api = await createVertexApi()
    const stop = answerRequests((url, input, init) =>
      url.includes('googleapis.com') ? (api.answer(new Request(input, init)) as Promise<Response>) : undefined,
    )
    const { key } = await newTenant()
    const file = JSON.stringify({ ...api.file, location: 'europe-west4' }, null, 2)
    const stored = await store({ provider: 'google-vertex', key: file }, key)
    expect(stored.body).toMatchObject({ provider: 'vertex', last_four: 'cdef' })
    expect(errorOf(await store({ provider: 'vertex', key: btoa(file) }, key))).toEqual([409, 'conflict', 'key'])
    const { id } = await sessionWith('vertex/gemini-3.5-flash', key)
    const { output } = await sendMessage(id, key)
    stop()
    expect(output).toBe('Hello from Vertex.')
    expect(api.state.calls.at(-1)).toMatch(/^https:\/\/europe-west4-aiplatform\.googleapis\.com\/v1\/projects\/p-1\//)
    const models = await call<{ readonly data: readonly { readonly id: string }[] }>('GET', '/api/settings/models', {
      key,
    })
    expect(JSON.stringify(models.body)).toContain('vertex/gemini-3.5-flash')
  })
})

describe('a key for a provider of the tenant’s own', () => {
  const mine = (base_url: string, more: object = {}) => ({ providers: { 'custom:mine': { base_url, ...more } } })

  it.each([
    ['openai-chat', { bearer: 'Bearer my-own-key-0001', apiKey: null }],
    ['anthropic', { bearer: null, apiKey: 'my-own-key-0001' }],
  ] as const)('is sent as %s sends it, whichever was stored first', async (dialect, expected) => {
    const { key } = await newTenant()
    await store({ provider: 'custom:mine', key: 'my-own-key-0001' }, key)
    await patch(mine('https://llm.example.com/v1/', { dialect }), key)
    const { id } = await sessionWith('custom:mine/some-model', key)
    script = () => refusal(400, 'That is all that is wanted.')
    await sendMessage(id, key)
    expect(receivedRequests[0]).toMatchObject(expected)
  })

  it('is not sent where the settings of a session would have it', async () => {
    const { key } = await newTenant()
    await store({ provider: 'custom:mine', key: 'my-own-key-0001' }, key)
    await patch(mine('https://llm.example.com/v1'), key)
    const settings = mine('https://evil.example.com/v1')
    const { id } = await sessionWith('custom:mine/some-model', key, { settings })
    await sendMessage(id, key)
    expect(receivedRequests[0]?.url).toMatch(/^https:\/\/evil\.example\.com\//)
    expect(JSON.stringify(receivedRequests)).not.toContain('my-own-key')
  })

  it('stays at home, as do the headers that stand beside its address', async () => {
    const { key } = await newTenant()
    const headers = { 'x-team': 'headers-are-secrets-too' }
    await patch(mine('https://llm.example.com/v1', { headers }), key)
    const names: string[] = []
    const stopListening = answerRequests((_url, input, init) => {
      names.push(JSON.stringify([...new Request(input as RequestInfo, { ...init, signal: null, body: null }).headers]))
      return undefined
    })
    for (const address of ['https://llm.example.com/v1/', 'https://evil.example.com/v2']) {
      const { id } = await sessionWith('custom:mine/some-model', key, { settings: mine(address) })
      await sendMessage(id, key)
    }
    stopListening()
    expect(names.map((one) => one.includes('secrets-too'))).toEqual([true, false])
  })

  it('is nothing that another tenant’s provider of the same name gets', async () => {
    const one = await newTenant()
    const two = await newTenant()
    await store({ provider: 'custom:mine', key: 'my-own-key-0001' }, one.key)
    for (const { key } of [one, two]) await patch(mine('https://llm.example.com/v1'), key)
    const { id } = await sessionWith('custom:mine/some-model', two.key)
    await sendMessage(id, two.key)
    expect(receivedRequests).toHaveLength(1)
    expect(JSON.stringify(receivedRequests)).not.toContain('my-own-key')
  })
})

it('packages find nothing of the deployment in the environment of the process', () => {
  // SDKs look there for keys, organisations and headers of their own, and would send them to every provider.
  const names = ['ADMIN_KEY', 'ENCRYPTION_KEY', 'OPENAI_API_KEY']
  expect(names.filter((name) => bindings[name as 'ADMIN_KEY'])).toEqual(names)
  expect(names.filter((name) => process.env[name] !== undefined)).toEqual([])
})
