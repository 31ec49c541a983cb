/** Tests the access by tokens of an identity provider: which are accepted, for which tenant, with which scopes. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { replaceClock } from '#durable/platform/clock.ts'
import { itInTurn } from '#test/support/long.ts'
import { clearKeyCache } from '#worker/auth.ts'
import { clearKeySets } from '#worker/login/verify-login.ts'
import { createSkippingClock } from '../support/clock.ts'
import { Gate, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newTenant, request } from './client.ts'

const issuer = 'https://id.example.com/realm'
const access = 'https://team.cloudflareaccess.com'
const audience = 'talaria'

type Pair = Awaited<ReturnType<typeof generateKeyPair>>
/** The key sets that the provider serves, by address, and how often each was asked for. */
const served = new Map<string, object>()
const asked: string[] = []
/** Each holds up one request to the provider. */
const gates: Gate[] = []
const pairs = {} as Record<'current' | 'next' | 'foreign' | 'es', Pair>

const outside = globalThis.fetch.bind(globalThis)
globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  const body = served.get(url)
  if (!body && !url.startsWith(issuer) && !url.startsWith(access)) return outside(input, init)
  asked.push(url)
  await gates.shift()?.waitUntilOpen()
  return body ? Response.json(body) : new Response(null, { status: 404 })
}

const publicKey = async (kid: string, { publicKey: key }: Pair, alg = 'RS256') => ({
  ...(await exportJWK(key)),
  kid,
  alg,
  use: 'sig',
})

async function serve(...keys: readonly object[]) {
  served.set(`${issuer}/.well-known/openid-configuration`, { issuer, jwks_uri: `${issuer}/keys` })
  served.set(`${issuer}/keys`, { keys })
  served.set(`${access}/cdn-cgi/access/certs`, { keys })
}

beforeAll(async () => {
  await applyMigrations()
  const create = (alg: string) => generateKeyPair(alg, { extractable: true })
  pairs.current = await create('RS256')
  pairs.next = await create('RS256')
  pairs.foreign = await create('RS256')
  pairs.es = await create('ES256')
})

beforeEach(async () => {
  clearKeySets()
  clearKeyCache()
  replaceClock()
  asked.length = 0
  await serve(await publicKey('k1', pairs.current), await publicKey('es', pairs.es, 'ES256'))
})

const now = () => Math.floor(Date.now() / 1_000)
type Signing = { readonly pair?: Pair; readonly kid?: string; readonly alg?: string }

