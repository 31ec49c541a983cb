/** Tests usage reports by day, model, session and source, and the limits on cost and storage. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, drops, fails, Gate, model, says, until } from '../support/scripted-model.ts'
import { objectOf } from '../durable/support/object.ts'
import { outage } from '../support/outage.ts'
import { bindings, call, applyMigrations, newSession, newTenant, type ErrorBody, request } from './client.ts'
import type { Run } from './listen.ts'
import { ownerAuthority } from '../support/authority.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  vi.restoreAllMocks()
})

type Line = {
  readonly key: string
  readonly turns: number
  readonly calls: number
  readonly cut_calls: number
  readonly input: number
  readonly output: number
  readonly cached_read: number
  readonly cost_usd: number
  readonly cost_status: string
}
type Report = {
  readonly data: readonly Line[]
  readonly totals: Omit<Line, 'key'>
  readonly next_cursor: string | null
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
const report = async (key: string, query = '') => (await call<Report>('GET', `/api/usage${query}`, { key })).body
/** The report once it knows of so many turns: history hears of them a moment after their end. */
const reportOf = (key: string, turns: number, query = '') =>
  until(async () => {
    const body = await report(key, query)
    return body.totals.turns === turns ? body : undefined
  })
const chat = (key: string, id: string, input: string, more: object = {}) =>
  call<Run & ErrorBody>('POST', `/api/sessions/${id}/chat`, { key, body: { input, ...more } })

/** USD per million tokens such that an answer of the scripted model (60 + 40 cached, 10 out) costs 0.01. */
const prices = { input: 100, cached_read: 75, output: 100 }
const priced = (...ids: readonly string[]) => ({ models: Object.fromEntries(ids.map((id) => [id, { prices }])) })

