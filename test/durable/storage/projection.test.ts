/** Tests the projection of a session to D1, complete and without duplicates, and the rebuild from it. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createD1History } from '#db/history.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { itInTurn } from '#test/support/long.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { outage } from '../../support/outage.ts'
import { calls, Gate, model, listTexts, says, until } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { listLines, subscribe, readEvents, listMessages, send } from '../../worker/listen.ts'
import { alarmOf, billedRows, kill, objectOf, fireAlarm, wipe } from '../support/object.ts'
import { ownerAuthority } from '../../support/authority.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  replaceClock()
  vi.restoreAllMocks()
})

const history = createD1History(bindings.DB, 'default')

/** The messages in history, page by page. */
async function stored(id: string) {
  const pages = await history.listPages(id, 0)
  return pages.flatMap(({ entries }) =>
    entries.map(({ seq, id: name, message }) => ({ seq, name, role: message.role })),
  )
}
const asShown = async (id: string) =>
  (await listMessages<{ seq: number; id: string; role: string }>(id)).map(({ seq, id: name, role }) => ({
    seq,
    name,
    role,
  }))
const countPages = async () =>
  (await bindings.DB.prepare('SELECT count(*) AS n FROM page').first<{ n: number }>())?.n ?? 0
const isComplete = (id: string) =>
  until(async () => JSON.stringify(await stored(id)) === JSON.stringify(await asShown(id)))

const write = { name: 'write_file', input: { path: 'a.txt', content: 'alpha' } }

describe('history', () => {
  it('gets every message of a turn once and in order', async () => {
    const { id } = await newSession({ model: model([calls(write), says('one'), says('two')]).id })
    await send(id, 'first')
    await send(id, 'second')
    await isComplete(id)
    expect((await stored(id)).map(({ seq, role }) => `${seq} ${role}`)).toEqual([
      '1 user',
      '2 assistant',
      '3 tool',
      '4 assistant',
      '5 user',
      '6 assistant',
    ])
  })

  it('finds the session and its messages', async () => {
    const { id } = await newSession({ model: model([says('a quokka, of course')]).id })
    await send(id, 'which animal smiles?')
    await isComplete(id)
    const { body } = await call<{ data: object[] }>('GET', '/api/search?q=quokka')
    expect(body.data).toMatchObject([{ session_id: id, title: 'which animal smiles?' }])
    const list = await call<{ data: { id: string }[] }>('GET', '/api/sessions?q=smiles')
    expect(list.body.data.map((session) => session.id)).toEqual([id])
  })
})

