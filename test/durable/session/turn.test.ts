/** Tests turns of a session from the message to the end, without crashes. Crashes are tested in crash.test.ts. */

import { beforeAll, describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import { newTurn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { demo } from '#agent/providers/demo/demo.ts'
import type { Route } from '#agent/routing/route.ts'
import { createPerform, type TurnEffects } from '#durable/turn/effects.ts'
import { calls, fails, Gate, model, listTexts, says, until } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { joinDeltas, sendAndStream, listLines, subscribe, listMessages, type Run, send } from '../../worker/listen.ts'
import { alarmOf, evict, inObject, kill, objectOf, fireAlarm, requestCommand } from '../support/object.ts'
import { ownerAuthority } from '../../support/authority.ts'

beforeAll(applyMigrations)

const write = (path: string, content: string) => ({ name: 'write_file', input: { path, content } })
const runOf = async (id: string, run: string) => (await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)).body
const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status']
const fileOf = async (id: string, path: string) => {
  const answer = await request('GET', `/api/sessions/${id}/files/${path}`)
  return answer.status === 200 ? answer.text() : answer.status
}
/** Begins a turn without waiting for it: nobody's request keeps the object in memory. */
const begin = (id: string, input: string) => call('POST', `/api/sessions/${id}/steer`, { body: { input } })
const chat = (id: string, body: object) => call<Run>('POST', `/api/sessions/${id}/chat`, { body })

describe('a turn', () => {
  it('answers, and its run reports usage and outcome', async () => {
    const scripted = model([says('Hello.')])
    const { id } = await newSession({ model: scripted.id })
    const run = await send(id, 'hi')
    expect(run).toEqual({
      run_id: run.run_id,
      session_id: id,
      status: 'completed',
      output: 'Hello.',
      usage: {
        input: 60,
        output: 10,
        cached_read: 40,
        cached_write: 0,
        reasoning: 0,
        cost_usd: 0,
        cost_status: 'unknown',
      },
      usage_by_model: [{ model: scripted.id, task: null, calls: 1, cut_calls: 0, ...(run['usage'] as object) }],
      exit_reason: 'answered',
      completed: true,
      error: null,
      activity: { doing: 'done', since: run['ended_at'] },
      started_at: run['started_at'],
      ended_at: run['ended_at'],
      steps: 1,
      attempts: 1,
      waited_ms: 0,
      notes: [],
      attachments: [],
    })
    expect(await runOf(id, run.run_id)).toEqual(run)
    expect(listTexts(scripted.requests[0]!)).toEqual(['user: hi'])
    expect(await statusOf(id)).toBe('idle')
  })

  it('runs a tool and answers with its result', async () => {
    const scripted = model([calls(write('notes/a.txt', 'alpha')), says('Written.')])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'write it' })
    await stream.waitForClose()
    const types = ['run.started', 'tool.started', 'tool.completed', 'message.delta', 'run.completed']
    expect(stream.types).toEqual(types)
    expect(stream.events[1]).toMatchObject({ tool: 'write_file', input: { path: 'notes/a.txt', content: 'alpha' } })
    expect(stream.events[2]).toMatchObject({ tool: 'write_file', failed: false })
    expect(await fileOf(id, 'notes/a.txt')).toBe('alpha')
    expect((await listMessages(id)).map(({ role, name }) => name ?? role)).toEqual([
      'user',
      'assistant',
      'write_file',
      'assistant',
    ])
    expect(scripted.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: expect.any(String) })
  })

  it('puts the results of a batch in the order they were asked for', async () => {
    const scripted = model([
      calls(
        { id: 'slow', name: 'terminal', input: { command: 'sleep 0.05; echo slow' } },
        { id: 'none', name: 'no_such_tool', input: {} },
        { id: 'quick', name: 'todo', input: {} },
      ),
      says('Done.'),
    ])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'all of it')
    const results = scripted.requests[1]?.messages.slice(-3)
    expect(results?.map((message) => message.tool_call_id)).toEqual(['slow', 'none', 'quick'])
    expect(String(results?.[1]?.content)).toContain('There is no tool named no_such_tool')
  })

  it('goes on after a quiet eviction, with the same prompt, history and files', async () => {
    const scripted = model([calls(write('a.txt', '1')), says('one'), says('two')])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'first')
    await evict(id)
    await send(id, 'second')
    const [before, , after] = scripted.requests
    expect(after?.messages[0]).toEqual(before?.messages[0])
    expect(listTexts(after!).map((line) => line.slice(0, 12))).toEqual([
      'user: first',
      'assistant: →',
      'tool: {"byte',
      'assistant: o',
      'user: second',
    ])
    expect(await fileOf(id, 'a.txt')).toBe('1')
  })

  it('fails with an honest answer when the provider does, and the next turn works', async () => {
    const scripted = model([fails(400, 'This model cannot do that.'), says('now it works')])
    const { id } = await newSession({ model: scripted.id })
    const run = await send(id, 'hi')
    expect(run).toMatchObject({ status: 'failed', exit_reason: 'failed_invalid', completed: false })
    expect(run.output).toContain('This model cannot do that.')
    expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'now it works' })
  })
})

