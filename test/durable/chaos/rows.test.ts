/**
 * Tests the crash matrix (reliability §4) inside the runtime: the object is killed at a boundary, and its alarm
 * resumes the turn. `npm run chaos` kills the same rows from outside. More cases are in crash.test.ts, those of
 * delivery in channel-rows.test.ts. "Uncommitted": the object is killed before an await, so that nothing is written.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { itInTurn } from '#test/support/long.ts'
import { calls, Gate, hangs, model, type Reply, listTexts, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { listLines, subscribe, listMessages, type Run } from '../../worker/listen.ts'
import { inObject, kill, fireAlarm } from '../support/object.ts'
import { cameTo, dieAt, disarm, hangAt, passages, watchFailpoints } from './passing.ts'

beforeAll(applyMigrations)

watchFailpoints()

async function createSession(replies: readonly Reply[], settings: object = {}) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings })
  return { id, scripted }
}
const begin = async (id: string, input = 'go') =>
  (await call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input } })).body.run_id
const runOf = async (id: string, run: string) => (await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)).body

async function goOn(id: string, run: string): Promise<Run> {
  disarm()
  await fireAlarm(id)
  return until(async () => {
    const now = await runOf(id, run)
    return now.exit_reason === null ? undefined : now
  })
}
async function dieAndGoOn(id: string, run: string): Promise<Run> {
  armFailpoints('')
  await kill(id)
  return goOn(id, run)
}

const append = { id: 'c1', name: 'terminal', input: { command: 'echo x >> count.txt' } }
const write = (n: number | string) => ({
  id: `w${n}`,
  name: 'write_file',
  input: { path: `${n}.txt`, content: `${n}` },
})
const fileOf = async (id: string, path: string) => {
  const answer = await request('GET', `/api/sessions/${id}/files/${path}`)
  return answer.status === 200 ? answer.text() : answer.status
}
type Result = { readonly role: string; readonly tool_call_id: string; readonly content: string }
const resultsOf = async (id: string) => (await listMessages<Result>(id)).filter(({ role }) => role === 'tool')
const isUnknown = ({ content }: Result) => content.includes('unknown whether it took effect')

describe('a message', () => {
  it('row 2: written and not committed: the worker sends it again, and it is one turn', async () => {
    const { id, scripted } = await createSession([says('Hello.')])
    await dieAt(id, 'accepted')
    const answer = await request('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
    expect([passages(), answer.status]).toEqual([['accepted'], 202])
    const { run_id: run } = await answer.json<Run>()
    expect(await goOn(id, run)).toMatchObject({ output: 'Hello.' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.'])
    expect(scripted.requests.length).toBe(1)
  })

  it('row 2: while a turn runs, written and not committed: the worker sends it again, and it is the next turn', async () => {
    const gate = new Gate()
    const { id } = await createSession([says('Hel', gate), says('Hello.')])
    const run = await begin(id)
    await gate.waitUntilReached()
    await dieAt(id, 'accepted')
    const answer = await request('POST', `/api/sessions/${id}/chat`, { body: { input: 'more', mode: 'queue' } })
    expect(answer.status).toBe(200)
    expect(await goOn(id, run)).toMatchObject({ output: 'Hello.' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.', 'user: more', 'assistant: ok'])
  })

  it('row 3: committed, no 2xx yet: the turn runs, and a delivery of the same again is the same turn', async () => {
    const { id, scripted } = await createSession([says('Hello.')])
    const deliver = () =>
      call<Run>('POST', `/api/sessions/${id}/chat`, {
        body: { input: 'go' },
        headers: { 'idempotency-key': `row3-${id}` },
      })
    hangAt('before-model')
    const first = deliver().catch(() => undefined)
    await cameTo('before-model')
    armFailpoints('')
    await kill(id)
    await first
    await fireAlarm(id)
    const again = await until(async () => {
      const answer = await deliver()
      return answer.status === 200 ? answer.body : undefined
    })
    expect(again).toMatchObject({ output: 'Hello.' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.'])
    expect(scripted.requests.length).toBe(1)
  })
})

describe('the model', () => {
  it('row 6: asked, no byte back: asked again, and there is one answer', async () => {
    const gate = new Gate()
    const { id, scripted } = await createSession([hangs(gate), says('Hello.')])
    const run = await begin(id)
    await gate.waitUntilReached()
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Hello.' })
    expect(scripted.requests[1]).toEqual(scripted.requests[0])
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.'])
  })

  itInTurn.each(['first', 'middle', 'last'] as const)(
    'row 7: at the %s piece of its answer: one answer',
    async (piece) => {
      const gate = new Gate()
      const words = { first: ['one ', gate], middle: ['one ', 'two ', gate], last: ['one ', 'two ', 'three', gate] }
      const { id } = await createSession([says(...words[piece]), says('one two three')])
      const run = await begin(id)
      const listener = await subscribe(id, 0)
      await gate.waitUntilReached()
      expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'one two three' })
      expect(await listLines(id)).toEqual(['user: go', 'assistant: one two three'])
      listener.close()
      const after = await subscribe(id, 0)
      await after.waitFor('run.completed')
      expect(after.types.filter((type) => type === 'turn.restarted')).toHaveLength(1)
      after.close()
    },
  )

  it('row 17: results saved, the next request lost: goes on, and no tool runs again', async () => {
    const { id, scripted } = await createSession([calls(append), says('Done.')])
    hangAt('before-model', 2)
    const run = await begin(id)
    await cameTo('before-model')
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Done.' })
    expect(await fileOf(id, 'count.txt')).toBe('x\n')
    expect((await resultsOf(id)).map(isUnknown)).toEqual([false])
    expect(scripted.requests.length).toBe(2)
  })

  it('row 18: the steps used up, before the grace call: there is one, without tools', async () => {
    const { id, scripted } = await createSession([calls(append), says('All I have.')], { agent: { max_turns: 1 } })
    hangAt('before-model', 2)
    const run = await begin(id)
    await cameTo('before-model')
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'All I have.', exit_reason: 'out_of_budget' })
    expect(scripted.requests.map(({ tools }) => tools !== undefined)).toEqual([true, false])
  })

  it('row 19: answered: the answer and the end of the turn are one write', async () => {
    const { id, scripted } = await createSession([says('Hello.')])
    const run = await begin(id)
    await until(async () => (await runOf(id, run)).exit_reason)
    await kill(id)
    expect(await runOf(id, run)).toMatchObject({ output: 'Hello.', exit_reason: 'answered' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.'])
    expect(scripted.requests.length).toBe(1)
  })
})

describe('a tool', () => {
  it('row 9: a call that can be repeated, saved and not begun: runs once', async () => {
    const { id } = await createSession([calls(write('a')), says('Done.')])
    hangAt('before-tool')
    const run = await begin(id)
    await cameTo('before-tool')
    expect(await fileOf(id, 'a.txt')).toBe(404)
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Done.' })
    expect(await fileOf(id, 'a.txt')).toBe('a')
    expect((await resultsOf(id)).map(isUnknown)).toEqual([false])
  })

  it('row 10: a call that a person has to allow: the same question after every death, and allowed it runs once', async () => {
    const approvals = { mode: 'manual', rules: [{ do: 'ask', tool: 'terminal' }] }
    const { id, scripted } = await createSession([calls(append), says('Done.')], { approvals })
    const run = await begin(id)
    const questions = async () =>
      (await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/approvals')).body.data.filter(
        (one) => one.session_id === id,
      )
    const asked = await until(async () => ((await questions()).length ? questions() : undefined))
    for (let death = 0; death < 3; death++) {
      await kill(id)
      await fireAlarm(id).catch(() => false)
    }
    expect(await questions()).toEqual(asked)
    expect(await fileOf(id, 'count.txt')).toBe(404)
    const allow = () => call('POST', `/api/approvals/${asked[0]?.id}`, { body: { decision: 'once' } })
    expect((await allow()).status).toBe(200)
    expect(await goOn(id, run)).toMatchObject({ output: 'Done.' })
    expect((await allow()).status).toBe(409)
    expect(await fileOf(id, 'count.txt')).toBe('x\n')
    expect((await resultsOf(id)).map(isUnknown)).toEqual([false])
    expect(scripted.requests.length).toBe(2)
  })

  it.each(['before-tool', 'during-tool'] as const)(
    'row 11: dispatched, uncommitted (%s): it has not happened, the reply is asked for again, and the effect is there once',
    async (where) => {
      const { id, scripted } = await createSession([calls(append), calls(append), says('Done.')])
      await dieAt(id, where)
      const run = await begin(id)
      await cameTo(where)
      await until(() => inObject(id, () => true).catch(() => false))
      expect(await fileOf(id, 'count.txt')).toBe(404)
      expect(await goOn(id, run)).toMatchObject({ output: 'Done.' })
      expect(await fileOf(id, 'count.txt')).toBe('x\n')
      expect((await resultsOf(id)).map(isUnknown)).toEqual([false])
      expect(scripted.requests.length).toBe(3)
    },
  )

  it('row 15: a result that is lost, of a call that can be repeated: runs again under the same id, one result', async () => {
    const { id } = await createSession([calls(write('a')), says('Done.')])
    hangAt('after-tool')
    const run = await begin(id)
    await cameTo('after-tool')
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Done.' })
    expect((await resultsOf(id)).map((one) => [one.tool_call_id, isUnknown(one)])).toEqual([['wa', false]])
  })

  it('row 16: two of three that run side by side are done: only the third runs again, in the order of the calls', async () => {
    const { id } = await createSession([calls(write(1), write(2), write(3)), says('Done.')])
    hangAt('after-tool', 3)
    const run = await begin(id)
    const listener = await subscribe(id, 0)
    await cameTo('after-tool')
    await listener.waitFor('tool.completed', 2)
    listener.close()
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Done.' })
    expect((await resultsOf(id)).map((one) => one.tool_call_id)).toEqual(['w1', 'w2', 'w3'])
    const after = await subscribe(id, 0)
    await after.waitFor('run.completed')
    const started = after.events.filter(({ type }) => type === 'tool.started').map((event) => event['call_id'])
    expect(started).toHaveLength(4)
    expect(started.slice(0, 3)).toContain(started[3])
    after.close()
  })
})

describe('a message while a tool runs', () => {
  it.each(['steer', 'interrupt'] as const)('row 25: %s: it is accepted once', async (mode) => {
    const { id, scripted } = await createSession([calls(append), says('Done.'), says('Done again.')])
    hangAt('during-tool')
    const run = await begin(id)
    await cameTo('during-tool')
    await until(async () => (await fileOf(id, 'count.txt')) === 'x\n')
    const said = call('POST', `/api/sessions/${id}/chat`, { body: { input: 'beacon', mode } }).catch(() => undefined)
    await until(() => inObject(id, (_o, { storage }) => storage.sql.exec('SELECT id FROM inbox').toArray().length))
    expect((await dieAndGoOn(id, run)).exit_reason).toBe('answered')
    await said
    expect(JSON.stringify(await listMessages(id)).split('beacon')).toHaveLength(2)
    expect(
      scripted.requests.flatMap((asked) => listTexts(asked)).filter((line) => line.includes('beacon')),
    ).not.toEqual([])
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.completed')
    expect(listener.types.filter((type) => type === 'run.steered')).toHaveLength(1)
    listener.close()
  })

  it('row 26: stop: cancelled, and nothing is asked any more', async () => {
    const { id, scripted } = await createSession([calls(append), says('never')])
    hangAt('during-tool')
    const run = await begin(id)
    await cameTo('during-tool')
    await call('POST', `/api/sessions/${id}/stop`)
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'cancelled' })
    expect(scripted.requests.length).toBe(1)
  })
})
