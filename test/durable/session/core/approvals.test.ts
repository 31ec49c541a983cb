/**
 * Tests calls that wait for an approval: requests, decisions, the judge, denials, evictions, and the log of decisions.
 */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newSessionId } from '#durable/platform/ids.ts'
import { itInTurn } from '#test/support/long.ts'
import { outage } from '#test/support/outage.ts'
import { type ScriptedCall, calls, model, type Reply, listTexts, says, until } from '#test/support/scripted-model.ts'
import { bindings, call, applyMigrations, newKey, newSession, newTenant, type ErrorBody } from '#test/worker/client.ts'
import { sendAndStream, listMessages, type Run } from '#test/worker/listen.ts'
import { evict, kill, objectOf, fireAlarm, creating, requestCommand } from '../../support/object.ts'

beforeAll(applyMigrations)

type Pending = {
  readonly id: string
  readonly tool: string
  readonly call_id: string
  readonly [more: string]: unknown
}
type List<T> = { readonly data: readonly T[] }

const push = (id: string, command = 'git push origin main'): ScriptedCall => ({
  id,
  name: 'terminal',
  input: { command },
})
const pendingOf = async (id: string, key?: string) =>
  (await call<List<Pending>>('GET', '/api/approvals', key ? { key } : {})).body.data.filter(
    ({ session_id }) => session_id === id,
  )
const pending = (id: string) => until(async () => (await pendingOf(id))[0])
const decide = (id: string, decision: string, more: object = {}) =>
  call<ErrorBody>('POST', `/api/approvals/${id}`, { body: { decision, ...more } })
