/** Tests that subscribers receive every event once and in order, also after they reconnect. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { streamEvents as tell } from '#worker/event-bridge.ts'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, newSession, request } from '../../worker/client.ts'
import {
  sendAndStream,
  type ReceivedEvent,
  subscribe,
  subscribeBySocket,
  readEvents,
  listMessages,
  send,
  joinDeltas,
} from '../../worker/listen.ts'
import { evict, inObject, kill, fireAlarm } from '../support/object.ts'
import { maxSubscribers } from '#durable/events/streams.ts'

beforeAll(applyMigrations)

const increase = (numbers: readonly number[]) => numbers.every((n, i) => i === 0 || n > (numbers[i - 1] ?? 0))

/** A session whose model says these texts, one a turn, and can be stopped in the middle. */
async function start(...replies: readonly (readonly (string | Gate)[])[]) {
  const scripted = model(replies.map((parts) => says(...parts)))
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted }
}

it('a session has a bounded number of sockets', async () => {
  const { id } = await start(['Hi.'])
  // A socket closes when its other end is collected.
  const others: WebSocket[] = []
  await inObject(id, (_object, state) => {
    for (let n = 0; n < maxSubscribers; n++) {
      const [other, socket] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket]
      others.push(other)
      state.acceptWebSocket(socket)
    }
  })
  const refused = await request('GET', `/api/sessions/${id}/events`)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '15'])
  expect(others).toHaveLength(maxSubscribers)
})

describe('a run as events', () => {
  it('begins with the user message, streams deltas and ends with the whole answer', async () => {
    const { id } = await start(['Good ', 'morning', '.'])
    const heard = await sendAndStream(id, { input: 'hello' })
    await heard.waitForClose()
    const [first] = heard.events as [ReceivedEvent]
    const last = heard.events.at(-1) as ReceivedEvent
    expect(heard.types.filter((type) => type !== 'message.delta')).toEqual(['run.started', 'run.completed'])
    expect(first).toEqual({
      type: 'run.started',
      input: 'hello',
      seq: 1,
      at: first.at,
      run_id: first.run_id,
      session_id: id,
    })
    expect(last).toEqual({
      type: 'run.completed',
      output: 'Good morning.',
      usage: {
        input: 60,
        output: 10,
        cached_read: 40,
        cached_write: 0,
        reasoning: 0,
        cost_usd: 0,
        cost_status: 'unknown',
      },
      exit_reason: 'answered',
      completed: true,
      seq: last.seq,
      at: last.at,
      run_id: first.run_id,
      session_id: id,
    })
    expect(joinDeltas(heard.events)).toBe('Good morning.')
    expect(increase(heard.seqs)).toBe(true)
  })

  it('counts on from turn to turn', async () => {
    const { id } = await start(['one'], ['two'])
    const listener = await subscribe(id)
    await send(id, 'first')
    await evict(id)
    await send(id, 'second')
    await listener.waitFor('run.completed', 2)
    expect(increase(listener.seqs)).toBe(true)
    expect(joinDeltas(listener.events)).toBe('onetwo')
    listener.close()
  })

  it('is the same by server-sent events and by WebSocket', async () => {
    const gate = new Gate()
    const { id } = await start(['a', gate, 'b'], ['c'])
    const [bySse, bySocket] = await Promise.all([subscribe(id), subscribeBySocket(id)])
    const running = send(id, 'go')
    await gate.waitUntilReached()
    gate.open()
    await running
    await send(id, 'again')
    await Promise.all([bySse.waitFor('run.completed', 2), bySocket.waitFor('run.completed', 2)])
    expect(bySocket.events).toEqual(bySse.events)
    bySse.close()
    bySocket.close()
  })
})

