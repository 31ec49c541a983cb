/** Tests the sign-in of apps to the MCP server: consent, codes, tokens, their ends, and everybody who wants to steal them. */

import { SELF } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { clock, replaceClock } from '#durable/platform/clock.ts'
import { clearKeyCache } from '#worker/auth.ts'
import { clearAppCache } from '#worker/routes/oauth/app-token.ts'
import { createSkippingClock } from '../support/clock.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newTenant, request } from './client.ts'
import {
  answerConsent,
  authorization,
  connectApp,
  exchange,
  holderOf,
  openConsent,
  redeem,
  redirectUri,
  refresh,
  registerApp,
  sendForm,
  verifier,
} from './connect-app.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

type App = {
  readonly id: string
  readonly name: string
  readonly host: string
  readonly scopes: readonly string[]
  readonly acts_for: string
}

const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const useMcp = async (token: string, message: object = rpc) => {
  expect(token).toMatch(/^tal[ar]t_/)
  const response = await request('POST', '/mcp', { key: token, body: { ...rpc, ...message } })
  const { result } = (await response.json()) as {
    result?: { tools?: { name: string }[]; structuredContent?: Record<string, unknown> }
  }
  return { status: response.status, result, headers: response.headers }
}
const toolsOf = async (token: string) => (await useMcp(token)).result?.tools?.map(({ name }) => name) ?? []
const listApps = async (key: string) => (await call<{ data: App[] }>('GET', '/api/apps', { key })).body.data

/** A code that a person has just given. */
async function newCode(key: string, more: Record<string, string> = {}) {
  const { body: client } = await registerApp()
  const fields = await authorization(client.client_id, more)
  const { holder } = await openConsent(key, fields)
  const { query } = await answerConsent(key, fields, { holder })
  return { clientId: client.client_id, code: query?.get('code') ?? '' }
}

/** Signs in on the consent page, and returns the cookie. */
async function signIn(fields: Record<string, string>, key: string) {
  const headers = {
    'cf-connecting-ip': `203.0.113.${Math.floor(Math.random() * 250)}`,
    'sec-fetch-site': 'same-origin',
  }
  const { status, headers: answered } = await answerConsent(null, fields, { action: 'sign-in', key, headers })
  return { status, cookie: answered.get('set-cookie')?.split(';')[0] ?? '', location: answered.get('location') ?? '' }
}