describe('the report', () => {
  it('counts every turn once, by model, with what it cost', async () => {
    const began = dayOf(Date.now())
    const { key } = await newTenant()
    const one = model([calls({ name: 'todo', input: {} }), says('a'), says('b')])
    const two = model([says('c')])
    await call('PATCH', '/api/settings', { key, body: priced(one.id) })
    const first = await newSession({ model: one.id }, key)
    await chat(key, first.id, 'one')
    await chat(key, first.id, 'two')
    const second = await newSession({ model: two.id }, key)
    await chat(key, second.id, 'three')
    const { data, totals } = await reportOf(key, 3, '?group=model')
    expect(
      data.map(({ key: name, turns, calls: callCount, cost_usd, cost_status }) => [
        name,
        turns,
        callCount,
        cost_usd.toFixed(6),
        cost_status,
      ]),
    ).toEqual([
      [one.id, 2, 3, '0.030000', 'estimated'],
      [two.id, 1, 1, '0.000000', 'unknown'],
    ])
    expect(totals).toMatchObject({ turns: 3, calls: 4, cut_calls: 0, input: 240, cached_read: 160, output: 40 })
    expect(totals.cost_status).toBe('unknown')
    const bySession = await report(key, '?group=session')
    expect(bySession.data.map((line) => [line.key, line.turns])).toEqual([
      [first.id, 2],
      [second.id, 1],
    ])
    expect((await report(key, '?group=source')).data).toMatchObject([{ key: 'api', turns: 3 }])
    const days = await report(key, '?group=day')
    // They may lie on both sides of midnight.
    expect(days.data.reduce((sum, { turns }) => sum + turns, 0)).toBe(3)
    const today = days.data[0]?.key ?? ''
    expect([began, dayOf(Date.now())]).toContain(today)
    expect((await report(key, `?group=day&from=2026-01-01&to=${today}`)).data).toEqual(days.data)
    expect((await report(key, '?from=2026-01-01&to=2026-01-02')).totals.turns).toBe(0)
  })

  it('comes page by page', async () => {
    const { key } = await newTenant()
    const ids: string[] = []
    for (const count of [3, 2, 1]) {
      const { id } = await newSession({ model: model([]).id }, key)
      ids.push(id)
      for (let i = 0; i < count; i++) await chat(key, id, `${i}`)
    }
    await reportOf(key, 6)
    const seen: string[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const body = await report(key, `?group=session&limit=1${cursor}`)
      seen.push(...body.data.map((line) => line.key))
      expect(body.totals.turns).toBe(6)
      cursor = `&cursor=${encodeURIComponent(body.next_cursor ?? '')}`
    }
    expect(seen).toEqual(ids)
    expect(cursor).toBe('&cursor=')
  })

  it('excludes other tenants, and needs the scope read', async () => {
    const [one, other] = [await newTenant(), await newTenant(['chat'])]
    const { id } = await newSession({ model: model([]).id }, one.key)
    await chat(one.key, id, 'hi')
    await reportOf(one.key, 1)
    expect((await call('GET', '/api/usage', { key: other.key })).status).toBe(403)
    const third = await newTenant()
    expect((await report(third.key)).totals).toMatchObject({ turns: 0, input: 0, cost_usd: 0, cost_status: 'included' })
  })

  itInTurn.each([
    ['?group=weather', 'group'],
    ['?from=yesterday', 'from'],
    ['?from=2026-02-01&to=2026-01-01', 'to'],
    ['?cursor=nonsense', 'cursor'],
  ])('refuses %s', async (query, param) => {
    const { status, body } = await call<ErrorBody>('GET', `/api/usage${query}`)
    expect([status, body.error.param]).toEqual([400, param])
  })

  it('keeps the cost of undone turns and deleted sessions, and counts a fork once', async () => {
    const { key } = await newTenant()
    const { id } = await newSession({ model: model([]).id }, key)
    for (const input of ['one', 'two', 'three']) await chat(key, id, input)
    await reportOf(key, 3)
    const { totals } = await report(key)
    const fork = await call<{ id: string }>('POST', `/api/sessions/${id}/fork`, { key, body: {} })
    await call('POST', `/api/sessions/${id}/undo`, { key, body: { n: 2 } })
    const tenant = await tenantOf(key)
    await until(
      async () =>
        (await objectOf(id, tenant).history.messages(ownerAuthority(tenant), { limit: 9 }))?.data.length === 2,
    )
    expect((await report(key)).totals).toEqual(totals)
    for (const session of [id, fork.body.id]) await request('DELETE', `/api/sessions/${session}`, { key })
    expect((await report(key)).totals).toEqual(totals)
    expect((await report(key, '?group=session')).data.map((line) => line.key)).toEqual([id])
  })

  it('marks broken calls and counts their estimated cost', async () => {
    const { key } = await newTenant()
    const scripted = model([drops('Half an '), says('answer')])
    await call('PATCH', '/api/settings', { key, body: priced(scripted.id) })
    const { id } = await newSession({ model: scripted.id }, key)
    const { body: run } = await chat(key, id, 'go')
    expect(run.output).toBe('Half an answer')
    const { totals } = await reportOf(key, 1)
    expect(totals).toMatchObject({ calls: 2, cut_calls: 1, cost_status: 'estimated' })
    expect(totals.cost_usd).toBeGreaterThan(0.01)
    expect(totals.input).toBeGreaterThan(60)
  })

  it('counts each model of a turn that fell back', async () => {
    const { key } = await newTenant()
    const [bad, good] = [model([fails(404, 'no such model')]), model([says('here')])]
    await call('PATCH', '/api/settings', { key, body: { fallback_providers: [good.id] } })
    const { id } = await newSession({ model: bad.id }, key)
    await chat(key, id, 'go')
    const { data } = await reportOf(key, 1, '?group=model')
    expect(data).toMatchObject([{ key: good.id, calls: 1 }])
  })
})

const tenantOf = async (key: string) => {
  const { results } = await bindings.DB.prepare('SELECT tenant_id FROM api_key WHERE id = ?')
    .bind(key.split('_')[1])
    .all<{ tenant_id: string }>()
  return results[0]?.tenant_id ?? ''
}

const limited = async (limits: object, settings: object = {}) => {
  const tenant = await newTenant()
  await call('PATCH', '/api/settings', { key: tenant.key, body: settings })
  await call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { limits } })
  return tenant
}