describe('while D1 is unreachable', () => {
  it('turns are answered, and history is complete after the outage', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([calls(write), says('one'), says('two')]).id })
    outage.isDatabaseDown = true
    expect(await send(id, 'first')).toMatchObject({ output: 'one' })
    expect(await send(id, 'second')).toMatchObject({ output: 'two' })
    await until(() => outage.refusedCount)
    const retryAt = await until(() => alarmOf(id))
    expect(retryAt).toBeGreaterThan(Date.now())
    expect(retryAt).toBeLessThan(Date.now() + 300_000)
    expect(await stored(id)).toEqual([])
    outage.restore()
    // The alarm or the end of the turn sends it, whichever is first.
    await fireAlarm(id)
    await isComplete(id)
    expect(await stored(id)).toHaveLength(6)
    await until(async () => (await alarmOf(id)) === null)
  })

  it('pending pages survive a crash of the object', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one')]).id })
    outage.isDatabaseDown = true
    await send(id, 'first')
    await until(() => outage.refusedCount)
    await until(() => alarmOf(id))
    await kill(id)
    outage.restore()
    expect(await fireAlarm(id)).toBe(true)
    await isComplete(id)
    expect(await stored(id)).toHaveLength(2)
  })

  it('a session can be created and is listed afterwards', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    outage.isDatabaseDown = true
    const { id } = await newSession({ title: 'Made in the dark' })
    expect((await call('GET', `/api/sessions/${id}`)).body['title']).toBe('Made in the dark')
    outage.restore()
    await fireAlarm(id)
    const titles = async () =>
      (await call<{ data: { title: string }[] }>('GET', '/api/sessions?q=dark')).body.data.map(({ title }) => title)
    await until(async () => (await titles()).length)
    expect(await titles()).toEqual(['Made in the dark'])
  })

  it('a question can still be found and answered', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const scripted = model([calls({ id: 'q', name: 'clarify', input: { question: 'Well?' } }), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    outage.isDatabaseDown = true
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
    const open = async () =>
      (await call<{ data: { id: string }[] }>('GET', '/api/questions')).body.data
        .map((one) => one.id)
        .find((one) => one.startsWith(`${id}.`))
    const question = await until(open)
    expect((await call('POST', `/api/questions/${question}`, { body: { answer: 'yes' } })).status).toBe(200)
    await until(async () => !(await open()))
    await until(async () => (await listLines(id)).at(-1) === 'assistant: Fine.')
    expect(scripted.requests.length).toBe(2)
  })

  it('nothing is stored twice when only the response of D1 is lost', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one'), says('two')]).id })
    outage.dropsNextResult = true
    await send(id, 'first')
    await until(() => outage.refusedCount)
    // The alarm or the next turn sends it, whichever is first.
    await fireAlarm(id)
    await send(id, 'second')
    await isComplete(id)
    const { results } = await bindings.DB.prepare(
      'SELECT count(*) AS n FROM page JOIN session ON page.id >> 20 = session.num WHERE session.id = ?',
    )
      .bind(id)
      .all()
    expect(results).toEqual([{ n: 2 }])
  })

  it('turns that are undone during the outage are undone in history too', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one'), says('mistake'), says('three')]).id })
    await send(id, 'first')
    await send(id, 'second')
    await isComplete(id)
    outage.isDatabaseDown = true
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    await until(() => outage.refusedCount)
    await until(() => alarmOf(id))
    await kill(id)
    outage.restore()
    await fireAlarm(id)
    await isComplete(id)
    expect((await stored(id)).map(({ seq }) => seq)).toEqual([1, 2])
    await send(id, 'third')
    await isComplete(id)
    await wipe(id)
    expect(await listLines(id)).toEqual(['user: first', 'assistant: one', 'user: third', 'assistant: three'])
  })
})

describe('much that history lacks', () => {
  it('is sent in batches of a few megabytes', async () => {
    let batches = 0
    outage.beforeBatch = async () => void batches++
    const messages = Array.from({ length: 60 }, (_, n) => ({ role: 'user', content: `${n}${'x'.repeat(100_000)}` }))
    const { body } = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    await until(async () => (await stored(body.id)).length === messages.length)
    expect(batches).toBeGreaterThanOrEqual(3)
    expect((await stored(body.id)).map(({ seq }) => seq)).toEqual(messages.map((_, n) => n + 1))
  })
})

describe('while D1 is slow', () => {
  it('an alarm is set until history is complete, also for changes without a turn', async () => {
    const { id } = await newSession({ model: model([says('one'), says('mistake')]).id })
    await send(id, 'first')
    await send(id, 'second')
    await isComplete(id)
    await until(async () => (await alarmOf(id)) === null)
    const held = new Gate()
    outage.beforeBatch = () => held.waitUntilOpen()
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    await held.waitUntilReached()
    expect(await alarmOf(id)).not.toBeNull()
    held.open()
    await until(async () => (await alarmOf(id)) === null)
  })

  it('a partly sent row is completed by the next instance of the object', async () => {
    const held = new Gate()
    const before = await countPages()
    outage.beforeBatch = async () => ((await countPages()) > before + 5 ? held.waitUntilOpen() : undefined)
    const messages = Array.from({ length: 70 }, (_, n) => ({ role: 'user', content: `${n}${'x'.repeat(100_000)}` }))
    const { body } = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    await held.waitUntilReached()
    await kill(body.id)
    held.open()
    const sent = (await stored(body.id)).length
    expect(sent).toBeGreaterThan(0)
    expect(sent).toBeLessThan(messages.length)
    await fireAlarm(body.id)
    await until(async () => (await stored(body.id)).length === messages.length)
    expect((await stored(body.id)).map(({ seq }) => seq)).toEqual(messages.map((_, n) => n + 1))
  })

  itInTurn('nothing of a deleted session is written after its deletion', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const held = new Gate()
    const before = await countPages()
    outage.beforeBatch = async () => ((await countPages()) > before + 5 ? held.waitUntilOpen() : undefined)
    const messages = Array.from({ length: 24 }, () => ({ role: 'user', content: 'x'.repeat(390_000) }))
    const imported = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    expect(imported.status).toBe(201)
    const { id } = imported.body
    await held.waitUntilReached()
    const removed = call('DELETE', `/api/sessions/${id}`)
    // The deletion waits two seconds for running work.
    await until(() => clock.pending().includes(2_000))
    clock.pass(2_500)
    await until(() => !clock.pending().includes(2_000))
    held.open()
    expect((await removed).status).toBe(204)
    // Delayed work would continue now, while another session is written.
    const later = await call<{ id: string }>('POST', '/api/sessions/import', {
      body: { messages: messages.slice(0, 2) },
    })
    await until(async () => (await stored(later.body.id)).length === 2)
    const { results } = await bindings.DB.prepare('SELECT id FROM session WHERE id = ?').bind(id).all()
    expect(results).toEqual([])
  })
})

