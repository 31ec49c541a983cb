/** Tests validation, idempotency, settings, methods and origins. */

import { beforeAll, describe, expect, it } from 'vitest'
import { Gate, model, listTexts, says, until } from '../support/scripted-model.ts'
import { kill, fireAlarm } from '../durable/support/object.ts'
import { call, applyMigrations, newSession, newTenant, type ErrorBody, request } from './client.ts'
import { listLines, readEvents, listMessages, type Run } from './listen.ts'

beforeAll(applyMigrations)

const completion = (messages: unknown, more: object = {}) => ({ body: { messages, ...more } })
const hello = [{ role: 'user', content: 'hello' }]

describe('a request that is wrong', () => {
  const cases: readonly (readonly [what: string, method: string, path: string, body: unknown, param: string])[] = [
    ['no JSON', 'POST', '/api/sessions', '{"title":', 'body'],
    ['a list', 'POST', '/api/sessions', [], 'body'],
    ['an unknown field', 'POST', '/api/sessions', { titel: 'x' }, 'titel'],
    ['a wrong type', 'POST', '/api/sessions', { title: 5 }, 'title'],
    [
      'an unknown setting',
      'POST',
      '/api/sessions',
      { settings: { agent: { max_turn: 5 } } },
      'settings.agent.max_turn',
    ],
    ['a wrong model', 'POST', '/api/sessions', { model: 'no-slash' }, 'model'],
    ['no input', 'POST', '/api/sessions/SESSION/chat', {}, 'input'],
    ['an empty input', 'POST', '/api/sessions/SESSION/chat', { input: ' ' }, 'input'],
    ['a wrong mode', 'POST', '/api/sessions/SESSION/chat', { input: 'x', mode: 'shout' }, 'mode'],
    ['a wrong temperature', 'POST', '/api/sessions/SESSION/chat', { input: 'x', temperature: 3 }, 'temperature'],
    [
      'a wrong attachment',
      'POST',
      '/api/sessions/SESSION/chat',
      { input: 'x', attachments: [{ type: 'image', url: 'ftp://x' }] },
      'attachments.0.url',
    ],
    ['a wrong number', 'POST', '/api/sessions/SESSION/undo', { n: 0 }, 'n'],
    ['no messages', 'POST', '/v1/chat/completions', {}, 'messages'],
    ['an empty list of messages', 'POST', '/v1/chat/completions', { messages: [] }, 'messages'],
    ['an empty message', 'POST', '/v1/chat/completions', { messages: [{ role: 'user', content: '' }] }, 'messages'],
    [
      'no last word of the user',
      'POST',
      '/v1/chat/completions',
      { messages: [...hello, { role: 'assistant', content: 'x' }] },
      'messages',
    ],
    ['a wrong role', 'POST', '/v1/chat/completions', { messages: [{ role: 'king', content: 'x' }] }, 'messages.0.role'],
    [
      'a part of an unknown kind',
      'POST',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'input_video', input_video: {} }] }] },
      'messages.0.content.0.type',
    ],
    [
      'a part of an unknown kind in an item',
      'POST',
      '/v1/responses',
      { input: [{ role: 'user', content: [{ type: 'input_video', file_id: 'x' }] }] },
      'input.0.content.0.type',
    ],
    [
      'a part without its text',
      'POST',
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages.0.content.0.text',
    ],
    ['tools of the client', 'POST', '/v1/chat/completions', { messages: hello, tools: [{}] }, 'tools.0.type'],
    ['functions of the client', 'POST', '/v1/chat/completions', { messages: hello, functions: [{}] }, 'functions'],
    ['more than one choice', 'POST', '/v1/chat/completions', { messages: hello, n: 2 }, 'n'],
    ['a wrong limit', 'GET', '/api/sessions?limit=0', undefined, 'limit'],
    ['a wrong cursor', 'GET', '/api/sessions/SESSION/messages?cursor=abc', undefined, 'cursor'],
    ['a cursor that is none', 'GET', '/api/sessions?cursor=%7Bnonsense', undefined, 'cursor'],
    ['an unknown query', 'GET', '/api/sessions?sort=up', undefined, 'sort'],
    ['nothing to search for', 'GET', '/api/search', undefined, 'q'],
    ['no answer', 'POST', '/api/questions/SESSION.c1', { answer: '' }, 'answer'],
    ['an unknown setting of the tenant', 'PATCH', '/api/settings', { colour: 'red' }, 'colour'],
    ['a wrong time zone', 'PATCH', '/api/settings', { timezone: 'Mars/Olympus' }, 'timezone'],
    ['a tenant id with capitals', 'POST', '/api/admin/tenants', { id: 'Bad Id', name: 'x' }, 'id'],
    ['an unknown scope', 'POST', '/api/admin/keys', { tenant_id: 'default', scopes: ['king'] }, 'scopes.0'],
    ['a path out of the workspace', 'GET', '/api/sessions/SESSION/files/a%2f..%2f..%2fetc', undefined, 'path'],
  ]

  it.each([
    ['/api/sessions/SESSION/chat', { message: 'hi' }, 'input is missing.'],
    ['/v1/chat/completions', {}, 'messages is missing.'],
    ['/v1/chat/completions', { messages: [{ content: 'x' }] }, 'messages.0.role is missing.'],
    ['/v1/chat/completions', { messages: 'x' }, 'messages: Invalid input: expected array, received string'],
  ])('is told what is missing: %s %j', async (path, body, message) => {
    const { id } = await newSession()
    const answer = await call<ErrorBody>('POST', path.replace('SESSION', id), { body })
    expect([answer.status, answer.body.error.message]).toEqual([400, message])
  })

  it.each(cases)('%s is refused by name', async (...[, method, path, body, param]) => {
    const { id } = await newSession()
    const answer = await call<ErrorBody>(method, path.replace('SESSION', id), body === undefined ? {} : { body })
    expect(answer.body.error).toMatchObject({ type: 'invalid_request_error', param })
    expect(answer.status).toBe(400)
  })

  it('an unknown model is a 404 with its name', async () => {
    const { status, body } = await call<ErrorBody>(
      'POST',
      '/v1/chat/completions',
      completion(hello, { model: 'llama-99' }),
    )
    expect([status, body.error]).toMatchObject([404, { code: 'model_not_found', param: 'model' }])
  })

  it('a body over 10 MB is refused, with and without a declared length', async () => {
    const large = new Uint8Array(11 * 2 ** 20).fill(32)
    const { id } = await newSession()
    const announced = await call<ErrorBody>('POST', '/api/sessions', { body: large })
    expect([announced.status, announced.body.error.code]).toEqual([413, 'body_too_large'])
    const file = await call<ErrorBody>('PUT', `/api/sessions/${id}/files/large`, { body: large })
    expect([file.status, file.body.error.param]).toEqual([413, 'body'])
    const stream = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 11; i++) controller.enqueue(large.subarray(0, 2 ** 20))
        controller.close()
      },
    })
    expect((await call('PUT', `/api/sessions/${id}/files/large`, { body: stream })).status).toBe(413)
  })

  it('keys that could reach a prototype are refused or kept as plain data', async () => {
    const { key } = await newTenant()
    const { status } = await call('PATCH', '/api/settings', {
      key,
      body: '{"__proto__":{"polluted":1},"constructor":{"x":1}}',
    })
    expect(status).toBe(400)
    expect(({} as { polluted?: number }).polluted).toBe(undefined)
    const { id } = await newSession({ title: '__proto__' }, key)
    expect((await call('GET', `/api/sessions/${id}`, { key })).body['title']).toBe('__proto__')
  })
})

