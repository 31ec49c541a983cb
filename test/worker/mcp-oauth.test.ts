/** Tests the sign-in to MCP servers with OAuth: from a 401 to the call, and against servers that want to steal. */

import { SELF } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { serveMcp, tool } from '../support/mcp-server.ts'
import { mcpUrl, type OAuthServer, serveOAuth } from '../support/oauth-server.ts'
import { calls, listTexts, model, type ModelRequest, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

const path = '/api/mcp/servers'
type Row = ErrorBody & Record<string, unknown>
type Started = { readonly authorize_url: string; readonly expires_at: string } & ErrorBody

async function open(more: object = {}) {
  const server = serveMcp('mcp.example.com', { tools: [tool('echo'), tool('write')] })
  const oauth = serveOAuth()
  const { key } = await newTenant()
  const added = await call<Row>('POST', path, { key, body: { alias: 'wiki', url: mcpUrl, auth: 'oauth', ...more } })
  return { server, oauth, key, added: added.body }
}

async function start(key: string) {
  const response = await request('POST', `${path}/wiki/oauth/start`, { key })
  const body = (await response.json()) as Started
  const cookie = /talaria_oauth=([^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? ''
  return { status: response.status, body, cookie, setCookie: response.headers.get('set-cookie') ?? '' }
}

const back = (query: Record<string, string>, cookie: string) =>
  SELF.fetch(`https://talaria.test/oauth/mcp/callback?${new URLSearchParams(query)}`, {
    headers: { cookie: `talaria_oauth=${cookie}` },
    redirect: 'manual',
  })

const stateOf = (url: string) => new URL(url).searchParams.get('state') ?? ''

async function signIn(key: string, oauth: OAuthServer, begun?: Awaited<ReturnType<typeof start>>): Promise<number> {
  const { body, cookie } = begun ?? (await start(key))
  const code = oauth.agree(body.authorize_url)
  const response = await back({ code, state: stateOf(body.authorize_url), iss: oauth.issuer }, cookie)
  await response.text()
  if (response.status === 303) await waitForTools(key)
  return response.status
}

/** The tools are listed beside the answer to the browser. */
async function waitForTools(key: string): Promise<void> {
  await until(async () => (await call<Row>('GET', `${path}/wiki`, { key })).body['tool_count'] === 2 || undefined)
}

async function runTool(key: string, name = 'mcp__wiki__echo'): Promise<string> {
  const asked: ModelRequest[] = []
  const scripted = model((one, nth) => (asked.push(one), nth === 0 ? calls({ name, input: {} }) : says('done')))
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'off' } } })
  const { id } = await newSession({ model: scripted.id }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  return listTexts(asked.at(-1) as ModelRequest).join('\n')
}

describe('from a 401 to the call', () => {
  it('says what is needed, signs in with PKCE, and calls with the token', async () => {
    const { oauth, key, added, server } = await open()
    expect(added).toMatchObject({ status: 'needs_auth', auth: 'oauth' })
    expect(added['reason']).toMatch(/Nobody has signed in yet.*Sign in/)
    const begun = await start(key)
    const { status, body, setCookie } = begun
    expect(status).toBe(200)
    expect(setCookie).toMatch(/HttpOnly.*SameSite=Lax/)
    const asked = Object.fromEntries(new URL(body.authorize_url).searchParams)
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: 'registered-client-1',
      code_challenge_method: 'S256',
      resource: mcpUrl,
      scope: 'read offline_access',
    })
    expect(oauth.registrations).toMatchObject([{ client_name: 'Talaria', application_type: 'web' }])
    expect(await signIn(key, oauth, begun)).toBe(303)
    expect(await runTool(key)).toContain('echo got')
    expect(server.requests.at(-1)?.headers.get('authorization')).toMatch(/^Bearer access-token-/)
  })

  it('names OAuth when a server without credentials answers so, and signs in from there', async () => {
    const { oauth, key, added } = await open({ auth: 'none' })
    expect(added['reason']).toMatch(/auth to oauth/)
    expect(await signIn(key, oauth)).toBe(303)
    expect((await call<Row>('GET', `${path}/wiki`, { key })).body).toMatchObject({ auth: 'oauth', status: 'ready' })
  })

  it('uses a client that was given, and its secret for its authorization server alone', async () => {
    const { oauth, key } = await open({ oauth: { client_id: 'ours', client_secret: 'client-secret-1234' } })
    const row = (await call<Row>('GET', `${path}/wiki`, { key })).body
    expect(row['oauth']).toEqual({ client_id: 'ours', client_secret: '****1234' })
    expect(await signIn(key, oauth)).toBe(303)
    expect(oauth.registrations).toEqual([])
    const sent = oauth.tokenRequests[0]?.headers.get('authorization')
    expect(sent).toBe(`Basic ${btoa('ours:client-secret-1234')}`)
    oauth.resourceMetadata = { resource: mcpUrl, authorization_servers: ['https://other-as.example.com'] }
    oauth.metadata = { ...oauth.metadata, issuer: 'https://other-as.example.com' }
    await call('DELETE', `${path}/wiki/oauth`, { key })
    expect((await start(key)).body.error.message).toMatch(/another authorization server than before/)
  })

  it('registers anew when a sign-in did not come back, as that of a client that the server has forgotten', async () => {
    const { oauth, key } = await open()
    await start(key)
    expect(oauth.registrations).toHaveLength(1)
    expect(await signIn(key, oauth)).toBe(303)
    expect(oauth.registrations).toHaveLength(2)
    expect(await signIn(key, oauth)).toBe(303)
    expect(oauth.registrations).toHaveLength(2)
  })

  it('forgets tokens when asked, and when the server moves to another origin', async () => {
    const { oauth, key, server } = await open()
    await signIn(key, oauth)
    expect((await call('DELETE', `${path}/wiki/oauth`, { key })).status).toBe(204)
    const before = server.requests.length
    expect(await runTool(key)).toMatch(/needs credentials.*Sign in/)
    expect(server.requests.length).toBe(before)
    await signIn(key, oauth)
    await call('PATCH', `${path}/wiki`, { key, body: { url: 'https://moved.example.com/mcp' } })
    await call('PATCH', `${path}/wiki`, { key, body: { url: mcpUrl } })
    expect((await call<Row>('GET', `${path}/wiki`, { key })).body['status']).toBe('needs_auth')
  })
})