describe('a limit', () => {
  const refused = ({ status, headers, body }: Awaited<ReturnType<typeof chat>>) => [
    status,
    body.error?.code,
    body.error?.param,
    Number(headers.get('retry-after')) > 0,
  ]

  it('of tokens a day refuses the turn after the one that reached it', async () => {
    const { key } = await limited({ tokens_per_day: 200 })
    const { id } = await newSession({ model: model([]).id }, key)
    expect((await chat(key, id, 'one')).status).toBe(200)
    expect((await chat(key, id, 'two')).status).toBe(200)
    const answer = await until(async () => {
      const last = await chat(key, id, 'three')
      return last.status === 429 ? last : undefined
    })
    expect(refused(answer)).toEqual([429, 'limit_exceeded', 'tokens_per_day', true])
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(86_400)
    const completion = await call<ErrorBody>('POST', '/v1/chat/completions', {
      key,
      body: { messages: [{ role: 'user', content: 'x' }] },
    })
    expect([completion.status, completion.body.error.param]).toEqual([429, 'tokens_per_day'])
  })

  it.each(['usd_per_day', 'usd_per_month'])('%s stops a turn that is under way, and refuses the next', async (name) => {
    const scripted = model(() => calls({ name: 'todo', input: {} }))
    const { key } = await limited({ [name]: 0.025 }, priced(scripted.id))
    const { id } = await newSession({ model: scripted.id }, key)
    const { body: run } = await chat(key, id, 'work for ever')
    expect([run.exit_reason, scripted.requests.length]).toEqual(['out_of_budget', 3])
    expect(run.output).toContain(name)
    expect(refused(await chat(key, id, 'more'))).toEqual([429, 'limit_exceeded', name, true])
  })

  it('lets turns run while the tenant is unreachable, and counts them later', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { key, id: tenantId } = await limited({ tokens_per_day: 215 })
    const gate = new Gate()
    const scripted = model([calls({ name: 'todo', input: {} }), says('done', gate)])
    const { id } = await newSession({ model: scripted.id }, key)
    const one = chat(key, id, 'one')
    await gate.waitUntilReached()
    outage.isTenantDown = true
    gate.open()
    expect((await one).body.exit_reason).toBe('answered')
    await until(() => outage.refusedCount)
    outage.restore()
    await until(async () => {
      await runDurableObjectAlarm(objectOf(id, tenantId))
      return (
        await bindings.TENANT.getByName(`t/${tenantId}`).billing.report(ownerAuthority(), 'probe', {
          tokens: 0,
          usd: 0,
        })
      ).ok
        ? undefined
        : 'heard'
    })
    expect(refused(await chat(key, id, 'two'))).toEqual([429, 'limit_exceeded', 'tokens_per_day', true])
  })

  it('of concurrent turns frees the place, even when the tenant was unreachable at the end', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { key, id: tenantId } = await limited({ concurrent_turns: 1 })
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('done', gate)]).id }, key)
    const one = chat(key, id, 'one')
    await gate.waitUntilReached()
    outage.isTenantDown = true
    gate.open()
    expect((await one).body.exit_reason).toBe('answered')
    await until(() => outage.refusedCount)
    // History gets it all the same, and would be a reason for no further alarm.
    await reportOf(key, 1)
    await until(async () => {
      const at = await runInDurableObject(objectOf(id, tenantId), (_object, { storage }) => storage.getAlarm())
      return at === null || outage.refusedCount > 1
    })
    outage.restore()
    await until(async () => {
      await runDurableObjectAlarm(objectOf(id, tenantId))
      return (await bindings.TENANT.getByName(`t/${tenantId}`).limits.admitTurn(ownerAuthority(), 'probe')).ok
    })
  })

  it('counts a run whose object died after the next run began, before the report to the tenant', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { key, id: tenantId } = await limited({ concurrent_turns: 1, tokens_per_day: 100_000 })
    const tenant = bindings.TENANT.getByName(`t/${tenantId}`)
    const [first, second] = [new Gate(), new Gate()]
    const { id } = await newSession({ model: model([says('a', first), says('b', second), says('b')]).id }, key)
    const object = objectOf(id, tenantId)
    const one = chat(key, id, 'one')
    await first.waitUntilReached()
    const two = chat(key, id, 'two', { mode: 'queue' }).catch(() => undefined)
    await until(() =>
      runInDurableObject(object, (_object, { storage: { sql } }) => {
        const [table] = sql.exec("SELECT name FROM sqlite_master WHERE name = 'inbox'").toArray()
        return table && sql.exec('SELECT id FROM inbox').toArray().length
      }),
    )
    outage.isTenantDown = true
    first.open()
    const { run_id: run } = (await one).body
    // The end of the first run, and the first call of the second one.
    await until(() => outage.refusedCount > 1)
    const died = runInDurableObject(object, (_object, state) => state.abort('killed by a test'))
    await died.catch(() => undefined)
    outage.restore()
    second.open()
    await two
    await until(async () => {
      await runDurableObjectAlarm(objectOf(id, tenantId))
      return (await tenant.limits.admitTurn(ownerAuthority(), 'probe')).ok
    })
    const spent = await runInDurableObject(tenant, (_object, { storage: { sql } }) =>
      sql.exec<{ tokens: number }>('SELECT tokens FROM spent WHERE run = ?', run).toArray(),
    )
    expect(spent).toEqual([{ tokens: 110 }])
  })

  it('of concurrent turns frees the place before a session is deleted', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { key, id: tenantId } = await limited({ concurrent_turns: 1 })
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('never', gate)]).id }, key)
    await call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go' } })
    await gate.waitUntilReached()
    outage.isTenantDown = true
    expect((await request('DELETE', `/api/sessions/${id}`, { key })).status).toBeGreaterThanOrEqual(500)
    outage.restore()
    await until(async () => (await request('DELETE', `/api/sessions/${id}`, { key })).status === 204)
    expect(await bindings.TENANT.getByName(`t/${tenantId}`).limits.admitTurn(ownerAuthority(), 'probe')).toEqual({
      ok: true,
    })
  })

  it('counts cost from before it was set', async () => {
    const { key, id: tenantId } = await newTenant()
    const { id } = await newSession({ model: model([]).id }, key)
    await chat(key, id, 'one')
    await chat(key, id, 'two')
    await reportOf(key, 2)
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { tokens_per_day: 220 } } })
    expect(refused(await chat(key, id, 'three'))).toEqual([429, 'limit_exceeded', 'tokens_per_day', true])
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { tokens_per_day: 230 } } })
    expect((await chat(key, id, 'three')).status).toBe(200)
  })

  it('of a turn ends it with a notice and does not affect the next turn', async () => {
    const scripted = model([calls({ name: 'todo', input: {} }), says('next')])
    const { key } = await limited({ usd_per_turn: 0.01 }, priced(scripted.id))
    const { id } = await newSession({ model: scripted.id }, key)
    const { body: run } = await chat(key, id, 'go')
    expect([run.exit_reason, run.output]).toEqual(['out_of_budget', expect.stringContaining('usd_per_turn')])
    expect(scripted.requests).toHaveLength(1)
    expect((await chat(key, id, 'and now?')).body).toMatchObject({ exit_reason: 'answered', output: 'next' })
  })

  it('of a session refuses its next turn, and no other session', async () => {
    const scripted = model([])
    const { key } = await limited({ usd_per_session: 0.02 }, priced(scripted.id))
    const { id } = await newSession({ model: scripted.id }, key)
    await chat(key, id, 'one')
    await chat(key, id, 'two')
    expect(refused(await chat(key, id, 'three'))).toEqual([429, 'limit_exceeded', 'usd_per_session', true])
    const other = await newSession({ model: scripted.id }, key)
    expect((await chat(key, other.id, 'one')).status).toBe(200)
  })

  it('of a session does not refuse messages into an open turn', async () => {
    const gate = new Gate()
    const scripted = model([calls({ name: 'todo', input: {} }), says('a', gate, 'b'), says('c')])
    const { key } = await limited({ usd_per_session: 0.015 }, priced(scripted.id))
    const { id } = await newSession({ model: scripted.id }, key)
    const running = chat(key, id, 'one')
    await gate.waitUntilReached()
    const steered = await call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'and this' } })
    expect([steered.status, steered.body['status']]).toEqual([202, 'joined'])
    gate.open()
    await running
    expect(refused(await chat(key, id, 'two'))).toEqual([429, 'limit_exceeded', 'usd_per_session', true])
  })

  it('that a session sets for itself holds too: the next turn is refused', async () => {
    const scripted = model([])
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: priced(scripted.id) })
    const { id } = await newSession({ model: scripted.id, settings: { limits: { usd_per_session: 0.01 } } }, key)
    await chat(key, id, 'one')
    expect(refused(await chat(key, id, 'two'))).toEqual([429, 'limit_exceeded', 'usd_per_session', true])
    expect(scripted.requests.length).toBe(1)
  })

  it('of storage refuses files and turns', async () => {
    const { key, id: tenantId } = await limited({ storage_bytes: 1_000_000 })
    const { id } = await newSession({ model: model([]).id }, key)
    expect((await chat(key, id, 'one')).status).toBe(200)
    const file = await call<ErrorBody>('PUT', `/api/sessions/${id}/files/a.bin`, {
      key,
      body: new Uint8Array(1_000_001),
    })
    expect([file.status, file.body.error.param]).toEqual([429, 'storage_bytes'])
    await bindings.TENANT.getByName(`t/${tenantId}`).limits.setStoredBytes(ownerAuthority(), {
      sessionId: 'another',
      bytes: 1_000_000,
    })
    expect(refused(await chat(key, id, 'two'))).toEqual([429, 'limit_exceeded', 'storage_bytes', true])
  })
})

