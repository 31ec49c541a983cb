/** Tests links under which everybody reads a conversation: what they show, when they end, and hostile ones. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { clock } from '#durable/platform/clock.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type Share = { readonly id: string; readonly url: string; readonly expires_at: string | null }

async function setUp() {
  const { id: tenant, key } = await newTenant()
  const main = model([
    calls({ name: 'write_file', input: { path: 'secret.txt', content: 'launch-code' } }),
    says('<script>alert(1)</script> **Done.**'),
    says('Later words.'),
  ])
  const { id } = await newSession({ model: main.id, title: 'Trip & "plans"' }, key)
  const say = (input: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  const path = `/api/sessions/${id}/shares`
  const share = async (body: object = {}) => (await call<Share>('POST', path, { key, body })).body
  const open = (url: string) => request('GET', new URL(url).pathname, { key: null })
  return { tenant, key, id, say, path, share, open }
}

describe('a shared conversation', () => {
  it('shows what was said until then to everybody, and nothing else', async () => {
    const { key, id, say, path, share, open } = await setUp()
    expect((await call<ErrorBody>('POST', path, { key, body: {} })).status).toBe(409)
    await say('Plan it')
    const { url, id: shareId } = await share()
    await say('And now?')
    const answer = await open(url)
    const text = await answer.text()
    expect(answer.status).toBe(200)
    expect(text).toContain('Plan it')
    expect(text).toContain('&lt;script&gt;alert(1)')
    expect(text).toContain('Trip &amp; &quot;plans&quot;')
    for (const hidden of ['launch-code', 'write_file', 'secret.txt', 'And now?', 'Later words.', id, key, '<script'])
      expect(text).not.toContain(hidden)
    const { headers } = answer
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox$/)
    expect([headers.get('x-robots-tag'), headers.get('referrer-policy'), headers.get('cache-control')]).toEqual([
      'noindex, nofollow',
      'no-referrer',
      'private, no-store',
    ])
    expect(url).not.toContain(id)
    const log = () => call<{ data: { kind: string }[] }>('GET', `/api/audit?session_id=${id}`, { key })
    await until(async () => (await log()).body.data.some(({ kind }) => kind === 'session.shared'))
    const listed = await call<{ data: Share[] }>('GET', path, { key })
    expect(listed.body.data.map((one) => one.id)).toEqual([shareId])
    // Each list seals the name again: all of its addresses lead there.
    expect((await open(listed.body.data[0]?.url ?? '')).status).toBe(200)
  })

  it('ends when it is revoked or expires, with its session, and with its tenant', async () => {
    const { tenant, key, id, say, path, share, open } = await setUp()
    await say('Plan it')
    const [revoked, expiring, left] = [await share(), await share({ days: 1 }), await share()]
    const copy = await call<{ id: string }>('POST', `/api/sessions/${id}/fork`, { key, body: {} })
    expect((await call<{ data: Share[] }>('GET', `/api/sessions/${copy.body.id}/shares`, { key })).body.data).toEqual(
      [],
    )
    expect((await request('DELETE', `${path}/${revoked.id}`, { key })).status).toBe(204)
    expect((await request('DELETE', `${path}/${revoked.id}`, { key })).status).toBe(404)
    expect((await open(revoked.url)).status).toBe(404)
    expect((await open(expiring.url)).status).toBe(200)
    const now = clock.now()
    const later = vi.spyOn(clock, 'now').mockImplementation(() => now + 86_400_001)
    expect((await open(expiring.url)).status).toBe(404)
    const show = async (headers: Record<string, string>) => {
      const answer = await request('GET', new URL(expiring.url).pathname, { key: null, headers })
      return [answer.status, answer.headers.get('content-type'), await answer.text()]
    }
    const html = [404, 'text/html; charset=utf-8']
    expect(await show({ accept: 'text/html' })).toEqual([...html, expect.stringContaining('it has expired')])
    const german = { accept: 'text/html,*/*', 'accept-language': 'de-AT,de;q=0.9' }
    expect(await show(german)).toEqual([...html, expect.stringContaining('Er ist abgelaufen')])
    later.mockRestore()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { status: 'suspended' } })
    expect((await open(left.url)).status).toBe(404)
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { status: 'active' } })
    expect((await open(left.url)).status).toBe(200)
    await request('DELETE', `/api/sessions/${id}`, { key })
    expect((await open(left.url)).status).toBe(404)
  })

  it('has one answer for every address that is no share', async () => {
    const { say, share, open } = await setUp()
    await say('Plan it')
    const { url } = await share()
    const token = url.split('/').at(-1) ?? ''
    const changed = `${token.slice(0, -2)}${token.endsWith('A') ? 'B' : 'A'}A`
    const hostile = [changed, token.slice(1), 'x', 'A'.repeat(3_000), '..%2F..%2Fapi%2Fme', '%00', '👟', 'é']
    const answers = await Promise.all(
      hostile.map(async (one) => {
        const answer = await open(`https://talaria.test/shared/${encodeURI(one)}`)
        return [answer.status, await answer.text()]
      }),
    )
    for (const answer of answers) expect(answer).toEqual([404, answers[0]?.[1]])
  })

  it('is made and listed only by keys with the scope write', async () => {
    const { tenant, say, path } = await setUp()
    await say('Plan it')
    const reader = await newKey(tenant, ['read', 'chat'])
    for (const method of ['GET', 'POST'])
      expect((await request(method, path, { key: reader, ...(method === 'POST' && { body: {} }) })).status).toBe(403)
  })
})