describe('the alarm', () => {
  it('watches while a turn runs, rides along, and is gone when the session is idle', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('a', gate, 'b')]).id })
    const running = send(id, 'go')
    await gate.waitUntilReached()
    const armed = await alarmOf(id)
    expect(armed).toBeGreaterThan(Date.now())
    expect(armed).toBeLessThanOrEqual(Date.now() + 15_000)
    let isBack = false
    const riding = fireAlarm(id).then(() => (isBack = true))
    // Calls of the object that come later are answered meanwhile.
    for (let n = 0; n < 3; n++) await call('GET', `/api/sessions/${id}`)
    expect(isBack).toBe(false)
    expect(await alarmOf(id)).toBeGreaterThan(Date.now())
    gate.open()
    await Promise.all([running, riding])
    await until(async () => (await alarmOf(id)) === null)
    expect(await fireAlarm(id)).toBe(false)
  })

  it('is set to the retry time of the provider', async () => {
    const scripted = model([fails(429, 'Slow down.', { 'retry-after': '60' })])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'go' })
    const { until: told } = await stream.waitForState('waiting')
    const due = Date.parse(String(told))
    await until(async () => (await alarmOf(id)) === due)
    expect(await runOf(id, stream.events[0]!.run_id)).toMatchObject({
      status: 'running',
      activity: { doing: 'waiting: rate', since: expect.stringMatching(/^\d{4}-.*Z$/), until: told },
    })
    expect(scripted.requests.length).toBe(1)
    stream.close()
  })

  it('brings a turn that waits for a provider on, and not before its time', async () => {
    const scripted = model([fails(429, 'Slow down.', { 'retry-after': '1' }), says('later')])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'go' })
    const { until: told } = await stream.waitForState('waiting')
    await stream.waitForClose()
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(String(told)))
    expect(stream.events.at(-1)).toMatchObject({ type: 'run.completed', output: 'later' })
  })

  it('that comes too early changes nothing', async () => {
    const scripted = model([fails(503, 'Try again later.', { 'retry-after': '20' })])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'go' })
    const due = Date.parse(String((await stream.waitForState('waiting'))['until']))
    await until(async () => (await alarmOf(id)) === due)
    await fireAlarm(id)
    await until(async () => (await alarmOf(id)) === due)
    expect(scripted.requests.length).toBe(1)
    await call('POST', `/api/sessions/${id}/stop`)
    await stream.waitForClose()
    expect(stream.events.at(-1)?.type).toBe('run.cancelled')
  })
})

