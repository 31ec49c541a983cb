/** Tests batches by the API: results, the budget, what a crash leaves, retries, and whose rights and money they use. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { fails, Gate, hangs, model, type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { isLong, itInTurn } from '#test/support/long.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newTenant, request } from '#test/worker/client.ts'

beforeAll(applyMigrations)
afterEach(() => {
  replaceClock()
  armFailpoints('')
})

type Batch = {
  readonly id: string
  readonly status: string
  readonly counts: Readonly<Record<string, number>>
  readonly spent_usd: number
  readonly held_usd: number
  readonly reason: string | null
}
type Line = Readonly<Record<string, unknown>> & { readonly n: number; readonly status: string }

const askedOf = ({ messages }: ModelRequest): string => String(messages.at(-1)?.content)

async function batchTenant() {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  const object = bindings.TENANT.getByName(`t/${id}`)
  const start = async (body: object) => {
    const answer = await call<Batch>('POST', '/api/batches', { key, body })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    return answer.body
  }
  const get = async (batch: string) => (await call<Batch>('GET', `/api/batches/${batch}`, { key })).body
  return {
    id,
    key,
    clock,
    object,
    start,
    get,
    /** Limits of unattended turns do not matter here. */
    open: () => call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { unattended_turns_per_hour: 10_000 } } }),
    price: (scripted: string, prices: object) =>
      call('PATCH', '/api/settings', { key, body: { models: { [scripted]: { prices } } } }),
    ended: (batch: string) =>
      until(async () => {
        clock.pass(15_001)
        await runDurableObjectAlarm(object)
        const now = await get(batch)
        return now.status !== 'running' && !now.counts['running'] ? now : undefined
      }, 60_000),
    results: async (batch: string, format = 'results', by = key) => {
      const answer = await request('GET', `/api/batches/${batch}/results?format=${format}`, { key: by })
      return (await answer.text())
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Line)
    },
  }
}

const prompts = (count: number) => Array.from({ length: count }, (_, n) => ({ prompt: `Prompt ${n + 1}.` }))

it('runs each prompt in a session of its own and returns the answers in their order', async () => {
  const t = await batchTenant()
  const scripted = model((asked) => says(`Answer to ${askedOf(asked)}`))
  const { id } = await t.start({
    model: scripted.id,
    concurrency: 3,
    prompts: [...prompts(4), { prompt: 'Last.', id: 'z' }],
  })
  expect(await t.ended(id)).toMatchObject({ status: 'completed', counts: { completed: 5, failed: 0, pending: 0 } })
  const lines = await t.results(id)
  expect(lines.map(({ n, output }) => [n, output])).toEqual(
    [...prompts(4).map(({ prompt }) => prompt), 'Last.'].map((prompt, n) => [n + 1, `Answer to ${prompt}`]),
  )
  expect(lines.at(-1)).toMatchObject({ id: 'z', attempt: 1, error: null })
  expect(new Set(lines.map((line) => line['session_id'])).size).toBe(5)
})

it('has at most the given number of prompts in progress', async () => {
  const t = await batchTenant()
  const gate = new Gate()
  const scripted = model(() => hangs(gate))
  const { id } = await t.start({ model: scripted.id, concurrency: 2, prompts: prompts(5) })
  await until(() => scripted.requests.length === 2)
  expect((await t.get(id)).counts).toMatchObject({ running: 2, pending: 3 })
  gate.open()
  expect((await t.ended(id)).counts).toMatchObject({ completed: 5 })
  expect(scripted.requests).toHaveLength(5)
})

it('returns trajectories in both forms', async () => {
  const t = await batchTenant()
  const scripted = model(() => says('Done.'))
  const { id } = await t.start({ model: scripted.id, prompts: prompts(2) })
  await t.ended(id)
  const [sharegpt] = await t.results(id, 'sharegpt')
  expect(sharegpt).toMatchObject({ prompt_index: 1, completed: true })
  const turns = sharegpt?.['conversations'] as readonly { readonly from: string; readonly value: string }[]
  expect(turns.slice(1)).toEqual([
    { from: 'human', value: 'Prompt 1.' },
    { from: 'gpt', value: expect.stringContaining('Done.') },
  ])
  const [, own] = await t.results(id, 'talaria')
  expect(own).toMatchObject({ n: 2, format: 'talaria.session', messages: [{ role: 'user' }, { content: 'Done.' }] })
  const noted = await until(async () => {
    await runDurableObjectAlarm(t.object)
    const { body } = await call<{ data: { kind: string; subject: string }[] }>('GET', '/api/audit', { key: t.key })
    const own = body.data.filter(({ kind, subject }) => kind === 'session.exported' && subject === id)
    return own.length === 2 && own
  })
  expect(noted).toHaveLength(2)
})

