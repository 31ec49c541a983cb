/** Tests how failed runs reach clients of OpenAI's API: as errors with a status, or as the last frame of a stream. */

import { SELF } from 'cloudflare:test'
import OpenAI from 'openai'
import { beforeAll, describe, expect, it } from 'vitest'
import { calls, createTextParts, drops, fails, model, type Reply, says } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

/** A tenant of its own per case, because a failure suspends the key for the tenant. It does not wait for providers. */
async function createClient() {
  const { key } = await newTenant()
  const settings = { agent: { max_wait_seconds: 0 } }
  expect((await call('PATCH', '/api/settings', { key, body: settings })).status).toBe(200)
  return key
}

const messages = [{ role: 'user' as const, content: 'Hello?' }]
const repeat = (reply: Reply) => model(() => reply).id

type Case = {
  readonly name: string
  readonly reply: Reply
  readonly status: number
  readonly code: string
  readonly retryAfter?: string
}
const cases: readonly Case[] = [
  { name: 'a refused key', reply: fails(401, 'Incorrect API key'), status: 401, code: 'provider_key_rejected' },
  { name: 'no credit', reply: fails(402, 'Insufficient credits'), status: 402, code: 'insufficient_quota' },
  { name: 'an unknown model', reply: fails(404, 'The model does not exist'), status: 404, code: 'model_not_found' },
  {
    name: 'a rate limit',
    reply: fails(429, 'Rate limit reached', { 'retry-after': '75' }),
    status: 429,
    code: 'rate_limit_exceeded',
    retryAfter: '75',
  },
  {
    name: 'an overload',
    reply: fails(503, 'Overloaded', { 'retry-after': '45' }),
    status: 503,
    code: 'unavailable',
    retryAfter: '45',
  },
  { name: 'an error of the provider', reply: fails(500, 'Oops'), status: 502, code: 'provider_error' },
  { name: 'a connection that breaks', reply: ['drop'], status: 502, code: 'provider_error' },
]

describe.each(cases)('$name', ({ reply, status, code, retryAfter = null }) => {
  it.each([
    ['/v1/chat/completions', { messages }],
    ['/v1/chat/completions', { messages, stream: true }],
    ['/v1/responses', { input: 'Hello?' }],
  ])('is an error with a status: %s %j', async (path, body) => {
    const key = await createClient()
    const answer = await call<ErrorBody>('POST', path, { key, body: { model: repeat(reply), ...body } })
    expect([answer.status, answer.body.error.code, answer.headers.get('retry-after')]).toEqual([
      status,
      code,
      retryAfter,
    ])
    expect(answer.body.error.message).toMatch(/^The agent could not answer: /)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(answer.headers.get('x-talaria-run-id')).toMatch(/^run_/)
  })

  it('ends a streamed response as failed, without text', async () => {
    const key = await createClient()
    const answer = await request('POST', '/v1/responses', {
      key,
      body: { model: repeat(reply), input: 'Hello?', stream: true },
    })
    const text = await answer.text()
    expect([answer.status, text]).toEqual([200, expect.stringContaining('event: response.failed')])
    expect(text).not.toContain('output_text')
  })

  it('leaves runs of our own API in their form', async () => {
    const key = await createClient()
    const { body } = await call<{ id: string }>('POST', '/api/sessions', { key, body: { model: repeat(reply) } })
    const run = await call('POST', `/api/sessions/${body.id}/chat`, { key, body: { input: 'Hello?' } })
    expect([run.status, run.body['status']]).toEqual([200, 'failed'])
  })
})

describe('a wait that the provider asks for', () => {
  it('of more than 30 seconds is an error, and the turn has ended', async () => {
    const { key } = await newTenant()
    const { id, requests } = model(() => fails(429, 'Slow down', { 'retry-after': '40' }))
    const answer = await call<ErrorBody>('POST', '/v1/chat/completions', { key, body: { model: id, messages } })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '40'])
    const run = await call('GET', `/v1/runs/${answer.headers.get('x-talaria-run-id')}`, { key })
    expect([run.body['status'], run.body['waited_ms'], requests.length]).toEqual(['failed', 0, 1])
  })

  it('of a background response is waited for', async () => {
    const { key } = await newTenant()
    const { id } = model(() => fails(429, 'Slow down', { 'retry-after': '40' }))
    const body = { model: id, input: 'Hello?', background: true }
    const { headers } = await call('POST', '/v1/responses', { key, body })
    const find = async () => (await call('GET', `/v1/runs/${headers.get('x-talaria-run-id')}`, { key })).body
    await expect.poll(async () => (await find())['activity']).toMatchObject({ doing: 'waiting: rate' })
    await call('POST', `/v1/runs/${headers.get('x-talaria-run-id')}/stop`, { key, body: {} })
  })
})

describe('after text', () => {
  const broken = () => model((_asked, nth) => (nth === 0 ? drops('Half of ', 'an answer') : fails(500, 'Oops'))).id

  it('a stream of chunks ends with an error that the SDK throws', async () => {
    const sdk = new OpenAI({
      baseURL: 'https://talaria.test/v1',
      apiKey: await createClient(),
      fetch: (url, init) => SELF.fetch(url as string, init as RequestInit<RequestInitCfProperties>),
    })
    const stream = await sdk.chat.completions.create({ model: broken(), messages, stream: true })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    const failed = await (async () => {
      for await (const chunk of stream) chunks.push(chunk)
      return undefined
    })().catch((error: unknown) => error)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Half of an answer')
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual([])
    expect(failed).toMatchObject({ code: 'provider_error', type: 'server_error' })
  })

  it('a response is failed, and keeps its output', async () => {
    const key = await createClient()
    const looking = createTextParts('Let me look.')
    const listing = calls({ name: 'search_files', input: { pattern: 'x' } }) as readonly string[]
    const { id } = model((_asked, nth) => (nth === 0 ? [...looking, ...listing] : fails(500, 'Oops')))
    const { status, body } = await call<{ output: { type: string }[]; status: string; error: object }>(
      'POST',
      '/v1/responses',
      { key, body: { model: id, input: 'Hello?' } },
    )
    expect([status, body.status, body.error]).toMatchObject([200, 'failed', { code: 'server_error' }])
    expect(JSON.stringify(body.output)).toContain('Let me look.')
    expect(JSON.stringify(body.output)).not.toContain('could not finish')
  })
})

it('a model that declines has answered', async () => {
  const key = await createClient()
  const refusing = model(() => [
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { refusal: 'I cannot help.' } }] })}\n\n`,
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'content_filter' }] })}\n\n`,
    'data: [DONE]\n\n',
  ])
  const { status, body } = await call<{ choices: { finish_reason: string }[] }>('POST', '/v1/chat/completions', {
    key,
    body: { model: refusing.id, messages },
  })
  expect([status, body.choices[0]?.finish_reason]).toEqual([200, 'content_filter'])
})

it('a failed run is answered again with its error when its request is repeated', async () => {
  const key = await createClient()
  const { id, requests } = model((_asked, nth) => (nth === 0 ? fails(402, 'No credit') : says('Yes.')))
  const ask = () =>
    call<ErrorBody>('POST', '/v1/chat/completions', {
      key,
      body: { model: id, messages },
      headers: { 'idempotency-key': 'again' },
    })
  const [first, second] = [await ask(), await ask()]
  expect([first.status, second.status, requests.length]).toEqual([402, 402, 1])
})