describe('storage of a tenant', () => {
  it('counts large files of all sessions until they are deleted', async () => {
    const { key } = await limited({ storage_bytes: 4_000_000 })
    const [one, two] = [await newSession({}, key), await newSession({}, key)]
    const put = (session: { readonly id: string }, body: Uint8Array) =>
      call<ErrorBody>('PUT', `/api/sessions/${session.id}/files/a.bin`, { key, body })
    expect((await put(one, new Uint8Array(2_500_000))).status).toBe(201)
    const refused = await put(two, new Uint8Array(1_500_000))
    expect([refused.status, refused.body.error.param]).toEqual([429, 'storage_bytes'])
    await request('DELETE', `/api/sessions/${one.id}/files/a.bin`, { key })
    expect((await put(two, new Uint8Array(1_500_000))).status).toBe(201)
  })

  it('counts a fork, and refuses one over the limit', async () => {
    const { key } = await limited({ storage_bytes: 4_000_000 })
    const { id } = await newSession({}, key)
    const body = new Uint8Array(1_500_000)
    expect((await call('PUT', `/api/sessions/${id}/files/a.bin`, { key, body })).status).toBe(201)
    const fork = () => call<ErrorBody>('POST', `/api/sessions/${id}/fork`, { key, body: {} })
    expect((await fork()).status).toBe(201)
    const refused = await fork()
    expect([refused.status, refused.body.error?.param]).toEqual([429, 'storage_bytes'])
  })
})

