/**
 * Tests rows of the acceptance list that need the whole object: the events for the client and the requests to the
 * model.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import {
  type ModelRequest,
  calls,
  fails,
  Gate,
  hangs,
  model,
  type Reply,
  listTexts,
  says,
  thinks,
} from '../../support/scripted-model.ts'
import { call, applyMigrations, newSession } from '../../worker/client.ts'
import { listLines, subscribe, type Run, send } from '../../worker/listen.ts'

beforeAll(applyMigrations)

/** Words that the length limit cut off. */
const cut = (words: string): Reply =>
  (says(words) as readonly string[]).map((piece) => piece.replace('"stop"', '"length"'))
const begin = (id: string) => call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input: 'go' } })

describe('LP4: an answer that is cut four times', () => {
  it('ends as one partial message; the next message is one new request', async () => {
    const scripted = model([cut('a'), cut('b'), cut('c'), cut('d'), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    expect(await send(id, 'go')).toMatchObject({ output: 'abcd', exit_reason: 'partial', completed: false })
    expect(await send(id, 'next')).toMatchObject({ output: 'Fine.' })
    expect(scripted.requests.length).toBe(5)
    expect(listTexts(scripted.requests[4] as ModelRequest)).toEqual(['user: go', 'assistant: abcd', 'user: next'])
  })
})

describe('LP17: a stop while tools run', () => {
  it('closes every call, and the next turn works', async () => {
    const command = (n: number, line: string) => ({ id: `c${n}`, name: 'terminal', input: { command: line } })
    const scripted = model([calls(command(1, 'sleep 30'), command(2, 'echo 2 >> count.txt')), says('Fine.')])
    const { id } = await newSession({ model: scripted.id })
    const listener = await subscribe(id)
    await begin(id)
    await listener.waitFor('tool.started')
    await call('POST', `/api/sessions/${id}/stop`)
    await listener.waitFor('run.cancelled')
    listener.close()
    const { data } = (
      await call<{ data: { role: string; tool_call_id?: string; content: string }[] }>(
        'GET',
        `/api/sessions/${id}/messages`,
      )
    ).body
    const results = data.filter(({ role }) => role === 'tool')
    expect(results.map((result) => result.tool_call_id)).toEqual(['c1', 'c2'])
    expect(results[1]?.content).toContain('the user stopped the turn')
    expect(await send(id, 'next')).toMatchObject({ output: 'Fine.' })
    const roles = scripted.requests[1]?.messages.map(({ role }) => role).filter((role) => role !== 'system')
    expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'user'])
    expect((await call('GET', `/api/sessions/${id}/files/count.txt`)).status).toBe(404)
  })
})

describe('LP19: a correction while the model thinks', () => {
  it('stays in the turn: a second request, the correction last, nothing of the thoughts', async () => {
    const gate = new Gate()
    const scripted = model([thinks('a secret thought', gate), says('The other.')])
    const { id } = await newSession({ model: scripted.id })
    const { body } = await begin(id)
    await gate.waitUntilReached()
    const corrected = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: 'no, the other' } })
    expect(corrected.body).toMatchObject({ run_id: body.run_id, output: 'The other.' })
    expect(scripted.requests.length).toBe(2)
    const said = listTexts(scripted.requests[1] as ModelRequest)
    expect(said.at(-1)).toContain('no, the other')
    expect(JSON.stringify(scripted.requests[1])).not.toContain('a secret thought')
  })
})

describe('the record of a turn', () => {
  it('is reported by the stream and afterwards by the run, with the same text', async () => {
    const scripted = model([fails(429, 'Slow down.', { 'retry-after': '1' }), says('Hello.')])
    const { id } = await newSession({ model: scripted.id })
    const listener = await subscribe(id)
    const run = await send(id, 'go')
    await listener.waitFor('run.completed')
    const told = listener.events.filter(({ state }) => state === 'recovering').map(({ detail }) => detail)
    expect(told).toEqual(['wait 1000 ms (rate)'])
    expect(listener.events.find(({ state }) => state === 'waiting')).toMatchObject({ detail: 'rate' })
    expect(run).toMatchObject({
      waited_ms: 1_000,
      notes: [{ did: 'wait 1000 ms', why: 'rate' }],
      steps: 1,
      attempts: 2,
    })
    listener.close()
  })
})

describe('a stop', () => {
  it('sent many times concurrently is one turn', async () => {
    const gate = new Gate()
    const { id } = await newSession({ model: model([hangs(gate)]).id })
    const { body } = await begin(id)
    await gate.waitUntilReached()
    await Promise.all(Array.from({ length: 5 }, () => call('POST', `/api/sessions/${id}/stop`)))
    const listener = await subscribe(id, 0)
    await listener.waitFor('run.cancelled')
    expect(listener.types.filter((type) => type.startsWith('run.'))).toEqual(['run.started', 'run.cancelled'])
    expect((await call<Run>('GET', `/api/sessions/${id}/runs/${body.run_id}`)).body).toMatchObject({
      status: 'cancelled',
    })
    expect(await listLines(id)).toHaveLength(2)
    listener.close()
  })
})