describe('an object that lost its storage', () => {
  it('is rebuilt from history with the same ids and prompt, and continues the conversation', async () => {
    const scripted = model([calls(write), says('one'), says('two')])
    const settings = { agent: { max_turns: 9 } }
    const { id } = await newSession({ model: scripted.id, title: 'Kept', settings })
    const run = await send(id, 'first')
    await isComplete(id)
    const before = {
      session: (await call('GET', `/api/sessions/${id}`)).body,
      messages: await listMessages(id),
      run: (await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body,
    }
    await wipe(id)
    expect({
      session: (await call('GET', `/api/sessions/${id}`)).body,
      messages: await listMessages(id),
      run: (await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body,
    }).toEqual(before)
    await send(id, 'second')
    expect(scripted.requests[2]?.messages[0]).toEqual(scripted.requests[0]?.messages[0])
    expect(listTexts(scripted.requests[2]!).slice(0, 2)).toEqual(['user: first', 'assistant: → write_file'])
    expect((await listMessages<{ seq: number }>(id)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    await isComplete(id)
  })

  it('continues to count usage and has a stream that ends', async () => {
    const { id } = await newSession({ model: model([says('one'), says('two')]).id })
    await send(id, 'first')
    await isComplete(id)
    await wipe(id)
    await send(id, 'second')
    expect((await call('GET', `/api/sessions/${id}`)).body['usage']).toMatchObject({ input: 120, output: 20 })
    const listener = await subscribe(id, 0)
    expect(await listener.waitFor('run.completed')).toMatchObject({ output: 'two' })
    listener.close()
  })

  it('sends the stored calls and answer of a run, and its end, to a repeated stream', async () => {
    const scripted = model([calls(write), says('one')])
    const { id } = await newSession({ model: scripted.id })
    const ask = (path: string, body: object) =>
      request('POST', path, { body, headers: { 'idempotency-key': 'stream' } })
    const stream = () => ask(`/api/sessions/${id}/chat/stream`, { input: 'first' }).then(readEvents)
    const chunks = () =>
      ask('/v1/chat/completions', { model: scripted.id, stream: true, messages: [{ role: 'user', content: 'hi' }] })
    const whole = await stream()
    await whole.waitForClose()
    const completion = await chunks()
    const made = completion.headers.get('x-talaria-session-id') ?? ''
    await completion.text()
    for (const one of [id, made]) {
      await isComplete(one)
      await wipe(one)
    }
    const again = await stream()
    await again.waitForClose()
    const chunksAgain = await (await chunks()).text()
    const { output, run_id } = whole.events.at(-1)!
    expect(again.types).toEqual(['tool.started', 'tool.completed', 'message.delta', 'run.completed'])
    expect(again.events[2]).toMatchObject({ delta: output })
    expect(again.events.at(-1)).toMatchObject({ output, run_id })
    expect(chunksAgain).toMatch(/"content":"ok".*data: \[DONE\]\n\n$/s)
    expect(scripted.requests).toHaveLength(3)
  })

  it('is unknown when history does not have it', async () => {
    expect(await objectOf('ses_none').info.get(ownerAuthority())).toBe(undefined)
    expect((await request('GET', '/api/sessions/ses_none')).status).toBe(404)
  })
})

describe('rows', () => {
  /** The rows that the object writes during an action. */
  async function written(id: string, act: () => Promise<unknown>): Promise<number> {
    const before = (await billedRows(id)).session.written
    await act()
    return (await billedRows(id)).session.written - before
  }

  it('a plain turn writes two rows', async () => {
    const { id } = await newSession({ model: model([says('one'), says('two ', 'in ', 'pieces')]).id })
    await send(id, 'first')
    expect(await written(id, () => send(id, 'second'))).toBeLessThanOrEqual(2)
  })

  itInTurn('a step with tools writes two more rows', async () => {
    const list = (n: number) => calls({ id: `t${n}`, name: 'todo', input: {} })
    const { id } = await newSession({ model: model([says('one'), list(1), list(2), list(3), says('done')]).id })
    await send(id, 'first')
    expect(await written(id, () => send(id, 'second'))).toBeLessThanOrEqual(2 + 3 * 2)
  })

  it('a wake-up writes no rows', async () => {
    const { id } = await newSession({ model: model([says('one')]).id })
    await send(id, 'first')
    await isComplete(id)
    await kill(id)
    expect(await written(id, () => listMessages(id))).toBe(0)
  })

  itInTurn('subscribing to events writes no rows', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('one'), says('two', gate)]).id })
    await send(id, 'first')
    const running = send(id, 'second')
    await gate.waitUntilReached()
    const listening = async () => {
      const listener = await subscribe(id, 0)
      await listener.waitFor('message.delta', 2)
      listener.close()
    }
    expect(await written(id, listening)).toBe(0)
    gate.open()
    await running
  })
})

