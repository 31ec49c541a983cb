/**
 * Lives a week with one tenant: ten scenarios over seven days, with the real objects and a clock that the test moves hour
 * by hour. What begins on one day ends on another.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import {
  calls,
  drops,
  fails,
  Gate,
  model,
  type ModelRequest,
  type Reply,
  says,
  until,
} from '#test/support/scripted-model.ts'
import { createSlackChat } from '#test/support/slack-chat.ts'
import { applyMigrations, call, newSession, request } from '#test/worker/client.ts'
import { objectOf } from './support/object.ts'
import { hourMs, jobTenant, tenantOf } from './tenant/jobs/support.ts'

/** Replies by a text in the last message of a person or a job; a function gets the number of the call in the turn. */
type Plan = readonly [text: string, reply: (step: number) => Reply]
const plans: Plan[] = []
const plan = (text: string, ...replies: readonly Reply[]) =>
  plans.unshift([text, (step) => replies[Math.min(step, replies.length - 1)] as Reply])

let otherwise = says('ok')

function answer({ messages }: ModelRequest): Reply {
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const text = JSON.stringify(messages[last]?.content)
  const step = messages.slice(last).filter(({ role }) => role === 'assistant').length
  return plans.find(([words]) => text.includes(words))?.[1](step) ?? otherwise
}

type Message = { readonly role: string; readonly content: string | null; readonly source?: string }
type Run = { readonly status: string; readonly output: string | null }

/** A call of the model costs a cent. */
const prices = { input: 0, cached_read: 0, output: 1_000 }
const centsPerDay = 15

async function openWeek() {
  const t = await jobTenant()
  const scripted = model(answer)
  const settings = {
    model: { default: scripted.id, max_tokens: 10 },
    models: { [scripted.id]: { prices } },
    limits: { usd_per_day: centsPerDay / 100 },
    approvals: { mode: 'manual' },
  }
  const patched = await call('PATCH', '/api/settings', { key: t.key, body: settings })
  if (patched.status !== 200) throw new Error(JSON.stringify(patched.body))
  const session = async (key = t.key) => (await newSession({}, key)).id
  const chat = (id: string, input: string, key = t.key) =>
    call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  const statusOf = async (id: string) => (await t.get<{ status: string }>(`/api/sessions/${id}`)).status
  return {
    ...t,
    scripted,
    session,
    chat,
    statusOf,
    begin: (id: string, input: string) => t.post(`/api/sessions/${id}/steer`, { input }),
    messagesOf: async (id: string) => (await t.get<{ data: Message[] }>(`/api/sessions/${id}/messages`)).data,
    /** Jobs that are late by hours are skipped, so an hour passes at a time. */
    passHours: async (hours: number) => {
      for (let hour = 0; hour < hours; hour++) await t.pass(hourMs)
    },
    idle: (id: string) =>
      until(async () => {
        await runDurableObjectAlarm(objectOf(id, t.id)).catch(() => undefined)
        return (await statusOf(id)) === 'idle'
      }),
    /** Ends the objects as a deployment does: running calls are lost, storage stays. */
    deploy: async (...sessions: readonly string[]) => {
      for (const object of [...sessions.map((id) => objectOf(id, t.id)), tenantOf(t.id)])
        await runInDurableObject(object, (_object, state) => state.abort('a deployment')).catch(() => undefined)
    },
  }
}

let week: Awaited<ReturnType<typeof openWeek>>
beforeAll(async () => {
  await applyMigrations()
  week = await openWeek()
})
afterAll(() => replaceClock())

const kept: Record<string, string> = {}
const keep = (name: string, value: string) => (kept[name] = value)
const taken = (name: string): string => kept[name] ?? ''

/** The scenarios that went well. */
const held = new Set<string>()
const holds = (name: string) => void held.add(name)

