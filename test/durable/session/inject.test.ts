/** Tests messages that are delivered into a session: each is a message of it once, and none interrupts a turn. */

import { beforeAll, describe, expect, it } from 'vitest'
import { actAs, type Authority } from '#agent/core/permission/authority.ts'
import type { InjectedMessage } from '#durable/storage/injected-messages.ts'
import { ownerAuthority } from '../../support/authority.ts'
import {
  Gate,
  hangs,
  listTexts,
  model,
  type ModelRequest,
  type Reply,
  says,
  until,
} from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '../../worker/client.ts'
import { listMessages, send } from '../../worker/listen.ts'
import { alarmOf, evict, fireAlarm, kill, objectOf } from '../support/object.ts'

beforeAll(applyMigrations)

const ofJob = (tenantId = 'default') => actAs(ownerAuthority(tenantId), { kind: 'job', id: 'job1' })

const message = (key: string, more: Partial<InjectedMessage> = {}): InjectedMessage => ({
  key,
  source: 'job',
  text: `result of ${key}`,
  startsTurn: false,
  ...more,
})

const deliver = (id: string, delivered: InjectedMessage, authority: Authority = ofJob()) =>
  objectOf(id, authority.tenantId).injected.submit(authority, delivered)

type Stored = { readonly role: string; readonly content: unknown; readonly source?: string | null }
const stored = async (id: string, key?: string) =>
  (await listMessages<Stored>(id, key)).map(({ role, source, content }) => `${source ?? role}: ${String(content)}`)
const isIdle = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status'] === 'idle'
const received = 'notice: Received. It needs no answer.'

async function session(...replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id })
  return { id, scripted }
}

describe('a delivered message that needs no answer', () => {
  it('is a message of an idle session at once, without a model call', async () => {
    const { id, scripted } = await session(says('I have read it.'))
    expect(await deliver(id, message('a'))).toBe('delivered')
    expect(await stored(id)).toEqual(['job: result of a', received])
    expect(await isIdle(id)).toBe(true)
    expect(scripted.requests).toHaveLength(0)
    await send(id, 'what happened?')
    expect(listTexts(scripted.requests[0] as ModelRequest).join('\n')).toContain('result of a')
  })

  it('counts once per key, also after a crash', async () => {
    const { id } = await session()
    const answers = await Promise.all([deliver(id, message('a')), deliver(id, message('a'))])
    expect(answers.toSorted()).toEqual(['delivered', 'duplicate'])
    await kill(id)
    expect(await deliver(id, message('a', { text: 'other' }))).toBe('duplicate')
    expect(await deliver(id, message('b'))).toBe('delivered')
    expect(await stored(id)).toEqual(['job: result of a', received, 'job: result of b', received])
  })

  it('joins the conversation after the turn that is open', async () => {
    const gate = new Gate()
    const { id, scripted } = await session(hangs(gate))
    const busy = send(id, 'go')
    await gate.waitUntilReached()
    expect(await deliver(id, message('a'))).toBe('delivered')
    expect(await stored(id)).toEqual(['user: go'])
    gate.open()
    expect((await busy).output).toBe('released')
    await until(async () => (await stored(id)).length === 4)
    expect(await stored(id)).toEqual(['user: go', 'assistant: released', 'job: result of a', received])
    expect(scripted.requests).toHaveLength(1)
  })

  it('is not lost when the object dies during the turn that it waits for', async () => {
    const gate = new Gate()
    const { id } = await session(hangs(gate), says('Again.'))
    void send(id, 'go').catch(() => undefined)
    await gate.waitUntilReached()
    await deliver(id, message('a'))
    await kill(id)
    await until(async () => {
      await fireAlarm(id)
      return (await stored(id)).at(-1) === received
    })
    expect((await stored(id)).filter((line) => line.startsWith('job'))).toEqual(['job: result of a'])
  })
})

describe('a delivered message that the agent answers', () => {
  it('starts one turn in an idle session, once', async () => {
    const { id, scripted } = await session(says('Hello.'), says('I see the result.'))
    await send(id, 'hi')
    expect(await deliver(id, message('a', { startsTurn: true }))).toBe('delivered')
    expect(await deliver(id, message('a', { startsTurn: true }))).toBe('duplicate')
    await until(() => isIdle(id))
    await kill(id)
    await fireAlarm(id)
    expect(await stored(id)).toEqual([
      'user: hi',
      'assistant: Hello.',
      'job: result of a',
      'assistant: I see the result.',
    ])
    expect(scripted.requests).toHaveLength(2)
  })

  it('waits for the open turn; all that wait are one turn, after what needs no answer', async () => {
    const gate = new Gate()
    const { id, scripted } = await session(hangs(gate), says('I see both.'))
    const busy = send(id, 'go')
    await gate.waitUntilReached()
    for (const key of ['a', 'b']) expect(await deliver(id, message(key, { startsTurn: true }))).toBe('delivered')
    await deliver(id, message('c'))
    expect(await stored(id)).toEqual(['user: go'])
    gate.open()
    await busy
    await until(async () => {
      await fireAlarm(id)
      return (await stored(id)).at(-1) === 'assistant: I see both.'
    })
    expect(await stored(id)).toEqual([
      'user: go',
      'assistant: released',
      'job: result of c',
      received,
      'job: result of a\n\nresult of b',
      'assistant: I see both.',
    ])
    expect(scripted.requests).toHaveLength(2)
    expect(await alarmOf(id)).toBeNull()
  })

  it('is kept while the tenant may not begin a turn', async () => {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('Now.')]).id }, key)
    const other = await newSession({ model: model([hangs(gate)]).id }, key)
    const busy = call('POST', `/api/sessions/${other.id}/chat`, { key, body: { input: 'go' } })
    await gate.waitUntilReached()
    expect(await deliver(id, message('a', { startsTurn: true }), ofJob(tenant))).toBe('delivered')
    expect(await stored(id, key)).toEqual([])
    gate.open()
    await busy
    await until(async () => {
      await deliver(id, message('a', { startsTurn: true }), ofJob(tenant))
      await deliver(id, message('b', { startsTurn: true }), ofJob(tenant))
      return (await stored(id, key)).length === 2
    })
    expect(await stored(id, key)).toEqual(['job: result of a\n\nresult of b', 'assistant: Now.'])
  })

  it('gives its turn no more than its sender may', async () => {
    const { id, scripted } = await session(says('Hello.'), says('Fine.'))
    await send(id, 'hi')
    const authority = { ...ofJob(), toolBounds: [['todo']] }
    await deliver(id, message('a', { startsTurn: true }), authority)
    await until(() => scripted.requests.length === 2)
    expect(scripted.requests[1]?.tools?.map((tool) => tool.function.name)).toEqual(['todo'])
  })
})

describe('a delivery is refused', () => {
  it('for another tenant and an unknown session', async () => {
    const { id } = await session()
    expect(await objectOf(id).injected.submit(ofJob('other'), message('a'))).toBeUndefined()
    expect(await deliver('ses_unknown', message('a'))).toBeUndefined()
    expect(await stored(id)).toEqual([])
  })

  it('when it is too large', async () => {
    const { id } = await session()
    expect(await deliver(id, message('a', { text: 'x'.repeat(200_001) }))).toBe('too-large')
    await evict(id)
    expect(await stored(id)).toEqual([])
  })
})
