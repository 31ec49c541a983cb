/** Tests the MCP server: both revisions of the protocol, the rights of keys, and what the official client gets. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { AppError } from '../../src/worker/errors.ts'
import { answerRequest } from '../../src/worker/routes/mcp-server/protocol.ts'
import { calls, Gate, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request, type RequestOptions } from './client.ts'

beforeAll(applyMigrations)

type Rpc = {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> }
}
type Content = { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean }

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const modernHeaders = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
})

async function send(key: string | null, message: object, more: RequestOptions = {}) {
  const response = await request('POST', '/mcp', { key, body: { jsonrpc: '2.0', id: 1, ...message }, ...more })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : {}) as Rpc }
}

const legacy = (key: string, method: string, params: object = {}) => send(key, { method, params })
const modern = (key: string, method: string, params: Record<string, unknown> = {}) =>
  send(
    key,
    { method, params: { ...params, _meta: meta } },
    { headers: modernHeaders(method, (params['name'] ?? params['uri']) as string | undefined) },
  )
const callTool = async (key: string, name: string, input: object = {}) => {
  const { body } = await modern(key, 'tools/call', { name, arguments: input })
  return body
}
const valueOf = ({ result }: Rpc) => result?.['structuredContent'] as Record<string, unknown>
const toolNames = async (key: string) => {
  const { body } = await legacy(key, 'tools/list')
  return ((body.result ?? {})['tools'] as { name: string }[]).map(({ name }) => name)
}

const useModel = async (key: string, id: string, more: object = {}) =>
  call('PATCH', '/api/settings', { key, body: { model: { default: id }, ...more } })

describe('the protocol', () => {
  let key: string
  beforeAll(async () => void ({ key } = await newTenant()))

  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2024-11-05', '2024-11-05'],
    ['1999-01-01', '2025-11-25'],
  ])('answers initialize of %s with %s and keeps no session', async (asked, agreed) => {
    const { body, headers } = await legacy(key, 'initialize', {
      protocolVersion: asked,
      capabilities: {},
      clientInfo: {},
    })
    expect(body.result).toMatchObject({
      protocolVersion: agreed,
      serverInfo: { name: 'talaria' },
      capabilities: { tools: {} },
    })
    expect(headers.get('mcp-session-id')).toBeNull()
  })

  it('answers server/discover, and marks lists as private', async () => {
    const { body } = await modern(key, 'server/discover')
    expect(body.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining(['2026-07-28']),
    })
    expect((await modern(key, 'tools/list')).body.result).toMatchObject({ ttlMs: 300_000, cacheScope: 'private' })
  })

  it('takes notifications and answers ping of the old revisions', async () => {
    const notified = await request('POST', '/mcp', {
      key,
      body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    })
    expect(notified.status).toBe(202)
    expect((await legacy(key, 'ping')).body.result).toEqual({})
  })

  it.each<[string, object, Record<string, string>, readonly [number, number]]>([
    [
      'another version',
      { method: 'tools/list', params: { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } } },
      { ...modernHeaders('tools/list'), 'mcp-protocol-version': '2027-01-01' },
      [400, -32_022],
    ],
    [
      'a header with another version',
      { method: 'tools/list', params: { _meta: meta } },
      { ...modernHeaders('tools/list'), 'mcp-protocol-version': '2025-11-25' },
      [400, -32_020],
    ],
    [
      'a header with another method',
      { method: 'tools/list', params: { _meta: meta } },
      modernHeaders('tools/call'),
      [400, -32_020],
    ],
    [
      'a header with another tool',
      { method: 'tools/call', params: { name: 'chat', _meta: meta } },
      modernHeaders('tools/call', 'search'),
      [400, -32_020],
    ],
    [
      'no capabilities',
      { method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
      modernHeaders('tools/list'),
      [400, -32_602],
    ],
    ['an unknown method', { method: 'no/such', params: { _meta: meta } }, modernHeaders('no/such'), [404, -32_601]],
    ['an unknown method of the old revisions', { method: 'no/such' }, {}, [200, -32_601]],
    ['parameters that are no object', { method: 'tools/list', params: [1] }, {}, [400, -32_602]],
  ])('refuses %s', async (_, message, headers, expected) => {
    const { status: got, body } = await send(key, message, { headers })
    expect([got, body.error?.code]).toEqual(expected)
  })

  it('accepts a name that its header carries as base64', async () => {
    const headers = modernHeaders('tools/call', `=?base64?${btoa('memory_get')}?=`)
    const { body } = await send(key, { method: 'tools/call', params: { name: 'memory_get', _meta: meta } }, { headers })
    expect(body.error).toBeUndefined()
  })

  it.each([
    ['a refusal', new AppError(404, 'not_found', 'Nothing here.'), [200, -32_602, 'Nothing here.', null]],
    ['a limit', new AppError(429, 'limit_exceeded', 'Later.', { retryAfter: 7 }), [200, -32_602, 'Later.', '7']],
    ['a failure', new Error('a secret'), [500, -32_603, 'Something went wrong inside. It has been logged.', null]],
    ['a restart', new AppError(503, 'unavailable', 'Busy.'), [503, -32_603, 'Busy.', '5']],
  ])('answers %s with the id of the request', async (_, error, expected) => {
    vi.spyOn(console, 'error').mockReturnValue(undefined)
    const fail = () => Promise.reject(error)
    const asked = { id: 'r7', method: 'tools/list', params: {}, isModern: false }
    const response = await answerRequest(asked, { 'tools/list': fail })
    const { id, error: told } = (await response.json()) as Rpc & { readonly id: string }
    const wait = response.headers.get('retry-after')
    expect([id, response.status, told?.code, told?.message, wait]).toEqual(['r7', ...expected])
    vi.restoreAllMocks()
  })

  it.each([
    ['tools/call', { name: ['memory_get'] }],
    ['tools/call', {}],
    ['resources/read', { uri: ['talaria://session/x'] }],
    ['prompts/get', { name: { toString: 'x' } }],
  ])('refuses %s with parameters of other types', async (method, params) => {
    const { body, status } = await legacy(key, method, params)
    expect([status, body.error?.code, body.error?.message]).toEqual([200, -32_602, expect.stringContaining('a text')])
  })

  it.each([
    ['no JSON', '{', -32_700],
    ['a batch', '[]', -32_600],
    ['another protocol', '{"jsonrpc":"1.0"}', -32_600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32_600],
  ])('refuses %s', async (_, body, code) => {
    const response = await request('POST', '/mcp', { key, body })
    expect([response.status, ((await response.json()) as Rpc).error?.code]).toEqual([400, code])
  })

  it('has no stream and no session to end', async () => {
    for (const method of ['GET', 'DELETE']) expect((await request(method, '/mcp', { key })).status).toBe(405)
  })
})

describe('a key', () => {
  it('is demanded with the address of the metadata, and a cookie is none', async () => {
    for (const headers of [{}, { cookie: '__Host-talaria=x' }]) {
      const { status, headers: got } = await send(null, { method: 'ping' }, { headers })
      expect([status, got.get('www-authenticate')]).toEqual([
        401,
        'Bearer resource_metadata="https://talaria.test/.well-known/oauth-protected-resource/mcp"',
      ])
    }
    const { body } = await call('GET', '/.well-known/oauth-protected-resource/mcp', { key: null })
    expect(body).toMatchObject({ resource: 'https://talaria.test/mcp' })
  })

  it('is refused with a page of another origin', async () => {
    const { key } = await newTenant()
    expect((await send(key, { method: 'ping' }, { headers: { origin: 'https://evil.example' } })).status).toBe(403)
    expect((await send(key, { method: 'ping' }, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403)
    expect((await send(key, { method: 'ping' }, { headers: { origin: 'https://talaria.test' } })).status).toBe(200)
  })

  it.each([
    [['chat'], ['chat', 'run_stop']],
    [
      ['read'],
      [
        'run_status',
        'sessions_list',
        'session_messages',
        'search',
        'memory_get',
        'jobs_list',
        'skills_list',
        'skills_view',
        'approvals_list',
        'files_read',
      ],
    ],
    [['write'], ['memory_add']],
    [['approve'], ['approval_answer']],
  ])('with the scopes %j gets its tools and no others', async (scopes, names) => {
    const { id, key } = await newTenant()
    const own = await newKey(id, scopes)
    const offered = await toolNames(own)
    expect(offered.filter((name) => name !== 'jobs_list')).toEqual(names.filter((name) => name !== 'jobs_list'))
    for (const name of (await toolNames(key)).filter((one) => !offered.includes(one)))
      expect((await callTool(own, name)).error?.code).toBe(-32_602)
  })

  it('of one tenant reaches nothing of another', async () => {
    const [alice, bob] = [await newTenant(), await newTenant()]
    const scripted = model([says('secret of alice')])
    await useModel(alice.key, scripted.id)
    const said = valueOf(await callTool(alice.key, 'chat', { message: 'hi' }))
    const [session_id, run_id] = [String(said['session_id']), String(said['run_id'])]
    for (const [name, input] of [
      ['session_messages', { session_id }],
      ['run_status', { run_id }],
      ['run_stop', { run_id }],
      ['files_read', { session_id, path: 'a.txt' }],
    ] as const) {
      const answer = (await callTool(bob.key, name, input)).result as unknown as Content
      expect([name, answer.isError, answer.content[0]?.text]).toEqual([
        name,
        true,
        'There is nothing here, or it is not yours.',
      ])
    }
    const read = await modern(bob.key, 'resources/read', { uri: `talaria://session/${session_id}` })
    expect(read.body.error?.code).toBe(-32_602)
  })
})

describe('the tools', () => {
  it('chat answers, and goes on with the conversation', async () => {
    const { key } = await newTenant()
    await useModel(key, model([says('one'), says('two')]).id)
    const first = valueOf(await callTool(key, 'chat', { message: 'a' }))
    expect(first).toMatchObject({ status: 'completed', output: 'one' })
    const second = valueOf(await callTool(key, 'chat', { message: 'b', session_id: first['session_id'] }))
    expect(second).toMatchObject({ status: 'completed', output: 'two', session_id: first['session_id'] })
  })

  it('chat gives back a run that takes longer, which run_stop ends', async () => {
    const { key } = await newTenant()
    const gate = new Gate()
    await useModel(key, model([says('late', gate)]).id)
    const { run_id, status } = valueOf(await callTool(key, 'chat', { message: 'a', wait: 0 }))
    expect(status).toBe('running')
    await gate.waitUntilReached()
    expect(valueOf(await callTool(key, 'run_status', { run_id }))).toMatchObject({ run_id, status: 'running' })
    await callTool(key, 'run_stop', { run_id })
    gate.open()
    await vi.waitFor(async () =>
      expect(valueOf(await callTool(key, 'run_status', { run_id }))['status']).toBe('cancelled'),
    )
  })

  it('read and change what the API does', async () => {
    const { key } = await newTenant()
    await useModel(key, model([says('the needle')]).id)
    const { session_id } = valueOf(await callTool(key, 'chat', { message: 'find me' }))
    await request('PUT', `/api/sessions/${String(session_id)}/files/a b.txt`, { key, body: 'text of a' })
    expect(valueOf(await callTool(key, 'sessions_list'))['data']).toMatchObject([{ id: session_id }])
    expect(JSON.stringify(valueOf(await callTool(key, 'session_messages', { session_id })))).toContain('the needle')
    expect(valueOf(await callTool(key, 'files_read', { session_id, path: 'a b.txt' }))).toEqual({
      bytes: 9,
      text: 'text of a',
    })
    await callTool(key, 'memory_add', { target: 'memory', content: 'likes tea' })
    expect(JSON.stringify(valueOf(await callTool(key, 'memory_get')))).toContain('likes tea')
    const job = valueOf(await callTool(key, 'jobs_create', { name: 'daily', schedule: 'every 24h', prompt: 'Tell.' }))
    expect(JSON.stringify(valueOf(await callTool(key, 'jobs_list')))).toContain(String(job['id']))
    expect(valueOf(await callTool(key, 'skills_list'))['data']).toBeInstanceOf(Array)
  })

  it.each([
    ['session_messages', { session_id: 'nobody' }, /There is nothing here/],
    ['session_messages', {}, /expected string/],
    ['chat', { message: 'a', wait: 1e9 }, /<=50/],
    ['chat', { message: 'a', session_id: 'no such!' }, /letters, digits/],
    ['files_read', { session_id: 'x', path: '../../etc/passwd' }, /There is nothing here/],
    ['session_messages', { session_id: '..' }, /There is nothing here/],
    ['session_messages', { session_id: '' }, /There is nothing here/],
    ['skills_view', { name: '../memory' }, /There is nothing here/],
    ['run_status', { run_id: '.' }, /There is nothing here/],
    ['session_messages', { session_id: '\ud800' }, /There is nothing here/],
    ['files_read', { session_id: 'x', path: '\udc00' }, /There is nothing here/],
    ['approval_answer', { approval_id: '\ud800', decision: 'once' }, /There is nothing here/],
  ])('%s explains what is wrong with %j', async (name, input, why) => {
    const { key } = await newTenant()
    const answer = (await callTool(key, name, input)).result as unknown as Content
    expect(answer.isError).toBe(true)
    expect(answer.content[0]?.text).toMatch(why)
  })

  it('never let the key that began a run answer its approval', async () => {
    const { id, key } = await newTenant()
    const other = await newKey(id, ['read', 'approve'])
    await useModel(key, model([calls({ name: 'terminal', input: { command: 'rm -rf build' } }), says('done')]).id, {
      approvals: { mode: 'manual' },
    })
    await callTool(key, 'chat', { message: 'clean', wait: 0 })
    const waiting = await vi.waitFor(async () => {
      const listed = valueOf(await callTool(key, 'approvals_list'))
      const first = (listed['data'] as { id: string }[])[0]
      if (!first) throw new Error('nothing waits yet')
      return first
    })
    const input = { approval_id: waiting.id, decision: 'once' }
    const own = (await callTool(key, 'approval_answer', input)).result as unknown as Content
    expect([own.isError, own.content[0]?.text]).toEqual([true, expect.stringContaining('This key began the run')])
    expect(valueOf(await callTool(other, 'approval_answer', input))).toMatchObject({ status: 'decided' })
  })
})

describe('a client whose person can be asked', () => {
  type Asked = Readonly<Record<string, unknown>> & { readonly requestState?: string }
  const input = { message: 'clean' }
  const accept = (decision: string) => ({ action: 'accept', content: { decision } })
  const asking = (capabilities: object = { elicitation: {} }) => ({
    ...meta,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  })
  const chat = async (key: string, more: object = {}, _meta: object = asking()) => {
    const params = { name: 'chat', arguments: input, _meta, ...more }
    const { body } = await send(key, { method: 'tools/call', params }, { headers: modernHeaders('tools/call', 'chat') })
    return body as Rpc & { readonly result?: Asked }
  }
  const prepare = async (commands: readonly string[] = ['rm -rf build'], scopes?: readonly string[]) => {
    const { id, key: admin } = await newTenant()
    const steps = commands.map((command) => calls({ name: 'terminal', input: { command } }))
    await useModel(admin, model([...steps, says('done')]).id, { approvals: { mode: 'manual' } })
    return { id, admin, key: scopes ? await newKey(id, scopes) : admin }
  }

  it('is asked about the calls of its own run, one after another, and the run goes on', async () => {
    const { key } = await prepare(['rm -rf build', 'rm -rf dist'])
    const first = await chat(key)
    expect(first.result).toMatchObject({ resultType: 'input_required' })
    expect(JSON.stringify(first.result?.['inputRequests'])).toMatch(/"elicitation\/create".*rm -rf build/)
    const { requestState } = first.result ?? {}
    const second = await chat(key, { requestState, inputResponses: { approval: accept('once') } })
    expect(JSON.stringify(second.result?.['inputRequests'])).toContain('rm -rf dist')
    const state = second.result?.requestState
    const last = await chat(key, { requestState: state, inputResponses: { approval: { action: 'decline' } } })
    expect(valueOf(last)).toMatchObject({ status: 'completed', output: 'done' })
    // A state that was used begins no second run and decides nothing.
    expect(valueOf(await chat(key, { requestState, inputResponses: { approval: accept('once') } }))).toEqual(
      valueOf(last),
    )
    expect(valueOf(await callTool(key, 'sessions_list'))['data']).toHaveLength(1)
  })

  it('puts the question away, and the call waits for somebody else', async () => {
    const { key } = await prepare()
    const { requestState } = (await chat(key)).result ?? {}
    for (const given of [{ action: 'cancel' }, accept('always'), { action: 'accept' }, 'yes', undefined]) {
      const answer = await chat(key, { requestState, inputResponses: { approval: given } })
      expect(valueOf(answer)).toMatchObject({ status: 'waiting' })
    }
    expect(valueOf(await callTool(key, 'approvals_list'))['data']).toHaveLength(1)
  })

  it.each<[string, object | undefined, readonly string[] | undefined]>([
    ['shows no forms', {}, undefined],
    ['shows addresses only', { elicitation: { url: {} } }, undefined],
    ['has a key that may not approve', undefined, ['chat', 'read']],
  ])('is asked nothing when it %s', async (_, capabilities, scopes) => {
    const { key } = await prepare(undefined, scopes)
    expect(valueOf(await chat(key, {}, asking(capabilities)))).toMatchObject({ status: 'waiting' })
  })

  it('cannot use the state of another key, of other arguments, or one of its own making', async () => {
    const { id, key } = await prepare()
    const other = await newKey(id, ['chat', 'read', 'approve'])
    const { key: stranger } = await newTenant()
    const state = String((await chat(key)).result?.requestState)
    const inputResponses = { approval: accept('once') }
    const given = { requestState: state, inputResponses }
    const wrong = [
      chat(other, given),
      chat(stranger, given),
      chat(key, { ...given, arguments: { message: 'something else' } }),
      chat(key, { ...given, requestState: state.slice(0, -4) }),
      chat(key, { ...given, requestState: JSON.stringify({ run_id: 'x' }) }),
      chat(key, { ...given, requestState: 7 }),
      chat(key, given, meta),
    ]
    expect((await Promise.all(wrong)).map(({ error }) => error?.code)).toEqual(wrong.map(() => -32_602))
    expect(valueOf(await callTool(key, 'approvals_list'))['data']).toHaveLength(1)
  })
})

describe('resources and prompts', () => {
  it('are conversations, files and skills', async () => {
    const { key } = await newTenant()
    const { id } = await newSession({ title: 'Report' }, key)
    await request('PUT', `/api/sessions/${id}/files/dir/a.bin`, { key, body: new Uint8Array([0, 255, 1]) })
    expect((await modern(key, 'resources/list')).body.result?.['resources']).toMatchObject([
      { uri: `talaria://session/${id}`, name: 'Report' },
    ])
    const file = await modern(key, 'resources/read', { uri: `talaria://file/${id}/dir/a.bin` })
    expect(file.body.result?.['contents']).toMatchObject([{ blob: 'AP8B' }])
    for (const uri of ['talaria://file/x', 'file:///etc/passwd', `talaria://file/${id}/none`, 'talaria://session/'])
      expect([uri, (await modern(key, 'resources/read', { uri })).body.error?.code]).toEqual([uri, -32_602])
    const content = '---\nname: brew\ndescription: Brews tea.\n---\nBoil water.'
    await call('POST', '/api/skills', { key, body: { name: 'brew', content } })
    const prompts = (await modern(key, 'prompts/list')).body.result?.['prompts'] as { name: string }[]
    expect(prompts.map(({ name }) => name)).toContain('brew')
    const prompt = await modern(key, 'prompts/get', { name: 'brew', arguments: { input: 'green' } })
    expect(JSON.stringify(prompt.body.result)).toMatch(/Boil water.*green/)
    expect((await modern(key, 'prompts/get', { name: 'none' })).body.error?.code).toBe(-32_602)
  })
})

describe('the official client', () => {
  it.each(['auto', 'legacy'] as const)('works unchanged (%s)', async (mode) => {
    const { key } = await newTenant()
    await useModel(key, model([says('hello there')]).id)
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const transport = new StreamableHTTPClientTransport(new URL('https://talaria.test/mcp'), {
      fetch: (url, init) => SELF.fetch(url as string, init as RequestInit),
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    })
    await client.connect(transport)
    expect(client.getServerVersion()?.name).toBe('talaria')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('chat')
    const answer = await client.callTool({ name: 'chat', arguments: { message: 'hi' } })
    expect(answer.structuredContent).toMatchObject({ status: 'completed', output: 'hello there' })
    expect((await client.listResources()).resources).toHaveLength(1)
    expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
    await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow(/There is no tool/)
    await client.close()
  })

  it('asks its person, and repeats the request by itself', async () => {
    const { key } = await newTenant()
    const steps = [calls({ name: 'terminal', input: { command: 'rm -rf build' } }), says('cleaned')]
    await useModel(key, model(steps).id, { approvals: { mode: 'manual' } })
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
    )
    const asked: string[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.message)
      return { action: 'accept', content: { decision: 'once' } }
    })
    await client.connect(
      new StreamableHTTPClientTransport(new URL('https://talaria.test/mcp'), {
        fetch: (url, init) => SELF.fetch(url as string, init as RequestInit),
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      }),
    )
    const answer = await client.callTool({ name: 'chat', arguments: { message: 'clean' } })
    expect(answer.structuredContent).toMatchObject({ status: 'completed', output: 'cleaned' })
    expect(asked).toEqual([expect.stringContaining('rm -rf build')])
    await client.close()
  })
})
