/**
 * Tests that a turn survives the death of its object. The alarm resumes it: every call gets one result, no effect is
 * repeated, and subscribers get a restart event.
 */

import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { armFailpoints, type FailpointName } from '#durable/platform/failpoint.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { outage } from '../../support/outage.ts'
import { calls, Gate, model, type Reply, listTexts, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession, request } from '../../worker/client.ts'
import { listLines, subscribe, listMessages, type Run } from '../../worker/listen.ts'
import { alarmOf, inObject, kill, fireAlarm } from '../support/object.ts'

beforeAll(applyMigrations)

/** Lines that failpoints print when a turn comes to them. */
let passed: string[] = []
beforeEach(() => {
  passed = []
  const print = console.log
  vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
    if (String(words[0]).startsWith('FP:')) passed.push(String(words[0]).slice(3))
    else print(...words)
  })
})
afterEach(() => {
  outage.restore()
  armFailpoints('')
  vi.restoreAllMocks()
})

const hangAt = (name: FailpointName, nth = 1) => armFailpoints(`${name}=hang@${nth}`)
const cameTo = (name: FailpointName) => until(() => passed.includes(name))

/** Begins a turn that nobody waits for. */
async function begin(replies: readonly Reply[], settings: object = {}) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings })
  const { body } = await call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })
  return { id, run: body.run_id, scripted }
}

/** Dies, is woken by its alarm, and comes to the end. */
async function dieAndGoOn(id: string, run: string): Promise<Run> {
  armFailpoints('')
  await kill(id)
  expect(await fireAlarm(id)).toBe(true)
  return until(async () => {
    const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
    return body.exit_reason === null ? undefined : body
  })
}

const append = { id: 'c1', name: 'terminal', input: { command: 'echo x >> count.txt' } }
const write = { id: 'c1', name: 'write_file', input: { path: 'a.txt', content: 'alpha' } }
const fileOf = async (id: string, path: string) => {
  const answer = await request('GET', `/api/sessions/${id}/files/${path}`)
  return answer.status === 200 ? new TextDecoder().decode(await answer.arrayBuffer()) : answer.status
}
type ToolLine = { readonly role: string; readonly tool_call_id?: string; readonly content: string }
const resultsOf = async (id: string) => (await listMessages<ToolLine>(id)).filter(({ role }) => role === 'tool')

