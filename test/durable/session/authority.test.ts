/** Tests that a session answers only its own tenant, and that a turn keeps the narrowest authority of its messages. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import { newSessionId } from '#durable/platform/ids.ts'
import { authorityHeader, encodeAuthority } from '#durable/platform/authority-header.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession } from '../../worker/client.ts'
import { creating, inObject, objectOf, requestCommand, turnOf } from '../support/object.ts'

beforeAll(applyMigrations)

const foreign = ownerAuthority('another')

/** The names of the methods of each subject, read from the classes, so that a new one is covered. */
const listMethods = (object: SessionDO): readonly (readonly [subject: string, method: string])[] =>
  Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(object)) as object)
    .filter((name) => typeof (object as unknown as Record<string, unknown>)[name] === 'object')
    .filter((name) => !['ctx', 'env'].includes(name))
    .flatMap((name) => {
      const subject = (object as unknown as Record<string, object>)[name]!
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(subject) as object)
      return methods.filter((method) => method !== 'constructor').map((method) => [name, method] as const)
    })

describe('a call of another tenant', () => {
  it('is answered as for an unknown session, whatever it calls', async () => {
    const scripted = model([says('secret')])
    const { id } = await newSession({ model: scripted.id, title: 'secret' })
    await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'secret' } })
    const methods = await inObject(id, listMethods)
    expect(methods.length).toBeGreaterThan(25)
    const ask = (object: string, [subject, method]: (typeof methods)[number]) => {
      const target = (objectOf(object) as unknown as Record<string, Record<string, (...args: unknown[]) => unknown>>)[
        subject
      ]!
      const streams = () => new ReadableStream({ type: 'bytes', start: (controller) => controller.close() })
      if (subject === 'access') return Promise.resolve(target[method]!(foreign)).catch(() => undefined)
      if (method.startsWith('submit'))
        return target[method]!(requestCommand('hi', { authority: foreign, target: { kind: 'existing' } }))
      if (['paste', 'restore'].includes(method))
        return target[method]!(foreign, { meta: {}, rows: streams(), files: streams() }, {})
      return target[method]!(foreign, {})
    }
    for (const method of methods) {
      const answer = await ask(id, method)
      expect([method, answer]).toEqual([method, await ask('ses_unknown', method)])
      expect([method, JSON.stringify(answer) ?? '']).not.toEqual([
        method,
        expect.stringMatching(/secret|ses_(?!unknown)/),
      ])
    }
    expect((await call('GET', `/api/sessions/${id}`)).body).toMatchObject({ title: 'secret', status: 'idle' })
    expect((await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages`)).body.data).toHaveLength(2)
  })

  it('opens no stream and no socket', async () => {
    const { id } = await newSession({})
    const object = objectOf(id)
    const post = (body: object) => object.fetch('https://session/', { method: 'POST', body: JSON.stringify(body) })
    const format = { as: 'events' }
    const socket = (headers: Record<string, string>) =>
      object.fetch('https://session/', { headers: { upgrade: 'websocket', ...headers } })
    const answers = await Promise.all([
      post({ command: requestCommand('hi', { authority: foreign }), format }),
      post({ authority: foreign, runId: 'run_x', format }),
      socket({ [authorityHeader]: encodeAuthority(foreign) }),
      socket({}),
    ])
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
  })
})

describe('the authority of a turn', () => {
  const waiting = [calls({ id: 'q', name: 'clarify', input: { question: 'Which?' } }), says('Done.')]
  const withScopes = (scopes: Authority['scopes']): Authority => ({ ...ownerAuthority(), scopes })

  it('is stored with it, and is narrowed by a message that joins it', async () => {
    const scripted = model(waiting)
    const id = newSessionId()
    const target = creating({ model: scripted.id })
    await objectOf(id).runs.submit(requestCommand('go', { target, authority: withScopes(['chat', 'read']) }))
    await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'waiting')
    expect((await turnOf(id)).options.authority).toEqual({ ...withScopes(['chat', 'read']), isCombined: true })
    const joining = requestCommand('that one', { busyMode: 'steer', authority: withScopes(['chat', 'approve']) })
    expect(await objectOf(id).runs.submit(joining)).toMatchObject({ status: 'joined' })
    await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'idle')
    expect((await turnOf(id)).options.authority).toMatchObject(withScopes(['chat']))
  })

  it('has only the tools that a message which joins it may use, from its next step on', async () => {
    const scripted = model(waiting)
    const id = newSessionId()
    await objectOf(id).runs.submit(requestCommand('go', { target: creating({ model: scripted.id }) }))
    await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'waiting')
    const authority: Authority = { ...ownerAuthority(), toolBounds: [['clarify', 'todo']] }
    expect(await objectOf(id).runs.submit(requestCommand('that one', { busyMode: 'steer', authority }))).toMatchObject({
      status: 'joined',
    })
    await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'idle')
    const namesOf = (nth: number) => scripted.requests[nth]?.tools?.map((tool) => tool.function.name).toSorted()
    expect(namesOf(0)).toContain('terminal')
    expect(namesOf(1)).toEqual(['clarify', 'todo'])
  })

  it('is that of the key which repeats it', async () => {
    const scripted = model([says('one'), says('two')])
    const id = newSessionId()
    const target = creating({ model: scripted.id })
    await objectOf(id).runs.submitAndWait(requestCommand('go', { target }))
    const tenant = { id: 'default', settings: {}, keys: {}, windows: {}, limits: {} }
    await objectOf(id).runs.retry(withScopes(['chat']), 'run_again', tenant)
    await until(async () => (await objectOf(id).info.status(ownerAuthority())) === 'idle')
    expect((await turnOf(id)).options.authority).toMatchObject(withScopes(['chat']))
  })
})