const sign = (claims: JWTPayload = {}, { pair = pairs.current, kid = 'k1', alg = 'RS256' }: Signing = {}) =>
  new SignJWT({ iss: issuer, aud: audience, sub: 'user-1', exp: now() + 600, ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(pair.privateKey)

const addRule = async (tenantId: string, fields: object = {}) =>
  (
    await call<{ id: string }>('POST', '/api/admin/logins', {
      body: { tenant_id: tenantId, issuer, audience, scopes: ['read', 'chat'], ...fields },
    })
  ).body.id

/** Each test has an audience of its own, so that the rules of other tests do not match. */
let audiences = 0
async function tenantWithRule(fields: object = {}) {
  const tenant = await newTenant()
  const aud = `${audience}-${++audiences}`
  return { ...tenant, aud, rule: await addRule(tenant.id, { audience: aud, ...fields }) }
}

const tryWith = async (key: string, path = '/api/settings') => {
  const { status, body } = await call<ErrorBody>('GET', path, { key })
  return [status, body.error?.code]
}
const refused = [401, 'invalid_api_key']
const accepted = [200, undefined]

describe('a token', () => {
  it('acts for the tenant of its rule, with the scopes of the rule only', async () => {
    const { aud, id, key } = await tenantWithRule()
    const token = await sign({ aud, scope: 'admin approve write', tenant_id: 'default' })
    await call('PATCH', '/api/settings', { key, body: { instructions: 'of this tenant' } })
    const { body } = await call('GET', '/api/settings', { key: token })
    expect(body).toMatchObject({ instructions: 'of this tenant' })
    const denied = await call<ErrorBody>('PATCH', '/api/settings', { key: token, body: {} })
    expect([denied.status, denied.body.error.param]).toEqual([403, 'write'])
    expect((await call<ErrorBody>('GET', `/api/admin/tenants/${id}`, { key: token })).status).toBe(403)
  })

  it('of Cloudflare Access is taken from its header, and a key in the request goes first', async () => {
    const { aud, key } = await tenantWithRule({ issuer: access })
    const headers = { 'cf-access-jwt-assertion': await sign({ iss: access, aud: [aud, 'other'], email: 'a@b.c' }) }
    expect((await request('GET', '/api/settings', { key: null, headers })).status).toBe(200)
    expect((await request('GET', '/api/settings', { key: 'wrong', headers })).status).toBe(401)
    expect((await request('PATCH', '/api/settings', { key, headers, body: {} })).status).toBe(200)
  })

  it.each([
    [{ 'sec-fetch-site': 'same-origin' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ 'sec-fetch-site': 'cross-site' }, 401],
    [{ 'sec-fetch-site': 'same-site' }, 401],
    [{ origin: 'https://talaria.test' }, 200],
    [{ origin: 'https://evil.example.com' }, 401],
    [{ origin: 'null' }, 401],
  ])('that Access adds to a request with %j is a %i', async (headers, status) => {
    const { aud } = await tenantWithRule({ issuer: access })
    const assertion = { 'cf-access-jwt-assertion': await sign({ iss: access, aud }) }
    const response = await request('GET', '/api/settings', { key: null, headers: { ...headers, ...assertion } })
    expect(response.status).toBe(status)
  })

  it('with an elliptic key is accepted', async () => {
    const { aud } = await tenantWithRule()
    expect(await tryWith(await sign({ aud }, { pair: pairs.es, kid: 'es', alg: 'ES256' }))).toEqual(accepted)
  })

  itInTurn.each([
    ['of another audience', () => sign({ aud: 'somebody-else' })],
    ['without an audience', () => sign({ aud: undefined as never })],
    ['of another issuer with the same key', (aud: string) => sign({ aud, iss: 'https://evil.example.com' })],
    ['that is expired', (aud: string) => sign({ aud, exp: now() - 60 })],
    ['without an expiry', (aud: string) => sign({ aud, exp: undefined as never })],
    ['that is not valid yet', (aud: string) => sign({ aud, nbf: now() + 120 })],
    ['signed by a foreign key', (aud: string) => sign({ aud }, { pair: pairs.foreign })],
    ['with an unknown key id', (aud: string) => sign({ aud }, { pair: pairs.foreign, kid: 'unknown' })],
    ['without a signature', async (aud: string) => new UnsecuredJWT({ iss: issuer, aud, exp: now() + 600 }).encode()],
    [
      'signed with the public key as a shared secret',
      async (aud: string) => {
        const secret = new TextEncoder().encode(JSON.stringify(await publicKey('k1', pairs.current)))
        const claims = { iss: issuer, aud, exp: now() + 600 }
        return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'k1' }).sign(secret)
      },
    ],
    [
      'whose payload was changed',
      async (aud: string) => {
        const [head, , signature] = (await sign({ aud })).split('.')
        const payload = btoa(JSON.stringify({ iss: issuer, aud, exp: now() + 600, sub: 'other' })).replaceAll('=', '')
        return `${head}.${payload}.${signature}`
      },
    ],
    ['that is cut', async (aud: string) => (await sign({ aud })).slice(0, -4)],
    ['of 9 KB', async (aud: string) => sign({ aud, more: 'x'.repeat(9_000) })],
  ])('%s is refused like an unknown key', async (_name, make) => {
    const { aud } = await tenantWithRule()
    expect(await tryWith(await sign({ aud }))).toEqual(accepted)
    expect(await tryWith(await make(aud))).toEqual(refused)
  })

  it('of an issuer without a rule causes no request', async () => {
    await tenantWithRule()
    expect(await tryWith(await sign({ iss: 'https://evil.example.com' }))).toEqual(refused)
    expect(asked).toEqual([])
  })
})

const verified = { email: 'ann@example.com', email_verified: true }

