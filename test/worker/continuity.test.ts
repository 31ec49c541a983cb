/** Tests that chat completions without a session header find their session by the words of the conversation. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, listTexts, model, says } from '../support/scripted-model.ts'
import {
  alike,
  approvalsOf,
  assistant,
  clientOf,
  expire,
  fileOf,
  type Message,
  user,
  write,
  writing,
  untilRecorded,
} from './chat-program.ts'
import { applyMigrations, call, newKey, newTenant, request } from './client.ts'
import { listLines, listMessages } from './listen.ts'

beforeAll(applyMigrations)

describe('a conversation without a session header', () => {
  it('goes on in its session, which gets only the new message', async () => {
    const scripted = model([calls({ id: 'w1', ...write('a.txt', 'one') }), says('Written.'), says('It is there.')])
    const client = clientOf(scripted.id)
    const first = await client.say('write')
    const second = await client.say('there?')
    expect(second.session).toBe(first.session)
    expect(listTexts(scripted.requests[2] as never)).toEqual([
      'user: write',
      'assistant: → write_file',
      expect.stringContaining('tool: '),
      'assistant: Written.',
      'user: there?',
    ])
    expect(await fileOf(second.session, 'a.txt')).toBe('one')
    const third = await client.say('still?')
    expect(third.session).toBe(first.session)
  })

  it('tolerates what clients do to an answer', async () => {
    const id = model(() => says('One  \n', 'line. ')).id
    const changed = [
      assistant('One line.'),
      assistant('<think>hm</think>\n\nOne  \nline. '),
      assistant([{ type: 'text', text: 'One  \nline.' }]),
      { ...assistant('One\nline.'), reasoning_content: 'hm', name: 'bot' },
    ]
    for (const answer of changed) {
      const client = clientOf(id, { fields: { user: JSON.stringify(answer) } })
      const first = await client.say('Hello ')
      const system = { role: 'system', content: `It is ${Math.random()}.` }
      const messages = [system, user([{ type: 'text', text: 'Hello' }]), answer, user('And?')]
      expect((await client.post(messages)).session).toBe(first.session)
    }
  })

  it('is found by a streamed answer, which has the texts before the tools too', async () => {
    const id = alike({
      go: (step) =>
        step
          ? says('Done.')
          : [...(says('Let me see.') as string[]).slice(0, 1), ...(calls(write('a', 'b')) as string[])],
    })
    const client = clientOf(id, { fields: { user: 'streams' } })
    const response = await request('POST', '/v1/chat/completions', {
      body: { model: id, messages: [user('go')], stream: true, user: 'streams' },
    })
    const text = [...(await response.text()).matchAll(/"content":"([^"]*)"/g)].map(([, one]) => one).join('')
    expect(text).toBe('Let me see.Done.')
    const next = await client.post([user('go'), assistant(text), user('more')])
    expect(next.session).toBe(response.headers.get('x-talaria-session-id'))
    const whole = await client.post([user('go'), assistant('Done.'), user('less')])
    expect(await listLines(whole.session)).toContain('user: less')
    expect(whole.session).not.toBe(next.session)
  })

  it('branches where an earlier message was edited, with the files of that point', async () => {
    const id = alike({ one: writing('a.txt', 'one'), two: writing('a.txt', 'two'), three: writing('b.txt', 'three') })
    const client = clientOf(id)
    const first = await client.say('one')
    await client.say('two')
    await client.say('three')
    const edited = await client.post([...client.messages.slice(0, 2), user('again')])
    expect(edited.session).not.toBe(first.session)
    expect([await fileOf(edited.session, 'a.txt'), await fileOf(edited.session, 'b.txt')]).toEqual(['one', 404])
    expect([await fileOf(first.session, 'a.txt'), await fileOf(first.session, 'b.txt')]).toEqual(['two', 'three'])
    const next = await client.post([...client.messages.slice(0, 2), user('again'), assistant('Yes.'), user('so?')])
    expect(next.session).toBe(edited.session)
    expect((await listLines(next.session)).filter((line) => line.startsWith('user'))).toEqual([
      'user: one',
      'user: again',
      'user: so?',
    ])
  })

  it('is new where the first message or an answer was edited, and keeps the words as its history', async () => {
    const id = alike({})
    const client = clientOf(id)
    const first = await client.say('one')
    await client.say('two')
    const [one, yes, two, again] = client.messages as [Message, Message, Message, Message]
    const other = await client.post([user('uno'), yes, two, again, user('three')])
    const third = await client.post([one, assistant('No!'), user('three')])
    const fourth = await client.post([one, yes, two, assistant('Yes. And more.'), user('three')])
    expect(new Set([first.session, other.session, third.session, fourth.session]).size).toBe(4)
    expect(await listLines(third.session)).toEqual(['user: one', 'assistant: No!', 'user: three', 'assistant: Yes.'])
  })

  it('takes all that was said since the last answer', async () => {
    const scripted = model([says('Yes.'), says('All right.')])
    const client = clientOf(scripted.id)
    const first = await client.say('one')
    const next = await client.post([...client.messages, user('two'), user('three')])
    expect(next.session).toBe(first.session)
    expect(JSON.stringify(scripted.requests[1])).toMatch(/two.*three/)
  })

  it('is new when its session was deleted', async () => {
    const client = clientOf(alike({}))
    const first = await client.say('one')
    await request('DELETE', `/api/sessions/${first.session}`)
    const next = await client.say('two')
    expect([next.status, next.session === first.session]).toEqual([200, false])
  })

  it('goes on when two requests continue it at once: one in the session, one in a copy', async () => {
    const gate = new Gate()
    const id = alike({ two: says('Two.', gate), three: says('Three.') })
    const client = clientOf(id)
    const first = await client.say('one')
    const both = ['two', 'three'].map((text) => client.post([...client.messages, user(text)]))
    await gate.waitUntilReached()
    const other = await both[1]
    gate.open()
    const sessions = [(await both[0])?.session, other?.session]
    expect(new Set(sessions).size).toBe(2)
    expect(sessions).toContain(first.session)
    for (const session of sessions) expect(await listLines(session ?? '')).toHaveLength(4)
  })

  it('is answered by the run that waits for it', async () => {
    const id = alike({
      go: (step) =>
        step ? says('Blue it is.') : calls({ id: 'q1', name: 'clarify', input: { question: 'Which colour?' } }),
    })
    const client = clientOf(id)
    const asked = await client.say('go')
    expect(asked.message.content).toContain('Which colour?')
    const answered = await client.say('blue')
    expect([answered.session, answered.run, answered.message.content]).toEqual([
      asked.session,
      asked.run,
      'Blue it is.',
    ])
    const next = await client.say('thanks')
    expect([next.session, next.run === asked.run]).toEqual([asked.session, false])
  })

  it('brings the results of its tools to the run that called them', async () => {
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }]
    const id = alike({
      go: (step) => (step ? says('Sunny.') : calls({ id: `c${Math.random()}`, name: 'get_weather', input: {} })),
    })
    const client = clientOf(id, { fields: { tools } })
    const first = await client.say('go')
    const [made] = first.message['tool_calls'] as { id: string }[]
    const next = await client.post([...client.messages, { role: 'tool', tool_call_id: made?.id, content: 'sun' }])
    expect([next.session, next.run, next.message.content]).toEqual([first.session, first.run, 'Sunny.'])
    const all = [
      ...client.messages,
      { role: 'tool', tool_call_id: made?.id, content: 'sun' },
      next.message,
      user('and?'),
    ]
    expect((await client.post(all)).session).toBe(first.session)
  })
})

describe('the same words', () => {
  it.each([
    ['two keys', async (tenant: string) => ({ key: await newKey(tenant, ['chat', 'read']) })],
    ['`user`', async () => ({ fields: { user: 'bob' } })],
    ['`safety_identifier`', async () => ({ fields: { safety_identifier: 'bob' } })],
    ['`prompt_cache_key`', async () => ({ fields: { prompt_cache_key: 'bob' } })],
    ['the user of Open WebUI', async () => ({ headers: { 'x-openwebui-user-id': 'bob' } })],
    ['the chat of Open WebUI', async () => ({ headers: { 'x-openwebui-chat-id': 'c2' } })],
  ])('of users that differ in %s never meet', async (_name, other) => {
    const { id: tenant, key } = await newTenant()
    const id = alike({ one: writing('a.txt', 'private') })
    const ann = clientOf(id, { key, fields: { user: 'ann' } })
    const bob = clientOf(id, { key, fields: { user: 'ann' }, ...(await other(tenant)) })
    const first = await ann.say('one')
    const stolen = await bob.post([...ann.messages, user('what is in a.txt?')])
    expect(stolen.session).not.toBe(first.session)
    expect(await fileOf(stolen.session, 'a.txt', key)).toBe(404)
    expect((await ann.say('two')).session).toBe(first.session)
  })

  it('under one key are copied where nothing tells them apart, and nobody gets the session of another', async () => {
    const { key } = await newTenant()
    const id = alike({ one: writing('a.txt', 'one'), secret: writing('secret.txt', 'Ann') })
    const [ann, bob] = [clientOf(id, { key }), clientOf(id, { key })]
    const [of, other] = [await ann.say('one'), await bob.say('one')]
    // Ann's session may be Bob's for all we know. Both see the files that both have.
    const secret = await ann.say('secret')
    const next = await bob.say('two')
    expect(new Set([of, other, secret, next].map(({ session }) => session)).size).toBe(4)
    expect(await Promise.all(['a.txt', 'secret.txt'].map((path) => fileOf(next.session, path, key)))).toEqual([
      'one',
      404,
    ])
    expect(await fileOf(secret.session, 'secret.txt', key)).toBe('Ann')
    // From here on the words differ, and each goes on alone.
    expect([(await ann.say('three')).session, (await bob.say('three')).session]).toEqual([secret.session, next.session])
  })

  it('under one key are not copied where the sessions differ: the words are all that both know', async () => {
    const { key } = await newTenant()
    let n = 0
    const id = alike({ one: (step) => (step ? says('Done.') : calls(write('a.txt', `private ${++n}`))) })
    const [ann, bob] = [clientOf(id, { key }), clientOf(id, { key })]
    await ann.say('one')
    await bob.say('one')
    const next = await bob.say('two')
    expect(await fileOf(next.session, 'a.txt', key)).toBe(404)
    expect((await listMessages<Message>(next.session, key)).map(({ content }) => content)).toEqual([
      'one',
      'Done.',
      'two',
      'Yes.',
    ])
  })

  it('of one user who runs a script twice still see the files', async () => {
    const { key } = await newTenant()
    const id = alike({ one: writing('a.txt', 'one') })
    for (let n = 0; n < 3; n++) {
      const client = clientOf(id, { key })
      await client.say('one')
      const second = await client.say('read it')
      expect(await fileOf(second.session, 'a.txt', key)).toBe('one')
      expect(await fileOf((await client.say('again')).session, 'a.txt', key)).toBe('one')
    }
  })

  it('under one key never lead to the session of another when the own one has expired', async () => {
    const { id: tenant, key } = await newTenant()
    let n = 0
    const id = alike({ one: (step) => (step ? says('Done.') : calls(write('a.txt', `private ${++n}`))) })
    const [ann, bob] = [clientOf(id, { key }), clientOf(id, { key })]
    const first = await ann.say('one')
    await ann.say('more')
    const own = await bob.say('one')
    await expire(own.session, 8, tenant)
    expect((await call('GET', `/api/sessions/${own.session}`, { key })).status).toBe(404)
    const next = await bob.say('two')
    expect(next.session).not.toBe(first.session)
    expect(await fileOf(next.session, 'a.txt', key)).toBe(404)
  })

  it('of one user still see the files when an earlier session has expired', async () => {
    const { id: tenant, key } = await newTenant()
    const id = alike({ one: writing('a.txt', 'one') })
    await expire((await clientOf(id, { key }).say('one')).session, 8, tenant)
    const client = clientOf(id, { key })
    await client.say('one')
    expect(await fileOf((await client.say('two')).session, 'a.txt', key)).toBe('one')
  })
})

describe('a request that its client repeats', () => {
  it('joins the run that waits for an approval: one approval, not three', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const id = alike({
      go: (step) => (step ? says('Gone.') : calls({ name: 'terminal', input: { command: 'rm -rf build' } })),
    })
    const answers = []
    for (const retry of ['0', '1', '2'])
      answers.push(await clientOf(id, { key }).post([user('go')], {}, { 'x-stainless-retry-count': retry }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(answers.map(({ run }) => run)).size).toBe(1)
    expect(await approvalsOf(key)).toHaveLength(1)
  })

  it('joins its running run, and starts another one when that is over', async () => {
    const { id: tenant, key } = await newTenant()
    const gate = new Gate()
    let asked = 0
    const id = model(() => (asked++ ? says('Again.') : says('Once.', gate))).id
    const client = clientOf(id, { key })
    const first = client.post([user('go')])
    await untilRecorded(tenant, 1)
    await gate.waitUntilReached()
    const again = await request('POST', '/v1/chat/completions', {
      key,
      body: { model: id, messages: [user('go')], stream: true },
      headers: { 'x-stainless-retry-count': '1' },
    })
    gate.open()
    expect(again.headers.get('x-talaria-run-id')).toBe((await first).run)
    expect(await again.text()).toContain('Once.')
    expect(asked).toBe(1)
    const late = await client.post([user('go')], {}, { 'x-stainless-retry-count': '2' })
    expect([late.message.content, late.session === (await first).session]).toEqual(['Again.', false])
  })

  it('joins none of several, since they may be those of others', async () => {
    const gate = new Gate()
    const { id: tenant, key } = await newTenant()
    const id = model(() => says('Once.', gate)).id
    const client = clientOf(id, { key })
    const both = [client.post([user('go')]), client.post([user('go')])]
    await gate.waitUntilReached()
    await untilRecorded(tenant, 2)
    gate.open()
    const retried = await client.post([user('go')], {}, { 'x-stainless-retry-count': '1' })
    expect((await Promise.all(both)).map(({ session }) => session)).not.toContain(retried.session)
  })
})
