/** Tests what `/api/search` finds of history that came from elsewhere. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call as callAs, newTenant, type RequestOptions } from './client.ts'

/** Other files search and import in the tenants that they share. */
let key: string

beforeAll(async () => {
  await applyMigrations()
  key = (await newTenant()).key
})

const call = <T = Record<string, unknown>>(method: string, path: string, options: RequestOptions = {}) =>
  callAs<T>(method, path, { key, ...options })

type Found = {
  readonly data: readonly { readonly session_id: string; readonly message_id: string; readonly at: string }[]
}

const search = async (query: string) =>
  (await call<Found>('GET', `/api/search?q=${encodeURIComponent(query)}`)).body.data

const sessionsOf = async (query: string) => [...new Set((await search(query)).map((hit) => hit.session_id))]

describe('an imported session', () => {
  const messages = [
    { role: 'user', content: 'Where is the lighthouse?', created_at: '2024-03-04T10:00:00Z' },
    { role: 'assistant', content: 'On the cape of Arkona.' },
    { role: 'user', content: 'And the ferry to Hiddensee?', created_at: '2024-03-05T10:00:00Z' },
  ]

  it('is found by each of its messages, also by a last one of the user', async () => {
    const { status, body } = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    expect(status).toBe(201)
    await until(async () => (await search('Hiddensee')).length > 0)
    expect(await sessionsOf('Hiddensee')).toEqual([body.id])
    expect(await sessionsOf('Arkona')).toEqual([body.id])
    // A page is an exchange, so the hit is the place in the session.
    const [hit] = await search('ferry')
    expect([hit?.message_id, hit?.at]).toEqual(['msg_3', '2024-03-05T10:00:00.000Z'])
    expect(await sessionsOf('lighthouse in March 2024')).toEqual([body.id])
  })

  it('with runs of its own loses no last message of the user', async () => {
    const body = { messages: messages.map((message) => ({ ...message, run_id: 'run_before' })) }
    const imported = await call<{ id: string }>('POST', '/api/sessions/import?id=with-runs', { body })
    expect(imported.status).toBe(201)
    await until(async () => (await sessionsOf('Hiddensee')).includes('with-runs'))
  })
})

describe('a filter of the request', () => {
  it.each([
    ['after:2025-13', '2025-13'],
    ['ferry before:2025-02-30', '2025-02-30'],
    ['what was on 2025-04-31', '2025-04-31'],
    ['the ferry of 31 June 2025', '31 June 2025'],
    ['Fähre am 30. Februar 2025', '30. Februar 2025'],
    ['February 29, 2023', 'February 29, 2023'],
    ['2025年2月30日', '2025年2月30日'],
    ['after:30.12.2025', '30.12.2025'],
  ])('is searched with a hint when a date of the query does not exist: %s', async (query, date) => {
    const { status, body } = await call('GET', `/api/search?q=${encodeURIComponent(query)}`)
    expect([status, body['hint']]).toEqual([200, expect.stringContaining(`There is no date ${date}:`)])
  })

  it('is searched without a hint by dates that exist, and by numbers that are none', async () => {
    const query =
      'after:2024-02-29 before:2025 29 February 2024 May 31, 2025 2023年2月28日 RFC 2119-14 before:noon 2100-1'
    expect((await call('GET', `/api/search?q=${encodeURIComponent(query)}`)).body).not.toHaveProperty('hint')
  })

  it('narrows the search, and a day that does not exist is refused', async () => {
    const messages = [{ role: 'user', content: 'An astrolabe.', created_at: '2023-05-06T10:00:00Z' }]
    const { body } = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    await until(async () => (await search('astrolabe')).length > 0)
    const found = async (filter: string) =>
      (await call<Found>('GET', `/api/search?q=astrolabe&${filter}`)).body.data.map((hit) => hit.session_id)
    for (const filter of ['after=2023-05', 'before=2023-05-07', 'source=import', `session=${body.id}`, 'role=user'])
      expect([filter, await found(filter)]).toEqual([filter, [body.id]])
    for (const filter of ['after=2023-05-07', 'before=2023', 'source=api', 'session=other', 'role=tool', 'from=Ann'])
      expect([filter, await found(filter)]).toEqual([filter, []])
    for (const filter of ['after=2023-13', 'before=2023-02-30'])
      expect((await call('GET', `/api/search?q=astrolabe&${filter}`)).status).toBe(400)
  })
})

describe('what a client sends', () => {
  it('is found as an item of a conversation', async () => {
    const items = [{ type: 'message', role: 'user', content: 'The samovar is in the cellar.' }]
    const { body } = await call<{ id: string }>('POST', '/v1/conversations', { body: { items } })
    await until(async () => (await search('samovar')).length > 0)
    expect(await sessionsOf('samovar')).toEqual([body.id])
    await call('POST', `/v1/conversations/${body.id}/items`, {
      body: { items: [{ type: 'message', role: 'user', content: 'The zither is in the attic.' }] },
    })
    await until(async () => (await search('zither')).length > 0)
  })

  it('is not found when a completion repeats it, and its last message is', async () => {
    const scripted = model([says('Noted.')])
    const { status } = await call('POST', '/v1/chat/completions', {
      headers: { 'x-talaria-session-id': 'repeats' },
      body: {
        model: scripted.id,
        messages: [
          { role: 'user', content: 'The gramophone plays.' },
          { role: 'assistant', content: 'Good.' },
          { role: 'user', content: 'The harmonium is silent.' },
        ],
      },
    })
    expect(status).toBe(200)
    await until(async () => (await search('harmonium')).length > 0)
    expect(await search('gramophone')).toEqual([])
  })
})