describe('methods and paths', () => {
  it('an unknown method is a 405 with the allowed methods', async () => {
    const { id } = await newSession()
    const answer = await call<ErrorBody>('PUT', `/api/sessions/${id}`)
    expect([answer.status, answer.headers.get('allow'), answer.body.error.code]).toEqual([
      405,
      'GET, PATCH, DELETE',
      'method_not_allowed',
    ])
  })

  it('an unknown path is a 404, and a 401 without a key', async () => {
    expect((await call('GET', '/api/nothing')).status).toBe(404)
    expect((await call('GET', '/api/nothing', { key: null })).status).toBe(401)
    expect((await call('GET', '/nothing', { key: null })).status).toBe(404)
  })

  it('a session id with a slash, a dot or too many letters is unknown', async () => {
    for (const id of ['a%2Fb', '..%2Fx', 'a.b', 'x'.repeat(129), '%00', 'ses_%F0%9F%98%80'])
      expect([id, (await call('GET', `/api/sessions/${id}`)).status]).toEqual([id, 404])
  })

  it('only configured origins may read', async () => {
    const from = (origin: string, method = 'GET') =>
      request(method, '/api/sessions', {
        ...(method === 'OPTIONS' && { key: null }),
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
      })
    const known = await from('https://app.test')
    expect(known.headers.get('access-control-allow-origin')).toBe('https://app.test')
    expect(known.headers.get('access-control-expose-headers')).toContain('x-talaria-session-id')
    expect((await from('https://evil.test')).headers.get('access-control-allow-origin')).toBe(null)
    const preflight = await from('https://app.test', 'OPTIONS')
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
      204,
      'GET,POST,PUT,PATCH,DELETE',
    ])
    const refused = await from('https://evil.test', 'OPTIONS')
    expect(refused.headers.get('access-control-allow-origin')).toBe(null)
    await Promise.all([known, refused].map((response) => response.text()))
  })

  it('a browser may send the headers of its SDK', async () => {
    const requestedHeaders = 'authorization,content-type,x-stainless-lang,x-stainless-retry-count,http-referer,x-title'
    const { status, headers } = await request('OPTIONS', '/v1/chat/completions', {
      key: null,
      headers: {
        origin: 'https://app.test',
        'access-control-request-method': 'POST',
        'access-control-request-headers': requestedHeaders,
      },
    })
    expect([status, headers.get('access-control-allow-headers')?.split(',')]).toEqual([
      204,
      requestedHeaders.split(','),
    ])
  })

  it.each([
    ['GET', '/v1/nothing', null, 401],
    ['GET', '/v1/nothing', undefined, 404],
    ['GET', '/api/sessions', null, 401],
    ['PUT', '/v1/chat/completions', undefined, 405],
    ['POST', '/v1/chat/completions', undefined, 400],
  ])('a browser may read why it was refused: %s %s', async (method, path, key, status) => {
    const headers = { origin: 'https://app.test' }
    const answer = await call<ErrorBody>(method, path, { headers, ...(key === null && { key }) })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([status, 'https://app.test'])
  })
})