describe('an app', () => {
  it('finds the server, is allowed a part of what it asks for, and acts as its person with no more', async () => {
    const { id, key } = await newTenant()
    const { body: resource } = await call<{ authorization_servers: string[] }>(
      'GET',
      '/.well-known/oauth-protected-resource/mcp',
      { key: null },
    )
    const { body: server } = await call<Record<string, unknown>>('GET', '/.well-known/oauth-authorization-server', {
      key: null,
    })
    expect([resource.authorization_servers, server['issuer']]).toEqual([
      ['https://talaria.test'],
      'https://talaria.test',
    ])
    expect(server).toMatchObject({
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
    })
    const { id: app, tokens } = await connectApp(key, { grant: ['chat', 'read', 'admin'] })
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, scope: 'chat read' })
    expect(await toolsOf(tokens.access_token)).toEqual(expect.arrayContaining(['chat', 'sessions_list']))
    expect(await toolsOf(tokens.access_token)).not.toContain('memory_add')
    expect(await listApps(key)).toMatchObject([
      { id: app, name: 'An app', host: 'app.example.com', scopes: ['chat', 'read'] },
    ])
    const audited = await until(async () => {
      const { body } = await call<{ data: { kind: string; subject: string; actor: string }[] }>(
        'GET',
        '/api/audit?kind=app',
        { key },
      )
      return body.data[0]
    })
    expect(audited).toMatchObject({ kind: 'app.connected', subject: app, actor: expect.stringMatching(/^key:/) })
    // Its tokens open nothing else.
    for (const path of ['/api/sessions', '/api/apps', '/api/me'])
      expect((await request('GET', path, { key: tokens.access_token })).status).toBe(401)
    expect(JSON.stringify(await readTables(id))).not.toContain(tokens.access_token.split('.').at(-1))
  })

  it('starts runs that end with it, and cannot answer approvals of its own', async () => {
    const { key } = await newTenant()
    const scripted = model([calls({ id: 'c', name: 'terminal', input: { command: 'rm -rf x' } }), says('done')])
    await call('PATCH', '/api/settings', {
      key,
      body: { model: { default: scripted.id }, approvals: { mode: 'manual' } },
    })
    const { id, tokens } = await connectApp(key, { grant: ['chat', 'read', 'approve'] })
    const begun = await useMcp(tokens.access_token, {
      method: 'tools/call',
      params: { name: 'chat', arguments: { message: 'go', wait: 5 } },
    })
    expect(begun.result?.structuredContent).toMatchObject({ status: 'waiting' })
    const { body } = await call<{ data: { id: string }[] }>('GET', '/api/approvals', { key })
    const answer = { name: 'approval_answer', arguments: { approval_id: body.data[0]?.id, decision: 'once' } }
    expect((await useMcp(tokens.access_token, { method: 'tools/call', params: answer })).result).toMatchObject({
      isError: true,
    })
    expect((await request('DELETE', `/api/apps/${id}`, { key })).status).toBe(204)
    // As with a revoked key, what waits for a person ends when it would go on, and after two seconds everywhere.
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    await call('POST', `/api/approvals/${body.data[0]?.id}`, { key, body: { decision: 'once' } })
    await until(async () => {
      const { body: run } = await call<{ status: string }>(
        'GET',
        `/v1/runs/${begun.result?.structuredContent?.['run_id']}`,
        { key },
      )
      return ['cancelled', 'failed'].includes(run.status) || undefined
    })
    expect(await listApps(key)).toEqual([])
    const refused = await useMcp(tokens.access_token)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('resource_metadata='),
    ])
    expect((await refresh((await connectApp(key)).clientId, tokens.refresh_token)).status).toBe(400)
  })

  it('has the role of its key as it is now, and ends with the key', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { roles: { guest: { scopes: ['chat', 'read'] } } } })
    const guest = await newKey(id, ['chat', 'read', 'write'], { role: 'guest' })
    const { tokens, clientId } = await connectApp(guest, { grant: ['chat', 'read', 'write'] })
    expect(tokens.scope).toBe('chat read')
    await call('PATCH', '/api/settings', { key, body: { roles: { guest: { scopes: ['read'] } } } })
    await until(async () => !(await toolsOf(tokens.access_token)).includes('chat') || undefined)
    const { body: keys } = await call<{ data: { id: string; role: string | null }[] }>('GET', '/api/keys', { key })
    await call('DELETE', `/api/keys/${keys.data.find(({ role }) => role === 'guest')?.id}`, { key })
    expect((await useMcp(tokens.access_token)).status).toBe(401)
    expect(await listApps(key)).toEqual([])
    expect(await refresh(clientId, tokens.refresh_token)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
  })

  it('lasts no longer than its key', async () => {
    const { id } = await newTenant()
    const key = await newKey(id, ['chat', 'read'], { expires_at: new Date(clock.now() + 600_000).toISOString() })
    const { tokens } = await connectApp(key)
    expect(tokens.expires_in).toBeLessThanOrEqual(600)
  })
})

/** Every row that the tenant's object stores. */
async function readTables(tenant: string): Promise<unknown> {
  const response = await request('GET', `/api/admin/tenants/${tenant}/backup/state`)
  return response.text()
}