describe('a message that arrives while a turn runs', () => {
  it('queues: each gets a turn of its own, first come first served', async () => {
    const gate = new Gate()
    const scripted = model([says('a', gate), says('b'), says('c')])
    const { id } = await newSession({ model: scripted.id })
    const first = chat(id, { input: 'one' })
    await gate.waitUntilReached()
    const second = await sendAndStream(id, { input: 'two', mode: 'queue' })
    const third = chat(id, { input: 'three', mode: 'queue' })
    await until(
      async () =>
        (await inObject(id, (_o, { storage }) => storage.sql.exec('SELECT id FROM inbox').toArray())).length === 2,
    )
    gate.open()
    const runs = await Promise.all([first, third])
    await second.waitForClose()
    expect(runs.map(({ body }) => body.output)).toEqual(['a', 'c'])
    expect(second.events.map(({ type, input }) => input ?? type)).toEqual(['two', 'message.delta', 'run.completed'])
    expect(await listLines(id)).toEqual([
      'user: one',
      'assistant: a',
      'user: two',
      'assistant: b',
      'user: three',
      'assistant: c',
    ])
    expect(new Set(runs.map(({ body }) => body.run_id)).size).toBe(2)
  })

  const short = { n: 200, text: 'wait' }
  const long = { n: 16, text: 'x'.repeat(490_000) }
  it.each([short, long])('queues no more than memory holds: $n of this length', async ({ n, text }) => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('a', gate)]).id })
    const first = await sendAndStream(id, { input: 'one' })
    await gate.waitUntilReached()
    const queue = (input: string, busyMode: 'queue' | 'steer' = 'queue') =>
      inObject(id, (object) => object.runs.submit(requestCommand(input, { busyMode })))
    for (let at = 0; at < n; at++) expect(await queue(text)).toMatchObject({ status: 'queued' })
    expect(await queue(text)).toMatchObject({ status: 'too-large' })
    expect(await queue(text, 'steer')).toMatchObject({ status: 'too-large' })
    await call('DELETE', `/api/sessions/${id}`)
    gate.open()
    await first.waitForClose()
  })

  it('has a queued run before it begins', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says(gate, 'a'), says('b')]).id })
    const first = chat(id, { input: 'one' })
    await gate.waitUntilReached()
    const stream = await request('POST', `/api/sessions/${id}/chat/stream`, { body: { input: 'two', mode: 'queue' } })
    const runId = stream.headers.get('x-talaria-run-id') ?? ''
    expect(await runOf(id, runId)).toMatchObject({
      run_id: runId,
      session_id: id,
      status: 'queued',
      output: null,
      started_at: null,
    })
    gate.open()
    await Promise.all([first, stream.text()])
    expect(await runOf(id, runId)).toMatchObject({ status: 'completed', output: 'b' })
  })

  it('steers: it goes into the next tool result and the turn is not stopped', async () => {
    const gate = new Gate()
    const scripted = model([[gate, ...(calls(write('a.txt', '1')) as string[])], says('done')])
    const { id } = await newSession({ model: scripted.id })
    const running = sendAndStream(id, { input: 'go' })
    await gate.waitUntilReached()
    const steered = await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'in German, please' } })
    gate.open()
    const stream = await running
    await stream.waitForClose()
    expect([steered.status, steered.body['status']]).toEqual([202, 'joined'])
    expect(steered.body['run_id']).toBe(stream.events[0]?.run_id)
    expect(String(scripted.requests[1]?.messages.at(-1)?.content)).toContain('in German, please')
    expect(stream.events.find(({ type }) => type === 'run.steered')).toMatchObject({
      input: 'in German, please',
      mode: 'steer',
    })
    expect(scripted.requests.length).toBe(2)
  })

  it('steers a final answer: the message is answered next', async () => {
    const gate = new Gate()
    const scripted = model([says('first', gate), says('second')])
    const { id } = await newSession({ model: scripted.id })
    const running = chat(id, { input: 'go' })
    await gate.waitUntilReached()
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'and more' } })
    gate.open()
    expect((await running).body.output).toBe('second')
    expect(await listLines(id)).toEqual(['user: go', 'assistant: first', 'user: and more', 'assistant: second'])
  })

  it('interrupts: the model call is cancelled and the same run answers the new message', async () => {
    const gate = new Gate()
    const scripted = model([says('Once upon ', gate, 'a time'), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'tell a story' })
    await stream.waitFor('message.delta')
    await gate.waitUntilReached()
    const other = await chat(id, { input: 'no, stop that' })
    await stream.waitForClose()
    expect(other.body).toMatchObject({ output: 'Fine.', run_id: stream.events[0]?.run_id })
    expect(listTexts(scripted.requests[1]!)).toEqual([
      'user: tell a story',
      'assistant: Once upon ',
      'user: no, stop that',
    ])
    expect(stream.events.at(-1)).toMatchObject({ type: 'run.completed', output: 'Fine.' })
  })

  it('interrupts before the first word', async () => {
    const gate = new Gate()
    const scripted = model([says(gate, 'never heard'), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    const running = chat(id, { input: 'one' })
    await gate.waitUntilReached()
    await chat(id, { input: 'two' })
    await running
    const lines = await listLines(id)
    expect([lines[0], lines.at(-2), lines.at(-1)]).toEqual(['user: one', 'user: two', 'assistant: Fine.'])
    expect(scripted.requests[1]?.messages.slice(1).map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })
})

describe('stop', () => {
  it.each([['\nHalf', ' of '], ['Half of\n\n'], [' ', ' Half']])(
    'does not repeat text that was streamed: %j',
    async (...parts) => {
      const gate = new Gate()
      const { id } = await newSession({ model: model([says(...parts, gate, 'it')]).id })
      const stream = await sendAndStream(id, { input: 'go' })
      await gate.waitUntilReached()
      await until(() => joinDeltas(stream.events) === parts.join(''))
      await call('POST', `/api/sessions/${id}/stop`)
      await stream.waitForClose()
      expect(joinDeltas(stream.events)).toBe(parts.join(''))
      expect(stream.events.at(-1)).toMatchObject({ type: 'run.cancelled', output: parts.join('') })
    },
  )

  it('keeps the partial answer', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('Half of ', gate, 'it')]).id })
    const stream = await sendAndStream(id, { input: 'go' })
    await stream.waitFor('message.delta')
    await gate.waitUntilReached()
    const stopped = await call('POST', `/api/sessions/${id}/stop`)
    await stream.waitForClose()
    expect([stopped.status, stopped.body]).toEqual([202, { session_id: id, status: 'stopping' }])
    expect(stream.events.at(-1)).toMatchObject({ type: 'run.cancelled', output: 'Half of ', completed: false })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Half of '])
    expect(await runOf(id, stream.events[0]!.run_id)).toMatchObject({ status: 'cancelled', exit_reason: 'stopped' })
  })

  it('ends a command that runs, and no further call of the batch begins', async () => {
    const scripted = model([
      calls({ name: 'terminal', input: { command: 'sleep 20' } }, write('after.txt', 'no')),
      says('never'),
    ])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'go' })
    await stream.waitFor('tool.started')
    await scheduler.wait(30)
    await call('POST', `/api/sessions/${id}/stop`)
    await stream.waitForClose()
    expect(stream.events.at(-1)?.type).toBe('run.cancelled')
    expect(await fileOf(id, 'after.txt')).toBe(404)
    expect(scripted.requests.length).toBe(1)
    expect((await listMessages(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
  })

  it('reaches a call that is still being prepared', async () => {
    // As in the driver: stop reaches the controllers that are there, and no later ones.
    const controllers: AbortController[] = []
    let loaded: (messages: readonly Message[]) => void = () => {}
    const route = { dialect: 'demo', model: 'agent' } as Route
    const silence = { silentMs: 1_000, keptAliveMs: 1_000 }
    const model = {
      dialects: { demo, 'openai-chat': demo },
      choose: () => ({ route, endpoint: { id: '', baseUrl: '', key: '', headers: {} } }),
      lease: () => () => {},
      abortable: () => {
        const controller = new AbortController()
        controllers.push(controller)
        return controller
      },
      system: () => '',
      transcript: () => new Promise<readonly Message[]>((resolve) => (loaded = resolve)),
      references: async () => undefined,
      defaults: () => ({}),
      idleLimits: () => ({ first: silence, next: silence }),
      repairsFor: () => ({}),
      errorContext: () => ({}),
    }
    const effects = {
      model,
      tools: { schemas: () => [] },
      stream: { append: () => {}, end: () => {} },
      billing: {
        estimate: () => noUsage,
        takeSideUsage: () => undefined,
        report: () => {},
        reserve: () => ({ ok: true, release: () => {} }),
      },
    } as unknown as TurnEffects
    const results = createPerform(effects)({ do: 'call-model', tools: true }, newTurn('r', 0, 9))
    const result = results[Symbol.asyncIterator]().next()
    await scheduler.wait(1)
    for (const controller of controllers) controller.abort()
    loaded([userText('hello')])
    expect((await result).value).toMatchObject({ of: 'failure', failure: { kind: 'aborted' } })
  })

  it('of an idle session returns the status idle', async () => {
    const { id } = await newSession()
    expect((await call('POST', `/api/sessions/${id}/stop`)).body).toEqual({ session_id: id, status: 'idle' })
  })
})