describe('an Idempotency-Key', () => {
  const once = (path: string, body: object, key: string) =>
    call<ErrorBody & Run>('POST', path, { body, headers: { 'idempotency-key': key } })

  it('returns the stored answer for the same body and refuses another body', async () => {
    const scripted = model([says('one'), says('two')])
    const { id } = await newSession({ model: scripted.id })
    const path = `/api/sessions/${id}/chat`
    const first = await once(path, { input: 'hi' }, 'k1')
    const again = await once(path, { input: 'hi' }, 'k1')
    expect(again.body).toEqual(first.body)
    expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true'])
    const other = await once(path, { input: 'ho' }, 'k1')
    expect([other.status, other.body.error]).toMatchObject([
      409,
      { code: 'idempotency_key_conflict', param: 'Idempotency-Key' },
    ])
    expect(scripted.requests.length).toBe(1)
  })

  it('makes one session of many requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => once('/api/sessions', { title: 'One' }, 'k2')))
    expect(new Set(answers.map(({ body }) => (body as unknown as { id: string }).id)).size).toBe(1)
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201))
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
  })

  it('makes repeats wait while the first request runs', async () => {
    const gate = new Gate()
    const scripted = model([says('a', gate, 'b')])
    const { id } = await newSession({ model: scripted.id })
    const asks = Array.from({ length: 5 }, () => once(`/api/sessions/${id}/chat`, { input: 'hi' }, 'k3'))
    await gate.waitUntilReached()
    gate.open()
    const answers = await Promise.all(asks)
    expect(answers.map(({ body }) => body.output)).toEqual(['ab', 'ab', 'ab', 'ab', 'ab'])
    expect(new Set(answers.map(({ body }) => body.run_id)).size).toBe(1)
    expect(scripted.requests.length).toBe(1)
    expect(await listLines(id)).toEqual(['user: hi', 'assistant: ab'])
  })

  it('works for chat completions, also for a session that the request makes', async () => {
    const scripted = model([says('one'), says('two')])
    const body = { model: scripted.id, messages: hello }
    const answers = await Promise.all([1, 2, 3].map(() => once('/v1/chat/completions', body, 'k4')))
    expect(
      new Set(answers.map(({ body: answer }) => JSON.stringify((answer as { choices?: object }).choices))).size,
    ).toBe(1)
    expect(new Set(answers.map(({ headers }) => headers.get('x-talaria-session-id'))).size).toBe(1)
    expect(scripted.requests.length).toBe(1)
    const streamed = await request('POST', '/v1/chat/completions', {
      body: { ...body, stream: true },
      headers: { 'idempotency-key': 'k4' },
    })
    expect(streamed.status).toBe(409)
    await streamed.text()
  })

  it('repeats a stream from its beginning, during and after the run', async () => {
    const gate = new Gate()
    const scripted = model([says('before'), says('one ', gate, 'two')])
    const { id } = await newSession({ model: scripted.id })
    await once(`/api/sessions/${id}/chat`, { input: 'earlier' }, 'k5a')
    const ask = async () =>
      readEvents(
        await request('POST', `/api/sessions/${id}/chat/stream`, {
          body: { input: 'hi' },
          headers: { 'idempotency-key': 'k5' },
        }),
      )
    const first = await ask()
    await gate.waitUntilReached()
    await first.waitFor('message.delta')
    const second = await ask()
    gate.open()
    await Promise.all([first.waitForClose(), second.waitForClose()])
    const third = await ask()
    await third.waitForClose()
    expect(second.events).toEqual(first.events)
    expect(third.events).toEqual(first.events)
    expect(scripted.requests.length).toBe(2)
  })

  it('steers a running turn once', async () => {
    const gate = new Gate()
    const scripted = model([says('a', gate), says('b')])
    const { id } = await newSession({ model: scripted.id })
    const running = once(`/api/sessions/${id}/chat`, { input: 'go' }, 'k6a')
    await gate.waitUntilReached()
    const steers = [1, 2].map(() => once(`/api/sessions/${id}/steer`, { input: 'and this' }, 'k6'))
    const [one, two] = await Promise.all(steers)
    expect([one?.status, one?.body]).toEqual([two?.status, two?.body])
    gate.open()
    await running
    expect((await once(`/api/sessions/${id}/steer`, { input: 'and this' }, 'k6')).body.run_id).toBe(one?.body.run_id)
    expect(await listLines(id)).toEqual(['user: go', 'assistant: a', 'user: and this', 'assistant: b'])
  })

  it('survives a crash: the repeat finds the same run', async () => {
    const gate = new Gate()
    const scripted = model([says('a', gate), says('b')])
    const { id } = await newSession({ model: scripted.id })
    const lost = once(`/api/sessions/${id}/chat`, { input: 'go' }, 'k7')
    await gate.waitUntilReached()
    await kill(id)
    const again = once(`/api/sessions/${id}/chat`, { input: 'go' }, 'k7')
    await fireAlarm(id)
    const answer = await again
    expect([answer.body.output, answer.headers.get('idempotency-replayed')]).toEqual(['b', 'true'])
    // The worker has repeated the request itself.
    expect((await lost).body.output).toBe('b')
    expect(await listLines(id)).toEqual(['user: go', 'assistant: b'])
  })

  it('is free again when the request was refused', async () => {
    const refused = await once('/api/sessions/ses_none/chat', { input: 'hi' }, 'k8')
    const other = await once('/api/sessions/ses_none/chat', { input: 'ho' }, 'k8')
    expect([refused.status, other.status]).toEqual([404, 404])
  })

  it('that is empty or too long is refused by name', async () => {
    for (const key of [' ', 'x'.repeat(256)]) {
      const { status, body } = await once('/api/sessions', {}, key)
      expect([status, body.error?.param]).toEqual([400, 'Idempotency-Key'])
    }
  })
})

