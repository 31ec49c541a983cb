/** Tests `/v1/runs`: a run is found by its id alone, followed, steered, approved and stopped. */

import { beforeAll, describe, expect, it } from 'vitest'
import { newRunId, sessionOfRun } from '#durable/platform/ids.ts'
import { calls, model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant, request } from '../../client.ts'

beforeAll(applyMigrations)

type Accepted = { readonly run_id: string; readonly session_id: string; readonly status: string }
type Run = Accepted & { readonly output: string | null; readonly exit_reason: string | null }

const start = (body: object, key?: string, headers = {}) =>
  call<Accepted & ErrorBody>('POST', '/v1/runs', { body, headers, ...(key !== undefined && { key }) })

const ended = (id: string, key?: string) =>
  until(async () => {
    const { body } = await call<Run>('GET', `/v1/runs/${id}`, key === undefined ? {} : { key })
    return body.exit_reason === null ? undefined : body
  })

describe('the id of a run', () => {
  it.each(['ses_0123456789abcdef0123456789abcdef', 'my-own_name', 'x'])('leads to the session %s', (session) => {
    expect(sessionOfRun(newRunId(session))).toBe(session)
    expect(newRunId(session)).not.toBe(newRunId(session))
  })

  it.each(['', 'run_', 'run_x', 'ses_1', `run_${'a'.repeat(16)}_`, `run_${'a'.repeat(16)}_a/b`])(
    'is malformed as %j',
    (id) => expect(sessionOfRun(id)).toBeUndefined(),
  )
})