describe('a rule', () => {
  it.each([
    ['sub', 'user-1', { sub: 'user-1' }, { sub: 'user-2' }],
    ['email', 'Ann@Example.com', verified, { ...verified, email: 'bob@example.com' }],
    ['email', 'ann@example.com', { ...verified, email_verified: 'true' }, { ...verified, email_verified: false }],
    ['email', 'ann@example.com', verified, { ...verified, email_verified: 'false' }],
    ['email', 'ann@example.com', verified, { email: 'ann@example.com' }],
    ['groups', 'agents', { groups: ['all', 'agents'] }, { groups: ['agents2', 'all'] }],
    ['constructor', 'x', { constructor: 'x' }, {}],
  ])('for %s %s matches %j and not %j', async (claim, value, matching, other) => {
    const { aud } = await tenantWithRule({ claim, value })
    expect(await tryWith(await sign({ aud, ...(matching as object) }))).toEqual(accepted)
    expect(await tryWith(await sign({ aud, ...(other as object) }))).toEqual(refused)
  })

  it('of another tenant does not add scopes; the oldest matching one decides', async () => {
    const one = await tenantWithRule({ scopes: ['read'] })
    const other = await newTenant()
    await addRule(other.id, { audience: one.aud, scopes: ['read', 'write'] })
    await addRule(one.id, { audience: one.aud, scopes: ['chat'], claim: 'sub', value: 'user-1' })
    const token = await sign({ aud: one.aud })
    const created = await call('POST', '/api/sessions', { key: token, body: {} })
    expect(created.status).toBe(201)
    expect((await call('GET', `/api/sessions/${created.body['id']}`, { key: one.key })).status).toBe(200)
    expect((await call('PATCH', '/api/settings', { key: token, body: {} })).status).toBe(403)
  })

  it('that is deleted refuses its tokens at once', async () => {
    const { aud, rule } = await tenantWithRule()
    const token = await sign({ aud })
    expect(await tryWith(token)).toEqual(accepted)
    expect((await call('DELETE', `/api/admin/logins/${rule}`)).status).toBe(204)
    expect(await tryWith(token)).toEqual(refused)
    expect((await call('DELETE', `/api/admin/logins/${rule}`)).status).toBe(404)
  })

  it('is listed for its tenant', async () => {
    const { id, aud, rule } = await tenantWithRule({ name: 'Staff', claim: 'groups', value: 'agents' })
    const { body } = await call<{ data: object[] }>('GET', `/api/admin/logins?tenant_id=${id}`)
    expect(body.data).toMatchObject([
      { id: rule, tenant_id: id, name: 'Staff', issuer, audience: aud, claim: 'groups', value: 'agents' },
    ])
  })

  it.each([
    [{ issuer: 'http://id.example.com' }, 400],
    [{ issuer: 'https://127.0.0.1/realm' }, 400],
    [{ issuer: 'https://localhost/realm' }, 400],
    [{ claim: 'sub' }, 400],
    [{ value: 'x' }, 400],
    [{ scopes: [] }, 400],
    [{ tenant_id: 'nobody' }, 404],
  ])('with %j is a %i', async (fields, status) => {
    const { id } = await newTenant()
    const body = { tenant_id: id, issuer, audience, scopes: ['read'], ...fields }
    expect((await call('POST', '/api/admin/logins', { body })).status).toBe(status)
  })

  it('of a suspended tenant gives no access', async () => {
    const { id, aud } = await tenantWithRule()
    const token = await sign({ aud })
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { status: 'suspended' } })
    expect(await tryWith(token)).toEqual([403, 'tenant_suspended'])
  })
})

describe('a person', () => {
  const profile = async (key: string) =>
    (await call<{ user: { entries: string[] } }>('GET', '/api/memory', { key })).body
  const remember = (key: string, entry: string) => call('PUT', '/api/memory', { key, body: { user: [entry] } })

  it('is known by issuer and subject: neither the address nor another rule changes who it is', async () => {
    const { aud, id } = await tenantWithRule({ scopes: ['read', 'write', 'chat'] })
    const ann = { aud, sub: 'ann', email: 'ann@b.c' }
    expect((await remember(await sign(ann), 'Is Ann.')).status).toBe(200)
    expect(JSON.stringify(await profile(await sign({ aud, sub: 'mallory', email: 'ann@b.c' })))).not.toContain(
      'Is Ann.',
    )
    await addRule(id, { audience: aud, claim: 'sub', value: 'ann' })
    expect(JSON.stringify(await profile(await sign({ ...ann, email: 'married@b.c' })))).toContain('Is Ann.')
  })

  it('without a subject has the common name, and without both gets no access', async () => {
    const { aud } = await tenantWithRule()
    const sub = undefined as never
    expect(await tryWith(await sign({ aud, sub: '', common_name: 'service' }))).toEqual(accepted)
    expect(await tryWith(await sign({ aud, sub, email: 'ann@b.c' }))).toEqual(refused)
  })
})

