/** Tests the goal of a session: turns that go on by themselves, the judge, gates, people, crashes and compression. */

import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import {
  calls,
  fails,
  Gate,
  hangs,
  listTexts,
  model,
  type ModelRequest,
  type Reply,
  says,
  type Script,
  until,
} from '#test/support/scripted-model.ts'
import { createChat, getSessionId, receiveMessage, settleDeliveries } from '#test/support/chat.ts'
import { applyMigrations, bindings, call, newKey, newSession, newTenant } from '#test/worker/client.ts'
import { listMessages, type Run, send } from '#test/worker/listen.ts'
import { alarmOf, fireAlarm, kill } from '../../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => armFailpoints(''))

const judges = (verdict: string, reason = 'because') => says(JSON.stringify({ verdict, reason }))
const done = judges('done', 'It is shown.')
const goOn = judges('continue', 'Tests are missing.')

async function session(worker: readonly Reply[] | Script, judge: readonly Reply[] | Script, settings: object = {}) {
  const working = model(worker)
  const judging = model(judge)
  const auxiliary = { goal_judge: { model: judging.id, fallback_providers: [] } }
  const { id } = await newSession({ model: working.id, settings: { auxiliary, ...settings } })
  return { id, working, judging }
}
const chat = async (id: string, input: string) =>
  (await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input } })).body.output ?? ''
const goalOf = async (id: string) =>
  (await call<{ state: string; turns: number; reason: string | null }>('GET', `/api/sessions/${id}/goal`)).body
/** Fires the alarm until the goal has this state. */
const reaches = (id: string, state: string) =>
  until(async () => {
    await fireAlarm(id)
    const goal = await goalOf(id)
    const { status } = (await call<{ status: string }>('GET', `/api/sessions/${id}`)).body
    return goal.state === state && status === 'idle' ? goal : undefined
  })
const goalTurns = async (id: string) =>
  (await listMessages<{ source?: string; content: string }>(id)).filter(({ source }) => source === 'goal')