describe('settings', () => {
  const patch = (key: string, body: object) => call<Record<string, unknown>>('PATCH', '/api/settings', { key, body })

  it('are merged by field, and null removes one', async () => {
    const { key } = await newTenant()
    await patch(key, { agent: { max_turns: 5 }, timezone: 'Europe/Berlin' })
    const more = await patch(key, { busy_input_mode: 'queue', fallback_providers: ['openai/a'] })
    const whole = {
      agent: { max_turns: 5 },
      timezone: 'Europe/Berlin',
      busy_input_mode: 'queue',
      fallback_providers: ['openai/a'],
    }
    expect(more.body).toEqual(whole)
    expect(
      (await patch(key, { timezone: null, agent: { max_turns: null }, fallback_providers: ['openai/b'] })).body,
    ).toEqual({
      agent: {},
      busy_input_mode: 'queue',
      fallback_providers: ['openai/b'],
    })
    expect((await call('GET', '/api/settings', { key })).body).toEqual({
      agent: {},
      busy_input_mode: 'queue',
      fallback_providers: ['openai/b'],
    })
  })

  it('that are not set can be removed', async () => {
    const { key } = await newTenant()
    const answer = await patch(key, { agent: { max_turns: null }, timezone: null })
    expect([answer.status, answer.body]).toEqual([200, { agent: {} }])
    const { id } = await newSession({}, key)
    const session = await call('PATCH', `/api/sessions/${id}`, {
      key,
      body: { settings: { agent: { max_turns: null } } },
    })
    expect(session.body['settings']).toEqual({ agent: {} })
  })

  it('of a session override the tenant, and a request overrides both', async () => {
    const { key } = await newTenant()
    const [tenants, sessions, requests] = [model([]), model([]), model([])]
    await patch(key, { model: { default: tenants.id } })
    const { id } = await newSession({}, key)
    const chat = (body: object) => call<Run>('POST', `/api/sessions/${id}/chat`, { key, body })
    await chat({ input: 'one' })
    await call('PATCH', `/api/sessions/${id}`, { key, body: { settings: { model: { default: sessions.id } } } })
    await chat({ input: 'two' })
    await chat({ input: 'three', model: requests.id })
    await call('PATCH', `/api/sessions/${id}`, { key, body: { settings: { model: null } } })
    await chat({ input: 'four' })
    const lastSaid = [tenants, sessions, requests].map((one) =>
      one.requests.map((request) => listTexts(request).at(-1)),
    )
    expect(lastSaid).toEqual([['user: one', 'user: four'], ['user: two'], ['user: three']])
  })

  it('apply to the next turn of every session, instructions to new sessions', async () => {
    const { key } = await newTenant()
    const scripted = model([])
    const before = await newSession({ model: scripted.id }, key)
    await patch(key, {
      instructions: 'Speak like a pirate.',
      busy_input_mode: 'steer',
      toolsets: { disabled: ['terminal'] },
    })
    await call('POST', `/api/sessions/${before.id}/chat`, { key, body: { input: 'hi' } })
    const [received] = scripted.requests
    expect(String(received?.messages[0]?.content)).toContain('Speak like a pirate.')
    expect(received?.tools?.map((tool) => tool.function.name)).not.toContain('terminal')
    await patch(key, { instructions: 'Speak like a judge.' })
    await call('POST', `/api/sessions/${before.id}/chat`, { key, body: { input: 'hi' } })
    expect(scripted.requests[1]?.messages[0]).toEqual(received?.messages[0])
  })

  it('limit the steps of a turn', async () => {
    const { key } = await newTenant()
    await patch(key, { agent: { max_turns: 1 } })
    const scripted = model((_asked, nth) =>
      nth < 1
        ? [
            `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'todo', arguments: '{}' } }] } }] })}\n\n`,
            `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })}\n\n`,
            'data: [DONE]\n\n',
          ]
        : says('That is all I have.'),
    )
    const { id } = await newSession({ model: scripted.id }, key)
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    expect(body).toMatchObject({ output: 'That is all I have.', exit_reason: 'out_of_budget', completed: false })
    expect(scripted.requests[1]?.tools).toBe(undefined)
  })
})

