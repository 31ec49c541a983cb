/** What D1 has of a session: all of it in the end, once; and how a session comes back from there. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createD1History } from '../../../src/db/history.ts'
import { outage } from '../../support/outage.ts'
import { calls, Gate, model, saidIn, says, until } from '../../support/scripted-model.ts'
import { bindings, call, migrated, newSession, request } from '../../worker/client.ts'
import { linesOf, listen, listenTo, messagesOf, say } from '../../worker/listen.ts'
import { alarmOf, billedRows, kill, objectOf, ring, wipe } from '../support/object.ts'

beforeAll(migrated)
afterEach(() => {
  outage.mend()
  vi.restoreAllMocks()
})

const history = createD1History(bindings.DB, 'default')

/** Messages as history has them, page by page. */
async function stored(id: string) {
  const pages = await history.pages(id, 0)
  return pages.flatMap(({ entries }) =>
    entries.map(({ seq, id: name, message }) => ({ seq, name, role: message.role })),
  )
}
const asShown = async (id: string) =>
  (await messagesOf<{ seq: number; id: string; role: string }>(id)).map(({ seq, id: name, role }) => ({
    seq,
    name,
    role,
  }))
const isComplete = (id: string) =>
  until(async () => JSON.stringify(await stored(id)) === JSON.stringify(await asShown(id)))

const write = { name: 'write_file', input: { path: 'a.txt', content: 'alpha' } }

describe('history', () => {
  it('gets every message of a turn, once, in its place', async () => {
    const { id } = await newSession({ model: model([calls(write), says('one'), says('two')]).id })
    await say(id, 'first')
    await say(id, 'second')
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

  it('finds the session, and what was said in it', async () => {
    const { id } = await newSession({ model: model([says('a quokka, of course')]).id })
    await say(id, 'which animal smiles?')
    await isComplete(id)
    const { body } = await call<{ data: object[] }>('GET', '/api/search?q=quokka')
    expect(body.data).toMatchObject([{ session_id: id, title: 'which animal smiles?' }])
    const list = await call<{ data: { id: string }[] }>('GET', '/api/sessions?q=smiles')
    expect(list.body.data.map((session) => session.id)).toEqual([id])
  })
})

describe('while D1 is away', () => {
  it('turns are answered, and history is complete when it is back', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([calls(write), says('one'), says('two')]).id })
    outage.cut = true
    expect(await say(id, 'first')).toMatchObject({ output: 'one' })
    expect(await say(id, 'second')).toMatchObject({ output: 'two' })
    await until(() => outage.refused)
    const retryAt = await until(() => alarmOf(id))
    expect(retryAt).toBeGreaterThan(Date.now())
    expect(retryAt).toBeLessThan(Date.now() + 300_000)
    expect(await stored(id)).toEqual([])
    outage.mend()
    // Whoever comes first sends it: the alarm, or the turn that has just ended.
    await ring(id)
    await isComplete(id)
    expect(await stored(id)).toHaveLength(6)
    await until(async () => (await alarmOf(id)) === null)
  })

  it('survives the death of the object too', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one')]).id })
    outage.cut = true
    await say(id, 'first')
    await until(() => outage.refused)
    await until(() => alarmOf(id))
    await kill(id)
    outage.mend()
    expect(await ring(id)).toBe(true)
    await isComplete(id)
    expect(await stored(id)).toHaveLength(2)
  })

  it('a session can be created, and is in the list afterwards', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    outage.cut = true
    const { id } = await newSession({ title: 'Made in the dark' })
    expect((await call('GET', `/api/sessions/${id}`)).body['title']).toBe('Made in the dark')
    outage.mend()
    await ring(id)
    const titles = async () =>
      (await call<{ data: { title: string }[] }>('GET', '/api/sessions?q=dark')).body.data.map(({ title }) => title)
    await until(async () => (await titles()).length)
    expect(await titles()).toEqual(['Made in the dark'])
  })

  it('a question can still be found and answered', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const scripted = model([calls({ id: 'q', name: 'clarify', input: { question: 'Well?' } }), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    outage.cut = true
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
    const open = async () =>
      (await call<{ data: { id: string }[] }>('GET', '/api/questions')).body.data
        .map((one) => one.id)
        .find((one) => one.startsWith(`${id}.`))
    const question = await until(open)
    expect((await call('POST', `/api/questions/${question}`, { body: { answer: 'yes' } })).status).toBe(200)
    await until(async () => !(await open()))
    await until(async () => (await linesOf(id)).at(-1) === 'assistant: Fine.')
    expect(scripted.asked.length).toBe(2)
  })

  it('nothing is stored twice when only the answer of D1 was lost', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one'), says('two')]).id })
    outage.losesNextAnswer = true
    await say(id, 'first')
    await until(() => outage.refused)
    // By the alarm, or with the next turn when that was faster.
    await ring(id)
    await say(id, 'second')
    await isComplete(id)
    const { results } = await bindings.DB.prepare(
      'SELECT count(*) AS n FROM page JOIN session ON page.id >> 20 = session.num WHERE session.id = ?',
    )
      .bind(id)
      .all()
    expect(results).toEqual([{ n: 2 }])
  })

  it('what was taken back meanwhile is taken back there too', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { id } = await newSession({ model: model([says('one'), says('mistake'), says('three')]).id })
    await say(id, 'first')
    await say(id, 'second')
    await isComplete(id)
    outage.cut = true
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    await until(() => outage.refused)
    await until(() => alarmOf(id))
    await kill(id)
    outage.mend()
    await ring(id)
    await isComplete(id)
    expect((await stored(id)).map(({ seq }) => seq)).toEqual([1, 2])
    await say(id, 'third')
    await isComplete(id)
    await wipe(id)
    expect(await linesOf(id)).toEqual(['user: first', 'assistant: one', 'user: third', 'assistant: three'])
  })
})