describe('the object dies', () => {
  it('before the model is called: the call is made once', async () => {
    hangAt('before-model')
    const { id, run, scripted } = await begin([says('Hello.')])
    await cameTo('before-model')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Hello.' })
    expect(scripted.requests.length).toBe(1)
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello.'])
  })

  it('during a model call: the call is repeated, and subscribers get a restart event', async () => {
    const gate = new Gate()
    const { id, run, scripted } = await begin([says('Hel', gate), says('Hello.')])
    await gate.waitUntilReached()
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Hello.' })
    expect(scripted.requests[1]).toEqual(scripted.requests[0])
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.completed')
    expect(listener.types.filter((type) => type !== 'status')).toEqual([
      'run.started',
      'turn.restarted',
      'message.delta',
      'run.completed',
    ])
    expect(listener.events.filter(({ run_id: of }) => of !== run)).toEqual([])
    listener.close()
  })

  it('before a tool starts: an effect is reported as unknown', async () => {
    hangAt('before-tool')
    const { id, run } = await begin([calls(append), says('Done.')])
    await cameTo('before-tool')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await fileOf(id, 'count.txt')).toBe(404)
    expect((await resultsOf(id)).map(({ content }) => content)).toEqual([expect.stringContaining('unknown')])
  })

  it('while an effect runs: it is not repeated, and the model gets the result "unknown"', async () => {
    hangAt('during-tool')
    const { id, run, scripted } = await begin([calls(append), says('Done.')])
    await cameTo('during-tool')
    await until(async () => (await fileOf(id, 'count.txt')) === 'x\n')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await fileOf(id, 'count.txt')).toBe('x\n')
    const results = await resultsOf(id)
    expect(results).toMatchObject([{ tool_call_id: 'c1', content: expect.stringContaining('unknown') }])
    expect(listTexts(scripted.requests[1]!).at(-1)).toContain('It is unknown whether it took effect')
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.completed')
    expect(listener.events.find(({ type }) => type === 'status')).toMatchObject({
      state: 'resumed',
      detail: 'the system restarted while this ran: terminal; the turn goes on',
    })
    expect(listener.types.filter((type) => type === 'tool.started')).toHaveLength(1)
    expect(listener.events.find(({ type }) => type === 'tool.completed')).toMatchObject({ call_id: 'c1', failed: true })
    listener.close()
  })

  it('while something that can be repeated runs: it runs again, and there is one result', async () => {
    hangAt('during-tool')
    const { id, run } = await begin([calls(write), says('Done.')])
    await cameTo('during-tool')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await fileOf(id, 'a.txt')).toBe('alpha')
    expect((await resultsOf(id)).map(({ content }) => JSON.parse(content) as object)).toMatchObject([
      { verified: true },
    ])
  })

  it('after an effect, before its result is down: it is not repeated', async () => {
    hangAt('after-tool')
    const { id, run } = await begin([calls(append), says('Done.')])
    await cameTo('after-tool')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await fileOf(id, 'count.txt')).toBe('x\n')
    expect(await resultsOf(id)).toHaveLength(1)
  })

  it('between two effects: the first keeps its result, the second is unknown, the third had not begun and runs', async () => {
    hangAt('during-tool', 2)
    const echo = (n: number) => ({ id: `c${n}`, name: 'terminal', input: { command: `echo ${n} >> count.txt` } })
    const { id, run } = await begin([calls(echo(1), echo(2), echo(3)), says('Done.')])
    await cameTo('during-tool')
    await until(async () => (await fileOf(id, 'count.txt')) === '1\n2\n')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    const results = await resultsOf(id)
    expect(results.map(({ tool_call_id: of }) => of)).toEqual(['c1', 'c2', 'c3'])
    expect(results.map(({ content }) => content.includes('unknown'))).toEqual([false, true, false])
    expect(await fileOf(id, 'count.txt')).toBe('1\n2\n3\n')
  })

  it('between two programs: the second has the state of the first, and the next turn does not', async () => {
    hangAt('before-model', 2)
    const program = (id: string, code: string) => ({ id, name: 'execute_code', input: { code } })
    const { id, run } = await begin([
      calls(program('c1', 'state.seen = [1, 2]')),
      calls(program('c2', 'state.seen.length')),
      says('Done.'),
      calls(program('c3', 'typeof state.seen')),
      says('Done.'),
    ])
    await cameTo('before-model')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'again' } })
    const outputs = (await resultsOf(id)).map(({ content }) => (JSON.parse(content) as { output: string }).output)
    expect(outputs.slice(1)).toEqual(['2', 'undefined'])
  })

  it('after the whole answer was streamed and before it was stored: the answer is stored once', async () => {
    hangAt('before-final')
    const { id, run } = await begin([says('Hello.'), says('Hello again.')])
    await cameTo('before-final')
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Hello again.' })
    expect(await listLines(id)).toEqual(['user: go', 'assistant: Hello again.'])
  })
})