it('retries only what has failed, in new sessions', async () => {
  const t = await batchTenant()
  let isDown = true
  const scripted = model((asked) => (isDown && /Prompt 2/.test(askedOf(asked)) ? fails(400, 'no') : says('ok')))
  const { id } = await t.start({ model: scripted.id, prompts: prompts(3) })
  expect((await t.ended(id)).counts).toMatchObject({ completed: 2, failed: 1 })
  const before = await t.results(id)
  isDown = false
  expect((await call('POST', `/api/batches/${id}/retry`, { key: t.key, body: {} })).status).toBe(200)
  expect((await t.ended(id)).counts).toMatchObject({ completed: 3, failed: 0 })
  const after = await t.results(id)
  expect(after.map(({ attempt }) => attempt)).toEqual([1, 2, 1])
  expect([after[0], after[2]]).toEqual([before[0], before[2]])
  const again = await call<ErrorBody>('POST', `/api/batches/${id}/retry`, { key: t.key, body: {} })
  expect([again.status, again.body.error.message]).toEqual([409, 'No prompt has failed or was left out.'])
})

itInTurn('cancels what runs and what waits, and retries it later', async () => {
  const t = await batchTenant()
  const gate = new Gate()
  const scripted = model(() => hangs(gate))
  const { id } = await t.start({ model: scripted.id, concurrency: 1, prompts: prompts(3) })
  await gate.waitUntilReached()
  const cancelled = await call<Batch>('POST', `/api/batches/${id}/cancel`, { key: t.key })
  expect(cancelled.body).toMatchObject({ status: 'cancelled', reason: 'It was cancelled.', counts: { pending: 0 } })
  expect((await t.ended(id)).counts).toMatchObject({ cancelled: 3, running: 0 })
  gate.open()
  await call('POST', `/api/batches/${id}/retry`, { key: t.key, body: {} })
  expect(await t.ended(id)).toMatchObject({ status: 'completed', counts: { completed: 3, cancelled: 0 } })
})

// A reply costs 100 × $1 000/M + 10 × $10 000/M = $0.20.
const prices = { input: 1_000, output: 10_000, cached_read: 1_000 }

it('never spends more than its budget, and leaves the rest unstarted', async () => {
  const t = await batchTenant()
  const scripted = model(() => says('ok'))
  await t.price(scripted.id, prices)
  const budget_usd = 60
  const { id } = await t.start({
    model: scripted.id,
    prompts: prompts(4),
    budget_usd,
    usd_per_prompt: 29,
    concurrency: 4,
    max_output_tokens: 20,
  })
  const first = await t.get(id)
  expect(first.spent_usd + first.held_usd).toBeLessThanOrEqual(budget_usd)
  const over = await t.ended(id)
  expect(over.spent_usd).toBeLessThanOrEqual(budget_usd)
  const sum = (await t.results(id)).reduce((total, line) => total + Number(line['cost_usd'] ?? 0), 0)
  expect(over.spent_usd).toBeCloseTo(sum, 9)
})

it('ends out of budget before a prompt that it cannot pay, and goes on with a larger one', async () => {
  const t = await batchTenant()
  const scripted = model(() => says('ok'))
  await t.price(scripted.id, prices)
  const { id } = await t.start({
    model: scripted.id,
    prompts: prompts(3),
    budget_usd: 29.3,
    usd_per_prompt: 29,
    max_output_tokens: 20,
  })
  const over = await t.ended(id)
  expect(over).toMatchObject({ status: 'out_of_budget', reason: 'The budget is used up.' })
  expect(over.counts).toMatchObject({ completed: 2, pending: 1 })
  expect(over.spent_usd).toBeCloseTo(0.4, 6)
  await call('POST', `/api/batches/${id}/retry`, { key: t.key, body: { budget_usd: 100 } })
  expect(await t.ended(id)).toMatchObject({ status: 'completed', counts: { completed: 3 } })
})

it('does not send a call that could exceed what is held for its prompt, whoever chose that', async () => {
  const t = await batchTenant()
  const scripted = model(() => says('ok'))
  await t.price(scripted.id, prices)
  const { id } = await t.start({ model: scripted.id, prompts: prompts(2), budget_usd: 0.2, max_output_tokens: 20 })
  expect(await t.ended(id)).toMatchObject({ status: 'out_of_budget', counts: { pending: 2 }, spent_usd: 0 })
  const own = { budget_usd: 1, usd_per_prompt: 0.1, max_output_tokens: 20 }
  const { id: chosen } = await t.start({ model: scripted.id, prompts: prompts(2), ...own })
  expect(await t.ended(chosen)).toMatchObject({ counts: { failed: 2 }, spent_usd: 0 })
  expect((await t.results(chosen))[0]).toMatchObject({
    error: 'The turn ended: out_of_budget.',
    output: expect.stringContaining('usd_per_session'),
  })
  expect(scripted.requests).toHaveLength(0)
})

it('lets fewer run at a time when a share cannot pay a call', async () => {
  const t = await batchTenant()
  const scripted = model(() => says('ok'))
  await t.price(scripted.id, prices)
  const money = { budget_usd: 30, max_output_tokens: 20, concurrency: 8 }
  const { id } = await t.start({ model: scripted.id, prompts: prompts(8), ...money })
  expect(await t.ended(id)).toMatchObject({ status: 'completed', counts: { completed: 8 } })
  expect(scripted.requests).toHaveLength(8)
  expect((await t.results(id)).some(({ attempt }) => Number(attempt) > 1)).toBe(true)
})