describe('tokens', () => {
  it('are renewed once when two sessions find them expired', async () => {
    const { oauth, key } = await open()
    oauth.lifetime = 0.001
    await signIn(key, oauth)
    oauth.lifetime = 3_600
    // Both sessions ask before it answers.
    oauth.tokenMs = 1_500
    const before = oauth.tokenRequests.length
    const results = await Promise.all([runTool(key), runTool(key)])
    expect(results.every((text) => text.includes('echo got'))).toBe(true)
    const renewals = oauth.tokenRequests.slice(before)
    expect(renewals.map(({ parameters }) => parameters.get('grant_type'))).toEqual(['refresh_token'])
    expect(renewals[0]?.parameters.get('resource')).toBe(mcpUrl)
  })

  it('of a short life are used while they live, also without a refresh token', async () => {
    const { oauth, key } = await open()
    oauth.tokenAnswer = () => {
      oauth.valid.set('short-token', 'read')
      return Response.json({ access_token: 'short-token', token_type: 'Bearer', expires_in: 28 })
    }
    await signIn(key, oauth)
    expect(await runTool(key)).toContain('echo got')
    expect(oauth.tokenRequests).toHaveLength(1)
  })

  it('are renewed when the server refuses one before its time, and the call goes on', async () => {
    const { oauth, key } = await open()
    await signIn(key, oauth)
    oauth.valid.clear()
    expect(await runTool(key)).toContain('echo got')
  })

  it('end with a sign-in in words when the renewal is refused, and the turn goes on', async () => {
    const { oauth, key } = await open()
    await signIn(key, oauth)
    oauth.valid.clear()
    oauth.tokenAnswer = () => Response.json({ error: 'invalid_grant', error_description: 'leak' }, { status: 400 })
    const read = await runTool(key)
    expect(read).toMatch(/invalid_grant.*Sign in/s)
    expect(read).not.toContain('leak')
    // The place is named once, also when it is known before the call.
    const again = await runTool(key)
    expect(again).toContain('needs credentials')
    expect([read, again].map((text) => text.match(/Sign in/g)?.length)).toEqual([1, 1])
    expect((await call<Row>('GET', `${path}/wiki`, { key })).body['status']).toBe('needs_auth')
  })

  it('stay when the authorization server is down', async () => {
    const { oauth, key } = await open()
    await signIn(key, oauth)
    oauth.valid.clear()
    oauth.tokenAnswer = () => new Response('', { status: 503 })
    expect(await runTool(key)).toMatch(/status 503/)
    oauth.tokenAnswer = undefined
    expect(await runTool(key)).toContain('echo got')
  })

  it('are masked in results, and never shown', async () => {
    const { oauth, key, server } = await open()
    await signIn(key, oauth)
    const [token = ''] = oauth.valid.keys()
    server.answer = () => ({ content: [{ type: 'text', text: `you sent ${token}` }] })
    expect(await runTool(key)).not.toContain(token)
    expect(JSON.stringify((await call<Row>('GET', path, { key })).body)).not.toContain('token-')
  })

  it('get more rights by another sign-in with all of them, which is tried twice', async () => {
    const { oauth, key } = await open()
    oauth.wanted['write'] = 'write:all'
    await signIn(key, oauth)
    expect(await runTool(key, 'mcp__wiki__write')).toMatch(/needs more rights.*write:all.*Sign in/s)
    expect(await runTool(key)).toContain('echo got')
    const { body } = await start(key)
    expect(new URL(body.authorize_url).searchParams.get('scope')).toBe('read offline_access write:all')
    await signIn(key, oauth)
    expect(await runTool(key, 'mcp__wiki__write')).toContain('write got')
    oauth.wanted['write'] = 'never'
    for (let n = 0; n < 2; n++) {
      expect(await runTool(key, 'mcp__wiki__write')).toMatch(/Sign in/)
      await signIn(key, oauth)
    }
    expect(await runTool(key, 'mcp__wiki__write')).toMatch(/in vain/)
    expect((await start(key)).body.error.message).toMatch(/still refuses after two/)
  })
})