describe('a goal', () => {
  it('goes on by itself until the judge says that it is reached', async () => {
    const { id, working, judging } = await session([says('Begun.'), says('Tests written.')], [goOn, done])
    expect(await chat(id, '/goal Ship the parser')).toBe('Begun.')
    expect(await reaches(id, 'done')).toMatchObject({ turns: 1, reason: 'It is shown.' })
    const texts = listTexts(working.requests[1] as ModelRequest)
    expect(texts[0]).toContain('Goal: Ship the parser')
    expect(texts.at(-1)).toContain('Why it is not reached yet: Tests are missing.')
    expect(working.requests).toHaveLength(2)
    expect(JSON.stringify(judging.requests[1]?.messages)).toContain('Tests written.')
    await fireAlarm(id)
    expect(await goalTurns(id)).toHaveLength(1)
  })

  itInTurn('rests when the judge says to wait, and is judged again after the next message', async () => {
    const { id, working } = await session([says('Which port?'), says('Done with 80.')], [judges('wait'), done])
    await chat(id, '/goal Open a port')
    await until(async () => {
      await fireAlarm(id)
      return (await chat(id, '/goal')).includes('Last verdict: wait')
    })
    await fireAlarm(id)
    expect(working.requests).toHaveLength(1)
    await send(id, '80')
    await reaches(id, 'done')
    expect(working.requests).toHaveLength(2)
  })

  it('goes on after a judge that fails, and pauses after three unreadable answers', async () => {
    const { id, working } = await session([], () => says('I would say yes.'))
    await chat(id, '/goal Anything')
    expect((await reaches(id, 'paused')).reason).toContain('3 answers in a row')
    expect(working.requests).toHaveLength(3)
  })

  it('pauses when a person stops its turn, and goes on with a resume', async () => {
    const gate = new Gate()
    const { id, working } = await session([says('One.'), hangs(gate), says('Three.')], [goOn, done])
    await chat(id, '/goal Anything')
    const alarm = fireAlarm(id)
    await gate.waitUntilReached()
    expect(await chat(id, '/stop')).toContain('the goal')
    await alarm
    await until(async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle')
    await fireAlarm(id)
    expect(working.requests).toHaveLength(2)
    expect(await chat(id, '/goal resume')).toContain('Active, 0 of 20')
    await reaches(id, 'done')
    expect(working.requests).toHaveLength(3)
  })

  it('lets a message of a person go first', async () => {
    const gate = new Gate()
    const judging: readonly Reply[] = [[gate, ...(goOn as readonly string[])], done]
    const { id, working } = await session([says('One.'), says('Two.'), says('Three.')], judging)
    await chat(id, '/goal Anything')
    const alarm = fireAlarm(id)
    await gate.waitUntilReached()
    await send(id, 'and in green')
    gate.open()
    await alarm
    await reaches(id, 'done')
    expect(listTexts(working.requests[1] as ModelRequest).at(-1)).toContain('and in green')
    expect(working.requests).toHaveLength(2)
    expect(await goalTurns(id)).toHaveLength(0)
  })

  it('survives a death between the end of a turn and the next one: there is exactly one', async () => {
    const { id, working, judging } = await session([says('One.'), says('Two.')], [goOn, goOn, done])
    armFailpoints('after-goal-judge=hang')
    await chat(id, '/goal Anything')
    void fireAlarm(id).catch(() => undefined)
    await until(() => judging.requests.length)
    await kill(id)
    armFailpoints('')
    await reaches(id, 'done')
    expect(await goalTurns(id)).toHaveLength(1)
    expect(working.requests).toHaveLength(2)
    expect(judging.requests).toHaveLength(3)
  })

  it('keeps its alarm while it is active, and none when it is reached', async () => {
    let verdict = goOn
    const { id } = await session(
      () => says('Working.'),
      () => verdict,
    )
    await chat(id, '/goal Anything')
    // While an alarm is handled, none is set.
    expect(await until(() => alarmOf(id))).toBeGreaterThan(0)
    verdict = done
    await reaches(id, 'done')
    await until(async () => {
      await fireAlarm(id)
      return (await alarmOf(id)) === null
    })
  })

  it('stands in the context after a compression, beside the summary', async () => {
    const long = 'many words '.repeat(200)
    const { id, working } = await session([says(long), says('two'), says('three')], () => judges('wait'))
    const side = model([says('SUMMARY')])
    const auxiliary = { compression: { model: side.id, fallback_providers: [] } }
    await call('PATCH', `/api/sessions/${id}`, { body: { settings: { auxiliary } } })
    await chat(id, '/goal Ship the parser')
    await chat(id, 'second question')
    expect(
      (await call<{ compressed: boolean }>('POST', `/api/sessions/${id}/compress`, { body: {} })).body,
    ).toMatchObject({ compressed: true })
    await chat(id, 'third question')
    const [first = ''] = listTexts(working.requests.at(-1) as ModelRequest)
    expect(first).toContain('SUMMARY')
    expect(first.replace(/SUMMARY/, '')).toContain('Goal: Ship the parser')
    expect(first).not.toContain('many words')
  })

  it('respects the limits of unattended turns', async () => {
    const tenant = await newTenant()
    const working = model([])
    const judging = model(() => goOn)
    const body = {
      model: { default: working.id },
      limits: { unattended_turns_per_hour: 5 },
      auxiliary: { goal_judge: { model: judging.id, fallback_providers: [] } },
    }
    await call('PATCH', '/api/settings', { key: tenant.key, body })
    const { id } = await newSession({}, tenant.key)
    await call('POST', `/api/sessions/${id}/chat`, { key: tenant.key, body: { input: '/goal Anything' } })
    // One session may have a fifth of them.
    await until(() => working.requests.length === 2)
    for (let n = 0; n < 4; n++) await runDurableObjectAlarm(bindings.SESSION.getByName(`t/${tenant.id}/s/${id}`))
    expect(working.requests).toHaveLength(2)
  })
})

describe('the gates of a goal', () => {
  it('are run before it counts as reached, and their failure is work', async () => {
    const { id, working } = await session(
      [
        says('I think it is there.'),
        says('Oh, it is missing.'),
        calls({ name: 'write_file', input: { path: 'out.txt', content: 'here' } }),
        says('Written.'),
        says('The gate passes.'),
      ],
      [done, done],
    )
    await chat(id, '/goal draft Write out.txt')
    await chat(id, '/goal gate test -e out.txt')
    expect(await chat(id, '/goal start')).toBe('I think it is there.')
    expect(await reaches(id, 'done')).toMatchObject({ turns: 3 })
    const results = (await listMessages<{ role: string; content: string }>(id)).filter(({ role }) => role === 'tool')
    const exits = results.map(({ content }) => (JSON.parse(content) as { exit_code?: number }).exit_code)
    expect(exits).toEqual([1, undefined, 0])
    expect(working.requests).toHaveLength(5)
  })

  it('that need approval are decided like every other command', async () => {
    const { id } = await session([says('Done.'), says('Refused.')], [done], {
      approvals: { mode: 'manual', unattended: 'deny' },
    })
    await chat(id, '/goal draft Clean up')
    await chat(id, '/goal gate git push origin main')
    await chat(id, '/goal start')
    const isAsked = async () => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'waiting'
    await until(async () => (await fireAlarm(id)) || isAsked())
    await until(isAsked)
    expect(await chat(id, '/deny not today')).toBe('Refused.')
    const [result] = (await listMessages<{ role: string; content: string }>(id)).filter(({ role }) => role === 'tool')
    expect(JSON.parse(result?.content ?? '{}')).toMatchObject({ exit_code: -1, status: 'denied' })
  })
})

describe('/goal', () => {
  it('shows, changes and clears the goal', async () => {
    const { id, working } = await session([], () => judges('wait'))
    expect(await chat(id, '/goal')).toBe('There is no goal. /goal TEXT sets one.')
    await chat(id, '/goal draft Write a book')
    await chat(id, '/goal outcome 300 pages')
    expect(await chat(id, '/status')).toContain('Goal: Draft.')
    await chat(id, '/subgoal It has a title')
    await chat(id, '/subgoal It is funny')
    expect(await chat(id, '/subgoal remove 1')).toBe(
      'Goal: Write a book\nOutcome: 300 pages\nCriteria:\n1. It is funny\n\nDraft. /goal start begins it.',
    )
    await fireAlarm(id)
    expect(working.requests).toHaveLength(0)
    expect(await chat(id, '/goal wait 77')).toBe('No process is running.')
    expect(await chat(id, '/goal pause')).toContain('Paused: Paused by a person.')
    expect(await chat(id, '/goal clear')).toBe('The goal is cleared.')
    expect((await call('GET', `/api/sessions/${id}/goal`)).status).toBe(404)
  })

  it('waits for a process, and goes on when it has ended', async () => {
    const { id, working } = await session(
      [
        calls({ name: 'terminal', input: { command: 'while [ ! -e go ]; do sleep 0.02; done', background: true } }),
        says('Building.'),
        says('Built.'),
      ],
      [done],
    )
    await send(id, 'build')
    await chat(id, '/goal draft Build it')
    const [, process] = /([0-9a-z_-]+): while/.exec(await chat(id, '/goal wait')) ?? []
    expect(await chat(id, `/goal wait ${process}`)).toContain(`Waits for the process ${process}`)
    await fireAlarm(id)
    expect(working.requests).toHaveLength(2)
    await call('PUT', `/api/sessions/${id}/files/go`, { body: 'x' })
    await reaches(id, 'done')
    expect(listTexts(working.requests[2] as ModelRequest).at(-1)).toContain('has ended')
  })

  it('in a chat sends the answers of its turns, and says when it is reached', async () => {
    const fixture = await createChat([says('Begun.'), says('Finished.')])
    const judging = model([goOn, done])
    const auxiliary = { goal_judge: { model: judging.id, fallback_providers: [] } }
    await call('PATCH', '/api/settings', { body: { auxiliary } })
    await receiveMessage(fixture, '/goal Ship it')
    const id = await getSessionId(fixture)
    await reaches(id, 'done')
    await settleDeliveries(id)
    const texts = fixture.api.callsOf('sendMessage').map(({ body }) => (body as { text: string }).text)
    expect(texts).toEqual(['Begun.', 'Finished.', 'Goal: Reached: It is shown.'])
    await call('PATCH', '/api/settings', { body: { auxiliary: { goal_judge: null } } })
  })

  it('stops when the key that it was set with is revoked', async () => {
    const tenant = await newTenant()
    const key = await newKey(tenant.id, ['chat', 'read'])
    const gate = new Gate()
    const working = model([hangs(gate)])
    const judging = model(() => goOn)
    const auxiliary = { goal_judge: { model: judging.id, fallback_providers: [] } }
    await call('PATCH', '/api/settings', { key: tenant.key, body: { model: { default: working.id }, auxiliary } })
    const { id } = await newSession({}, tenant.key)
    await call('PUT', `/api/sessions/${id}/goal`, { key, body: { text: 'Anything' } })
    const stub = bindings.SESSION.getByName(`t/${tenant.id}/s/${id}`)
    void runDurableObjectAlarm(stub).catch(() => undefined)
    await gate.waitUntilReached()
    await call('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
    // An isolate may know the change up to two seconds later, which would be enough for all turns of a goal.
    await scheduler.wait(2_100)
    gate.open()
    const goal = await until(async () => {
      await runDurableObjectAlarm(stub)
      const { body } = await call<{ state: string; reason: string }>('GET', `/api/sessions/${id}/goal`, {
        key: tenant.key,
      })
      return body.state === 'paused' ? body : undefined
    })
    expect(goal?.reason).toContain('revoked')
  })
})

describe('a goal that a provider fails', () => {
  it('pauses with the reason', async () => {
    const { id } = await session([says('One.'), fails(401, 'bad key')], [goOn])
    await chat(id, '/goal Anything')
    expect((await reaches(id, 'paused')).reason).toContain('The turn failed')
  })
})