describe('a question', () => {
  const asking = () =>
    model([
      calls({ id: 'q1', name: 'clarify', input: { question: 'Which one?', choices: ['red', 'blue'] } }),
      says('Blue it is.'),
    ])
  const questions = async () =>
    (await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/questions')).body.data
  const questionOf = (id: string) => until(async () => (await questions()).find(({ session_id: of }) => of === id))

  it('waits through evictions without an alarm, and goes on with the answer', async () => {
    const scripted = asking()
    const { id } = await newSession({ model: scripted.id })
    const before = await subscribe(id)
    await begin(id, 'paint it')
    const asked = await before.waitFor('question.request')
    const question = await questionOf(id)
    expect(question).toEqual({
      id: expect.stringMatching(`^${id}\\..+`) as string,
      session_id: id,
      run_id: asked.run_id,
      question: 'Which one?',
      choices: ['red', 'blue'],
      multi_select: false,
    })
    expect(asked['question_id']).toBe(question.id)
    await until(async () => (await alarmOf(id)) === null)
    expect([await statusOf(id), (await runOf(id, asked.run_id)).status]).toEqual(['waiting', 'waiting'])
    before.close()
    await evict(id)
    const back = await subscribe(id)
    const answered = await call('POST', `/api/questions/${question.id}`, { body: { answer: 'blue' } })
    expect([answered.status, answered.body]).toEqual([200, { id: question.id, status: 'answered' }])
    const end = await back.waitFor('run.completed')
    expect(end['output']).toBe('Blue it is.')
    expect(JSON.parse(String(scripted.requests[1]?.messages.at(-1)?.content))).toEqual({
      question: 'Which one?',
      choices_offered: ['red', 'blue'],
      user_response: 'blue',
    })
    await until(async () => !(await questions()).some(({ session_id: of }) => of === id))
    const again = await call('POST', `/api/questions/${question.id}`, { body: { answer: 'red' } })
    expect(again.status).toBe(409)
    back.close()
  })

  it('is answered once when two answer at the same time', async () => {
    const scripted = asking()
    const { id } = await newSession({ model: scripted.id })
    await begin(id, 'paint it')
    const question = await questionOf(id)
    await kill(id)
    const answers = await Promise.all(
      ['red', 'blue'].map((answer) => call('POST', `/api/questions/${question.id}`, { body: { answer } })),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    await until(async () => (await statusOf(id)) === 'idle')
    expect(scripted.requests.length).toBe(2)
  })

  it('goes away with the turn that is stopped', async () => {
    const { id } = await newSession({ model: asking().id })
    const stream = await sendAndStream(id, { input: 'paint it' })
    await stream.waitFor('question.request')
    const question = await questionOf(id)
    await call('POST', `/api/sessions/${id}/stop`)
    await stream.waitForClose()
    await until(async () => !(await questions()).some(({ session_id: of }) => of === id))
    expect((await call('POST', `/api/questions/${question.id}`, { body: { answer: 'red' } })).status).toBe(409)
  })

  it('can be followed by a new message', async () => {
    const scripted = asking()
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'paint it' })
    const { question_id: question } = await stream.waitFor('question.request')
    const queued = await sendAndStream(id, { input: 'and then this', mode: 'queue' })
    await call('POST', `/api/questions/${question}`, { body: { answer: 'blue' } })
    await Promise.all([stream.waitForClose(), queued.waitForClose()])
    expect(stream.events.at(-1)?.['output']).toBe('Blue it is.')
    expect(queued.events.at(-1)?.['output']).toBe('ok')
  })
})