describe('a hostile or broken server', () => {
  const refusals: readonly (readonly [string, (oauth: OAuthServer) => void, RegExp])[] = [
    ['another issuer in its metadata', (oauth) => void (oauth.metadata['issuer'] = `${oauth.issuer}/`), /calls itself/],
    ['no S256', (oauth) => void (oauth.metadata['code_challenge_methods_supported'] = ['plain']), /PKCE/],
    [
      'metadata of another resource',
      (oauth) => void (oauth.resourceMetadata = { resource: 'https://x.example.com/', authorization_servers: [] }),
      /another resource/,
    ],
    [
      'a private token endpoint over http',
      (oauth) => void (oauth.metadata['token_endpoint'] = 'http://10.0.0.1/token'),
      /does not use https/,
    ],
    [
      'a script as authorization endpoint',
      (oauth) => void (oauth.metadata['authorization_endpoint'] = 'javascript:alert(1)'),
      /does not use https/,
    ],
    [
      'a private authorization endpoint',
      (oauth) => void (oauth.metadata['authorization_endpoint'] = 'https://192.168.0.1/authorize'),
      /cannot be used/,
    ],
    [
      'its metadata at a private address',
      (oauth) => void (oauth.challenge = 'Bearer resource_metadata="https://169.254.169.254/latest"'),
      /may not be called/,
    ],
    [
      'its authorization server at a private address',
      (oauth) => void (oauth.resourceMetadata = { resource: mcpUrl, authorization_servers: ['https://localhost'] }),
      /may not be called/,
    ],
    ['no registration', (oauth) => void (oauth.metadata['registration_endpoint'] = undefined), /registers no clients/],
  ]
  it.each(refusals)('with %s is refused in words', async (_, spoil, reason) => {
    const { oauth, key } = await open()
    spoil(oauth)
    const { status, body } = await start(key)
    expect([status, body.error.code]).toEqual([400, 'invalid_request'])
    expect(body.error.message).toMatch(reason)
    expect(oauth.tokenRequests).toEqual([])
  })

  it('with a private token endpoint gets no code', async () => {
    const { oauth, key } = await open()
    oauth.metadata['token_endpoint'] = 'https://10.0.0.1/token'
    expect(await signIn(key, oauth)).toBe(400)
    expect((await call<Row>('GET', `${path}/wiki`, { key })).body['reason']).toMatch(/may not be called/)
  })

  it('whose token endpoint redirects is not followed', async () => {
    const { oauth, key } = await open()
    oauth.tokenAnswer = () => new Response('', { status: 307, headers: { location: 'https://evil.example.com/' } })
    expect(await signIn(key, oauth)).toBe(400)
  })

  it('cannot have its code redeemed at another server (mix-up)', async () => {
    const { oauth, key } = await open()
    for (const iss of ['https://evil.example.com', `${oauth.issuer}/`, undefined]) {
      const { body, cookie } = await start(key)
      const query = { code: oauth.agree(body.authorize_url), state: stateOf(body.authorize_url) }
      const response = await back({ ...query, ...(iss !== undefined && { iss }) }, cookie)
      expect(response.status).toBe(400)
      expect(await response.text()).not.toContain('evil')
    }
    expect(oauth.tokenRequests).toEqual([])
  })

  it('cannot finish a sign-in of another browser, tenant or time', async () => {
    const { oauth, key } = await open()
    const other = await newTenant()
    const tries: ((cookie: string) => string)[] = [
      () => '',
      () => 'forged',
      (cookie) => cookie.replace(/^[^.]+/, other.id),
      (cookie) => `${cookie.slice(0, cookie.lastIndexOf('.'))}.other`,
    ]
    for (const change of tries) {
      const { body, cookie } = await start(key)
      const query = { code: oauth.agree(body.authorize_url), state: stateOf(body.authorize_url), iss: oauth.issuer }
      expect((await back(query, change(cookie))).status).toBe(400)
    }
    const { body, cookie } = await start(key)
    const query = { code: oauth.agree(body.authorize_url), state: stateOf(body.authorize_url), iss: oauth.issuer }
    expect((await back(query, cookie)).status).toBe(303)
    expect((await back(query, cookie)).status).toBe(400)
  })

  it('shows nothing of the query when a person has refused', async () => {
    const { oauth, key } = await open()
    const { body, cookie } = await start(key)
    const query = { error: '<script>x</script>', error_description: 'evil words', state: stateOf(body.authorize_url) }
    const response = await back({ ...query, iss: oauth.issuer }, cookie)
    expect(response.status).toBe(400)
    expect(await response.text()).not.toMatch(/script|evil/)
  })
})

it('publishes its metadata as a client', async () => {
  const { body } = await call<Record<string, unknown>>('GET', '/oauth/client.json')
  expect(body).toMatchObject({ client_name: 'Talaria', token_endpoint_auth_method: 'none' })
  expect(String(body['client_id'])).toMatch(/\/oauth\/client\.json$/)
})