describe('coming back', () => {
  it('sends exactly the missed events after every event of a finished run, before and after an eviction', async () => {
    const write = (path: string) => ({ name: 'write_file', input: { path, content: 'alpha' } })
    const { id } = await newSession({
      model: model([calls(write('a.txt'), write('b.txt')), says('Some ', 'words ', 'in pieces'), says('more')]).id,
    })
    const all = await subscribe(id, 0)
    await send(id, 'go')
    await send(id, 'on')
    await all.waitFor('run.completed', 2)
    const whole = [...all.events]
    all.close()
    expect(whole.filter(({ type }) => type.startsWith('tool.'))).toHaveLength(4)
    for (const lose of [() => Promise.resolve(), () => evict(id), () => kill(id)]) {
      await lose()
      for (const { seq } of [{ seq: 0 }, ...whole]) {
        const [bySse, bySocket] = await Promise.all([subscribe(id, seq), subscribeBySocket(id, seq)])
        const expected = whole.filter((event) => event.seq > seq)
        await until(() => bySse.events.length >= expected.length && bySocket.events.length >= expected.length)
        expect(bySse.events).toEqual(expected)
        expect(bySocket.events).toEqual(expected)
        bySse.close()
        bySocket.close()
      }
    }
  })

  itInTurn('sends exactly the missed events while the answer is streamed', async () => {
    const [second, third] = [new Gate(), new Gate()]
    const { id } = await start(['one ', second, 'two ', third, 'three'])
    const first = await subscribe(id, 0)
    const running = send(id, 'go')
    await second.waitUntilReached()
    await first.waitFor('message.delta')
    const before = [...first.events]
    first.close()
    second.open()
    await third.waitUntilReached()
    const back = await Promise.all(before.map(({ seq }) => subscribe(id, seq)))
    third.open()
    await running
    for (const [i, listener] of back.entries()) {
      await listener.waitFor('run.completed')
      const joined = [...before.slice(0, i + 1), ...listener.events]
      expect(joinDeltas(joined)).toBe('one two three')
      expect(increase(joined.map(({ seq }) => seq))).toBe(true)
      listener.close()
    }
  })

  itInTurn('sends all past events to a slow reader, even more than the buffer limit', async () => {
    const answers = Array.from({ length: 4 }, (_, n) => `${n}${'-'.repeat(1_000_000)}`)
    const scripted = model(answers.map((answer) => says(answer))).id
    const { id } = await newSession({
      model: scripted,
      settings: { models: { [scripted]: { context_window: 4_000_000 } } },
    })
    for (const _ of answers) await send(id, 'go')
    const response = await request('GET', `/api/sessions/${id}/events`, { headers: { 'last-event-id': '0' } })
    await scheduler.wait(100)
    const late = readEvents(response)
    await late.waitFor('run.completed', answers.length)
    expect(joinDeltas(late.events) === answers.join('')).toBe(true)
    expect(increase(late.seqs)).toBe(true)
    expect(late.isClosed).toBe(false)
    late.close()
  })

  it('breaks when the session dies while past events are sent, and resumes after the last one', async () => {
    const { id } = await start(['Good ', 'morning', '.'])
    await send(id, 'hello')
    const page = async (after: number) => {
      if (after > 0) throw new Error('The object was reset.')
      return { text: 'id: 1\ndata: {"seq":1}\n\n', through: 1, isLast: false }
    }
    const stays = new AbortController().signal
    const told = await tell({ page, socket: async () => undefined }, 0, stays)
    const broken = readEvents(told ?? new Response())
    await broken.waitForClose()
    broken.close()
    expect(broken.seqs).toEqual([1])
    expect(String(broken.error)).toContain('The object was reset.')
    const after = await subscribe(id, 1)
    const last = await after.waitFor('run.completed')
    expect(after.seqs).toEqual(Array.from({ length: last.seq - 1 }, (_, i) => i + 2))
    after.close()
  })

  it('does not repeat thinking or text when both were streamed', async () => {
    const gate = new Gate()
    const scripted = model([
      [
        'data: {"choices":[{"index":0,"delta":{"reasoning_content":"Let me "}}]}\n\n',
        gate,
        'data: {"choices":[{"index":0,"delta":{"reasoning_content":"think."}}]}\n\n',
        ...(says('Yes.') as string[]),
      ],
    ])
    const { id } = await newSession({ model: scripted.id })
    const live = await subscribe(id, 0)
    const running = send(id, 'well?')
    await gate.waitUntilReached()
    gate.open()
    await running
    await live.waitFor('run.completed')
    const thoughts = (events: readonly ReceivedEvent[]) =>
      events.flatMap((event) => (event.type === 'reasoning.delta' ? [event['delta']] : [])).join('')
    expect(thoughts(live.events)).toBe('Let me think.')
    live.close()
    await kill(id)
    const later = await subscribe(id, 0)
    await later.waitFor('run.completed')
    expect(later.events).toEqual(live.events)
    expect(await listMessages(id)).toMatchObject([
      { content: 'well?' },
      { content: 'Yes.', reasoning: 'Let me think.' },
    ])
    later.close()
  })

  it('refuses a Last-Event-ID that is no number', async () => {
    const { id } = await start(['one'])
    const answer = await request('GET', `/api/sessions/${id}/events`, { headers: { 'last-event-id': 'abc' } })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'Last-Event-ID' } }])
  })
})