describe('taking back', () => {
  it('undo removes the last turns from the conversation, from history and from search', async () => {
    const scripted = model([says('one'), says('zwetschge'), says('three')])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'first')
    await send(id, 'second')
    const found = async () => (await call<{ data: object[] }>('GET', '/api/search?q=zwetschge')).body.data.length
    await until(async () => (await found()) === 1)
    const undone = await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    expect([undone.status, undone.body]).toEqual([200, { undone: 1, messages: ['second'] }])
    expect(await listLines(id)).toEqual(['user: first', 'assistant: one'])
    await until(async () => (await found()) === 0)
    await kill(id)
    await send(id, 'third')
    expect(listTexts(scripted.requests[2]!)).toEqual(['user: first', 'assistant: one', 'user: third'])
  })

  it('undo of several turns removes the existing ones and returns their number', async () => {
    const { id } = await newSession({ model: model([says('one'), says('two')]).id })
    await send(id, 'first')
    await send(id, 'second')
    const { body } = await call('POST', `/api/sessions/${id}/undo`, { body: { n: 5 } })
    expect(body).toEqual({ undone: 2, messages: ['second', 'first'] })
    expect(await listMessages(id)).toEqual([])
    expect((await call('POST', `/api/sessions/${id}/undo`, { body: {} })).body).toEqual({ undone: 0, messages: [] })
  })

  it('retry asks the same again in a new run', async () => {
    const scripted = model([says('bad'), says('good')])
    const { id } = await newSession({ model: scripted.id })
    const first = await send(id, 'hi', { temperature: 0.5 })
    const { status, body } = await call('POST', `/api/sessions/${id}/retry`, { body: {} })
    expect(status).toBe(202)
    const run = String(body['run_id'])
    await until(async () => (await runOf(id, run)).status === 'completed')
    expect(run).not.toBe(first.run_id)
    expect(scripted.requests[1]).toEqual(scripted.requests[0])
    expect(await listLines(id)).toEqual(['user: hi', 'assistant: good'])
  })

  it('is refused while a turn runs', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('a', gate)]).id })
    const running = send(id, 'go')
    await gate.waitUntilReached()
    const answers = await Promise.all(
      ['undo', 'retry'].map((what) => call('POST', `/api/sessions/${id}/${what}`, { body: {} })),
    )
    expect(answers.map(({ status }) => status)).toEqual([409, 409])
    gate.open()
    await running
  })
})