describe('a code', () => {
  it.each<[string, Record<string, string>]>([
    ['another verifier', { code_verifier: 'w'.repeat(50) }],
    ['a verifier that is too short', { code_verifier: 'v' }],
    ['another address', { redirect_uri: 'https://app.example.com/other' }],
    ['another resource', { resource: 'https://other.example.com/mcp' }],
  ])('gives nothing with %s', async (_, wrong) => {
    const { key } = await newTenant()
    const { clientId, code } = await newCode(key)
    const { status, body } = await redeem(clientId, code, wrong)
    expect([status, body.access_token, body.error]).toEqual([
      400,
      undefined,
      expect.stringMatching(/^invalid_(grant|target)$/),
    ])
  })

  it('gives nothing to another client', async () => {
    const { key } = await newTenant()
    const { code } = await newCode(key)
    const { body: thief } = await registerApp({ client_name: 'Thief' })
    expect((await redeem(thief.client_id, code)).body.error).toBe('invalid_grant')
  })

  it('works once: a second use ends what the first has given, and of many at once one wins', async () => {
    const { key } = await newTenant()
    const first = await newCode(key)
    const { body: tokens } = await redeem(first.clientId, first.code)
    expect((await useMcp(tokens.access_token)).status).toBe(200)
    expect((await redeem(first.clientId, first.code)).body.error).toBe('invalid_grant')
    expect((await useMcp(tokens.access_token)).status).toBe(401)
    expect((await refresh(first.clientId, tokens.refresh_token)).body.error).toBe('invalid_grant')
    const second = await newCode(key)
    const all = await Promise.all(Array.from({ length: 4 }, () => redeem(second.clientId, second.code)))
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('is valid for a minute', async () => {
    const { key } = await newTenant()
    const { clientId, code } = await newCode(key)
    const time = createSkippingClock()
    replaceClock(time)
    try {
      await time.pass(61_000)
      expect((await redeem(clientId, code)).body.error).toBe('invalid_grant')
    } finally {
      replaceClock()
    }
  })

  it('of a tenant that does not exist makes no object', async () => {
    const { body: client } = await registerApp()
    expect((await redeem(client.client_id, `never-made.${'a'.repeat(43)}`)).body.error).toBe('invalid_grant')
  })
})

describe('a refresh token', () => {
  it('is replaced with each use. The use of an old one ends the app', async () => {
    const { key } = await newTenant()
    const { clientId, tokens: first } = await connectApp(key)
    const { body: second } = await refresh(clientId, first.refresh_token)
    expect((await useMcp(second.access_token)).status).toBe(200)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect((await refresh(clientId, first.refresh_token)).body.error).toBe('invalid_grant')
    expect((await useMcp(second.access_token)).status).toBe(401)
    expect((await refresh(clientId, second.refresh_token)).body.error).toBe('invalid_grant')
    expect(await listApps(key)).toEqual([])
  })

  it('serves its own client alone, and is no access token', async () => {
    const { key } = await newTenant()
    const { clientId, tokens } = await connectApp(key)
    const { body: thief } = await registerApp({ client_name: 'Thief' })
    expect((await refresh(thief.client_id, tokens.refresh_token)).body.error).toBe('invalid_grant')
    expect((await useMcp(tokens.refresh_token)).status).toBe(401)
    expect((await refresh(clientId, tokens.access_token)).body.error).toBe('invalid_grant')
    expect((await refresh(clientId, tokens.refresh_token)).status).toBe(200)
  })

  it('lasts while it is used, and the access token an hour', async () => {
    const { key } = await newTenant()
    const { clientId, tokens } = await connectApp(key)
    const time = createSkippingClock()
    replaceClock(time)
    try {
      await time.pass(3_601_000)
      expect((await useMcp(tokens.access_token)).status).toBe(401)
      const { body } = await refresh(clientId, tokens.refresh_token)
      expect((await useMcp(body.access_token)).status).toBe(200)
      await time.pass(91 * 86_400_000)
      expect((await refresh(clientId, body.refresh_token)).body.error).toBe('invalid_grant')
    } finally {
      replaceClock()
    }
  })

  it('is revoked by its app, and by nobody else', async () => {
    const { key } = await newTenant()
    const { clientId, tokens } = await connectApp(key)
    const { body: thief } = await registerApp({ client_name: 'Thief' })
    const revoke = (client_id: string, token: string) => sendForm('/oauth/revoke', { client_id, token })
    expect((await revoke(thief.client_id, tokens.refresh_token)).status).toBe(200)
    expect((await useMcp(tokens.access_token)).status).toBe(200)
    expect((await revoke(clientId, tokens.refresh_token)).status).toBe(200)
    expect((await useMcp(tokens.access_token)).status).toBe(401)
  })
})

describe('the consent page', () => {
  it('names the app, its address, the rights and the person, in both languages, and runs nothing', async () => {
    const { id } = await newTenant()
    const key = await newKey(id, ['chat', 'read'], { name: 'laptop' })
    const { body: client } = await registerApp({ client_name: '<b>Cla\u202Eude</b>' })
    const fields = await authorization(client.client_id)
    const { html, headers } = await openConsent(key, fields)
    expect(html).toContain('Let &lt;b&gt;Claude&lt;/b&gt; use Talaria?')
    for (const text of ['app.example.com', 'laptop', id, 'value="chat" checked', 'value="write" disabled'])
      expect(html).toContain(text)
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'; form-action 'self' https:\/\/app\.example\.com$/,
    )
    expect((await openConsent(key, fields, { 'accept-language': 'de-DE,en' })).html).toContain('Darf &lt;b&gt;Claude')
    expect((await openConsent(key, { ...fields, ui_locales: 'de' })).html).toContain('<html lang="de">')
  })

  it('lets a person sign in, and then decide', async () => {
    const { key } = await newTenant()
    const { body: client } = await registerApp()
    const fields = await authorization(client.client_id)
    const asked = await openConsent(null, fields)
    expect(asked.html).toContain('app.example.com wants to use your agent')
    expect((await signIn(fields, 'tal_wrong')).status).toBe(401)
    const { status, cookie, location } = await signIn(fields, key)
    expect([status, location]).toEqual([303, expect.stringMatching(/^\?response_type=code&/)])
    // The browser comes from the app.
    const { holder } = await openConsent(null, fields, { cookie, 'sec-fetch-site': 'cross-site' })
    const ours = { cookie, 'sec-fetch-site': 'same-origin' }
    const { query } = await answerConsent(null, fields, { holder, headers: ours })
    expect([query?.get('state'), query?.get('iss'), query?.get('code')]).toEqual([
      'st',
      'https://talaria.test',
      expect.any(String),
    ])
    const out = await answerConsent(null, fields, { action: 'sign-out', headers: ours })
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
    expect((await openConsent(null, fields, ours)).html).toContain('Sign in to connect an app')
  })

  it('cannot be answered by another page, for another person, or without a right', async () => {
    const { id, key } = await newTenant()
    const { body: client } = await registerApp()
    const fields = await authorization(client.client_id)
    const { cookie } = await signIn(fields, key)
    const foreign = { cookie, 'sec-fetch-site': 'cross-site', origin: 'https://app.example.com' }
    expect(await answerConsent(null, fields, { headers: foreign })).toMatchObject({ status: 403, location: null })
    const { holder } = await openConsent(await newKey(id, ['chat']), fields)
    const other = await answerConsent(key, fields, { holder })
    expect([other.status, other.html]).toEqual([400, expect.stringContaining('Somebody else is signed in')])
    const own = holderOf(other.html)
    expect((await answerConsent(key, fields, { holder: own, grant: [] })).html).toContain('Choose at least one right.')
    expect((await answerConsent(key, fields, { holder: own, grant: ['admin'] })).status).toBe(400)
    expect((await answerConsent(key, fields, { action: 'deny' })).query?.get('error')).toBe('access_denied')
    expect(await listApps(key)).toEqual([])
  })

  it.each<[string, Record<string, string>, string]>([
    ['an unknown client', { client_id: 'app_forged.aaaa' }, 'not registered'],
    ['an address that is not registered', { redirect_uri: 'https://evil.example.com/' }, 'not its own'],
    ['a script as the address', { redirect_uri: 'javascript:alert(1)' }, 'not its own'],
    ['plain http as the address', { redirect_uri: 'http://app.example.com/callback' }, 'not its own'],
    ['no PKCE', { code_challenge: '' }, 'PKCE'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'PKCE'],
    ['another resource', { resource: 'https://other.example.com/mcp' }, 'another server'],
    ['unknown scopes', { scope: 'root' }, 'rights that do not exist'],
    ['a token at once', { response_type: 'token' }, 'not valid'],
  ])('refuses %s, and leads nowhere', async (_, wrong, text) => {
    const { key } = await newTenant()
    const { body: client } = await registerApp()
    const fields = await authorization(client.client_id, wrong)
    const shown = await openConsent(key, fields)
    expect([shown.status, shown.html]).toEqual([400, expect.stringContaining(text)])
    const answered = await answerConsent(key, fields, { holder: shown.holder })
    expect([answered.status, answered.location]).toEqual([400, null])
  })
})

it('reaches the consent page, its tokens and /mcp by each name of this computer', async () => {
  const { key } = await newTenant()
  const [local, other] = ['http://localhost:8787', 'http://127.0.0.1:8787']
  const headers = { authorization: `Bearer ${key}` }
  const post = (url: string, fields: object) =>
    SELF.fetch(url, { method: 'POST', redirect: 'manual', headers, body: new URLSearchParams({ ...fields }) })
  const { body: client } = await registerApp()
  const fields = await authorization(client.client_id, { resource: `${local}/mcp` })
  const shown = await SELF.fetch(`${other}/oauth/authorize?${new URLSearchParams(fields)}`, { headers })
  const holder = holderOf(await shown.text())
  const allowed = await post(`${other}/oauth/authorize`, { ...fields, action: 'allow', holder, grant: 'read' })
  const code = URL.parse(allowed.headers.get('location') ?? '')?.searchParams.get('code') ?? ''
  const issued = await post(`${other}/oauth/token`, {
    grant_type: 'authorization_code',
    client_id: client.client_id,
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
    resource: `${local}/mcp`,
  })
  const { access_token: token } = await issued.json<{ access_token: string }>()
  const statuses: number[] = []
  for (const origin of [local, other, 'http://[::1]:8787', 'http://127.0.0.1:8788', 'https://talaria.test']) {
    const sent = { method: 'POST', headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(rpc) }
    statuses.push((await SELF.fetch(`${origin}/mcp`, sent)).status)
  }
  expect(statuses).toEqual([200, 200, 200, 401, 401])
})

describe('a client', () => {
  it.each([
    [{ redirect_uris: [] }],
    [{ redirect_uris: ['http://example.com/'] }],
    [{ redirect_uris: ['data:text/html,x'] }],
    [{ redirect_uris: ['https://user@example.com/'] }],
    [{ token_endpoint_auth_method: 'private_key_jwt' }],
  ])('is not registered with %j', async (wrong) => {
    const { status, body } = await registerApp(wrong)
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^invalid_(redirect_uri|client_metadata)$/)])
  })

  it('with a secret needs it, in the header or in the form', async () => {
    const { key } = await newTenant()
    const { body: client } = await registerApp({ token_endpoint_auth_method: 'client_secret_basic' })
    const fields = await authorization(client.client_id)
    const { holder } = await openConsent(key, fields)
    const { query } = await answerConsent(key, fields, { holder })
    const code = query?.get('code') ?? ''
    for (const secret of ['', 'a'.repeat(43)])
      expect(await redeem(client.client_id, code, { client_secret: secret })).toMatchObject({
        status: 401,
        body: { error: 'invalid_client' },
      })
    const basic = `Basic ${btoa(`${encodeURIComponent(client.client_id)}:${client.client_secret}`)}`
    const { body: tokens } = await exchange(
      { grant_type: 'authorization_code', code, code_verifier: 'v'.repeat(50), redirect_uri: redirectUri },
      { headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic } },
    )
    expect((await useMcp(tokens.access_token)).status).toBe(200)
  })

  const address = 'https://client.example.com/oauth/client.json'
  const document = {
    client_id: address,
    client_name: 'Claude',
    redirect_uris: ['http://localhost/callback'],
    token_endpoint_auth_method: 'none',
  }
  const serveDocument = (body: object, status = 200) => {
    const asked: string[] = []
    const pass = globalThis.fetch
    vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
      const url = input instanceof Request ? input.url : String(input)
      if (!url.startsWith('https://client.example.com/')) return pass(input, init)
      asked.push(url)
      return Promise.resolve(Response.json(body, { status, headers: { location: 'https://evil.example.com/' } }))
    })
    return asked
  }

  it('with a metadata document is read when a person has signed in, and may use any port of the computer', async () => {
    const asked = serveDocument(document)
    const { key } = await newTenant()
    const local = 'http://localhost:53123/callback'
    const fields = await authorization(address, { redirect_uri: local })
    expect((await openConsent(null, fields)).html).toContain('client.example.com wants to use your agent')
    expect(asked).toEqual([])
    const { html, holder } = await openConsent(key, fields)
    expect(html).toContain('Let Claude use Talaria?')
    const { query } = await answerConsent(key, fields, { holder })
    const { body: tokens } = await redeem(address, query?.get('code') ?? '', { redirect_uri: local })
    expect((await useMcp(tokens.access_token)).status).toBe(200)
    expect(await listApps(key)).toMatchObject([{ name: 'Claude', host: 'localhost' }])
  })

  it.each<[string, object, number, string]>([
    ['another id', { ...document, client_id: `${address}?` }, 200, 'not that of this address'],
    ['other addresses', { ...document, redirect_uris: ['https://other.example.com/'] }, 200, 'not its own'],
    ['a secret', { ...document, client_secret: 'x' }, 200, 'does not exist here'],
    ['a redirect', document, 302, 'cannot be read'],
  ])('with a document that has %s is refused', async (_, body, status, text) => {
    serveDocument(body, status)
    const { key } = await newTenant()
    const fields = await authorization(address, { redirect_uri: 'http://localhost:1/callback' })
    expect(await openConsent(key, fields)).toMatchObject({ status: 400, html: expect.stringContaining(text) })
  })

  it('in a private network is not read', async () => {
    const { key } = await newTenant()
    const fields = await authorization('https://127.0.0.1/client.json', { redirect_uri: 'http://localhost:1/callback' })
    expect((await openConsent(key, fields)).html).toContain('cannot be read')
  })
})

