/** Tests how a page of the conversation and the events of its session meet: pages, previews, the queue and the detail. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '../client.ts'
import { joinDeltas, type ReceivedEvent, type Run, send, sendAndStream, subscribe } from '../listen.ts'

beforeAll(applyMigrations)

type Message = { seq: number; role: string; content: string; truncated?: boolean }
type List = { data: Message[]; next_cursor: string | null; newer_cursor: string | null; event_seq: number }
type Detail = {
  event_seq: number
  run: { run_id: string; status: string } | null
  queued: { run_id: string; input: string }[]
  context: { tokens: number; window: number }
}

const list = async (id: string, query = '') => (await call<List>('GET', `/api/sessions/${id}/messages?${query}`)).body
const detail = async (id: string) => (await call<Detail>('GET', `/api/sessions/${id}`)).body
const seqs = ({ data }: List) => data.map(({ seq }) => seq)

async function conversation(turns: number): Promise<string> {
  const { id } = await newSession({ model: model(() => says('yes')).id })
  for (let n = 0; n < turns; n++) await send(id, `message ${n}`)
  return id
}

describe('pages of messages', () => {
  it('lead forward with after, back with the cursor, and both ways with around', async () => {
    const id = await conversation(3)
    expect(seqs(await list(id))).toEqual([1, 2, 3, 4, 5, 6])
    const first = await list(id, 'after=0&limit=4')
    expect([seqs(first), first.next_cursor, first.newer_cursor]).toEqual([[1, 2, 3, 4], null, '4'])
    const rest = await list(id, `after=${first.newer_cursor}&limit=4`)
    expect([seqs(rest), rest.next_cursor, rest.newer_cursor]).toEqual([[5, 6], '5', null])
    const middle = await list(id, 'around=4&limit=3')
    expect([seqs(middle), middle.next_cursor, middle.newer_cursor]).toEqual([[3, 4, 5], '3', '5'])
    const older = await list(id, 'cursor=3')
    expect([seqs(older), older.next_cursor, older.newer_cursor]).toEqual([[1, 2], null, '2'])
    expect(seqs(await list(id, 'after=6'))).toEqual([])
    expect((await call('GET', `/api/sessions/${id}/messages?after=1&around=2`)).status).toBe(400)
  })

  it('cut long texts, and one message has all of it', async () => {
    const { id } = await newSession({ model: model([says('x'.repeat(500))]).id })
    await send(id, 'go')
    const [asked, answer] = (await list(id, 'preview=100')).data
    expect([asked?.truncated, asked?.content]).toEqual([undefined, 'go'])
    expect([answer?.truncated, answer?.content]).toEqual([true, 'x'.repeat(100)])
    const path = `/api/sessions/${id}/messages`
    expect((await call<Message>('GET', `${path}/2`)).body.content).toBe('x'.repeat(500))
    for (const seq of ['3', '0', 'x']) expect((await call('GET', `${path}/${seq}`)).status).toBe(404)
  })
})

describe('event_seq', () => {
  const answerFrom = (events: readonly ReceivedEvent[], known: readonly Message[]) =>
    joinDeltas(events.filter((event) => !known.some(({ seq }) => seq === event['step'])))

  it('lies before the answer that streams, and behind it when it has ended', async () => {
    const [gate, second] = [new Gate(), new Gate()]
    const { id } = await newSession({ model: model([says('one ', gate, 'two ', second, 'three'), says('again')]).id })
    const running = await sendAndStream(id, { input: 'go' })
    await running.waitFor('message.delta')
    const page = await list(id)
    expect(seqs(page)).toEqual([1])
    expect(await detail(id)).toMatchObject({ event_seq: page.event_seq, run: { status: 'running' }, queued: [] })
    const listener = await subscribe(id, page.event_seq)
    gate.open()
    second.open()
    await listener.waitFor('run.completed')
    expect(joinDeltas(listener.events)).toBe('one two three')
    const ended = await list(id)
    expect(seqs(ended)).toEqual([1, 2])
    const next = await subscribe(id, ended.event_seq)
    await send(id, 'more')
    await next.waitFor('run.completed')
    expect(joinDeltas(next.events)).toBe('again')
    const { run, context } = await detail(id)
    expect(run).toBe(null)
    expect(context.tokens).toBeGreaterThan(0)
    expect(context.window).toBeGreaterThan(context.tokens)
    running.close()
    listener.close()
    next.close()
  })

  it('repeats no delta of a listed reply, but its calls that still run', async () => {
    const gate = new Gate()
    const asks = calls({ id: 'c1', name: 'clarify', input: { question: 'Which?' } })
    const { id } = await newSession({ model: model([['', ...(asks as string[])], says('done', gate)]).id })
    const running = await sendAndStream(id, { input: 'go' })
    await running.waitFor('question.request')
    const page = await list(id)
    const listener = await subscribe(id, page.event_seq)
    const asked = await listener.waitFor('question.request')
    expect(answerFrom(listener.events, page.data)).toBe('')
    await call('POST', `/api/questions/${encodeURIComponent(String(asked['question_id']))}`, {
      body: { answer: 'this' },
    })
    gate.open()
    await listener.waitFor('run.completed')
    expect(answerFrom(listener.events, page.data)).toBe('done')
    const steps = listener.events.filter(({ type }) => type === 'message.delta').map((event) => event['step'])
    expect(new Set(steps).size).toBe(1)
    running.close()
    listener.close()
  })
})

describe('the queue', () => {
  it('is listed, announced, and taken back before it begins', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says(gate, 'a'), says('b')]).id })
    const chat = (input: string, more: object = {}) =>
      call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input, wait: false, ...more } })
    const first = await chat('one')
    expect([first.status, first.body.status]).toEqual([202, 'running'])
    await gate.waitUntilReached()
    const listener = await subscribe(id, 0)
    const { body: second } = await chat('two', { mode: 'queue' })
    const { body: third } = await chat('three', { mode: 'queue' })
    expect(second.status).toBe('queued')
    expect(await listener.waitFor('run.queued', 2)).toMatchObject({ run_id: third.run_id, input: 'three' })
    expect((await detail(id)).queued).toEqual([
      { run_id: second.run_id, input: 'two' },
      { run_id: third.run_id, input: 'three' },
    ])
    const takeBack = async (run: string) => (await call('DELETE', `/api/sessions/${id}/runs/${run}`)).status
    expect(await takeBack(second.run_id)).toBe(204)
    expect(await takeBack(second.run_id)).toBe(204)
    expect(await takeBack(first.body.run_id)).toBe(409)
    expect(await takeBack('run_none')).toBe(404)
    expect(await listener.waitFor('run.dequeued')).toMatchObject({ run_id: second.run_id })
    gate.open()
    await until(async () => (await detail(id)).run === null)
    const asked = (await list(id)).data.filter(({ role }) => role === 'user').map(({ content }) => content)
    expect(asked).toEqual(['one', 'three'])
    listener.close()
    // A later reader gets the same events with the same runs.
    const replay = await subscribe(id, 0)
    await replay.waitFor('run.completed', 2)
    const queued = replay.events.filter(({ type }) => type === 'run.queued').map(({ run_id: run }) => run)
    expect(queued).toEqual([second.run_id, third.run_id])
    replay.close()
  })
})

describe('a fork through a run', () => {
  it('has the conversation up to it and the files of that time', async () => {
    const write = (content: string) => calls({ name: 'write_file', input: { path: 'a.txt', content } })
    const { id } = await newSession({ model: model([write('old'), says('1'), write('new'), says('2')]).id })
    const first = await send(id, 'write')
    await send(id, 'again')
    const path = `/api/sessions/${id}/fork`
    const { status, body } = await call<{ id: string }>('POST', path, { body: { through: first.run_id } })
    expect(status).toBe(201)
    expect((await list(body.id)).data.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
      'write',
    ])
    const read = async (session: string) => (await request('GET', `/api/sessions/${session}/files/a.txt`)).text()
    expect([await read(body.id), await read(id)]).toEqual(['old', 'new'])
    expect((await call('POST', path, { body: { through: 'run_none' } })).status).toBe(404)
  })
})