describe('the audit log', () => {
  type Entry = { kind: string; actor: string | null; subject: string; details: Record<string, unknown> }
  const entries = async (key?: string) =>
    (await call<{ data: Entry[] }>('GET', '/api/audit?kind=login&limit=100', key ? { key } : {})).body.data

  it('has an accepted token once an hour, in the log of its tenant', async () => {
    const { aud, key, rule } = await tenantWithRule()
    const find = async () => (await entries(key)).filter(({ kind }) => kind === 'login.accepted')
    for (const email of ['a@b.c', 'a@b.c', 'd@e.f', 'd@e.f']) {
      clearKeyCache()
      expect(await tryWith(await sign({ aud, email, jti: crypto.randomUUID() }))).toEqual(accepted)
    }
    const found = await until(async () => ((await find()).length >= 2 ? find() : undefined))
    expect(found.map(({ actor }) => actor).toSorted()).toEqual([
      expect.stringMatching(/^key:login:[\w-]{22}:a@b\.c$/),
      expect.stringMatching(/^key:login:[\w-]{22}:d@e\.f$/),
    ])
    expect(found.every(({ subject }) => subject === rule)).toBe(true)
    const clock = createSkippingClock()
    replaceClock(clock)
    clock.pass(3_601_000)
    clearKeyCache()
    await tryWith(await sign({ aud, email: 'a@b.c', exp: now() + 9_000 }))
    expect(await until(async () => (await find()).length === 3)).toBe(true)
  })

  it('has a refused token in the log of the operator, without the token and without unverified claims', async () => {
    const { aud, key, rule } = await tenantWithRule({ claim: 'email', value: 'a@b.c' })
    const tokens = [
      await sign({ aud, email: 'forged@b.c' }, { pair: pairs.foreign }),
      await sign({ aud, email: 'late@b.c', exp: now() - 600 }),
      await sign({ aud, email: 'other@b.c' }),
    ]
    for (const token of [...tokens, ...tokens]) expect(await tryWith(token)).toEqual(refused)
    const find = async () =>
      (await entries()).filter(({ details }) => (details['rules'] as string[] | undefined)?.includes(rule))
    const found = await until(async () => ((await find()).length >= 3 ? find() : undefined))
    expect(found.map(({ details }) => [details['reason'], details['person']]).toSorted()).toEqual([
      ['expired', 'late@b.c'],
      ['invalid', undefined],
      ['no_rule', 'other@b.c'],
    ])
    expect(found.every(({ actor, subject }) => actor === null && subject === issuer)).toBe(true)
    expect((await entries(key)).map(({ kind }) => kind)).toEqual(['login.created'])
    expect(JSON.stringify(found)).not.toMatch(/eyJ|forged/)
  })

  it('has nothing of a token that no rule is for', async () => {
    const before = (await entries()).length
    expect(await tryWith(await sign({ aud: 'of-nobody' }))).toEqual(refused)
    expect((await entries()).length).toBe(before)
  })
})

describe('the keys of an issuer', () => {
  it('are fetched once, and again for a new key id, at most once a minute', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { aud } = await tenantWithRule()
    for (const sub of ['a', 'b', 'c']) expect(await tryWith(await sign({ aud, sub }))).toEqual(accepted)
    expect(asked).toHaveLength(2)
    await serve(await publicKey('k2', pairs.next))
    const rotated = { pair: pairs.next, kid: 'k2' }
    expect(await tryWith(await sign({ aud, sub: 'd' }, rotated))).toEqual(refused)
    expect(asked).toHaveLength(2)
    clock.pass(60_000)
    expect(await tryWith(await sign({ aud, sub: 'e' }, rotated))).toEqual(accepted)
    expect(asked).toHaveLength(4)
    for (const sub of ['f', 'g', 'h'])
      expect(await tryWith(await sign({ aud, sub }, { pair: pairs.foreign, kid: `no-${sub}` }))).toEqual(refused)
    expect(asked).toHaveLength(4)
  })

  it('stay in use while the issuer fails, and without any the answer is 503', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { aud } = await tenantWithRule()
    expect(await tryWith(await sign({ aud, sub: 'a' }))).toEqual(accepted)
    served.clear()
    clock.pass(3_600_000)
    expect(await tryWith(await sign({ aud, sub: 'b', exp: now() + 10_000 }))).toEqual(accepted)
    clearKeySets()
    expect(await tryWith(await sign({ aud, sub: 'c', exp: now() + 10_000 }))).toEqual([503, 'unavailable'])
  })

  it('are fetched by each request for itself: one that hangs holds up no other', async () => {
    const { aud } = await tenantWithRule()
    const gate = new Gate()
    gates.push(gate)
    const first = tryWith(await sign({ aud, sub: 'a' }))
    await gate.waitUntilReached()
    expect(await tryWith(await sign({ aud, sub: 'b' }))).toEqual(accepted)
    gate.open()
    expect(await first).toEqual(accepted)
  })

  it('are fetched by few requests at once', async () => {
    const { aud } = await tenantWithRule()
    const held = Array.from({ length: 10 }, () => new Gate())
    gates.push(...held)
    const tokens = await Promise.all(held.map((_, index) => sign({ aud, sub: `held-${index}` })))
    const waiting = Promise.all(tokens.map((token) => tryWith(token)))
    await Promise.all(held.map((gate) => gate.waitUntilReached()))
    expect(await tryWith(await sign({ aud, sub: 'one-more' }))).toEqual([503, 'unavailable'])
    expect(asked).toHaveLength(10)
    for (const gate of held) gate.open()
    expect(await waiting).toEqual(held.map(() => accepted))
  })

  it('are refused when the configuration names another issuer', async () => {
    const { aud } = await tenantWithRule()
    const configuration = { issuer: 'https://evil.example.com', jwks_uri: `${issuer}/keys` }
    served.set(`${issuer}/.well-known/openid-configuration`, configuration)
    expect(await tryWith(await sign({ aud }))).toEqual([503, 'unavailable'])
  })
})