it('resumes at each moment after its object or a session has ended, and asks the model once for each prompt', async () => {
  const t = await batchTenant()
  await t.open()
  const scripted = model((asked) => says(`Answer to ${askedOf(asked)}`))
  armFailpoints('batch-claimed=throw@2,batch-ended=throw@3')
  const count = isLong ? 24 : 9
  const { id } = await t.start({ model: scripted.id, concurrency: 4, prompts: prompts(count) })
  for (let kill = 0; kill < (isLong ? 10 : 5); kill++) {
    await evictDurableObject(t.object)
    t.clock.pass(15_001)
    await runDurableObjectAlarm(t.object)
  }
  expect(await t.ended(id)).toMatchObject({ status: 'completed', counts: { completed: count } })
  expect((await t.results(id)).map(({ output }) => output)).toEqual(
    prompts(count).map(({ prompt }) => `Answer to ${prompt}`),
  )
  expect(scripted.requests).toHaveLength(count)
})

it('ends with the key that has started it', async () => {
  const t = await batchTenant()
  const key = await newKey(t.id, ['chat', 'read', 'write', 'jobs'])
  const gate = new Gate()
  const scripted = model(() => hangs(gate))
  const body = { model: scripted.id, concurrency: 1, prompts: prompts(3) }
  const { id } = (await call<Batch>('POST', '/api/batches', { key, body })).body
  await gate.waitUntilReached()
  await call('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
  gate.open()
  const ended = await t.ended(id)
  expect(ended).toMatchObject({ status: 'cancelled', reason: expect.stringContaining('key'), counts: { pending: 0 } })
  expect(ended.counts['cancelled']).toBeGreaterThanOrEqual(2)
  expect(scripted.requests).toHaveLength(1)
})

it('is unknown to other tenants, needs the scope jobs, and is made once for one Idempotency-Key', async () => {
  const t = await batchTenant()
  const other = await newTenant()
  const scripted = model(() => says('ok'))
  const ask = { key: t.key, body: { model: scripted.id, prompts: prompts(1) }, headers: { 'idempotency-key': 'one' } }
  const [one, two] = [await call<Batch>('POST', '/api/batches', ask), await call<Batch>('POST', '/api/batches', ask)]
  expect(two.body.id).toBe(one.body.id)
  expect((await call('GET', `/api/batches/${one.body.id}`, { key: other.key })).status).toBe(404)
  expect((await call('GET', `/api/batches/${one.body.id}/results`, { key: other.key })).status).toBe(404)
  const reader = await newKey(t.id, ['chat', 'read'])
  expect((await call('GET', '/api/batches', { key: reader })).status).toBe(403)
  expect((await call<{ data: Batch[] }>('GET', '/api/batches', { key: t.key })).body.data).toHaveLength(1)
  expect((await call('DELETE', `/api/batches/${one.body.id}`, { key: t.key })).status).toBe(204)
  expect((await call('GET', `/api/batches/${one.body.id}`, { key: t.key })).status).toBe(404)
})

it('is in exports and backups of its tenant, comes back in another one, and is deleted with it', async () => {
  const t = await batchTenant()
  const scripted = model((asked) => says(`Answer to ${askedOf(asked)}`))
  const { id } = await t.start({
    model: scripted.id,
    name: 'letters',
    prompts: [{ prompt: 'One.', id: 'a' }, { prompt: 'Two.' }],
  })
  await t.ended(id)
  const path = `/api/admin/tenants/${t.id}`
  const exported = (await (await request('GET', `${path}/export`)).text())
    .split('\n')
    .filter((line) => line.includes('"batch'))
  expect(
    exported.map((line) => JSON.parse(line) as Line).filter(({ type }) => String(type).startsWith('batch')),
  ).toMatchObject([
    { type: 'batch', id, name: 'letters', status: 'completed', counts: { completed: 2 } },
    { type: 'batch_prompt', batch_id: id, n: 1, id: 'a', output: 'Answer to One.' },
    { type: 'batch_prompt', batch_id: id, n: 2, id: null, output: 'Answer to Two.' },
  ])
  const state = await (await request('GET', `${path}/backup/state`)).text()
  const other = await newTenant()
  const restore = (body: string) => request('PUT', `/api/admin/tenants/${other.id}/backup/state`, { body })
  expect((await restore(state)).status).toBe(204)
  expect(await t.results(id, 'results', other.key)).toMatchObject([{ n: 1, output: 'Answer to One.' }, { n: 2 }])
  // A tenant with batches is in use for every state but that which it has.
  await call('PATCH', '/api/settings', { key: t.key, body: { instructions: 'Write letters.' } })
  expect((await restore(await (await request('GET', `${path}/backup/state`)).text())).status).toBe(409)
  expect((await call('DELETE', path)).status).toBe(202)
  // The owner's object deletes tenants.
  await until(async () => {
    t.clock.pass(10_000)
    await runDurableObjectAlarm(bindings.TENANT.getByName('t/default')).catch(() => undefined)
    return (await call('GET', path)).status === 404
  })
  await expect(runInDurableObject(t.object, () => undefined)).rejects.toThrow('The tenant was deleted.')
})
