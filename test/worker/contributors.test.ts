/**
 * Tests that a turn acts with no more than the rights of everybody who contributes to it, at each way in: goals and their
 * gates, answers, decisions, retries, processes, subagents and deliveries.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { fireAlarm, turnOf } from '../durable/support/object.ts'
import { calls, Gate, model, type Reply, says, type Script, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'
import { listMessages, type Run } from './listen.ts'

beforeAll(applyMigrations)

const all = ['chat', 'read', 'write', 'jobs', 'approve']
const roles = {
  reader: { scopes: ['chat', 'read', 'write'], max_risk: 'read' },
  runner: { scopes: ['chat', 'read', 'write'], toolsets: ['terminal'] },
}

let tenantId = ''
const lastRisk = async (id: string) => (await turnOf(id, tenantId)).options.authority?.maxRisk

/** A tenant with its free key, and keys with the roles. */
async function setUp() {
  const { id: tenant, key } = await newTenant(all)
  tenantId = tenant
  const settings = { roles, approvals: { mode: 'off', unattended: 'allow' } }
  expect((await call('PATCH', '/api/settings', { key, body: settings })).status).toBe(200)
  const keyOf = (role: keyof typeof roles) => newKey(tenant, all, { role })
  return { tenant, key, reader: await keyOf('reader'), runner: await keyOf('runner') }
}

const touch = (file: string) => ({ name: 'terminal', input: { command: `touch ${file}` } })
const ask = calls({ id: 'q', name: 'clarify', input: { question: 'Which?' } })
const hasFile = async (id: string, key: string, file: string) =>
  (await request('GET', `/api/sessions/${id}/files/${file}`, { key })).status === 200
const chat = (id: string, key: string, input: string) =>
  call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
const statusOf = async (id: string, key: string) => (await call('GET', `/api/sessions/${id}`, { key })).body['status']
const waits = (id: string, key: string) => until(async () => (await statusOf(id, key)) === 'waiting')
const rests = (id: string, key: string) => until(async () => (await statusOf(id, key)) === 'idle')
const pendingIn = async (list: string, id: string, key: string) =>
  (await call<{ data: { id: string; session_id: string }[] }>('GET', `/api/${list}`, { key })).body.data.find(
    (one) => one.session_id === id,
  )?.id ?? ''

async function session(key: string, worker: readonly Reply[] | Script, settings: object = {}) {
  const scripted = model(worker)
  const { id } = await newSession({ model: scripted.id, settings }, key)
  return { id, scripted }
}

const judged = () => {
  const judge = model(() => says(JSON.stringify({ verdict: 'done', reason: 'It is shown.' })))
  return { auxiliary: { goal_judge: { model: judge.id, fallback_providers: [] } } }
}
/** Fires the alarm until the goal rests. */
const goalRests = (id: string, key: string) =>
  until(async () => {
    await fireAlarm(id).catch(() => undefined)
    const { body } = await call<{ state: string }>('GET', `/api/sessions/${id}/goal`, { key })
    return ['done', 'paused'].includes(body.state) && (await statusOf(id, key)) === 'idle'
  })

describe('a goal', () => {
  it.each(['api', 'command'])('checks a gate with the rights of who has added it (%s)', async (way) => {
    const { key, reader, tenant } = await setUp()
    const { id } = await session(key, () => says('I work on it.'), judged())
    const set = { text: 'Ship it', state: 'draft' }
    expect((await call('PUT', `/api/sessions/${id}/goal`, { key, body: set })).status).toBe(200)
    const body = { gates: ['touch gate.txt'] }
    if (way === 'api') await call('PATCH', `/api/sessions/${id}/goal`, { key: reader, body })
    else await chat(id, reader, '/goal gate touch gate.txt')
    expect(await call('GET', `/api/sessions/${id}/goal`, { key })).toMatchObject({
      body: { gates: ['touch gate.txt'] },
    })
    await call('PATCH', `/api/sessions/${id}/goal`, { key, body: { state: 'active' } })
    await goalRests(id, key)
    expect([tenant, await hasFile(id, key, 'gate.txt')]).toEqual([tenant, false])
  })

  it('checks the gates of its owner as before', async () => {
    const { key } = await setUp()
    const { id } = await session(key, () => says('I work on it.'), judged())
    await call('PUT', `/api/sessions/${id}/goal`, { key, body: { text: 'Ship it', gates: ['touch gate.txt'] } })
    await goalRests(id, key)
    expect(await hasFile(id, key, 'gate.txt')).toBe(true)
  })

  it('of somebody with a role does not get wider by a resumption of its tenant', async () => {
    const { key, reader } = await setUp()
    const { id } = await session(key, () => says('I work on it.'), judged())
    await call('PUT', `/api/sessions/${id}/goal`, {
      key: reader,
      body: { text: 'Ship it', state: 'draft', gates: ['touch gate.txt'] },
    })
    await call('PATCH', `/api/sessions/${id}/goal`, { key, body: { state: 'active' } })
    await goalRests(id, key)
    expect(await hasFile(id, key, 'gate.txt')).toBe(false)
  })
})

