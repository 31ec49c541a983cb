/** Tests the ratings of answers: they are kept, exported, imported, and read by the next review. */

import { beforeAll, describe, expect, it } from 'vitest'
import { listTexts, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type Listed = { readonly data: readonly { readonly seq: number; readonly role: string; readonly rating?: object }[] }

async function setUp(settings: object = {}) {
  const { id: tenant, key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: settings })
  const { id } = await newSession({ model: model(() => says('An answer.')).id }, key)
  const say = (input: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  await say('Hello')
  const messages = async (by = key) =>
    (await call<Listed>('GET', `/api/sessions/${id}/messages`, { key: by })).body.data
  const answer = (await messages()).find(({ role }) => role === 'assistant')?.seq ?? 0
  const path = `/api/sessions/${id}/messages/${answer}/rating`
  const rate = (body: object, by = key) => request('PUT', path, { key: by, body })
  return { tenant, key, id, say, messages, answer, path, rate }
}

describe('a rating', () => {
  it('is of an answer, replaced by another one, removed, and in exports', async () => {
    const { key, id, messages, answer, path, rate } = await setUp()
    expect((await rate({ value: 'bad', note: ' The dates are wrong. ' })).status).toBe(204)
    const rating = { value: 'bad', note: 'The dates are wrong.' }
    expect((await messages()).map((one) => one.rating)).toEqual([undefined, rating])
    const one = await call<{ rating?: object }>('GET', `/api/sessions/${id}/messages/${answer}`, { key })
    expect(one.body.rating).toEqual(rating)
    const exported = async (format: string) =>
      (await request('GET', `/api/sessions/${id}/export?format=${format}`, { key })).text()
    expect(await exported('md')).toContain('*Rated bad: The dates are wrong.*')
    expect(await exported('html')).toContain('Rated bad: The dates are wrong.')
    const text = await exported('json')
    const copy = await call<{ id: string }>('POST', '/api/sessions/import', { key, body: JSON.parse(text) as object })
    const imported = await call<Listed>('GET', `/api/sessions/${copy.body.id}/messages`, { key })
    expect(imported.body.data.map((message) => message.rating)).toEqual([undefined, rating])
    await rate({ value: 'good' })
    expect((await messages())[1]?.rating).toEqual({ value: 'good', note: null })
    expect((await request('DELETE', path, { key })).status).toBe(204)
    expect((await messages())[1]?.rating).toBe(undefined)
  })

  it('of anything else than an answer is refused', async () => {
    const { key, id, answer, rate } = await setUp()
    const put = (seq: number | string) =>
      request('PUT', `/api/sessions/${id}/messages/${seq}/rating`, { key, body: { value: 'good' } })
    for (const seq of [answer - 1, answer + 1, 0, '1e3', 'x']) expect((await put(seq)).status).toBe(404)
    for (const body of [{}, { value: 'fine' }, { value: 'good', note: 'x'.repeat(1_001) }])
      expect((await rate(body)).status).toBe(400)
  })

  it('is read by the next review, once, if its key may write what the agent learns', async () => {
    const reviewer = model(() => says('Noted.'))
    const learning = { model: reviewer.id, review_turns: 100 }
    const { tenant, say, rate } = await setUp({ learning })
    await rate({ value: 'bad', note: 'Too long.' }, await newKey(tenant, ['chat', 'read']))
    await say('Go on')
    expect(reviewer.requests).toEqual([])
    await rate({ value: 'bad', note: 'Use metric units.' })
    await say('Go on')
    await until(() => reviewer.requests.length === 1)
    const told = listTexts(reviewer.requests[0]!).join()
    expect(told).toMatch(
      /rated these answers[^]*<untrusted-[0-9a-f]{16} source="ratings">[^]*\[bad\] An answer\.\nwhy: Use/,
    )
    expect(told).not.toContain('Too long.')
    await say('Go on')
    await say('Go on')
    expect(reviewer.requests.length).toBe(1)
  })
})
