/** Tests `/v1/embeddings`: passed to a provider, billed and limited, or refused with what to set. */

import { SELF } from 'cloudflare:test'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerRequests } from '../support/answered-requests.ts'
import { applyMigrations, bindings, call, type ErrorBody, newTenant } from './client.ts'

beforeAll(applyMigrations)

type Sent = { readonly body: { readonly input: unknown; readonly model: string }; readonly key: string | null }
let sent: Sent[] = []
let respond: (sent: Sent) => Response = () => new Response(null, { status: 500 })
async function answer(request: Request): Promise<Response> {
  const received = { body: await request.json<Sent['body']>(), key: request.headers.get('authorization') }
  sent.push(received)
  return respond(received)
}
const end = answerRequests((url, input, init) =>
  url === 'https://model.test/v1/embeddings' ? answer(new Request(input as RequestInfo, init)) : undefined,
)
afterAll(end)

const vectors = ({ body: { input } }: Sent) =>
  Response.json({
    object: 'list',
    data: (Array.isArray(input) ? input : [input]).map((_, index) => ({
      object: 'embedding',
      index,
      embedding: [0.5, -1, index],
    })),
    model: 'x',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  })

beforeEach(() => {
  sent = []
  respond = vectors
})

type Answer = ErrorBody & {
  readonly data: readonly { readonly embedding: readonly number[] }[]
  readonly usage: object
}
const ask = (key: string, body: object) => call<Answer>('POST', '/v1/embeddings', { key, body })
const model = 'openai/text-embedding-3-small'

describe('embeddings', () => {
  it('work with the official SDK, as numbers and as base64', async () => {
    const { key } = await newTenant()
    const sdk = new OpenAI({
      baseURL: 'https://talaria.test/v1',
      apiKey: key,
      fetch: (url, init) => SELF.fetch(url as string, init as RequestInit<RequestInitCfProperties>),
    })
    // Without a format the SDK asks for base64 and decodes it.
    const decoded = await sdk.embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'b'], dimensions: 3 })
    const plain = await sdk.embeddings.create({ model, input: 'a', encoding_format: 'float' })
    expect(decoded.data.map(({ embedding }) => [...embedding])).toEqual([
      [0.5, -1, 0],
      [0.5, -1, 1],
    ])
    expect([plain.data[0]?.embedding, plain.usage, plain.model]).toEqual([
      [0.5, -1, 0],
      { prompt_tokens: 7, total_tokens: 7 },
      model,
    ])
    expect(sent.map(({ body }) => body)).toEqual([
      { model: 'text-embedding-3-small', input: ['a', 'b'], dimensions: 3 },
      { model: 'text-embedding-3-small', input: 'a' },
    ])
  })

  it('are bought once for an idempotency key', async () => {
    const { key } = await newTenant()
    const headers = { 'idempotency-key': 'embed-once' }
    const ask = () => call<Answer>('POST', '/v1/embeddings', { key, headers, body: { model, input: 'a' } })
    const [first, again] = [await ask(), await ask()]
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(sent).toHaveLength(1)
    const other = await call<Answer>('POST', '/v1/embeddings', { key, headers, body: { model, input: 'b' } })
    expect(other.body.error?.code).toBe('idempotency_key_conflict')
  })

  it('are part of the usage of the tenant', async () => {
    const { key } = await newTenant()
    await ask(key, { model, input: [[1, 2, 3]] })
    const { body } = await call<{ data: readonly object[] }>('GET', '/api/usage?group=model', { key })
    expect(body.data).toEqual([expect.objectContaining({ key: model, input: 7, output: 0, calls: 1 })])
  })

  it('reach the client when their cost cannot be recorded', async () => {
    const { id, key } = await newTenant()
    await bindings.DB.exec(
      `CREATE TRIGGER no_usage BEFORE INSERT ON usage_kept WHEN NEW.tenant_id = '${id}' BEGIN SELECT RAISE(FAIL, 'full'); END`,
    )
    const { status, body } = await ask(key, { model, input: 'a' })
    await bindings.DB.exec('DROP TRIGGER no_usage')
    expect([status, body.data]).toEqual([200, [expect.objectContaining({ embedding: [0.5, -1, 0] })]])
  })

  it('count against the limits of the tenant', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { tokens_per_day: 7 } } })
    const answers = [
      await ask(key, { model, input: 'a' }),
      await ask(key, { model, input: 'a longer text of eleven tokens or more, to be sure' }),
    ]
    expect(answers.map(({ status, body }) => [status, body.error?.param])).toEqual([
      [200, undefined],
      [429, 'tokens_per_day'],
    ])
    expect(sent).toHaveLength(1)
  })

  it('use the next key when the provider refuses one', async () => {
    const { key } = await newTenant()
    await call('POST', '/api/credentials', { key, body: { provider: 'openai', key: 'sk-of-the-tenant' } })
    respond = (one) =>
      one.key === 'Bearer sk-of-the-tenant'
        ? Response.json({ error: { message: 'no' } }, { status: 401 })
        : vectors(one)
    expect((await ask(key, { model, input: 'a' })).status).toBe(200)
    expect((await ask(key, { model, input: 'a' })).status).toBe(200)
    expect(sent.map((one) => one.key === 'Bearer sk-of-the-tenant')).toEqual([true, false, false])
  })

  it.each([
    { status: 429, headers: { 'retry-after': '20' }, expected: [429, 'rate_limit_exceeded', '20'] },
    { status: 404, headers: {}, expected: [404, 'model_not_found', null] },
    { status: 500, headers: {}, expected: [502, 'provider_error', null] },
  ])('that fail with $status at the provider are an error', async ({ status, headers, expected }) => {
    const { key } = await newTenant()
    respond = () => Response.json({ error: { message: 'The model does not exist' } }, { status, headers })
    const answer = await ask(key, { model, input: 'a' })
    expect([answer.status, answer.body.error.code, answer.headers.get('retry-after')]).toEqual(expected)
  })

  it.each([
    ['talaria', 400, 'The agent has no embeddings'],
    ['gemini/gemini-embedding-001', 501, 'GEMINI_API_KEY'],
    ['anthropic/claude', 501, 'ANTHROPIC_API_KEY'],
    ['nobody/model', 501, 'there is no provider of this name'],
    ['demo/agent', 501, 'demo has no embeddings here'],
  ])('of %s are refused with what to do', async (name, status, hint) => {
    const { key } = await newTenant()
    const { status: actual, body } = await ask(key, { model: name, input: 'a' })
    expect([actual, body.error.param]).toEqual([status, 'model'])
    expect(body.error.message).toContain(hint)
  })

  it.each([{ input: '' }, { input: [] }, {}, { input: 'a', encoding_format: 'hex' }])('refuse %j', async (body) => {
    const { key } = await newTenant()
    expect((await ask(key, { model, ...body })).status).toBe(400)
  })
})