describe('after the object has died in the middle of an answer', () => {
  it('a reconnected subscriber misses nothing and can drop the discarded answer', async () => {
    const gate = new Gate()
    const { id } = await start(['The wrong ', gate, 'end'], ['The right answer.'])
    const first = await subscribe(id, 0)
    const broken = request('POST', `/api/sessions/${id}/chat`, { body: { input: 'go' } }).catch(() => undefined)
    await gate.waitUntilReached()
    await first.waitFor('message.delta')
    await kill(id)
    await first.waitForClose()
    await broken
    const back = await subscribe(id, first.seqs.at(-1))
    await fireAlarm(id)
    await back.waitFor('run.completed')
    const joined = [...first.events, ...back.events]
    expect(increase(joined.map(({ seq }) => seq))).toBe(true)
    const restarted = back.events.find(({ type }) => type === 'turn.restarted') as ReceivedEvent
    expect(restarted).toMatchObject({ reason: 'interrupted', from_seq: 1 })
    expect(joinDeltas(joined)).toBe('The right answer.')
    expect(back.events.at(-1)).toMatchObject({ output: 'The right answer.', completed: true })
    // Somebody who was not there at all gets the same answer, without the pieces that were given up.
    const late = await subscribe(id, 0)
    await late.waitFor('run.completed')
    expect(joinDeltas(late.events)).toBe('The right answer.')
    back.close()
    late.close()
  })
})

describe('the end', () => {
  it('closes every stream of the run and leaves those of the session open', async () => {
    const gate = new Gate()
    const { id } = await start(['a', gate, 'b'])
    const ofSession = await subscribe(id)
    const stream = await sendAndStream(id, { input: 'go' })
    await gate.waitUntilReached()
    gate.open()
    await stream.waitForClose()
    expect([stream.events.at(-1)?.type, stream.error]).toEqual(['run.completed', undefined])
    await ofSession.waitFor('run.completed')
    expect(ofSession.isClosed).toBe(false)
    ofSession.close()
  })

  it('goes on without a listener that has left', async () => {
    const gate = new Gate()
    const { id } = await start(['a', gate, 'b'], ['c'])
    const stream = await sendAndStream(id, { input: 'go' })
    await gate.waitUntilReached()
    stream.close()
    gate.open()
    await until(async () => (await listMessages(id)).length === 2)
    expect(await listMessages(id)).toMatchObject([{ content: 'go' }, { content: 'ab' }])
  })

  it('is given to a stream of chat completions as its last chunks', async () => {
    const response = await request('POST', '/v1/chat/completions', {
      body: {
        model: model([says('Hi ', 'there')]).id,
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hello' }],
      },
    })
    const listener = readEvents(response)
    await listener.waitForClose()
    const chunks = listener.frames.map((frame) => frame.replace(/^data: /, ''))
    expect(chunks.at(-1)).toBe('[DONE]')
    const parsed = chunks
      .slice(0, -1)
      .map((text) => JSON.parse(text) as { choices: { delta: object; finish_reason: unknown }[]; usage?: object })
    expect(
      parsed.flatMap(({ choices }) => choices.map(({ delta }) => ('content' in delta ? delta.content : ''))).join(''),
    ).toBe('Hi there')
    expect(parsed.at(-2)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }])
    expect(parsed.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_tokens_details: { cached_tokens: 40 },
      },
    })
  })
})
