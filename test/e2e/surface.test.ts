/** Tests the public routes and the session routes of a real server. */

import { describe, expect, it } from 'vitest'
import { owner } from './support/here.ts'

const nobody = owner.as(undefined)

describe('public routes', () => {
  it('GET / is the dashboard', async () => {
    const { status, headers, text } = await nobody.get('/')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('text/html')
    expect(text).toContain('Talaria')
  })

  it('GET /health reports only that it works', async () => {
    for (const path of ['/health', '/v1/health']) {
      const { status, json } = await nobody.get(path)
      expect([path, status]).toEqual([path, 200])
      expect(json.status).toBe('ok')
    }
  })

  it('GET /openapi.json describes every route, with its answers', async () => {
    const { status, json } = await nobody.get('/openapi.json')
    expect(status).toBe(200)
    expect(json.openapi).toMatch(/^3\.1/)
    for (const path of [
      '/v1/chat/completions',
      '/api/sessions/{id}/chat',
      '/health',
      '/webhooks/{platform}/{connection}',
    ])
      expect(Object.keys(json.paths)).toContain(path)
    for (const [path, methods] of Object.entries(json.paths as Record<string, Record<string, { responses: object }>>))
      for (const [method, { responses }] of Object.entries(methods))
        expect([method, path, Object.keys(responses).length > 0]).toEqual([method, path, true])
  })

  it('an unknown path is an error like every other', async () => {
    const asked = [
      ['GET', '/nothing', 404],
      ['GET', '/api', 404],
      ['GET', '/webhooks/x', 404],
      ['POST', '/health', 405],
      ['PUT', '/docs', 405],
    ] as const
    for (const [method, path, status] of asked) {
      const answer = await nobody.send(method, path)
      expect([path, answer.status, Object.keys(answer.json.error)]).toEqual([
        path,
        status,
        ['message', 'type', 'code', 'param'],
      ])
    }
  })

  it('GET /docs is a page', async () => {
    const { status, headers } = await nobody.get('/docs')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toContain('text/html')
  })

  it('details of the health need a key', async () => {
    expect((await nobody.get('/health/detailed')).status).toBe(401)
    const { status, json } = await owner.get('/health/detailed')
    expect(status).toBe(200)
    expect(json).toMatchObject({ status: 'ok', model: 'openai/bench' })
    expect(JSON.stringify(json)).not.toContain('sk-end-to-end')
  })
})

describe('sessions', () => {
  it('are created, listed, renamed and deleted', async () => {
    const made = await owner.post('/api/sessions', { title: 'First' })
    expect(made.status).toBe(201)
    expect(made.json).toMatchObject({ title: 'First', status: 'idle', parent_id: null, settings: {} })
    const { id } = made.json
    await owner.chat(id, '[[say hello]]')
    const renamed = await owner.send('PATCH', `/api/sessions/${id}`, { body: { title: 'Second' } })
    expect(renamed.json.title).toBe('Second')
    expect((await owner.send('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect((await owner.get(`/api/sessions/${id}`)).status).toBe(404)
    expect((await owner.get(`/api/sessions/${id}/messages`)).status).toBe(404)
    expect((await owner.send('DELETE', `/api/sessions/${id}`)).status).toBe(404)
  })

  it('page their messages, newest last', async () => {
    const id = await owner.newSession()
    for (const word of ['one', 'two', 'three']) await owner.chat(id, `[[say ${word}]]`)
    const newest = (await owner.get(`/api/sessions/${id}/messages?limit=2`)).json
    expect(newest.data.map(({ content }: { content: string }) => content)).toEqual(['[[say three]]', 'three'])
    const older = (await owner.get(`/api/sessions/${id}/messages?limit=4&cursor=${newest.next_cursor}`)).json
    expect(older.data.map(({ content }: { content: string }) => content)).toEqual([
      '[[say one]]',
      'one',
      '[[say two]]',
      'two',
    ])
    expect(older.next_cursor).toBeNull()
  })

  it('keep the files of their workspace', async () => {
    const id = await owner.newSession()
    const path = `/api/sessions/${id}/files/notes/a.txt`
    expect((await owner.send('PUT', path, { raw: 'hello' })).status).toBe(201)
    expect((await owner.get(path)).text).toBe('hello')
    expect((await owner.send('PUT', path, { raw: 'again' })).status).toBe(200)
    expect((await owner.get(path)).text).toBe('again')
    expect((await owner.send('DELETE', path)).status).toBe(204)
    expect((await owner.get(path)).status).toBe(404)
  })
})