describe('a run', () => {
  it('starts at once and is read by its id', async () => {
    const { status, body } = await start({ model: model([says('done')]).id, input: 'go' })
    expect([status, body.status]).toEqual([202, 'running'])
    expect(await ended(body.run_id)).toMatchObject({ output: 'done', status: 'completed', session_id: body.session_id })
  })

  it('continues a named session, and creates it first', async () => {
    const scripted = model([says('one'), says('two')])
    const first = await start({ model: scripted.id, input: 'a', session_id: 'a-name' })
    await ended(first.body.run_id)
    const second = await start({ model: scripted.id, input: 'b', session_id: 'a-name' })
    expect(await ended(second.body.run_id)).toMatchObject({ output: 'two', session_id: 'a-name' })
  })

  it('takes earlier messages, and continues a response', async () => {
    const scripted = model([says('one'), says('two'), says('three')])
    const history = [
      { role: 'user', content: 'before' },
      { role: 'assistant', content: 'yes' },
    ]
    const first = await start({ model: scripted.id, input: 'go', conversation_history: history })
    await ended(first.body.run_id)
    expect(JSON.stringify(scripted.requests.at(-1))).toContain('before')
    const response = await call<{ id: string }>('POST', '/v1/responses', { body: { model: scripted.id, input: 'r' } })
    const next = await start({ model: scripted.id, input: 'n', previous_response_id: response.body.id })
    expect(await ended(next.body.run_id)).toMatchObject({ output: 'three' })
    expect(JSON.stringify(scripted.requests.at(-1))).toContain('two')
  })

  it('is the same one when its request is repeated with its key', async () => {
    const headers = { 'idempotency-key': 'once' }
    const body = { model: model([says('done')]).id, input: 'go' }
    const [first, second] = [await start(body, undefined, headers), await start(body, undefined, headers)]
    expect(second.body.run_id).toBe(first.body.run_id)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
  })

  it('that began elsewhere is found too', async () => {
    const { id } = await newSession({ model: model([says('hi')]).id })
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: 'x' } })
    expect(await ended(body.run_id)).toMatchObject({ output: 'hi', session_id: id })
  })

  it('streams its events to its end, and continues after one of them', async () => {
    const { body } = await start({ model: model([says('a b c')]).id, input: 'go' })
    await ended(body.run_id)
    const text = await (await request('GET', `/v1/runs/${body.run_id}/events`)).text()
    const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
    expect(text).toMatch(/event: run\.started[\s\S]*event: run\.completed/)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    const rest = await request('GET', `/v1/runs/${body.run_id}/events`, {
      headers: { 'last-event-id': String(numbers.at(-2)) },
    })
    expect([...(await rest.text()).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(numbers.slice(-1))
    const none = await request('GET', `/v1/runs/${body.run_id}/events?after=${numbers.at(-1)}`)
    expect(await none.text()).not.toContain('event:')
  })

  it('is steered and stopped while it is open', async () => {
    const asks = calls({ id: 'q', name: 'clarify', input: { question: '?' } })
    const { body } = await start({ model: model([asks, says('ok')]).id, input: 'go' })
    const path = `/v1/runs/${body.run_id}`
    await until(async () => (await call<Run>('GET', path)).body.status === 'waiting')
    const stopped = await call<Accepted>('POST', `${path}/stop`, { body: {} })
    expect([stopped.status, stopped.body.status]).toEqual([202, 'stopping'])
    expect(await ended(body.run_id)).toMatchObject({ status: 'cancelled' })
    expect((await call<Accepted>('POST', `${path}/stop`, { body: {} })).body.status).toBe('cancelled')
    const late = await call<ErrorBody>('POST', `${path}/steer`, { body: { input: 'x' } })
    expect([late.status, late.body.error.code]).toEqual([409, 'conflict'])
    const other = await start({ model: model([asks, says('thanks')]).id, input: 'go' })
    await until(async () => (await call<Run>('GET', `/v1/runs/${other.body.run_id}`)).body.status === 'waiting')
    const steered = await call<Accepted>('POST', `/v1/runs/${other.body.run_id}/steer`, { body: { input: 'yes' } })
    expect(steered.body).toMatchObject({ run_id: other.body.run_id, status: 'joined' })
    expect(await ended(other.body.run_id)).toMatchObject({ output: 'thanks' })
  })

  it('has its approval decided', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const deletes = calls({ id: 'c', name: 'terminal', input: { command: 'rm -rf build' } })
    const { body } = await start({ model: model([deletes, says('gone')]).id, input: 'go' }, key)
    const path = `/v1/runs/${body.run_id}/approval`
    await until(async () => (await call<Run>('GET', `/v1/runs/${body.run_id}`, { key })).body.status === 'waiting')
    const foreign = await call('POST', path, { key, body: { decision: 'once', approval_id: 'ses_x.run_y.1.c' } })
    expect(foreign.status).toBe(404)
    const decided = await call<{ approval_id: string }>('POST', path, { key, body: { decision: 'once' } })
    expect([decided.status, decided.body.approval_id]).toEqual([200, expect.stringContaining(body.run_id)])
    expect(await ended(body.run_id, key)).toMatchObject({ output: 'gone' })
    expect((await call('POST', path, { key, body: { decision: 'once' } })).status).toBe(409)
  })

  it('waits on when the approval of another run is decided, also under its own address', async () => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const asking = (text: string) =>
      model([calls({ id: 'c', name: 'terminal', input: { command: 'rm -rf build' } }), says(text)]).id
    const one = await start({ model: asking('first'), input: 'go' }, key)
    const other = await start({ model: asking('second'), input: 'go' }, key)
    const statusOf = async (id: string) => (await call<Run>('GET', `/v1/runs/${id}`, { key })).body.status
    for (const { body } of [one, other]) await until(async () => (await statusOf(body.run_id)) === 'waiting')
    const decided = await call<{ approval_id: string }>('POST', `/v1/runs/${one.body.run_id}/approval`, {
      key,
      body: { decision: 'once' },
    })
    expect(await ended(one.body.run_id, key)).toMatchObject({ output: 'first' })
    expect(await statusOf(other.body.run_id)).toBe('waiting')
    const path = `/v1/runs/${other.body.run_id}/approval`
    const { approval_id: approvalId } = decided.body
    const wrong = await call('POST', path, { key, body: { decision: 'once', approval_id: approvalId } })
    expect(wrong.status).toBeGreaterThanOrEqual(400)
    expect(await statusOf(other.body.run_id)).toBe('waiting')
    await call('POST', path, { key, body: { decision: 'deny' } })
    expect(await ended(other.body.run_id, key)).toMatchObject({ output: 'second' })
  })

  it('of another tenant is as unknown as any other', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const { body } = await start({ model: model([says('secret')]).id, input: 'go' }, one.key)
    await ended(body.run_id, one.key)
    const get = (id: string) => call<ErrorBody>('GET', `/v1/runs/${id}`, { key: two.key })
    const [theirs, unknown, malformed] = [await get(body.run_id), await get(newRunId('none')), await get('nonsense')]
    expect([theirs.status, theirs.body]).toEqual([404, unknown.body])
    expect(malformed.body).toEqual(unknown.body)
  })
})