describe('chat completions', () => {
  it('use the whole history, system text included', async () => {
    const scripted = model([says('Blue.')])
    const { status, body, headers } = await call<{ id: string; choices: object[]; usage: object }>(
      'POST',
      '/v1/chat/completions',
      completion(
        [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'My colour is blue.' },
          { role: 'assistant', content: 'Noted.' },
          { role: 'user', content: [{ type: 'text', text: 'Which one is it?' }] },
        ],
        { model: scripted.id },
      ),
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: scripted.id,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Blue.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
    })
    expect(listTexts(scripted.requests[0]!)).toEqual([
      'user: My colour is blue.',
      'assistant: Noted.',
      'user: Which one is it?',
    ])
    expect(String(scripted.requests[0]?.messages[0]?.content)).toMatch(/Be brief\.$/)
    expect(headers.get('x-hermes-session-id')).toBe(headers.get('x-talaria-session-id'))
    expect(await listMessages(headers.get('x-talaria-session-id')!)).toHaveLength(4)
  })

  it('with a session header use only the last message', async () => {
    const scripted = model([says('one'), says('two')])
    const { id } = await newSession({ model: scripted.id })
    for (const name of ['x-talaria-session-id', 'x-hermes-session-id']) {
      const answer = await call('POST', '/v1/chat/completions', {
        ...completion([
          { role: 'user', content: 'forgotten' },
          { role: 'assistant', content: 'x' },
          { role: 'user', content: name },
        ]),
        headers: { [name]: id },
      })
      expect([answer.status, answer.headers.get('x-talaria-session-id')]).toEqual([200, id])
    }
    expect(await listLines(id)).toEqual([
      'user: x-talaria-session-id',
      'assistant: one',
      'user: x-hermes-session-id',
      'assistant: two',
    ])
  })

  it('of a session that does not exist are not found', async () => {
    const answer = await call('POST', '/v1/chat/completions', {
      ...completion(hello),
      headers: { 'x-talaria-session-id': `ses_${'0'.repeat(32)}` },
    })
    expect(answer.status).toBe(404)
  })
})