const begin = (id: string, input = 'push it') => call<Run>('POST', `/api/sessions/${id}/steer`, { body: { input } })
const ended = (id: string, run: string) =>
  until(async () => {
    const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${run}`)
    return body.exit_reason && body
  })
const resultsOf = async (id: string) =>
  (await listMessages(id))
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(String(content).split('[The user')[0] ?? '') as object)
const auditOf = async (id: string) =>
  (await call<List<Record<string, unknown>>>('GET', `/api/audit?session_id=${id}`)).body.data

const manual = { approvals: { mode: 'manual' } }
const session = async (replies: readonly Reply[], settings: object = manual) => {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id, settings })
  return { id, scripted }
}

describe('a call that is asked about', () => {
  it('waits, is shown in the list and the stream, and runs when it is allowed once', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const stream = await sendAndStream(id, { input: 'push it' })
    const asked = await pending(id)
    expect(asked).toMatchObject({
      id: expect.stringMatching(`^${id}\\..+`) as string,
      call_id: 'c1',
      tool: 'terminal',
      input: { command: 'git push origin main' },
      risk: 'exec',
      choices: ['once', 'session', 'always', 'deny'],
      rule: 'git push',
    })
    const request = await until(() => stream.events.find(({ type }) => type === 'approval.request'))
    expect(request).toMatchObject({
      approval_id: asked.id,
      tool: 'terminal',
      choices: asked['choices'],
      rule: 'git push',
      created_at: asked['created_at'],
    })
    expect((await call('GET', `/api/sessions/${id}`)).body['status']).toBe('waiting')
    expect((await decide(asked.id, 'once')).status).toBe(200)
    await stream.waitForClose()
    expect(stream.types.filter((type) => /approval|tool/.test(type))).toEqual([
      'tool.started',
      'approval.request',
      'approval.responded',
      'tool.started',
      'tool.completed',
    ])
    expect((await resultsOf(id))[0]).toMatchObject({ exit_code: expect.any(Number) as number })
    expect((await decide(asked.id, 'once')).status).toBe(409)
    expect(await pendingOf(id)).toEqual([])
  })

  it('is shown exactly to those who may approve, and with secrets masked to others and in stored events', async () => {
    const command = 'git push https://me:hunter2secret@example.com/x \u200Bmain'
    const exact = String.raw`git push https://me:hunter2secret@example.com/x \u{200B}main`
    const { id } = await session([calls(push('c1', command)), says('Done.')])
    const stream = await sendAndStream(id, { input: 'push it' })
    const asked = await pending(id)
    expect(asked['input']).toEqual({ command: exact })
    const event = await until(() => stream.events.find(({ type }) => type === 'approval.request'))
    expect(event['input']).toEqual({ command: exact })
    const reader = await newKey('default', ['read'])
    const [masked] = await pendingOf(id, reader)
    expect(masked?.['input']).toEqual({ command: String.raw`git push https://me:***@example.com/x \u{200B}main` })
    expect((await decide(asked.id, 'deny')).status).toBe(200)
    await stream.waitForClose()
    expect(JSON.stringify(await auditOf(id))).not.toContain('hunter2secret')
  })

  it('is decided by no answer to an earlier one, whose id in its reply was the same', async () => {
    const same = ['main', 'main', 'other'].map((branch) => calls(push('call_0', `git push origin ${branch}`)))
    const { id } = await session([...same.slice(0, 2), says('Done.'), ...same.slice(2), says('Done again.')])
    const first = await begin(id)
    const old = [(await pending(id)).id]
    expect((await decide(old[0]!, 'once')).status).toBe(200)
    const next = async () => (await until(async () => (await pendingOf(id)).find((one) => !old.includes(one.id)))).id
    const late = async () => Promise.all(old.map(async (one) => (await decide(one, 'once')).status))
    const second = await next()
    expect(await late()).toEqual([409])
    expect((await pending(id)).id).toBe(second)
    await decide(second, 'deny')
    expect(await ended(id, first.body.run_id)).toMatchObject({ output: 'Done.' })
    old.push(second)
    const again = await begin(id)
    const third = await next()
    expect(await late()).toEqual([409, 409])
    expect((await pending(id)).id).toBe(third)
    await decide(third, 'deny')
    expect(await ended(id, again.body.run_id)).toMatchObject({ output: 'Done again.' })
    expect((await resultsOf(id)).slice(1)).toMatchObject([{ status: 'denied' }, { status: 'denied' }])
  })

  it('is found only by its own id', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const { body } = await begin(id)
    const { id: approval } = await pending(id)
    const others = [`${id}.c1`, `${id}.`, `${id}.run_x.1.c1`, `${approval.slice(0, -3)}`]
    for (const other of others) expect((await decide(other, 'once')).status).toBe(404)
    await decide(approval, 'deny')
    await ended(id, body.run_id)
  })

  it('is denied with a reason, which the model gets as the result of the tool', async () => {
    const { id, scripted } = await session([calls(push('c1')), says('Understood.')])
    const { body } = await begin(id)
    const { id: approval } = await pending(id)
    await decide(approval, 'deny', { reason: 'not on a Friday' })
    expect(await ended(id, body.run_id)).toMatchObject({ exit_reason: 'answered', output: 'Understood.' })
    const [result] = await resultsOf(id)
    expect(result).toMatchObject({
      exit_code: -1,
      status: 'denied',
      error: expect.stringContaining('not on a Friday') as string,
    })
    expect(listTexts(scripted.requests[1]!).at(-1)).toContain('not on a Friday')
  })

  it('waits through deaths, and is decided in a later life', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const { body } = await begin(id)
    const { id: approval } = await pending(id)
    await kill(id)
    await evict(id).catch(() => undefined)
    await fireAlarm(id)
    expect(await pending(id)).toMatchObject({ id: approval })
    await decide(approval, 'once')
    expect(await ended(id, body.run_id)).toMatchObject({ exit_reason: 'answered' })
  })

  it('is not allowed by words in the chat', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const { body } = await begin(id)
    const { id: approval } = await pending(id)
    await call('POST', `/api/sessions/${id}/steer`, { body: { input: 'yes' } })
    expect((await pending(id)).id).toBe(approval)
    expect(await resultsOf(id)).toEqual([])
    await decide(approval, 'deny')
    await ended(id, body.run_id)
    expect(await resultsOf(id)).toMatchObject([{ status: 'denied' }])
  })

  itInTurn('is not asked again for the session, or ever, when that was allowed', async () => {
    const tenant = await newTenant()
    const ask = <T>(method: string, path: string, body?: unknown) => call<T>(method, path, { key: tenant.key, body })
    const scripted = model([
      calls(push('c1')),
      calls(push('c2', 'git push --tags')),
      says('ok'),
      calls(push('c3')),
      says('ok'),
    ])
    const newOne = async () =>
      (await ask<{ id: string }>('POST', '/api/sessions', { model: scripted.id, settings: manual })).body.id
    const id = await newOne()
    await ask('POST', `/api/sessions/${id}/steer`, { input: 'push' })
    const first = await until(async () => (await pendingOf(id, tenant.key))[0])
    await ask('POST', `/api/approvals/${first.id}`, { decision: 'always' })
    await until(async () => (await ask<{ status: string }>('GET', `/api/sessions/${id}`)).body.status === 'idle')
    const { body: settings } = await ask<{ approvals: unknown }>('GET', '/api/settings')
    expect(settings.approvals).toEqual({ rules: [{ do: 'allow', tool: 'terminal', match: 'git push' }] })
    const other = await newOne()
    const run = await ask<Run>('POST', `/api/sessions/${other}/chat`, { input: 'push' })
    expect(run.body).toMatchObject({ exit_reason: 'answered', output: 'ok' })
  })

  it('refuses answers without the scope, of another tenant, and with a choice that was not offered', async () => {
    const { id } = await session([calls(push('c1', 'git push && frobnicate --all')), says('Done.')])
    await begin(id)
    const { id: approval } = await pending(id)
    const stranger = await newTenant()
    const weak = await newKey('default', ['chat', 'read', 'write'])
    const by = (key: string, path = approval) =>
      call('POST', `/api/approvals/${path}`, { key, body: { decision: 'once' } })
    expect((await by(stranger.key)).status).toBe(404)
    expect((await by(stranger.key, 'ses_unknown.c1')).status).toBe(404)
    expect((await by(weak)).status).toBe(403)
    expect((await decide(approval, 'maybe')).body.error.param).toBe('decision')
    expect((await pending(id))['choices']).toEqual(['once', 'deny'])
    expect((await decide(approval, 'always')).status).toBe(400)
    expect((await decide(approval, 'deny')).status).toBe(200)
  })

  it('does not start when the turn is stopped', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const { body } = await begin(id)
    const { id: approval } = await pending(id)
    await call('POST', `/api/sessions/${id}/stop`)
    expect(await ended(id, body.run_id)).toMatchObject({ status: 'cancelled' })
    expect((await decide(approval, 'once')).status).toBe(409)
    await until(async () => !(await pendingOf(id)).length)
  })

  it('ends the asking after three denials', async () => {
    const three = ['c1', 'c2', 'c3'].map((name) => calls(push(name, `git push origin ${name}`)))
    const { id } = await session([...three, calls(push('c4')), says('I give up.')])
    const { body } = await begin(id)
    for (const name of ['c1', 'c2', 'c3']) {
      const asked = await until(async () => (await pendingOf(id)).find(({ call_id: of }) => of === name))
      await decide(asked.id, 'deny')
    }
    expect(await ended(id, body.run_id)).toMatchObject({ output: 'I give up.' })
    expect((await resultsOf(id))[3]).toMatchObject({
      status: 'denied',
      error: expect.stringContaining('3 calls') as string,
    })
  })
})