describe.sequential('a week', () => {
  it('Monday: a reminder, a preference, a thread and daily jobs begin', async () => {
    const create = { action: 'create', name: 'dentist', prompt: 'Dentist reminder', schedule: '20h' }
    plan('Remind me', calls({ name: 'cronjob', input: create }), says('I will.'))
    plan('Dentist reminder', says('The dentist expects you at nine.'))
    const asking = keep('asking', await week.session())
    expect((await week.chat(asking, 'Remind me of the dentist.')).body.output).toBe('I will.')

    const add = { target: 'user', action: 'add', content: 'Prefers oolong tea.' }
    plan('I like oolong', calls({ name: 'memory', input: add }), says('Noted.'))
    await week.chat(await week.session(), 'I like oolong tea.')

    const slack = await createSlackChat(week.key)
    plan('When is the launch', says('On Friday.'))
    plan('And where', says('In Graz.'))
    await slack.send({ text: '<@UBOT> When is the launch?', ts: '10.1' })
    const sent = () => slack.api.calls.filter(({ path }) => path.endsWith('/chat.postMessage'))
    await until(() => sent().length === 1)
    await slack.send({ text: '<@UBOT> And where?', ts: '10.2', thread_ts: '10.1' })
    await until(() => sent().length === 2)
    expect(sent().map(({ body }) => body['thread_ts'])).toEqual(['10.1', '10.1'])
    holds('a reply in its thread')

    plans.unshift(['Daily report', () => fails(400, 'The report service is down.')])
    keep('report', (await week.create({ name: 'report', prompt: 'Daily report', schedule: 'every 1d' })).id)
    const { body } = await call<{ id: string; key: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: week.id, scopes: ['chat', 'read', 'write'] },
    })
    keep('guest', body.id)
    keep('guest key', body.key)
  })

  it('Tuesday: the reminder has come once, and the broken job says why it failed', async () => {
    await week.passHours(25)
    const reminders = async () => (await week.messagesOf(taken('asking'))).filter(({ source }) => source === 'job')
    await until(async () => (await reminders()).length === 1)
    expect((await reminders())[0]?.content).toContain('The dentist expects you at nine.')
    holds('a reminder')
    await week.ended(taken('report'))
    const job = await week.jobOf(taken('report'))
    expect([job.failure_streak, job.last_error]).toEqual([1, expect.stringContaining('The report service is down.')])
  })

  it('Wednesday: a secret is printed and stays masked, also for the next day', async () => {
    await week.passHours(24)
    const secret = 'canary-value-of-the-week'
    await week.post('/api/credentials', { provider: 'xai', key: secret })
    const id = keep('leak', await week.session())
    await request('PUT', `/api/sessions/${id}/files/leak.txt`, { key: week.key, body: `a ${secret}\n` })
    const read = calls({ name: 'read_file', input: { path: 'leak.txt' } })
    plan('Read the leak', read, says('Read.'))
    await week.chat(id, 'Read the leak.')
    await evictDurableObject(objectOf(id, week.id))
    expect(JSON.stringify(await week.messagesOf(id))).not.toContain(secret)
    expect(JSON.stringify(await week.messagesOf(id))).toContain('***')
    expect(JSON.stringify(week.scripted.requests)).not.toContain(secret)
    holds('a secret that stays masked')
  })

  it('Thursday: the preference is recalled, the job has repaired itself, and a key is revoked', async () => {
    plan('Daily report', says('All is well.'))
    await week.passHours(24)
    await week.ended(taken('report'), 3)
    expect(await week.jobOf(taken('report'))).toMatchObject({ failure_streak: 0, last_status: 'completed' })
    holds('a job that repairs itself')
    await week.chat(await week.session(), 'What shall I drink?')
    expect(JSON.stringify(week.scripted.requests.at(-1)?.messages[0])).toContain('Prefers oolong tea.')
    holds('a preference that is recalled')
    const [gate, key] = [new Gate(), taken('guest key')]
    plan('A question of the guest', says(gate, 'Too late.'))
    const id = await week.session(key)
    await call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'A question of the guest.' } })
    await gate.waitUntilReached()
    expect((await call('DELETE', `/api/admin/keys/${taken('guest')}`)).status).toBe(204)
    await week.idle(id)
    gate.open()
    expect(JSON.stringify(await week.messagesOf(id))).not.toContain('Too late.')
    expect((await call('GET', '/api/sessions', { key })).status).toBe(401)
    expect((await week.chat(taken('asking'), 'Are you there?')).body.output).toBe('ok')
    holds('a key that is revoked')
  })

  it('Friday: a lost connection and a deployment in the middle of a turn cost no answer', async () => {
    await week.passHours(24)
    const gate = new Gate()
    plan('Tell me a story', drops('Once'))
    // The answer is continued where it was cut.
    otherwise = says(' upon a time.')
    const story = await week.session()
    expect((await week.chat(story, 'Tell me a story.')).body.output).toBe('Once upon a time.')
    otherwise = says('ok')
    holds('a recovery')
    plan('Deploy meanwhile', says(gate, 'Still here.'))
    const id = await week.session()
    await week.begin(id, 'Deploy meanwhile.')
    await gate.waitUntilReached()
    plan('Deploy meanwhile', says('Still here.'))
    await week.deploy(id)
    gate.open()
    await week.idle(id)
    const said = (await week.messagesOf(id)).map(({ role, content }) => [role, content])
    expect(said).toEqual([
      ['user', 'Deploy meanwhile.'],
      ['assistant', 'Still here.'],
    ])
    holds('a deployment in the middle')

    plan('Delete the build', calls({ name: 'terminal', input: { command: 'rm -rf build' } }), says('Deleted.'))
    const waiting = keep('waiting', await week.session())
    await week.begin(waiting, 'Delete the build.')
    await until(async () => (await week.statusOf(waiting)) === 'waiting')
  })

  it('Saturday: the bill stays under its cap, and the work goes on the day after', async () => {
    await week.passHours(24)
    const id = await week.session()
    const before = week.scripted.requests.length
    let refused: { readonly status: number } | undefined
    for (let n = 0; n < centsPerDay + 3 && refused?.status !== 429; n++) refused = await week.chat(id, 'Go on.')
    expect(refused?.status).toBe(429)
    expect(week.scripted.requests.length - before).toBeLessThanOrEqual(centsPerDay)
    await week.passHours(24)
    expect((await week.chat(id, 'Go on.')).body).toMatchObject({ output: 'ok' })
    const days = await week.get<{ data: { day: string; cost_usd: number }[] }>('/api/usage?group=day')
    expect(Math.max(...days.data.map(({ cost_usd: usd }) => usd))).toBeLessThanOrEqual(centsPerDay / 100 + 1e-9)
    holds('a bill under its cap')
  })

  it('Monday: the approval of Friday still waits, and what it allows runs once', async () => {
    const id = taken('waiting')
    await week.passHours(24)
    await week.deploy(id)
    const { data } = await week.get<{ data: { id: string; session_id: string }[] }>('/api/approvals')
    const [approval, ...others] = data.filter((one) => one.session_id === id)
    expect(others).toEqual([])
    const path = `/api/approvals/${encodeURIComponent(approval?.id ?? '')}`
    expect((await week.post(path, { decision: 'once' })).status).toBe(200)
    await week.idle(id)
    const said = await week.messagesOf(id)
    expect(said.at(-1)?.content).toBe('Deleted.')
    expect(said.filter(({ role }) => role === 'tool')).toHaveLength(1)
    holds('an approval over a weekend')
  })
})

it('had ten scenarios', () => expect([...held]).toHaveLength(10))
