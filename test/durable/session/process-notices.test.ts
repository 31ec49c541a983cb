/** Tests background processes of a session: their states, and the notices about them. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import {
  type ModelRequest,
  type ScriptedCall,
  calls,
  Gate,
  hangs,
  model,
  type Reply,
  listTexts,
  says,
  until,
} from '../../support/scripted-model.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { call, applyMigrations, newSession, newTenant, request } from '../../worker/client.ts'
import { listMessages, send } from '../../worker/listen.ts'
import { alarmOf, billedRows, inObject, kill, objectOf, fireAlarm } from '../support/object.ts'

beforeAll(applyMigrations)

const background = (command: string, more: object = {}): ScriptedCall => ({
  name: 'terminal',
  input: { command, background: true, ...more },
})
const look = (input: object): ScriptedCall => ({ name: 'process', input })
/** Runs until a test puts the file there. */
const untilFile = (file: string) => `while [ ! -e ${file} ]; do sleep 0.02; done`
const put = (id: string, file: string) => request('PUT', `/api/sessions/${id}/files/${file}`, { body: 'x' })
type Stored = { readonly role: string; readonly content: unknown; readonly source?: string | null }
const stored = (id: string) => listMessages<Stored>(id)
const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status']
const newsIn = async (id: string) =>
  (await stored(id)).filter(({ source }) => source === 'process').map(({ content }) => String(content))
const resultsIn = async (id: string) =>
  (await stored(id))
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(String(content)) as Record<string, unknown>)
/** Rings without waiting for what follows. */
const knock = (id: string) => void fireAlarm(id).catch(() => undefined)
/** Lets the alarm ring until the session has heard so much of its processes, and rests. */
const hears = (id: string, count: number) =>
  until(async () => {
    await fireAlarm(id)
    const news = await newsIn(id)
    return news.length >= count && (await statusOf(id)) === 'idle' ? news : undefined
  })

async function session(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted }
}

