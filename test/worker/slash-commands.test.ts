/** Tests commands that begin with a slash on every surface: answered without a model call, and never stored as text. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createSkippingClock } from '../support/clock.ts'
import {
  calls,
  Gate,
  hangs,
  listTexts,
  model,
  type ModelRequest,
  type Reply,
  says,
  until,
} from '../support/scripted-model.ts'
import { createChat, getSessionId, receiveMessage, settleDeliveries } from '../support/chat.ts'
import { evict, fireAlarm } from '../durable/support/object.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'
import { joinDeltas, listMessages, readEvents, type Run, send } from './listen.ts'

beforeAll(applyMigrations)

type Message = { readonly role: string; readonly content: unknown; readonly compacted: boolean }

async function sessionWith(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted }
}
const chat = async (id: string, input: string, more: object = {}) =>
  (await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input }, ...more })).body
const textsOf = async (id: string) => (await listMessages<Message>(id)).map(({ content }) => content)

describe('a message that begins with a slash', () => {
  it('is answered without a model call and is not stored', async () => {
    const { id, scripted } = await sessionWith()
    const run = await chat(id, '/help')
    expect(run).toMatchObject({ status: 'completed', exit_reason: 'answered', completed: true, error: null, steps: 0 })
    expect(run.usage).toMatchObject({ input: 0, output: 0, cost_usd: 0 })
    expect(run.output).toContain('/new [TITLE] – ')
    expect(run.output).toContain('/help [COMMAND] – ')
    expect(scripted.requests).toHaveLength(0)
    expect(await listMessages(id)).toEqual([])
    expect(await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).toMatchObject({ body: { output: run.output } })
  })

  it('says that its files are not read, and keeps those of a message that takes its place', async () => {
    const { id, scripted } = await sessionWith(says('Read.'))
    const attachments = [{ type: 'file', name: 'tide.txt', data: btoa('high at noon') }]
    const begun = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: '/new', attachments } })
    expect(begun.body.output).toMatch(/A new conversation begins.*The attached file was not read/s)
    expect((await chat(id, '/new')).output).not.toContain('attached')
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: '/queue Look.', attachments } })
    expect(listTexts(scripted.requests[0] as ModelRequest).join()).toMatch(/Look\..*high at noon/s)
  })

  it('is answered in a stream with its text and its end', async () => {
    const { id } = await sessionWith()
    const stream = readEvents(await request('POST', `/api/sessions/${id}/chat/stream`, { body: { input: '/status' } }))
    await stream.waitForClose()
    expect(stream.types).toEqual(['message.delta', 'run.completed'])
    expect(joinDeltas(stream.events)).toContain('Status: idle')
    expect(stream.events.at(-1)).toMatchObject({ output: joinDeltas(stream.events), completed: true })
  })

  it('is answered the same way for clients of chat completions, which continue afterwards', async () => {
    const scripted = model([says('Hello.'), says('Still here.')])
    const user = (content: string) => ({ role: 'user', content })
    const complete = async (messages: readonly object[]) => {
      const { body, headers } = await call<{ choices: { message: { content: string }; finish_reason: string }[] }>(
        'POST',
        '/v1/chat/completions',
        { body: { model: scripted.id, messages } },
      )
      expect(body.choices[0]?.finish_reason).toBe('stop')
      return { text: body.choices[0]?.message.content ?? '', session: headers.get('x-talaria-session-id') }
    }
    const first = await complete([user('hi')])
    const said = [user('hi'), { role: 'assistant', content: 'Hello.' }, user('/usage')]
    const usage = await complete(said)
    expect(usage.text).toContain('Last turn: 60 tokens in')
    const more = await complete([...said, { role: 'assistant', content: usage.text }, user('and now?')])
    expect(more.text).toBe('Still here.')
    expect([usage.session, more.session]).toEqual([first.session, first.session])
    expect(listTexts(scripted.requests[1] as ModelRequest)).toEqual(['user: hi', 'assistant: Hello.', 'user: and now?'])
  })

  it('is answered as a response, which can be continued', async () => {
    const scripted = model([says('Fine.')])
    type Body = { id: string; status: string; output: { content: { text: string }[] }[] }
    const respond = async (body: object) =>
      (await call<Body>('POST', '/v1/responses', { body: { model: scripted.id, ...body } })).body
    const help = await respond({ input: '/help' })
    expect(help).toMatchObject({ status: 'completed', output: [{ type: 'message' }] })
    expect(help.output[0]?.content[0]?.text).toContain('/stop')
    const next = await respond({ input: 'how are you?', previous_response_id: help.id })
    expect(next.output[0]?.content[0]?.text).toBe('Fine.')
    expect(listTexts(scripted.requests[0] as ModelRequest)).toEqual(['user: how are you?'])
    expect((await call<Body>('GET', `/v1/responses/${help.id}`)).body.output).toEqual(help.output)
  })

  it.each(['//', '/etc/hosts is wrong', '/tmp is full', '// a comment', '/1', 'see /help'])(
    'is an ordinary message when it is %j',
    async (input) => {
      const { id, scripted } = await sessionWith()
      expect((await chat(id, input)).output).toBe('ok')
      expect(listTexts(scripted.requests[0] as ModelRequest)).toEqual([`user: ${input}`])
    },
  )

  it('gets a hint when nothing has its name', async () => {
    const { id, scripted } = await sessionWith()
    expect((await chat(id, '/halp me')).output).toBe(
      'There is no command /halp. Did you mean /help? /help lists all. To send this as a message, begin it with //.',
    )
    expect((await chat(id, '/frobnicate')).output).toMatch(/^There is no command \/frobnicate\. \/help lists all/)
    expect(scripted.requests).toHaveLength(0)
  })

  it('with an idempotency key runs once, also after a restart', async () => {
    const { id } = await sessionWith(says('one'), says('two'))
    await send(id, 'first')
    await send(id, 'second')
    const headers = { 'idempotency-key': `undo-${id}` }
    const undone = await chat(id, '/undo', { headers })
    expect(undone.output).toContain('> second')
    await evict(id)
    expect(await chat(id, '/undo', { headers })).toMatchObject({ run_id: undone.run_id, output: undone.output })
    expect(await textsOf(id)).toEqual(['first', 'one'])
  })

  it('needs the scope of its command', async () => {
    const tenant = await newTenant()
    const key = await newKey(tenant.id, ['chat', 'read'])
    const { id } = await newSession({}, tenant.key)
    const refused = await chat(id, '/new', { key })
    expect(refused.output).toBe('You may not use /new: it needs the scope `write`.')
    expect((await chat(id, '/help', { key })).output).not.toContain('/new')
  })
})

describe('/new', () => {
  it('begins a conversation that knows nothing of the one before', async () => {
    const { id, scripted } = await sessionWith(says('Hello Ann.'), says('Who?'), says('Bye.'))
    await send(id, 'I am Ann.')
    expect((await chat(id, '/new Second talk')).output).toContain('A new conversation begins.')
    await evict(id)
    await send(id, 'Who am I?')
    expect(listTexts(scripted.requests[1] as ModelRequest)).toEqual(['user: Who am I?'])
    expect((await listMessages<Message>(id)).map(({ content, compacted }) => [content, compacted])).toEqual([
      ['I am Ann.', true],
      ['Hello Ann.', true],
      ['Who am I?', false],
      ['Who?', false],
    ])
    expect((await call('GET', `/api/sessions/${id}`)).body['title']).toBe('Second talk')
    expect((await chat(id, '/undo 5')).output).toContain('Undone: 1 turn.')
    expect((await chat(id, '/undo')).output).toBe('There is nothing to undo.')
    await send(id, 'So?')
    expect(listTexts(scripted.requests[2] as ModelRequest)).toEqual(['user: So?'])
  })

  it('stops the turn that runs, and drops what is queued', async () => {
    const gate = new Gate()
    const { id, scripted } = await sessionWith(hangs(gate), says('Fresh.'))
    const running = send(id, 'long work')
    await gate.waitUntilReached()
    const queued = chat(id, '/queue later')
    await until(async () => (await chat(id, '/status')).output?.includes('Queued: 1 turn'))
    expect((await chat(id, '/reset')).output).toContain('A new conversation begins.')
    expect((await running).status).toBe('cancelled')
    expect((await queued).status).toBe('cancelled')
    await send(id, 'hello')
    expect(listTexts(scripted.requests.at(-1) as ModelRequest)).toEqual(['user: hello'])
    expect(scripted.requests).toHaveLength(2)
  })
})

describe('a command about turns', () => {
  it('/stop stops the turn and its processes', async () => {
    const gate = new Gate()
    const { id } = await sessionWith(
      calls({ name: 'terminal', input: { command: 'while true; do sleep 0.05; done', background: true } }),
      hangs(gate),
    )
    const running = send(id, 'work')
    await gate.waitUntilReached()
    expect((await chat(id, '/stop')).output).toBe('Stopped: the turn, 1 background process.')
    expect((await running).status).toBe('cancelled')
    expect((await chat(id, '/stop')).output).not.toContain('the turn')
  })

  it('/steer and /queue send their text in their way', async () => {
    const gate = new Gate()
    const { id, scripted } = await sessionWith(calls({ name: 'todo', input: {} }), hangs(gate), says('later answer'))
    const running = send(id, 'work')
    await gate.waitUntilReached()
    const queued = chat(id, '/queue   and then this')
    await until(async () => (await chat(id, '/status')).output?.includes('Queued: 1 turn'))
    gate.open()
    await running
    expect((await queued).output).toBe('later answer')
    expect(listTexts(scripted.requests.at(-1) as ModelRequest).at(-1)).toBe('user: and then this')
    expect((await chat(id, '/steer straight on')).output).toBe('ok')
    expect(await textsOf(id)).not.toContain('/steer straight on')
    expect((await chat(id, '/queue')).output).toBe('Usage: /queue TEXT')
  })

  it('/retry repeats the last message', async () => {
    const { id, scripted } = await sessionWith(says('first try'), says('second try'))
    expect((await chat(id, '/retry')).output).toBe('There is no message to repeat.')
    await send(id, 'tell me')
    expect((await chat(id, '/retry')).output).toBe('second try')
    expect(await textsOf(id)).toEqual(['tell me', 'second try'])
    expect(scripted.requests).toHaveLength(2)
  })

  it('/model shows and changes the model', async () => {
    const { id, scripted } = await sessionWith()
    const other = model([says('from the other')])
    expect((await chat(id, '/model')).output).toBe(`The model is ${scripted.id}.`)
    expect((await chat(id, '/model nobody/nothing')).output).toContain('is not a model that can be used here')
    expect((await chat(id, '/model oproute/openruter/auto')).output).toContain(
      'Did you mean openrouter/openrouter/auto?',
    )
    expect((await chat(id, `/model ${other.id}`)).output).toBe(`The model is now ${other.id}.`)
    expect((await send(id, 'hi')).output).toBe('from the other')
  })

  it('/approve and /deny say when nothing waits for them', async () => {
    const { id, scripted } = await sessionWith()
    expect((await chat(id, '/approve')).output).toBe('Nothing waits for approval.')
    expect((await chat(id, '/deny because')).output).toBe('Nothing waits for approval.')
    expect((await chat(id, '/approve perhaps')).output).toBe('Usage: /approve [all] [session|always]')
    expect(scripted.requests).toHaveLength(0)
  })

  it('/title and /compress act on the conversation', async () => {
    const { id } = await sessionWith()
    expect((await chat(id, '/title Plans for June')).output).toBe('The title is now: Plans for June')
    expect((await chat(id, '/title')).output).toBe('Plans for June')
    expect((await chat(id, '/compress')).output).toBe('There is nothing to compress.')
  })
})

describe('a command in a chat', () => {
  it('is answered in the chat, once, and is not stored', async () => {
    const tenant = await newTenant()
    const chatFixture = await createChat([says('Hi.')], {}, tenant.key)
    await receiveMessage(chatFixture, '/status')
    const session = await getSessionId(chatFixture)
    const sent = () => chatFixture.api.callsOf('sendMessage').map(({ body }) => (body as { text: string }).text)
    await until(() => sent().length > 0)
    expect(sent()).toHaveLength(1)
    expect(sent()[0]).toContain('Status: idle')
    expect(chatFixture.scripted.requests).toHaveLength(0)
    expect(await listMessages(session, tenant.key)).toEqual([])
  })

  it('that changes the conversation is for admins in a session that a group shares', async () => {
    const chatFixture = await createChat([says('Hi.')], { require_mention: false, group_sessions: 'chat' })
    const group = { chat: { id: -5, type: 'group' } }
    await receiveMessage(chatFixture, '/new', group)
    const session = await getSessionId(chatFixture, '-5')
    await settleDeliveries(session)
    expect(JSON.stringify(chatFixture.api.callsOf('sendMessage'))).toContain('You may not use /new')
  })
})

describe('a chat with session_reset', () => {
  afterEach(() => replaceClock())

  it('begins a new conversation after a pause, and says so once', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const fixture = await createChat([says('Hello Ann.'), says('Who are you?'), says('Again?')])
    await call('PATCH', '/api/settings', { body: { session_reset: { mode: 'idle', idle_minutes: 60 } } })
    const id = await getSessionId(fixture)
    await receiveMessage(fixture, 'I am Ann.')
    await settleDeliveries(id)
    clock.pass(61 * 60_000)
    await receiveMessage(fixture, 'Who am I?')
    await settleDeliveries(id)
    await receiveMessage(fixture, 'Tell me.')
    await settleDeliveries(id)
    const sent = fixture.api.callsOf('sendMessage').map(({ body }) => (body as { text: string }).text)
    expect(sent.filter((text) => text.startsWith('A new conversation begins'))).toHaveLength(1)
    expect(listTexts(fixture.scripted.requests[1] as ModelRequest)).toEqual(['user: Who am I?'])
    expect(listTexts(fixture.scripted.requests[2] as ModelRequest)).toHaveLength(3)
    await call('PATCH', '/api/settings', { body: { session_reset: null } })
  })
})

describe('/background', () => {
  it('works in a session of its own, and the result comes back as one message', async () => {
    const { id, scripted } = await sessionWith(says('Hello.'), says('Counted: 42.'), says('It is 42.'))
    await send(id, 'hi')
    expect((await chat(id, '/bg Count the files')).output).toContain('Started in the background')
    const results = async () =>
      (await listMessages<{ source?: string; content: string }>(id)).filter(({ source }) => source === 'subagent')
    await until(async () => {
      await fireAlarm(id)
      return (await results()).length > 0 && scripted.requests.length === 3
    })
    await fireAlarm(id)
    expect(await results()).toHaveLength(1)
    expect((await results())[0]?.content).toContain('Counted: 42.')
  })

  it('needs no conversation: the result begins it', async () => {
    const { id } = await sessionWith(says('Counted: 42.'), says('It is 42.'), says('More.'))
    expect((await chat(id, '/background Count the files')).output).toContain('Started in the background')
    const messages = () => listMessages<{ source?: string; role: string; content: string }>(id)
    await until(async () => {
      await fireAlarm(id)
      return (await messages()).some(({ role, content }) => role === 'assistant' && content === 'It is 42.')
    })
    const results = (await messages()).filter(({ source }) => source === 'subagent')
    expect(results.map(({ content }) => content)).toEqual([expect.stringContaining('Counted: 42.')])
    expect((await chat(id, 'go on')).output).toBe('More.')
  })

  it('may be the first message of a chat', async () => {
    const fixture = await createChat([says('Counted: 42.'), says('It is 42.')])
    await receiveMessage(fixture, '/background Count the files')
    const id = await getSessionId(fixture)
    const sent = () => JSON.stringify(fixture.api.callsOf('sendMessage'))
    await until(async () => {
      await fireAlarm(id)
      await settleDeliveries(id)
      return sent().includes('It is 42.')
    })
    expect(sent()).toContain('Started in the background')
  })
})