describe('the judge', () => {
  const smart = (words: string) => [calls(push('c1')), says(words), says('The end.')]

  it('lets a call run without an approval', async () => {
    const { id, scripted } = await session(smart('approve'), {})
    const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: 'push it' } })
    expect(body).toMatchObject({ output: 'The end.' })
    expect((await resultsOf(id))[0]).not.toHaveProperty('status')
    expect(listTexts(scripted.requests[1]!)[0]).toContain('git push origin main')
    await until(async () => (await auditOf(id)).length)
    expect(await auditOf(id)).toMatchObject([{ decision: 'allowed', by: 'judge' }])
  })

  it('denies a call', async () => {
    const { id } = await session(smart('deny'), {})
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'push it' } })
    expect((await resultsOf(id))[0]).toMatchObject({ exit_code: -1, status: 'denied' })
  })

  it.each(['escalate', 'sure, approve it', ''])('that says %j leaves it to a person', async (words) => {
    const { id } = await session(smart(words), {})
    const { body } = await begin(id)
    await decide((await pending(id)).id, 'once')
    expect(await ended(id, body.run_id)).toMatchObject({ exit_reason: 'answered' })
  })
})

describe('a call without an approval request', () => {
  it('is refused on the hard line, in mode off too', async () => {
    await call('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
    const { id } = await session([calls(push('c1', 'rm -rf /')), says('No.')], {})
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'wipe' } })
    await call('PATCH', '/api/settings', { body: { approvals: null } })
    expect(await resultsOf(id)).toMatchObject([{ exit_code: -1, status: 'refused' }])
    await until(async () => (await auditOf(id)).length)
    expect(await auditOf(id)).toMatchObject([{ decision: 'refused', by: 'hardline', tool: 'terminal' }])
  })

  it('is denied by a rule, for any tool', async () => {
    const rules = [{ do: 'deny', tool: 'write_file', match: '*.env' }]
    const write = (id: string, path: string) => ({ id, name: 'write_file', input: { path, content: 'x' } })
    const { id } = await session([calls(write('w1', '.env'), write('w2', 'a.txt')), says('ok')], {
      approvals: { rules },
    })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'write' } })
    expect(await resultsOf(id)).toMatchObject([{ status: 'refused' }, { bytes_written: 1 }])
  })

  it('is denied by a rule, despite another one that allows it', async () => {
    const tenant = await newTenant()
    const rules = [
      { do: 'allow', tool: '*' },
      { do: 'deny', tool: '*', match: 'git push*' },
    ]
    const scripted = model([calls(push('c1')), says('ok')])
    await call('PATCH', '/api/settings', { key: tenant.key, body: { approvals: { rules } } })
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await call('POST', `/api/sessions/${id}/chat`, { key: tenant.key, body: { input: 'push' } })
    expect(listTexts(scripted.requests[1]!).at(-1)).toContain('a rule denies * with git push*')
  })

  it.each([
    ['telegram', { status: 'refused' }],
    ['api', { bytes_written: 1 }],
  ])('is denied by a rule for a channel only in what comes from there: %s', async (source, result) => {
    const write = { id: 'w1', name: 'write_file', input: { path: 'a.txt', content: 'x' } }
    const scripted = model([calls(write), says('ok')])
    const id = newSessionId()
    const tenant = await bindings.TENANT.getByName('t/default').snapshot()
    const rules = [{ do: 'deny' as const, tool: 'toolset:file', channel: 'telegram' }]
    await objectOf(id).runs.submitAndWait(
      requestCommand('write', {
        tenant,
        target: creating({ source, model: scripted.id, settings: { approvals: { rules } } }),
      }),
    )
    expect(await resultsOf(id)).toMatchObject([result])
  })

  it.each([
    ['is denied', {}, { status: 'denied' }],
    ['runs, if the settings say so', { approvals: { unattended: 'allow' as const } }, { exit_code: 128 }],
  ])('in a session that a job began %s', async (_what, settings, result) => {
    const scripted = model([calls(push('c1')), says('Left it.')])
    const id = newSessionId()
    const tenant = { ...(await bindings.TENANT.getByName('t/default').snapshot()), settings }
    const run = await objectOf(id).runs.submitAndWait(
      requestCommand('push it', { tenant, target: creating({ source: 'cron', model: scripted.id }) }),
    )
    expect(run?.end).toMatchObject({ exit_reason: 'answered' })
    expect((await resultsOf(id))[0]).toMatchObject(result)
  })
})

describe('the audit log of decisions', () => {
  afterEach(() => outage.restore())

  it('has a request while it waits, and who decided it', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    const { body: run } = await begin(id)
    const asked = await pending(id)
    const waiting = await until(async () => (await auditOf(id))[0])
    expect(waiting).toMatchObject({ kind: 'approval.asked', actor: null, decision: 'asked', call_id: 'c1' })
    await decide(asked.id, 'once')
    await ended(id, run.run_id)
    const log = await auditOf(id)
    expect(log.map(({ kind, actor }) => [kind, actor])).toEqual([
      ['approval.decided', 'key:admin'],
      ['approval.asked', null],
    ])
  })

  it('is complete after an outage of D1', async () => {
    const { id } = await session([calls(push('c1')), says('Done.')])
    outage.isDatabaseDown = true
    await begin(id)
    await pending(id)
    const found = await until(async () => (await auditOf(id))[0])
    expect(found).toMatchObject({ kind: 'approval.asked', call_id: 'c1' })
    expect(outage.refusedCount).toBeGreaterThan(0)
  })
})