describe('fork', () => {
  it('copies conversation and files into a session that goes its own way', async () => {
    const scripted = model([calls(write('a.txt', 'shared')), says('one'), says('in the copy'), says('in the original')])
    const { id } = await newSession({ model: scripted.id, settings: { agent: { max_turns: 7 } } })
    await send(id, 'first')
    const { status, body } = await call('POST', `/api/sessions/${id}/fork`, { body: { title: 'Copy' } })
    const copy = String(body['id'])
    expect(status).toBe(201)
    expect(body).toMatchObject({ title: 'Copy', parent_id: id, status: 'idle', settings: { agent: { max_turns: 7 } } })
    expect(await listLines(copy)).toEqual(await listLines(id))
    await request('PUT', `/api/sessions/${copy}/files/a.txt`, { body: 'changed' })
    await send(copy, 'second')
    await send(id, 'third')
    expect([await fileOf(id, 'a.txt'), await fileOf(copy, 'a.txt')]).toEqual(['shared', 'changed'])
    expect(scripted.requests[2]?.messages[0]).toEqual(scripted.requests[0]?.messages[0])
    expect((await listLines(id)).at(-1)).toBe('assistant: in the original')
    expect((await listLines(copy)).at(-1)).toBe('assistant: in the copy')
  })

  it('leaves out a turn that is still open', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('one'), says('two', gate)]).id })
    await send(id, 'first')
    const running = send(id, 'second')
    await gate.waitUntilReached()
    const { body } = await call('POST', `/api/sessions/${id}/fork`, { body: {} })
    expect(await listLines(String(body['id']))).toEqual(['user: first', 'assistant: one'])
    gate.open()
    await running
  })
})

