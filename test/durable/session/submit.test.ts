/** Tests repeated and concurrent submits: each message is accepted once, by the session that exists then. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createD1History } from '#db/history.ts'
import { outage } from '../../support/outage.ts'
import { calls, drops, fails, Gate, model, listTexts, says, until } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession } from '../../worker/client.ts'
import { sendAndStream, listLines, listMessages, send } from '../../worker/listen.ts'
import { evict, wipe } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  vi.restoreAllMocks()
})

const history = createD1History(bindings.DB, 'default')

const image = { type: 'image', url: `data:image/png;base64,${'A'.repeat(20_000)}` }

/** Says something with an image; resolves with the status and the answer. */
const show = (id: string, input: string, key: string) =>
  call('POST', `/api/sessions/${id}/chat`, {
    body: { input, attachments: [image] },
    headers: { 'idempotency-key': key },
  })

const storedOf = async (id: string) =>
  (await bindings.BLOBS!.list({ prefix: `t/default/s/${id}/attachments/` })).objects.length

/** The first image that comes waits for the gate, the others pass. */
function holdFirstPut(): Gate {
  const gate = new Gate()
  outage.beforePut = () => {
    outage.beforePut = undefined
    return gate.waitUntilOpen()
  }
  return gate
}

describe('while its image is being stored', () => {
  it('a request that comes again begins one run', async () => {
    const scripted = model([says('A picture.')])
    const { id } = await newSession({ model: scripted.id })
    const gate = holdFirstPut()
    const first = show(id, 'look', 'look')
    await gate.waitUntilReached()
    const second = await show(id, 'look', 'look')
    gate.open()
    expect((await first).body).toEqual(second.body)
    expect(second.body).toMatchObject({ status: 'completed', output: 'A picture.' })
    expect(scripted.requests).toHaveLength(1)
    await until(async () => (await storedOf(id)) === 1)
  })

  it('a repeated request steers the open run once', async () => {
    const answering = new Gate()
    const scripted = model([says(answering, 'One.'), says('Two.')])
    const { id } = await newSession({ model: scripted.id })
    const running = send(id, 'go')
    await answering.waitUntilReached()
    const gate = holdFirstPut()
    const first = show(id, 'look', 'look too')
    await gate.waitUntilReached()
    const second = await show(id, 'look', 'look too')
    gate.open()
    expect((await first).body).toEqual(second.body)
    expect((await running).output).toBe('Two.')
    expect((await listLines(id)).filter((line) => line.startsWith('user'))).toHaveLength(2)
    expect(scripted.requests).toHaveLength(2)
  })

  it('the session can be deleted, and nothing begins or stays', async () => {
    const scripted = model([says('never')])
    const { id } = await newSession({ model: scripted.id })
    const gate = holdFirstPut()
    const first = show(id, 'look', 'look where')
    await gate.waitUntilReached()
    expect((await call('DELETE', `/api/sessions/${id}`)).status).toBe(204)
    gate.open()
    expect((await first).status).toBe(404)
    expect([scripted.requests.length, await storedOf(id)]).toEqual([0, 0])
  })
})

describe('an object that has lost its storage', () => {
  /** A session with one turn, which is in history and not in its object any more. */
  async function lost(id: string) {
    await until(async () => (await history.readSyncState(id))?.through === 2)
    await wipe(id)
  }

  it('is loaded once, however many ask at the same time, and a turn that has begun goes on', async () => {
    const answering = new Gate()
    const scripted = model([says('one'), says(answering, 'two')])
    const { id } = await newSession({ model: scripted.id })
    await send(id, 'first')
    await lost(id)
    const loading = new Gate()
    outage.beforeStatement = () => {
      outage.beforeStatement = undefined
      return loading.waitUntilOpen()
    }
    const slow = listMessages(id)
    await loading.waitUntilReached()
    const running = send(id, 'second')
    await answering.waitUntilReached()
    loading.open()
    expect(await slow).toHaveLength(3)
    answering.open()
    expect(await running).toMatchObject({ status: 'completed', output: 'two' })
    expect(await listLines(id)).toEqual(['user: first', 'assistant: one', 'user: second', 'assistant: two'])
    expect(scripted.requests).toHaveLength(2)
  })

  it('goes on with the conversation that a client names', async () => {
    const scripted = model([says('one'), says('two')])
    const ask = (input: string) =>
      call('POST', '/v1/responses', { body: { model: scripted.id, conversation: 'named', input } })
    expect((await ask('first')).status).toBe(200)
    await lost('named')
    expect((await ask('second')).status).toBe(200)
    expect(listTexts(scripted.requests[1]!)).toEqual(['user: first', 'assistant: one', 'user: second'])
    await until(async () => (await history.readSyncState('named'))?.through === 4)
    expect(await listLines('named')).toEqual(['user: first', 'assistant: one', 'user: second', 'assistant: two'])
  })
})

describe('a repeated request', () => {
  const keyed = (id: string, way: string, body: object, key: string) =>
    call('POST', `/api/sessions/${id}/${way}`, { body, headers: { 'idempotency-key': key } })

  it('that answers a question has answered it once, and gets the end of that run again', async () => {
    const scripted = model([calls({ name: 'clarify', input: { question: 'Which colour?' } }), says('Blue it is.')])
    const { id } = await newSession({ model: scripted.id })
    const stream = await sendAndStream(id, { input: 'paint it' })
    await stream.waitFor('question.request')
    const answer = () => keyed(id, 'chat', { input: 'blue' }, 'colour')
    const first = await answer()
    await stream.waitForClose()
    await evict(id)
    expect(first.body).toMatchObject({ output: 'Blue it is.', run_id: stream.events[0]?.run_id })
    expect((await answer()).body).toEqual(first.body)
    expect(scripted.requests).toHaveLength(2)
  })

  it('that came too late for its turn has begun the next one, once', async () => {
    const failing = new Gate()
    const scripted = model([drops(failing), fails(400, 'This cannot be done.'), says('Late, but heard.')])
    const { id } = await newSession({ model: scripted.id })
    const running = send(id, 'go')
    await failing.waitUntilReached()
    const steer = (input: string) => keyed(id, 'steer', { input }, input)
    await steer('one')
    await steer('two')
    failing.open()
    expect(await running).toMatchObject({ status: 'failed' })
    await until(async () => (await listLines(id)).at(-1) === 'assistant: Late, but heard.')
    const before = await listLines(id)
    const again = [await steer('one'), await steer('two')]
    const runs = new Set(again.map(({ body }) => body['run_id']))
    const [run] = [...runs]
    expect([runs.size, again.map(({ body }) => body['status'])]).toEqual([1, ['ended', 'joined']])
    const { body } = await call('GET', `/api/sessions/${id}/runs/${String(run)}`)
    expect(body).toMatchObject({ status: 'completed', output: 'Late, but heard.' })
    expect(await listLines(id)).toEqual(before)
  })
})

it('the first word of a new session does not wait for history', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  outage.isDatabaseDown = true
  const scripted = model([says('one'), says('two')])
  const messages = [{ role: 'user', content: 'hello' }]
  const chat = await call('POST', '/v1/chat/completions', { body: { model: scripted.id, messages } })
  const response = await call('POST', '/v1/responses', { body: { model: scripted.id, input: 'hello' } })
  expect([chat.status, response.status, scripted.requests.length]).toEqual([200, 200, 2])
})
