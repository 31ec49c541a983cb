/** Tests the sign-in of the page: keys, links that work once, and for which requests the cookie counts. */

import { beforeAll, describe, expect, it } from 'vitest'
import { clock, replaceClock } from '#durable/platform/clock.ts'
import { clearKeyCache } from '#worker/auth.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { adminKey, applyMigrations, call, type ErrorBody, newSession, newTenant, request } from '../client.ts'

const origin = 'https://talaria.test'
const ours = { 'sec-fetch-site': 'same-origin' }
type Me = {
  features: string[]
  tenant: string
  key: { name: string; scopes: string[] }
  login: { expires_at: string } | null
}

beforeAll(applyMigrations)

let addresses = 0
/** Each call comes from an address of its own, so that wrong attempts do not add up. */
const signIn = (body: object, headers: Record<string, string> = {}) =>
  call<ErrorBody>('POST', '/api/login', {
    key: null,
    body,
    headers: { 'cf-connecting-ip': `192.0.2.${++addresses}`, ...ours, ...headers },
  })

const cookieOf = (headers: Headers) => headers.get('set-cookie')?.split(';')[0] ?? ''
const signedIn = async (key = adminKey) => cookieOf((await signIn({ key })).headers)
const me = (cookie: string, headers: Record<string, string> = ours) =>
  call<Me & ErrorBody>('GET', '/api/me', { key: null, headers: { cookie, ...headers } })
const newLink = async (key = adminKey) =>
  (await call<{ url: string; expires_at: string }>('POST', '/api/login/links', { key, body: {} })).body