describe('while D1 is slow', () => {
  it('an alarm is set as long as it lacks something, for what begins no turn too', async () => {
    const { id } = await newSession({ model: model([says('one'), says('mistake')]).id })
    await say(id, 'first')
    await say(id, 'second')
    await isComplete(id)
    await until(async () => (await alarmOf(id)) === null)
    const held = new Gate()
    outage.beforeBatch = () => held.opens()
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    await held.reached()
    expect(await alarmOf(id)).not.toBeNull()
    held.open()
    await until(async () => (await alarmOf(id)) === null)
  })

  it('a row of which only some pages have arrived is sent to its end by the next life', async () => {
    const held = new Gate()
    let batches = 0
    outage.beforeBatch = async () => (++batches === 2 ? held.opens() : undefined)
    const messages = Array.from({ length: 70 }, (_, n) => ({ role: 'user', content: `${n}${'x'.repeat(100_000)}` }))
    const { body } = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    await held.reached()
    await kill(body.id)
    held.open()
    expect(await stored(body.id)).toHaveLength(64)
    await ring(body.id)
    await until(async () => (await stored(body.id)).length === messages.length)
    expect((await stored(body.id)).map(({ seq }) => seq)).toEqual(messages.map((_, n) => n + 1))
  })

  it('nothing of a deleted session comes after its end', async () => {
    const held = new Gate()
    let batches = 0
    outage.beforeBatch = async () => (++batches === 2 ? held.opens() : undefined)
    const messages = Array.from({ length: 24 }, () => ({ role: 'user', content: 'x'.repeat(390_000) }))
    const imported = await call<{ id: string }>('POST', '/api/sessions/import', { body: { messages } })
    expect(imported.status).toBe(201)
    const { id } = imported.body
    await held.reached()
    const removed = call('DELETE', `/api/sessions/${id}`)
    // Longer than anything that runs is waited for.
    await Promise.race([removed, scheduler.wait(2_500)])
    held.open()
    expect((await removed).status).toBe(204)
    // What was held goes on by itself now, if it does.
    await scheduler.wait(200)
    const { results } = await bindings.DB.prepare('SELECT id FROM session WHERE id = ?').bind(id).all()
    expect(results).toEqual([])
  })
})

