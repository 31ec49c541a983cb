/** Tests that ended runs are kept as trajectories where the tenant has switched it on, masked, and how they are deleted. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { fails, Gate, hangs, model, says, until } from '../../support/scripted-model.ts'
import { objectOf } from '../support/object.ts'
import { applyMigrations, bindings, call, newSession, newTenant, request } from '../../worker/client.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

type Line = {
  readonly session_id: string
  readonly run_id: string
  readonly ended_at: string
  readonly conversations: readonly { readonly from: string; readonly value: string }[]
}

it('keeps ended runs by outcome, without secrets, until their days or their session are over', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  const scripted = model((asked) => (/please fail/.test(JSON.stringify(asked)) ? fails(400, 'no') : says('Done.')))
  const ask = async (input: string, session?: string) => {
    const target = session ?? (await newSession({ model: scripted.id }, key)).id
    await call('POST', `/api/sessions/${target}/chat`, { key, body: { input } })
    return target
  }
  const read = async (query: string, as = key) => {
    const response = await request('GET', `/api/trajectories?${query}`, { key: as })
    return (await response.text())
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)
  }
  const count = (n: number, query = '') => until(async () => (await read(query)).length === n)

  const session = await ask('before')
  await call('PATCH', '/api/settings', { key, body: { sessions: { trajectory_days: 7 } } })
  forgetSnapshot(id)
  const token = `ghp_${'a1B2'.repeat(9)}`
  await ask(`hello ${token}`, session)
  await count(1)
  const [line] = await read('')
  expect(line).toMatchObject({
    session_id: session,
    model: scripted.id,
    models: [scripted.id],
    model_calls: 1,
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    exit_reason: 'answered',
    completed: true,
  })
  const said = line?.conversations.filter(({ from }) => from !== 'system')
  expect(said).toEqual([
    { from: 'human', value: expect.stringContaining('hello') },
    { from: 'gpt', value: expect.stringContaining('Done.') },
  ])
  expect(JSON.stringify(line)).not.toContain(token)

  const other = await ask('please fail')
  await count(1, 'outcome=failed')
  expect(await read('outcome=failed')).toMatchObject([{ session_id: other, completed: false, exit_reason: 'failed' }])

  clock.pass(60_000)
  await ask('again', session)
  await count(2)
  const after = `after=${line?.ended_at}~${session}~${line?.run_id}`
  expect(await read(after)).toHaveLength(1)
  expect(await read('limit=1')).toEqual([line])
  expect(await read('', (await newTenant()).key)).toEqual([])

  await call('PATCH', '/api/settings', { key, body: { sessions: { trajectory_days: null } } })
  forgetSnapshot(id)
  await ask('when it is off', session)
  expect(await read('')).toHaveLength(2)
  await call('PATCH', '/api/settings', { key, body: { sessions: { trajectory_days: 7 } } })

  await call('DELETE', `/api/sessions/${session}`, { key })
  const stored = async () => (await bindings.BLOBS?.list({ prefix: `t/${id}/trajectories/` }))?.objects.length
  await until(async () => (await stored()) === 1)
  clock.pass(9 * 86_400_000)
  await until(async () => {
    await runDurableObjectAlarm(bindings.TENANT.getByName(`t/${id}`))
    return (await stored()) === 0
  })
})

it('keeps each of several runs that ended before the first was kept, and none from before the switch', async () => {
  const { id, key } = await newTenant()
  const gate = new Gate()
  const scripted = model(({ messages, tools }) =>
    tools && JSON.stringify(messages.at(-1)).includes('first') ? hangs(gate) : says('ok'),
  )
  const session = (await newSession({ model: scripted.id }, key)).id
  const ask = (input: string) => call('POST', `/api/sessions/${session}/chat`, { key, body: { input, mode: 'queue' } })
  await ask('zebra')
  await call('PATCH', '/api/settings', { key, body: { sessions: { trajectory_days: 7 } } })
  forgetSnapshot(id)
  const queued = [ask('first')]
  await gate.waitUntilReached()
  queued.push(ask('second'), ask('third'))
  const waiting = () =>
    runInDurableObject(
      objectOf(session, id),
      (_object, { storage }) => storage.sql.exec('SELECT id FROM inbox').toArray().length,
    )
  await until(async () => (await waiting()) === 2)
  gate.open()
  await Promise.all(queued)
  const kept = async () => (await (await request('GET', '/api/trajectories', { key })).text()).trim().split('\n')
  await until(async () => (await kept()).length === 3)
  for (const asked of ['first', 'second', 'third']) expect((await kept()).join()).toContain(asked)
  expect((await kept()).join()).not.toContain('zebra')
})