describe('a key', () => {
  it('is exchanged for a cookie that no script can read, and that acts with the rights of the key', async () => {
    const { id, key } = await newTenant(['read', 'chat'])
    const { status, headers } = await signIn({ key: ` ${key}\n` })
    expect(status).toBe(204)
    expect(headers.get('set-cookie')).toMatch(
      /^__Host-talaria=\S+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=43200$/,
    )
    expect(headers.get('set-cookie')).not.toContain(key)
    const { body } = await me(cookieOf(headers))
    expect(body).toMatchObject({ tenant: id, key: { scopes: ['chat', 'read'] }, version: expect.any(String) })
    const refused = await call('GET', '/api/admin/tenants', {
      key: null,
      headers: { cookie: cookieOf(headers), ...ours },
    })
    expect(refused.status).toBe(403)
  })

  it('is refused when it is wrong, ten times a minute and address', async () => {
    const headers = { 'cf-connecting-ip': '198.51.100.7' }
    for (let attempt = 0; attempt < 10; attempt++)
      expect((await signIn({ key: 'not-a-key-of-anybody' }, headers)).status).toBe(401)
    const { status, body, headers: answered } = await signIn({ key: adminKey }, headers)
    expect([status, body.error.code]).toEqual([429, 'limit_exceeded'])
    expect(Number(answered.get('retry-after'))).toBeGreaterThan(0)
    expect((await signIn({ key: adminKey })).status).toBe(204)
  })

  it('ends its cookies when it is revoked', async () => {
    const { key } = await newTenant()
    const cookie = await signedIn(key)
    expect((await me(cookie)).status).toBe(200)
    await call('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
    expect((await me(cookie)).status).toBe(401)
    clearKeyCache()
    expect((await me(cookie)).status).toBe(401)
  })

  it('has no cookie of a page of another origin', async () => {
    for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
      expect((await signIn({ key: adminKey }, headers)).status).toBe(403)
  })
})

describe('the cookie', () => {
  it('counts for requests of our own page only', async () => {
    const cookie = await signedIn()
    const send = async (method: string, headers: Record<string, string>) =>
      (
        await request(method, '/api/sessions', {
          key: null,
          headers: { cookie, ...headers },
          ...(method === 'POST' && { body: {} }),
        })
      ).status
    expect(await send('GET', ours)).toBe(200)
    expect(await send('GET', { 'sec-fetch-site': 'none' })).toBe(200)
    expect(await send('POST', ours)).toBe(201)
    expect(await send('POST', { origin })).toBe(201)
    expect(await send('POST', { 'sec-fetch-site': 'none' })).toBe(401)
    expect(await send('POST', { 'sec-fetch-site': 'same-site', origin })).toBe(401)
    expect(await send('POST', { 'sec-fetch-site': 'cross-site' })).toBe(401)
    expect(await send('POST', { origin: 'https://evil.test' })).toBe(401)
    expect(await send('POST', {})).toBe(401)
    expect(await send('GET', { 'sec-fetch-site': 'cross-site' })).toBe(401)
  })

  it('opens a socket only for our origin', async () => {
    const cookie = await signedIn()
    const { id } = await newSession()
    const open = (headers: Record<string, string>) =>
      request('GET', `/api/sessions/${id}/events`, { key: null, headers: { cookie, upgrade: 'websocket', ...headers } })
    expect((await open({ origin: 'https://evil.test', ...ours })).status).toBe(403)
    expect((await open(ours)).status).toBe(403)
    const answer = await open({ origin })
    expect(answer.status).toBe(101)
    answer.webSocket?.accept()
    answer.webSocket?.close()
  })

  it('is refused when a part of it was changed', async () => {
    const cookie = await signedIn()
    const broken = cookie.slice(0, -6) + (cookie.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA')
    expect((await me(broken)).status).toBe(401)
    expect((await me('__Host-talaria=v2.0.x.y')).status).toBe(401)
    expect((await me('__Host-talaria=')).status).toBe(401)
    // A link is sealed for another use.
    const { url } = await newLink()
    expect((await me(`__Host-talaria=${url.split('#in=')[1]}`)).status).toBe(401)
    // The header of a key never holds a cookie.
    const bearer = { key: cookie.slice(cookie.indexOf('=') + 1) }
    expect((await request('GET', '/api/me', bearer)).status).toBe(401)
  })

  it('lasts twelve hours after its last renewal, and thirty days at most', async () => {
    const time = createSkippingClock()
    replaceClock(time)
    try {
      const started = clock.now()
      let cookie = await signedIn()
      const first = cookie
      for (let hours = 0; hours < 29 * 24; hours += 11) {
        time.pass(11 * 3_600_000)
        const { status, headers } = await me(cookie)
        expect(status).toBe(200)
        cookie = cookieOf(headers)
        clearKeyCache()
      }
      expect((await me(first)).status).toBe(401)
      while (clock.now() < started + 30 * 24 * 3_600_000) {
        clearKeyCache()
        const { status, headers } = await me(cookie)
        expect(status).toBe(200)
        cookie = cookieOf(headers)
        time.pass(6 * 3_600_000)
      }
      clearKeyCache()
      expect((await me(cookie)).status).toBe(401)
    } finally {
      replaceClock()
    }
  })

  it('ends with signing out, with its copies and the links that it has made, and the key stays', async () => {
    const { key } = await newTenant(['read', 'chat'])
    const [cookie, other] = [await signedIn(key), await signedIn(key)]
    const copy = cookieOf((await me(cookie)).headers)
    const headers = { cookie, ...ours }
    const made = await call<{ url: string }>('POST', '/api/login/links', { key: null, headers, body: {} })
    const own = await newLink(key)
    expect((await call('DELETE', '/api/login', { key: null, headers })).status).toBe(204)
    expect([(await me(cookie)).status, (await me(copy)).status]).toEqual([401, 401])
    clearKeyCache()
    expect([(await me(cookie)).status, (await me(copy)).status]).toEqual([401, 401])
    expect((await signIn({ link: made.body.url })).status).toBe(401)
    expect((await signIn({ link: own.url })).status).toBe(204)
    expect((await me(other)).status).toBe(200)
    expect((await call('GET', '/api/me', { key })).status).toBe(200)
  })

  it('is deleted on request, and not by pages of others', async () => {
    const answer = await call('DELETE', '/api/login', { key: null, headers: ours })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect(
      (await call('DELETE', '/api/login', { key: null, headers: { 'sec-fetch-site': 'cross-site' } })).status,
    ).toBe(403)
  })
})

describe('a link', () => {
  it('signs in once, as the key that made it', async () => {
    const { id, key } = await newTenant(['read', 'chat'])
    const { url } = await newLink(key)
    expect(url).toMatch(/^https:\/\/talaria\.test\/#in=[\w.:=-]+$/)
    const { status, headers } = await signIn({ link: url })
    expect(status).toBe(204)
    expect((await me(cookieOf(headers))).body).toMatchObject({ tenant: id, key: { scopes: ['chat', 'read'] } })
    expect((await signIn({ link: url.split('#in=')[1] })).status).toBe(401)
  })

  it('expires after ten minutes', async () => {
    const time = createSkippingClock()
    replaceClock(time)
    try {
      const { url } = await newLink()
      time.pass(600_001)
      expect((await signIn({ link: url })).status).toBe(401)
    } finally {
      replaceClock()
    }
  })

  it('is created by the cookie too, and ends with the key', async () => {
    const { key } = await newTenant()
    const cookie = await signedIn(key)
    const made = await call<{ url: string }>('POST', '/api/login/links', {
      key: null,
      body: {},
      headers: { cookie, ...ours },
    })
    expect(made.status).toBe(201)
    await call('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
    expect((await signIn({ link: made.body.url })).status).toBe(401)
  })

  it.each(['', 'x', '#in=', 'v2.0.a:b.c', 'https://elsewhere.test/#in=v1.AAAA'])('is refused as %j', async (link) => {
    expect((await signIn({ link })).status).toBeOneOf([400, 401])
  })
})

it('GET /api/me names transcription as a feature where a provider is configured for it', async () => {
  const { key } = await newTenant()
  const listFeatures = async () => (await call<Me>('GET', '/api/me', { key })).body.features
  expect(await listFeatures()).toContain('transcription')
  await call('PATCH', '/api/settings', { key, body: { stt: { provider: 'deepgram' } } })
  await expect.poll(listFeatures).not.toContain('transcription')
})

it('GET /api/me says for a key in the header that no cookie is renewed', async () => {
  const { body, headers } = await call<Me>('GET', '/api/me')
  expect(body).toMatchObject({ tenant: 'default', key: { name: 'ADMIN_KEY' }, login: null })
  expect(headers.get('set-cookie')).toBe(null)
})