describe('delete', () => {
  const traces = async (id: string) => {
    const { results } = await bindings.DB.prepare(
      "SELECT (SELECT count(*) FROM session WHERE id = ?1) AS sessions, (SELECT count(*) FROM page WHERE body LIKE '%' || ?1 || '%') AS pages",
    )
      .bind(id)
      .all<{ sessions: number; pages: number }>()
    const blobs = await bindings.BLOBS?.list({ prefix: `t/default/s/${id}/` })
    const tables = await inObject(id, (_object, { storage }) =>
      storage.sql
        .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'")
        .toArray(),
    )
    return { sessions: results[0]?.sessions, pages: results[0]?.pages, blobs: blobs?.objects.length, tables }
  }

  it('leaves nothing in D1, in R2 and in the object', async () => {
    const { id } = await newSession({ model: model([says('one')]).id })
    await request('PUT', `/api/sessions/${id}/files/large.bin`, { body: new Uint8Array(700_000) })
    await send(id, `said only in ${id}`)
    await until(async () => (await traces(id)).pages === 1)
    expect((await traces(id)).blobs).toBe(1)
    expect((await request('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect(await traces(id)).toEqual({ sessions: 0, pages: 0, blobs: 0, tables: [] })
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/chat'],
    ] as const)
      expect(
        (await call(method, `/api/sessions/${id}${path}`, method === 'POST' ? { body: { input: 'x' } } : {})).status,
      ).toBe(404)
  })

  it('ends a turn that runs, and nothing of it comes back', async () => {
    const gate = new Gate()
    const scripted = model([says('one'), says('half ', gate, 'whole')])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'first')
    const listener = await subscribe(id)
    const running = request('POST', `/api/sessions/${id}/chat`, { body: { input: 'second' } })
    await gate.waitUntilReached()
    expect((await request('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    gate.open()
    await running
    await listener.waitForClose()
    // The whole turn of another session is stored meanwhile.
    await send((await newSession({ model: model([says('meanwhile')]).id })).id, 'go')
    expect(await traces(id)).toMatchObject({ sessions: 0, blobs: 0, tables: [] })
    expect(await alarmOf(id)).toBe(null)
    expect(await objectOf(id).info.get(ownerAuthority())).toBe(undefined)
  })

  it('ends the wait for a queued run: there is no such session', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('half ', gate, 'whole')]).id })
    const first = chat(id, { input: 'first' })
    await gate.waitUntilReached()
    const stream = await sendAndStream(id, { input: 'second', mode: 'queue' })
    const waiting = chat(id, { input: 'third', mode: 'queue' })
    const isQueued = () =>
      inObject(id, (_o, { storage }) => storage.sql.exec('SELECT id FROM inbox').toArray().length === 2)
    await until(isQueued)
    expect((await request('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    expect((await first).body).toMatchObject({ status: 'cancelled', output: 'half ' })
    expect((await waiting).status).toBe(404)
    await stream.waitForClose()
    expect([stream.types, stream.error]).toEqual([[], undefined])
  })

  it('takes its question off the list', async () => {
    const scripted = model([calls({ name: 'clarify', input: { question: 'Well?' } })])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'go' })
    await stream.waitFor('question.request')
    const open = async () =>
      (await call<{ data: { session_id: string }[] }>('GET', '/api/questions')).body.data.some(
        ({ session_id: of }) => of === id,
      )
    await until(open)
    await request('DELETE', `/api/sessions/${id}`)
    expect(await open()).toBe(false)
  })
})
