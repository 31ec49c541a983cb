/** Tests that a real server refuses invalid requests and stores nothing of them. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from './support/client.ts'
import { createTenant } from './support/here.ts'

describe('bad input', () => {
  let client: Client
  let session: string
  beforeAll(async () => {
    client = (await createTenant()).client
    session = await client.newSession()
  })

  const cases: readonly (readonly [title: string, path: () => string, body: unknown, param: string])[] = [
    ['an unknown field of a session', () => '/api/sessions', { titel: 'x' }, 'titel'],
    ['a title that is a number', () => '/api/sessions', { title: 7 }, 'title'],
    ['a setting of the wrong type', () => '/api/sessions', { settings: { agent: { max_turns: 'many' } } }, 'max_turns'],
    ['an unknown setting', () => '/api/sessions', { settings: { agnet: {} } }, 'agnet'],
    ['an empty message', () => `/api/sessions/${session}/chat`, { input: '' }, 'input'],
    ['a message of spaces', () => `/api/sessions/${session}/chat`, { input: ' \n ' }, 'input'],
    ['no message', () => `/api/sessions/${session}/chat`, {}, 'input'],
    ['a message that is a number', () => `/api/sessions/${session}/chat`, { input: 5 }, 'input'],
    ['an unknown field of a message', () => `/api/sessions/${session}/chat`, { input: 'x', foo: 1 }, 'foo'],
    ['a mode that does not exist', () => `/api/sessions/${session}/chat`, { input: 'x', mode: 'loud' }, 'mode'],
    ['messages that are no list', () => '/v1/chat/completions', { messages: 'hello' }, 'messages'],
    ['no messages', () => '/v1/chat/completions', { model: 'talaria', messages: [] }, 'messages'],
    ['a role that does not exist', () => '/v1/chat/completions', { messages: [{ role: 'cat', content: 'x' }] }, 'role'],
    ['an empty user message', () => '/v1/chat/completions', { messages: [{ role: 'user', content: '' }] }, 'messages'],
    ['a list', () => '/api/sessions', [], 'body'],
    ['a text', () => '/api/sessions', 'x', 'body'],
    ['null', () => `/api/sessions/${session}/chat`, null, 'body'],
  ]

  it.each(cases)('%s is a 400 that names the field', async (_, path, body, param) => {
    const answer = await client.post(path(), body)
    expect(answer.status).toBe(400)
    expect(answer.json.error).toMatchObject({ type: 'invalid_request_error', message: expect.any(String) })
    expect(answer.json.error.param).toContain(param)
  })

  it.each(['{', '{"input":"x"', 'input=x', '\u0000'])('a body that is not JSON (%j) is a 400', async (raw) => {
    const answer = await client.send('POST', `/api/sessions/${session}/chat`, { raw })
    expect(answer.status).toBe(400)
    expect(answer.json.error).toMatchObject({ code: 'invalid_json', param: 'body' })
  })

  it('a body of 11 MB is a 413', async () => {
    const answer = await client.post(`/api/sessions/${session}/chat`, { input: 'x'.repeat(11 << 20) })
    expect(answer.status).toBe(413)
    expect(answer.json.error).toMatchObject({ code: 'body_too_large' })
  })

  it('a body of 11 MB that does not say its size is a 413', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(1 << 20))
    let left = 11
    const stream = new ReadableStream({
      pull: (controller) => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
    })
    const response = await fetch(`${client.url}/api/sessions/${session}/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
  })

  it('a session id with a slash is a 404', async () => {
    for (const id of ['a/b', 'a%2Fb', '../x']) {
      const answer = await client.post(`/api/sessions/${id}/chat`, { input: 'hello' })
      expect([id, answer.status]).toEqual([id, 404])
    }
  })

  it('a wrong Last-Event-ID is a 400', async () => {
    const answer = await client.get(`/api/sessions/${session}/events`, { 'last-event-id': 'yesterday' })
    expect(answer.status).toBe(400)
    expect(answer.json.error.param).toBe('Last-Event-ID')
  })

  it.each(['limit=0', 'limit=1000', 'limit=x', 'foo=1', 'cursor=nonsense'])('the query %s is a 400', async (query) => {
    const answer = await client.get(`/api/sessions/${session}/messages?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.json.error.param).toContain(query.split('=')[0])
  })

  it('a method that a route does not have is a 405 with Allow', async () => {
    const answer = await client.send('PUT', '/api/sessions')
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toContain('POST')
  })

  it('a route that does not exist is a 404', async () => {
    expect((await client.get('/api/nothing')).status).toBe(404)
  })

  it('stored nothing', async () => {
    expect(await client.messages(session)).toEqual([])
    const listed = await client.get('/api/sessions')
    expect(listed.json.data.filter(({ id }: { id: string }) => id !== session)).toEqual([])
    expect((await client.get(`/api/sessions/${session}`)).json.status).toBe('idle')
  })
})