describe('lists', () => {
  it('of messages page to older ones, newest last', async () => {
    const { id } = await newSession({ model: model([]).id })
    for (const input of ['one', 'two', 'three']) await call('POST', `/api/sessions/${id}/chat`, { body: { input } })
    const page = async (query: string) => {
      const { body } = await call<{ data: { content: string }[]; next_cursor: string | null }>(
        'GET',
        `/api/sessions/${id}/messages?${query}`,
      )
      return { said: body.data.map(({ content }) => content), next: body.next_cursor }
    }
    const newest = await page('limit=3')
    expect(newest.said).toEqual(['ok', 'three', 'ok'])
    const older = await page(`limit=3&cursor=${newest.next}`)
    expect(older).toEqual({ said: ['one', 'ok', 'two'], next: null })
  })

  it('of sessions page through all of them once, newest first', async () => {
    const { key } = await newTenant()
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await newSession({ title: `Number ${i}` }, key)).id)
    const list = async (query: string) =>
      (await call<{ data: { id: string }[]; next_cursor: string | null }>('GET', `/api/sessions?${query}`, { key }))
        .body
    await until(async () => (await list('limit=10')).data.length === 5)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const { data, next_cursor: next } = await list(`limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      seen.push(...data.map(({ id }) => id))
      cursor = next
    }
    expect(seen).toEqual(made.toReversed())
  })
})