describe('a background process', () => {
  it('is started at once, listed, and goes on after its turn', async () => {
    const { id } = await session(
      calls(background(`${untilFile('go')}; echo made > out.txt`)),
      calls(look({ action: 'list' })),
      says('Started.'),
    )
    await send(id, 'go')
    const [started, list] = await resultsIn(id)
    expect(started).toMatchObject({ exit_code: 0, cwd: '/workspace' })
    expect(list).toMatchObject({ count: 1, processes: [{ session_id: started?.['session_id'], status: 'running' }] })
    expect(await alarmOf(id)).not.toBeNull()
    await put(id, 'go')
    await until(async () => (await request('GET', `/api/sessions/${id}/files/out.txt`)).status === 200)
    await until(async () => {
      await fireAlarm(id)
      return (await alarmOf(id)) === null
    })
    expect(await newsIn(id)).toEqual([])
  })

  it('that ends while the session is idle opens one turn, and no second one', async () => {
    const { id, scripted } = await session(
      calls(background(`${untilFile('go')}; echo all done; exit 3`, { notify_on_complete: true })),
      says('Started.'),
      says('It failed.'),
    )
    await send(id, 'go')
    await put(id, 'go')
    const [news] = await hears(id, 1)
    expect(news).toContain('exited with code 3')
    expect(news).toContain('| all done')
    expect(listTexts(scripted.requests[2] as ModelRequest).at(-1)).toContain('exited with code 3')
    await kill(id)
    await fireAlarm(id)
    await fireAlarm(id)
    expect(await newsIn(id)).toHaveLength(1)
    expect(scripted.requests).toHaveLength(3)
  })

  itInTurn('that prints a watched pattern opens a turn, and continues', async () => {
    const { id } = await session(
      calls(background(`echo starting; echo server ready; ${untilFile('never')}`, { watch_patterns: ['ready'] })),
      says('Started.'),
      calls(look({ action: 'list' })),
      says('I see.'),
    )
    await send(id, 'go')
    const [news] = await hears(id, 1)
    expect(news).toContain('| server ready')
    expect(news).not.toContain('starting\n')
    expect(await resultsIn(id)).toMatchObject([{}, { processes: [{ status: 'running' }] }])
    await fireAlarm(id)
    expect(await newsIn(id)).toHaveLength(1)
    await call('DELETE', `/api/sessions/${id}`)
  })

  it('does not interrupt a turn: its end is reported after the turn', async () => {
    const gate = new Gate()
    const { id, scripted } = await session(
      calls(background(`${untilFile('go')}`, { notify_on_complete: true })),
      says('Started.'),
      hangs(gate),
      says('So it ended.'),
    )
    await send(id, 'go')
    const busy = send(id, 'something else')
    await gate.waitUntilReached()
    await put(id, 'go')
    for (let n = 0; n < 5; n++) {
      await scheduler.wait(30)
      knock(id)
    }
    expect(await newsIn(id)).toEqual([])
    gate.open()
    expect((await busy).output).toBe('released')
    await hears(id, 1)
    expect((await stored(id)).map(({ role, source }) => source ?? role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
      'process',
      'assistant',
    ])
    expect(scripted.requests).toHaveLength(4)
  })

  itInTurn('and another that end together are one turn', async () => {
    const { id, scripted } = await session(
      calls(
        background(`${untilFile('go')}; echo one`, { notify_on_complete: true }),
        background(`${untilFile('go')}; echo two`, { notify_on_complete: true }),
      ),
      says('Started.'),
      hangs(new Gate()),
    )
    await send(id, 'go')
    const gate = new Gate()
    const other = model([hangs(gate)])
    const busy = send(id, 'wait', { model: other.id })
    await gate.waitUntilReached()
    await put(id, 'go')
    const ended = "SELECT 1 FROM jobs WHERE state = 'exited'"
    await until(async () => (await inObject(id, (_o, { storage }) => storage.sql.exec(ended).toArray())).length === 2)
    gate.open()
    await busy
    const news = await until(async () => {
      knock(id)
      const found = await newsIn(id)
      return found.length ? found : undefined
    })
    expect(news).toHaveLength(1)
    expect(news[0]).toContain('2 background processes')
    expect(news[0]).toContain('| one')
    expect(news[0]).toContain('| two')
    expect(scripted.requests.length).toBeLessThanOrEqual(3)
  })

  it('that a call waited for is not reported again', async () => {
    const scripted = model(({ messages }) => {
      const result = messages.findLast(({ role }) => role === 'tool')
      const last = result && (JSON.parse(String(result.content)) as Record<string, unknown>)
      if (!last) return calls(background('echo quick', { notify_on_complete: true }))
      if (last['status']) return says('Done.')
      return calls(look({ action: 'wait', session_id: last['session_id'], timeout: 10 }))
    })
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'go')
    expect((await resultsIn(id))[1]).toMatchObject({ status: 'exited', exit_code: 0, output: 'quick' })
    await fireAlarm(id)
    await fireAlarm(id)
    expect(await newsIn(id)).toEqual([])
    expect(scripted.requests).toHaveLength(3)
  })

  it('of the virtual shell is lost when the object dies, which is reported once', async () => {
    const { id, scripted } = await session(
      calls(background(`echo begun; ${untilFile('never')}`, { notify_on_complete: true })),
      says('Started.'),
      says('Too bad.'),
    )
    await send(id, 'go')
    await kill(id)
    const [news] = await hears(id, 1)
    expect(news).toContain('is lost')
    expect(news).not.toContain('exited')
    await kill(id)
    await fireAlarm(id)
    expect(await newsIn(id)).toHaveLength(1)
    expect(scripted.requests).toHaveLength(3)
  })

  it('whose end was being reported when the object died is reported once', async () => {
    const gate = new Gate()
    const { id, scripted } = await session(
      calls(background('echo quick', { notify_on_complete: true })),
      says('Started.'),
      hangs(gate),
      says('It has ended.'),
    )
    await send(id, 'go')
    await until(async () => {
      knock(id)
      return gate.isReached
    })
    await kill(id)
    await hears(id, 1)
    expect((await stored(id)).at(-1)?.content).toBe('It has ended.')
    expect(await newsIn(id)).toHaveLength(1)
    expect(scripted.requests).toHaveLength(4)
  })

  it('that was being started when the object died is found, not started again', async () => {
    const { id } = await session(
      calls(background(`echo once >> count; ${untilFile('never')}`, { notify_on_complete: true })),
      says('Started.'),
      says('Lost, then.'),
    )
    armFailpoints('during-tool=hang@1')
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
    await until(async () => (await request('GET', `/api/sessions/${id}/files/count`)).status === 200)
    armFailpoints('')
    await kill(id)
    const [news] = await hears(id, 1)
    expect(news).toContain('is lost')
    expect((await resultsIn(id))[0]).toMatchObject({ session_id: expect.stringMatching(/^proc_/), exit_code: 0 })
    expect(await (await request('GET', `/api/sessions/${id}/files/count`)).text()).toBe('once\n')
  })

  it('is waited for again when the object died meanwhile', async () => {
    const waiting = (asked: ModelRequest) => {
      const result = asked.messages.findLast(({ role }) => role === 'tool')
      const last = result && (JSON.parse(String(result.content)) as Record<string, unknown>)
      if (!last) return calls(background(untilFile('never'), { notify_on_complete: true }))
      if (last['status']) return says('Lost, then.')
      return calls(look({ action: 'wait', session_id: last['session_id'], timeout: 60 }))
    }
    const { id } = await newSession({ model: model(waiting).id })
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
    await until(async () => (await stored(id)).filter(({ role }) => role === 'tool').length === 1)
    await kill(id)
    await until(async () => {
      await fireAlarm(id)
      return (await statusOf(id)) === 'idle'
    })
    expect((await resultsIn(id))[1]).toMatchObject({ status: 'lost', exit_code: null })
    expect(await newsIn(id)).toEqual([])
  })

  it('is not ended by stopping a turn', async () => {
    const gate = new Gate()
    const { id } = await session(
      calls(background(untilFile('go'))),
      hangs(gate),
      calls(look({ action: 'list' })),
      says('Still there.'),
    )
    const stopped = send(id, 'go')
    await gate.waitUntilReached()
    await call('POST', `/api/sessions/${id}/stop`)
    await stopped
    await send(id, 'and now?')
    expect((await resultsIn(id)).at(-1)).toMatchObject({ processes: [{ status: 'running' }] })
    await put(id, 'go')
  })

  it('is looked after without a word to history, while nothing else happens', async () => {
    const { id } = await session(calls(background(untilFile('never'))), says('Started.'))
    await send(id, 'go')
    await fireAlarm(id)
    const before = (await billedRows(id)).d1.written
    for (let n = 0; n < 3; n++) {
      expect(await fireAlarm(id)).toBe(true)
      expect(await alarmOf(id)).not.toBeNull()
    }
    expect((await billedRows(id)).d1.written).toBe(before)
  })

  it('is looked after while a turn waits for a person, which it does not move', async () => {
    const { id, scripted } = await session(
      calls(background(`${untilFile('go')}`, { notify_on_complete: true })),
      calls({ name: 'clarify', input: { question: 'Which?', choices: ['a', 'b'] } }),
      says('Thank you.'),
      says('It has ended.'),
    )
    const waiting = send(id, 'go')
    await until(async () => (await statusOf(id)) === 'waiting')
    await put(id, 'go')
    // Its end was seen, so there is nothing more to look after.
    await until(async () => {
      await fireAlarm(id)
      return (await alarmOf(id)) === null
    })
    expect(await statusOf(id)).toBe('waiting')
    expect(scripted.requests).toHaveLength(2)
    // The tenant may have questions of other sessions.
    const question = await until(async () => {
      const { body } = await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/questions')
      return body.data.find((one) => one.session_id === id)
    })
    await call('POST', `/api/questions/${question.id}`, { body: { answer: 'a' } })
    expect((await waiting).output).toBe('Thank you.')
    await hears(id, 1)
    expect((await stored(id)).at(-1)?.content).toBe('It has ended.')
  })

  it('keeps its news while the tenant may not begin a turn', async () => {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const scripted = model([calls(background('echo quick', { notify_on_complete: true })), says('Started.')])
    const { id } = await newSession({ model: scripted.id }, key)
    const other = await newSession({ model: model([hangs(gate)]).id }, key)
    const chat = (session: string) => call('POST', `/api/sessions/${session}/chat`, { key, body: { input: 'go' } })
    const news = async () => (await listMessages<Stored>(id, key)).filter(({ source }) => source === 'process').length
    const rung = () => runDurableObjectAlarm(objectOf(id, tenant))
    expect((await chat(id)).status).toBe(200)
    const busy = chat(other.id)
    await gate.waitUntilReached()
    for (let n = 0; n < 3; n++) expect(await rung()).toBe(true)
    expect(await news()).toBe(0)
    gate.open()
    await busy
    await until(async () => {
      await rung()
      return (await news()) === 1
    })
  })

  it('is judged like every command: a forbidden command does not run in the background either', async () => {
    const { id } = await session(calls(background('rm -rf /')), calls(look({ action: 'list' })), says('Refused.'))
    await send(id, 'go')
    expect(await resultsIn(id)).toMatchObject([{ exit_code: -1, status: 'refused' }, { count: 0 }])
  })

  itInTurn('that reports for ever starts a few turns, and then waits', async () => {
    const { key, id: tenantId } = await newTenant()
    const scripted = model(() => says('I see.'))
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    const object = objectOf(id, tenantId)
    // A row as the poll leaves it when the process has printed a watched text.
    const report = (n: number) =>
      runInDurableObject(object, (_object, { storage: { sql } }) => {
        const watch = {
          patterns: ['x'],
          from: 0,
          open: '',
          lookedAt: 0,
          strikes: 0,
          off: false,
          toldAt: 0,
          hits: ['x'],
          more: 0,
        }
        const state = { at: 'exited', exitCode: 0, endedAt: Date.now() }
        const times = { startedAt: 0, until: Date.now() }
        const row = {
          id: `p${n}`,
          command: 'x',
          cwd: '/',
          kind: 'virtual',
          ...times,
          state,
          notify: true,
          watch,
          told: false,
          tail: '',
          base: 0,
        }
        sql.exec('CREATE TABLE IF NOT EXISTS process (id TEXT PRIMARY KEY, body TEXT NOT NULL)')
        sql.exec('INSERT INTO process VALUES (?, ?)', row.id, JSON.stringify(row))
      })
    for (let n = 0; n < 12; n++) {
      await report(n)
      await evictDurableObject(object).catch(() => undefined)
      await runDurableObjectAlarm(object)
      // Later than the test: an alarm that rings by itself may be cut by the next eviction.
      await runInDurableObject(object, (_object, { storage }) => storage.setAlarm(Date.now() + 600_000))
      await runDurableObjectAlarm(object)
      await until(async () => (await call('GET', `/api/sessions/${id}`, { key })).body['status'] === 'idle')
    }
    // One turn of the person, and five that the session may start at once.
    expect(scripted.requests).toHaveLength(6)
    const alarmAt = await runInDurableObject(object, (_object, { storage }) => storage.getAlarm())
    expect(alarmAt).toBeGreaterThan(Date.now())
  })
})