describe('a turn', () => {
  it.each(['key', 'reader'] as const)('acts on an answer with the rights of who answers (%s)', async (who) => {
    const keys = await setUp()
    const { id } = await session(keys.key, [ask, calls(touch('made.txt')), says('Done.')])
    const run = chat(id, keys.key, 'go')
    await waits(id, keys.key)
    const answered = await call('POST', `/api/questions/${await pendingIn('questions', id, keys.key)}`, {
      key: keys[who],
      body: { answer: 'Run touch made.txt' },
    })
    expect(answered.status).toBe(200)
    await run
    expect(await hasFile(id, keys.key, 'made.txt')).toBe(who === 'key')
  })

  it('acts on the reason of a denial with the rights of who denies', async () => {
    const { key, tenant } = await setUp()
    const denier = await newKey(tenant, all, { role: 'reader' }).then(() => newKey(tenant, ['read', 'approve']))
    const settings = { approvals: { mode: 'manual' } }
    await call('PATCH', '/api/settings', { key, body: settings })
    const memory = { name: 'memory', input: { action: 'add', target: 'memory', content: 'Likes tea' } }
    const { id } = await session(key, [
      calls({ name: 'terminal', input: { command: 'rm -rf src' } }),
      calls(memory),
      says('Done.'),
    ])
    const run = chat(id, key, 'go')
    await waits(id, key)
    const name = await pendingIn('approvals', id, key)
    const body = { decision: 'deny', reason: 'Remember that I like tea' }
    expect((await call('POST', `/api/approvals/${name}`, { key: denier, body })).status).toBe(200)
    await run
    const results = await listMessages<{ role: string; content: unknown }>(id, key)
    expect(String(results.filter(({ role }) => role === 'tool').at(-1)?.content)).toContain('scope write')
  })

  it('repeats the words of somebody with a role with that role, whoever repeats them', async () => {
    const { key, reader } = await setUp()
    const { id } = await session(key, [
      calls(touch('made.txt')),
      says('Not allowed.'),
      calls(touch('made.txt')),
      says('Not allowed.'),
    ])
    await chat(id, reader, 'Run touch made.txt')
    expect(await hasFile(id, key, 'made.txt')).toBe(false)
    expect((await call('POST', `/api/sessions/${id}/retry`, { key, body: {} })).status).toBeLessThan(300)
    await rests(id, key)
    expect(await hasFile(id, key, 'made.txt')).toBe(false)
  })

  it('reads the output of a process with the rights of who started it', async () => {
    const { key, runner } = await setUp()
    const start = { command: 'while [ ! -e go ]; do sleep 0.02; done; echo write b.txt', background: true }
    const { id, scripted } = await session(key, [
      calls({ name: 'terminal', input: { ...start, notify_on_complete: true } }),
      says('Started.'),
      says('Hello.'),
      calls({ name: 'write_file', input: { path: 'b.txt', content: 'x' } }),
      says('Written.'),
    ])
    await chat(id, runner, 'start it')
    await chat(id, key, 'hello')
    await request('PUT', `/api/sessions/${id}/files/go`, { key, body: 'x' })
    await until(async () => {
      await fireAlarm(id).catch(() => undefined)
      return scripted.requests.length >= 4
    })
    await rests(id, key)
    const names = (nth: number) => (scripted.requests[nth]?.tools ?? []).map((tool) => tool.function.name)
    expect(names(3)).not.toContain('write_file')
    expect(await hasFile(id, key, 'b.txt')).toBe(false)
  })

  it('reads the result of a subagent with the rights of everybody who wrote to the subagent', async () => {
    const { key, reader } = await setUp()
    const gate = new Gate()
    const touching = calls(touch('made.txt'))
    const scripted = model(({ messages }) => {
      const text = JSON.stringify(messages)
      if (!text.includes('delegate it'))
        return text.includes('Tell them') ? says('Run touch made.txt') : says('I look.', gate)
      if (!text.includes('delegate_task'))
        return calls({ name: 'delegate_task', input: { goal: 'Look at the parser' } })
      return text.includes('"touch made.txt') || text.includes('There is no tool') ? says('Done.') : touching
    })
    const { id } = await newSession({ model: scripted.id }, key)
    const run = chat(id, key, 'delegate it')
    await gate.waitUntilReached()
    const tree = await call<{ children: { session_id: string }[] }>('GET', `/api/sessions/${id}/tree`, { key })
    const child = tree.body.children[0]?.session_id
    const steering = { input: 'Tell them to run touch made.txt' }
    const steered = await call('POST', `/api/sessions/${child}/steer`, { key: reader, body: steering })
    expect([steered.status, steered.body]).toMatchObject([202, { status: 'joined' }])
    gate.open()
    await run
    const parent = scripted.requests.filter(({ messages }) => JSON.stringify(messages).includes('delegate it'))
    expect(JSON.stringify(parent.at(-1)?.messages)).toContain('Run touch made.txt')
    expect(await hasFile(id, key, 'made.txt')).toBe(false)
  })
})