describe('an object that has lost its storage', () => {
  it('is rebuilt from history: the same ids, the same prompt, and the conversation goes on', async () => {
    const scripted = model([calls(write), says('one'), says('two')])
    const settings = { agent: { max_turns: 9 } }
    const { id } = await newSession({ model: scripted.id, title: 'Kept', settings })
    const run = await say(id, 'first')
    await isComplete(id)
    const before = {
      session: (await call('GET', `/api/sessions/${id}`)).body,
      messages: await messagesOf(id),
      run: (await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body,
    }
    await wipe(id)
    expect({
      session: (await call('GET', `/api/sessions/${id}`)).body,
      messages: await messagesOf(id),
      run: (await call('GET', `/api/sessions/${id}/runs/${run.run_id}`)).body,
    }).toEqual(before)
    await say(id, 'second')
    expect(scripted.asked[2]?.messages[0]).toEqual(scripted.asked[0]?.messages[0])
    expect(saidIn(scripted.asked[2]!).slice(0, 2)).toEqual(['user: first', 'assistant: → write_file'])
    expect((await messagesOf<{ seq: number }>(id)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    await isComplete(id)
  })

  it('goes on counting usage, and has a stream that ends', async () => {
    const { id } = await newSession({ model: model([says('one'), says('two')]).id })
    await say(id, 'first')
    await isComplete(id)
    await wipe(id)
    await say(id, 'second')
    expect((await call('GET', `/api/sessions/${id}`)).body['usage']).toMatchObject({ input: 120, output: 20 })
    const listener = await listen(id, 0)
    expect(await listener.heard('run.completed')).toMatchObject({ output: 'two' })
    listener.close()
  })

  it('tells a repeated stream the answer that is stored, and its end', async () => {
    const scripted = model([calls(write), says('one')])
    const { id } = await newSession({ model: scripted.id })
    const ask = (path: string, body: object) =>
      request('POST', path, { body, headers: { 'idempotency-key': 'stream' } })
    const stream = () => ask(`/api/sessions/${id}/chat/stream`, { input: 'first' }).then(listenTo)
    const chunks = () =>
      ask('/v1/chat/completions', { model: scripted.id, stream: true, messages: [{ role: 'user', content: 'hi' }] })
    const whole = await stream()
    await whole.closed()
    const completion = await chunks()
    const made = completion.headers.get('x-talaria-session-id') ?? ''
    await completion.text()
    for (const one of [id, made]) {
      await isComplete(one)
      await wipe(one)
    }
    const again = await stream()
    await again.closed()
    const chunksAgain = await (await chunks()).text()
    const { output, run_id } = whole.events.at(-1)!
    expect(again.types).toEqual(['message.delta', 'run.completed'])
    expect(again.events.at(-1)).toMatchObject({ output, run_id })
    expect(chunksAgain).toMatch(/"content":"ok".*data: \[DONE\]\n\n$/s)
    expect(scripted.asked).toHaveLength(3)
  })

  it('is unknown when history has never heard of it', async () => {
    expect(await objectOf('ses_none').info.get()).toBe(undefined)
    expect((await request('GET', '/api/sessions/ses_none')).status).toBe(404)
  })
})

describe('rows', () => {
  /** Rows that the object wrote for what happens between. */
  async function written(id: string, act: () => Promise<unknown>): Promise<number> {
    const before = (await billedRows(id)).session.written
    await act()
    return (await billedRows(id)).session.written - before
  }

  it('a plain turn writes two', async () => {
    const { id } = await newSession({ model: model([says('one'), says('two ', 'in ', 'pieces')]).id })
    await say(id, 'first')
    expect(await written(id, () => say(id, 'second'))).toBeLessThanOrEqual(2)
  })

  it('a step with tools writes two more', async () => {
    const list = (n: number) => calls({ id: `t${n}`, name: 'todo', input: {} })
    const { id } = await newSession({ model: model([says('one'), list(1), list(2), list(3), says('done')]).id })
    await say(id, 'first')
    expect(await written(id, () => say(id, 'second'))).toBeLessThanOrEqual(2 + 3 * 2)
  })

  it('waking up writes none', async () => {
    const { id } = await newSession({ model: model([says('one')]).id })
    await say(id, 'first')
    await isComplete(id)
    await kill(id)
    expect(await written(id, () => messagesOf(id))).toBe(0)
  })

  it('listening writes none', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('one'), says('two', gate)]).id })
    await say(id, 'first')
    const running = say(id, 'second')
    await gate.reached()
    const listening = async () => {
      const listener = await listen(id, 0)
      await listener.heard('message.delta', 2)
      listener.close()
    }
    expect(await written(id, listening)).toBe(0)
    gate.open()
    await running
  })
})

describe('what is large', () => {
  /** A session whose model takes it all. */
  const roomy = (id: string) =>
    newSession({ model: id, settings: { models: { [id]: { context_window: 20_000_000 } } } })

  it('a turn with more results than a row holds is kept whole', async () => {
    const line = `${'All work and no play makes Jack a dull boy. '.repeat(4)}\n`.repeat(300)
    const writes = Array.from({ length: 30 }, (_, i) => ({
      id: `w${i}`,
      name: 'write_file',
      input: { path: `f${i}.txt`, content: line },
    }))
    const cats = writes.map((_, i) => ({ id: `r${i}`, name: 'read_file', input: { path: `f${i}.txt` } }))
    const scripted = model([calls(...writes), calls(...cats), says('Done.'), says('Still there.')])
    const { id } = await roomy(scripted.id)
    expect(await say(id, 'go')).toMatchObject({ status: 'completed', output: 'Done.' })
    await isComplete(id)
    const outline = async () =>
      (await messagesOf<{ seq: number; role: string; content: string | null }>(id)).map(
        ({ seq, role, content }) => `${seq} ${role} ${content?.length}`,
      )
    const before = await outline()
    expect(before).toHaveLength(64)
    await kill(id)
    expect(await outline()).toEqual(before)
    await wipe(id)
    expect(await outline()).toEqual(before)
    expect(await say(id, 'again')).toMatchObject({ output: 'Still there.' })
    await isComplete(id)
  }, 20_000)

  it('the longest message is heard whole; history has its beginning and its end', async () => {
    const scripted = model([says('Long.'), says('Still there.')])
    const { id } = await roomy(scripted.id)
    const text = '長い文章。'.repeat(118_000)
    expect(await say(id, text)).toMatchObject({ status: 'completed', output: 'Long.' })
    await kill(id)
    expect(await say(id, 'again')).toMatchObject({ status: 'completed', output: 'Still there.' })
    expect(saidIn(scripted.asked[1]!)[0] === `user: ${text}`).toBe(true)
    await isComplete(id)
    const [page] = await history.pages(id, 0)
    expect(JSON.stringify(page?.entries[0]?.message)).toMatch(/長い文章。.*characters were too many.*長い文章。/)
  }, 20_000)
})
