/** Tests Idempotency-Key with a real server. */

import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { listModelRequests, owner, createTenant } from './support/here.ts'

const withKey = (key: string = randomUUID()) => ({ 'idempotency-key': key })
const chat = { model: 'talaria', messages: [{ role: 'user', content: '[[say once]]' }] }

describe('Idempotency-Key', () => {
  it('gives the stored answer to a repeat, and works once', async () => {
    const session = await owner.newSession()
    const nonce = randomUUID()
    const headers = withKey()
    const input = `[[call write_file {"path":"a.txt","content":"x"} then say done]] [[usage prompt=5 nonce=${nonce}]]`
    const first = await owner.chat(session, input, headers)
    const again = await owner.chat(session, input, headers)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.json).toEqual(first.json)
    expect(await owner.messages(session)).toHaveLength(4)
    expect(await listModelRequests(nonce)).toHaveLength(2)
  })

  it('refuses another body', async () => {
    const session = await owner.newSession()
    const headers = withKey()
    await owner.chat(session, '[[say a]]', headers)
    const other = await owner.chat(session, '[[say b]]', headers)
    expect(other.status).toBe(409)
    expect(other.json.error.code).toBe('idempotency_key_conflict')
    expect(await owner.messages(session)).toHaveLength(2)
  })

  it('lets a repeat wait for the first and gives it the same answer', async () => {
    const session = await owner.newSession()
    const headers = withKey()
    const answers = await Promise.all([1, 2, 3].map(() => owner.chat(session, '[[slow gap=20 chunks=20]]', headers)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1)
    const replayed = answers.map((answer) => answer.headers.get('idempotency-replayed')).filter(Boolean)
    expect(replayed).toEqual(['true', 'true'])
    expect(await owner.messages(session)).toHaveLength(2)
  })

  it('makes one session of two creations', async () => {
    const headers = withKey()
    const [a, b] = [await owner.post('/api/sessions', {}, headers), await owner.post('/api/sessions', {}, headers)]
    expect([a.status, b.status]).toEqual([201, 201])
    expect(b.json.id).toBe(a.json.id)
    expect(b.headers.get('idempotency-replayed')).toBe('true')
  })

  it('holds for the OpenAI route', async () => {
    const headers = withKey()
    const first = await owner.post('/v1/chat/completions', chat, headers)
    const again = await owner.post('/v1/chat/completions', chat, headers)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.json.id).toBe(first.json.id)
    expect(again.json.choices).toEqual(first.json.choices)
    const other = await owner.post('/v1/chat/completions', { ...chat, temperature: 1 }, headers)
    expect(other.status).toBe(409)
  })

  it('belongs to its tenant', async () => {
    const headers = withKey()
    const { client } = await createTenant()
    const mine = await owner.post('/v1/chat/completions', chat, headers)
    const theirs = await client.post('/v1/chat/completions', { ...chat, temperature: 0 }, headers)
    expect(theirs.status).toBe(200)
    expect(theirs.headers.get('idempotency-replayed')).toBeNull()
    expect(theirs.json.id).not.toBe(mine.json.id)
  })

  it('is free again after the request was refused', async () => {
    const headers = withKey()
    expect((await owner.chat('ses_none', '[[say x]]', headers)).status).toBe(404)
    const session = await owner.newSession()
    expect((await owner.chat(session, '', headers)).status).toBe(400)
    expect((await owner.chat(session, '[[say y]]', headers)).json.output).toBe('y')
  })

  it('has 1 to 255 characters', async () => {
    const answer = await owner.post('/v1/chat/completions', chat, withKey('x'.repeat(256)))
    expect(answer.status).toBe(400)
    expect(answer.json.error.param).toBe('Idempotency-Key')
  })
})