describe('large content', () => {
  /** A session whose model has a large context window. */
  const roomy = (id: string) =>
    newSession({ model: id, settings: { models: { [id]: { context_window: 20_000_000 } } } })

  itInTurn('a turn with more results than fit into a row is stored completely', async () => {
    const line = `${'All work and no play makes Jack a dull boy. '.repeat(4)}\n`.repeat(300)
    const writes = Array.from({ length: 30 }, (_, i) => ({
      id: `w${i}`,
      name: 'write_file',
      input: { path: `f${i}.txt`, content: line },
    }))
    const cats = writes.map((_, i) => ({ id: `r${i}`, name: 'read_file', input: { path: `f${i}.txt` } }))
    const scripted = model([calls(...writes), calls(...cats), says('Done.'), says('Still there.')])
    const { id } = await roomy(scripted.id)
    expect(await send(id, 'go')).toMatchObject({ status: 'completed', output: 'Done.' })
    await isComplete(id)
    const outline = async () =>
      (await listMessages<{ seq: number; role: string; content: string | null }>(id)).map(
        ({ seq, role, content }) => `${seq} ${role} ${content?.length}`,
      )
    const before = await outline()
    expect(before).toHaveLength(64)
    await kill(id)
    expect(await outline()).toEqual(before)
    await wipe(id)
    expect(await outline()).toEqual(before)
    expect(await send(id, 'again')).toMatchObject({ output: 'Still there.' })
    await isComplete(id)
  })

  it('the longest message is streamed completely and truncated in history', async () => {
    const scripted = model([says('Long.'), says('Still there.')])
    const { id } = await roomy(scripted.id)
    const text = '長い文章。'.repeat(118_000)
    expect(await send(id, text)).toMatchObject({ status: 'completed', output: 'Long.' })
    await kill(id)
    expect(await send(id, 'again')).toMatchObject({ status: 'completed', output: 'Still there.' })
    expect(listTexts(scripted.requests[1]!)[0] === `user: ${text}`).toBe(true)
    await isComplete(id)
    const [page] = await history.listPages(id, 0)
    expect(JSON.stringify(page?.entries[0]?.message)).toMatch(/長い文章。.*characters were too many.*長い文章。/)
  })
})