describe('the walls', () => {
  it('hide apps of other tenants and of stronger keys', async () => {
    const [alice, bob] = [await newTenant(), await newTenant()]
    const { id } = await connectApp(alice.key)
    expect(await listApps(bob.key)).toEqual([])
    expect((await call<ErrorBody>('DELETE', `/api/apps/${id}`, { key: bob.key })).status).toBe(404)
    const weak = await newKey(alice.id, ['read', 'write'])
    expect((await call<ErrorBody>('DELETE', `/api/apps/${id}`, { key: weak })).body.error.code).toBe('policy')
    expect(await listApps(alice.key)).toHaveLength(1)
  })

  it('refuse tokens of a suspended tenant, and forms that are none', async () => {
    const { id, key } = await newTenant()
    const { clientId, tokens } = await connectApp(key)
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { status: 'suspended' } })
    clearKeyCache()
    clearAppCache()
    expect((await useMcp(tokens.access_token)).status).toBe(401)
    expect((await refresh(clientId, tokens.refresh_token)).body.error).toBe('invalid_grant')
    const json = await request('POST', '/oauth/token', { key: null, body: { grant_type: 'refresh_token' } })
    expect([json.status, await json.json()]).toMatchObject([400, { error: 'invalid_request' }])
    const twice = await SELF.fetch('https://talaria.test/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=refresh_token&grant_type=refresh_token',
    })
    expect(await twice.json()).toMatchObject({ error: 'invalid_request' })
  })
})