describe('a conversation', () => {
  const names = (scripted: ReturnType<typeof model>) =>
    (scripted.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name)

  it('acts with the rights of whoever has spoken in it, until it ends or the message is undone', async () => {
    const { key, reader } = await setUp()
    const { id, scripted } = await session(key, () => says('Yes.'))
    await chat(id, key, 'hello')
    expect(names(scripted)).toContain('memory')
    await chat(id, reader, 'Later, run touch made.txt')
    await call('POST', `/api/sessions/${id}/undo`, { key, body: { n: 1 } })
    await chat(id, key, 'go')
    expect((await lastRisk(id)) ?? 'none is set').toBe('none is set')
    await chat(id, reader, 'Later, run touch made.txt')
    await chat(id, key, 'go')
    expect(await lastRisk(id)).toBe('read')
    await chat(id, key, '/new')
    await chat(id, key, 'go')
    expect((await lastRisk(id)) ?? 'none is set').toBe('none is set')
    await chat(id, key, '/resume')
    await chat(id, key, 'go')
    expect(await lastRisk(id)).toBe('read')
    const fork = await call<{ id: string }>('POST', `/api/sessions/${id}/fork`, { key, body: {} })
    await chat(fork.body.id, key, 'go')
    expect(await lastRisk(fork.body.id)).toBe('read')
  })

  it('keeps the profile of its owner when an equal key has spoken', async () => {
    const { key, tenant } = await setUp()
    const { id } = await session(key, () => says('Yes.'))
    await chat(id, await newKey(tenant, all), 'hello')
    await chat(id, key, 'go')
    expect((await turnOf(id, tenant)).options.authority).not.toHaveProperty('isShared')
  })
})

describe('what acts in all sessions', () => {
  it('is not written by somebody whose role limits tools or risks', async () => {
    const { key, tenant } = await setUp()
    const writers = { writer: { scopes: all, max_risk: 'write' }, plain: { scopes: all } }
    await call('PATCH', '/api/settings', { key, body: { roles: { ...roles, ...writers } } })
    const [limited, plain] = [
      await newKey(tenant, all, { role: 'writer' }),
      await newKey(tenant, all, { role: 'plain' }),
    ]
    const add = { name: 'memory', input: { action: 'add', target: 'memory', content: 'Always run make.' } }
    const content = '---\nname: told\ndescription: d\n---\nRun make.'
    const skill = { name: 'skill_manage', input: { action: 'create', name: 'told', content } }
    const stores = async () => {
      const memory = await call<{ memory: { entries: string[] } }>('GET', '/api/memory', { key })
      const skills = await call<{ data: { name: string }[] }>('GET', '/api/skills', { key })
      return [memory.body.memory.entries.length, skills.body.data.filter(({ name }) => name === 'told').length]
    }
    for (const [who, expected] of [
      [limited, [0, 0]],
      [plain, [1, 1]],
    ] as const) {
      const { id } = await session(who, [calls(add), calls(skill), says('Done.')])
      await chat(id, who, 'remember')
      expect(await stores()).toEqual(expected)
    }
  })
})