describe('a list of sessions', () => {
  it('shows the current status of each', async () => {
    const { key } = await newTenant()
    const gate = new Gate()
    const busy = await newSession({ model: model([says('a', gate, 'b')]).id, title: 'busy' }, key)
    const asking = model([calls({ name: 'clarify', input: { question: 'Well?' } })])
    const waiting = await newSession({ model: asking.id, title: 'waiting' }, key)
    await newSession({ title: 'idle' }, key)
    const running = chat(key, busy.id, 'go')
    await gate.waitUntilReached()
    await call('POST', `/api/sessions/${waiting.id}/steer`, { key, body: { input: 'go' } })
    const statuses = async () => {
      const { body } = await call<{ data: { title: string; status: string }[] }>('GET', '/api/sessions', { key })
      return Object.fromEntries(body.data.map(({ title, status }) => [title, status]))
    }
    await until(async () => (await statuses())['waiting'] === 'waiting')
    expect(await statuses()).toEqual({ busy: 'running', waiting: 'waiting', idle: 'idle' })
    gate.open()
    await running
    expect((await statuses())['busy']).toBe('idle')
  })
})

describe('one request', () => {
  it('sets model and sampling before the session and the tenant', async () => {
    const { key } = await newTenant()
    const [own, other] = [model([]), model([])]
    await call('PATCH', '/api/settings', {
      key,
      body: { model: { default: own.id, temperature: 0.1, max_tokens: 111, reasoning_effort: 'low' } },
    })
    const { id } = await newSession({ settings: { model: { max_tokens: 222 } } }, key)
    await chat(key, id, 'by settings')
    await chat(key, id, 'by options', { model_options: { temperature: 0.7 } })
    await chat(key, id, 'by fields', { max_tokens: 333, model_options: { temperature: 0.7, max_tokens: 444 } })
    const name = other.id.slice('openai/'.length)
    await chat(key, id, 'another model', { provider: 'openai', model: name })
    const received = [...own.requests, ...other.requests].map((one) => ({
      model: one.model,
      temperature: one['temperature'],
      most: one['max_tokens'] ?? one['max_completion_tokens'],
    }))
    const mine = own.id.slice('openai/'.length)
    expect(received).toEqual([
      { model: mine, temperature: 0.1, most: 222 },
      { model: mine, temperature: 0.7, most: 222 },
      { model: mine, temperature: 0.7, most: 333 },
      { model: name, temperature: 0.1, most: 222 },
    ])
  })

  it('to the Chat Completions API can set the same', async () => {
    const scripted = model([])
    const [provider, name] = ['openai', scripted.id.slice('openai/'.length)]
    const { status } = await call('POST', '/v1/chat/completions', {
      body: { messages: [{ role: 'user', content: 'x' }], provider, model: name, model_options: { max_tokens: 9 } },
    })
    const [received] = scripted.requests
    expect([status, received?.['max_tokens'] ?? received?.['max_completion_tokens']]).toEqual([200, 9])
  })

  it('to the Responses API can set the same; its own fields win', async () => {
    const scripted = model([])
    const wishes = { provider: 'openai', model: scripted.id.slice('openai/'.length), input: 'x' }
    const options = { temperature: 0.7, max_tokens: 444 }
    const ask = (body: object) => call<ErrorBody>('POST', '/v1/responses', { body: { ...wishes, ...body } })
    const answers = [
      await ask({ model_options: options }),
      await ask({ model_options: options, temperature: 0.2, max_output_tokens: 333 }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const received = scripted.requests.map((one) => [
      one['temperature'],
      one['max_tokens'] ?? one['max_completion_tokens'],
    ])
    expect(received).toEqual([
      [0.7, 444],
      [0.2, 333],
    ])
    expect((await ask({ provider: 'nobody' })).body.error.param).toBe('provider')
    expect((await ask({ model_options: { warmth: 1 } })).body.error.param).toBe('model_options.warmth')
  })

  it.each([
    [{ model_options: { warmth: 1 } }, 400, 'model_options.warmth'],
    [{ model_options: { temperature: 9 } }, 400, 'model_options.temperature'],
    [{ provider: 'nobody', model: 'x' }, 404, 'provider'],
  ])('with %j is refused', async (wish, status, param) => {
    const { id } = await newSession()
    const answer = await call<ErrorBody>('POST', `/api/sessions/${id}/chat`, { body: { input: 'x', ...wish } })
    expect([answer.status, answer.body.error.param]).toEqual([status, param])
  })
})

it('a run stopped before its first delta is counted as an estimate', async () => {
  const { key } = await newTenant()
  const gate = new Gate()
  const { id } = await newSession({ model: model([[gate]]).id }, key)
  const begun = call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go' } })
  await gate.waitUntilReached()
  await begun
  await call('POST', `/api/sessions/${id}/stop`, { key })
  const { totals } = await reportOf(key, 1)
  expect(totals).toMatchObject({ calls: 1, cut_calls: 1 })
  expect(totals.input).toBeGreaterThan(0)
})

it('a call lost in a crash is counted, and the turn continues', async () => {
  const { key, id: tenantId } = await newTenant()
  const gate = new Gate()
  const scripted = model([says('half ', gate), says('whole')])
  const { id } = await newSession({ model: scripted.id }, key)
  await call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go' } })
  await gate.waitUntilReached()
  const died = runInDurableObject(objectOf(id, tenantId), (_object, state) => state.abort('killed by a test'))
  await died.catch(() => undefined)
  gate.open()
  await runDurableObjectAlarm(objectOf(id, tenantId))
  const { totals } = await reportOf(key, 1)
  expect(totals).toMatchObject({ calls: 2, cut_calls: 1, output: 10 })
  expect(totals.input).toBeGreaterThan(60)
})