describe('a turn that was taken up', () => {
  it('says in its notes that the system restarted', async () => {
    const gate = new Gate()
    const { id, run } = await begin([says('Hel', gate), says('Hello.')])
    await gate.waitUntilReached()
    const after = await dieAndGoOn(id, run)
    expect(after['notes']).toMatchObject([{ did: 'repeat', why: expect.stringContaining('restarted') }])
  })

  it('needs no request: its alarm was set before it first did anything', async () => {
    const gate = new Gate()
    const { id } = await begin([says('Hel', gate), says('Hello.')])
    await gate.waitUntilReached()
    await kill(id)
    const at = await alarmOf(id)
    expect(at).toBeGreaterThan(Date.now())
    expect(at).toBeLessThanOrEqual(Date.now() + 15_000)
  })

  it('is taken up by a request too, and is watched from then on', async () => {
    const [first, second] = [new Gate(), new Gate()]
    const { id, run } = await begin([says('Hel', first), says('Hello.', second)])
    await first.waitUntilReached()
    await kill(id)
    await inObject(id, (_object, { storage }) => storage.deleteAlarm())
    const listener = await subscribe(id)
    await second.waitUntilReached()
    expect(await alarmOf(id)).toBeGreaterThan(Date.now())
    second.open()
    expect(await listener.waitFor('run.completed')).toMatchObject({ run_id: run, output: 'Hello.' })
    await until(async () => (await alarmOf(id)) === null)
    listener.close()
  })

  it('fails with an explanation when its object dies repeatedly at the same step', async () => {
    armFailpoints('')
    const gates = Array.from({ length: 12 }, () => new Gate())
    const { id, run, scripted } = await begin(gates.map((gate) => says('x', gate)))
    let over: Run | undefined
    for (const gate of gates) {
      await until(async () => {
        const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
        over = body.exit_reason === null ? undefined : body
        return gate.isReached || over
      })
      if (over) break
      await kill(id)
      void fireAlarm(id).catch(() => undefined) // it dies in there
    }
    expect(over).toMatchObject({ status: 'failed', exit_reason: 'failed_interrupted', completed: false })
    expect(over?.output).toContain('restarted')
    expect(scripted.requests.length).toBe(3)
    expect((await listLines(id)).length).toBe(2)
  })

  it('continues when its object dies often but steps succeed in between', async () => {
    const gates = Array.from({ length: 8 }, () => new Gate())
    const step = (gate: Gate, i: number) => [says('x', gate), calls({ ...write, id: `w${i}` })]
    const { id, run } = await begin([...gates.flatMap(step), says('Done.')])
    for (const gate of gates.slice(0, -1)) {
      await gate.waitUntilReached()
      await kill(id)
      void fireAlarm(id).catch(() => undefined) // it dies in there
    }
    await gates.at(-1)?.waitUntilReached()
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(await resultsOf(id)).toHaveLength(8)
  })

  it('keeps messages that arrived meanwhile', async () => {
    const gate = new Gate()
    const { id, run } = await begin([says('Hel', gate), says('Hello.'), says('And hello to you.')])
    await gate.waitUntilReached()
    const queued = call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: 'me too', mode: 'queue' } }).catch(
      () => undefined,
    )
    await until(
      async () => (await inObject(id, (_o, { storage }) => storage.sql.exec('SELECT id FROM inbox').toArray())).length,
    )
    expect(await dieAndGoOn(id, run)).toMatchObject({ output: 'Hello.' })
    await queued
    await until(async () => (await listLines(id)).length === 4)
    expect(await listLines(id)).toEqual([
      'user: go',
      'assistant: Hello.',
      'user: me too',
      'assistant: And hello to you.',
    ])
  })

  it('stops when the stop was requested before its object died', async () => {
    hangAt('during-tool')
    const { id, run } = await begin([calls(append), says('never')])
    await cameTo('during-tool')
    await call('POST', `/api/sessions/${id}/stop`)
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'cancelled' })
    expect(await resultsOf(id)).toHaveLength(1)
  })

  it('does not ask a question twice', async () => {
    const { id, run, scripted } = await begin([
      calls({ id: 'q', name: 'clarify', input: { question: 'Well?' } }),
      says('Fine.'),
    ])
    await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'waiting')
    await kill(id)
    await fireAlarm(id)
    await kill(id)
    const asked = await subscribe(id, 0)
    const { question_id: question } = await asked.waitFor('question.request')
    asked.close()
    expect((await call('POST', `/api/questions/${question}`, { body: { answer: 'yes' } })).status).toBe(200)
    await until(async () => (await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)).body.exit_reason)
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.completed')
    expect(listener.types.filter((type) => type.startsWith('question'))).toEqual([
      'question.request',
      'question.answered',
    ])
    expect(scripted.requests.length).toBe(2)
    listener.close()
  })

  it('waits for its alarm when the tenant cannot be asked, and goes on then', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const gate = new Gate()
    const { id, run } = await begin([says('Hel', gate), says('Hello.')])
    await gate.waitUntilReached()
    outage.isTenantDown = true
    forgetSnapshot('default')
    await kill(id)
    expect(await fireAlarm(id)).toBe(true)
    expect(outage.refusedCount).toBe(1)
    expect(await alarmOf(id)).toBeGreaterThan(Date.now())
    outage.restore()
    expect(await dieAndGoOn(id, run)).toMatchObject({ status: 'completed', output: 'Hello.' })
  })
})
