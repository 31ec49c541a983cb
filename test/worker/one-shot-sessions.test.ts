/** Tests that sessions which completions have made expire, unless something continues them. */

import { beforeAll, describe, expect, it } from 'vitest'
import { inObject } from '../durable/support/object.ts'
import { until } from '../support/scripted-model.ts'
import { alike, clientOf, dayMs, expire, user, writing } from './chat-program.ts'
import { applyMigrations, call, newSession } from './client.ts'

beforeAll(applyMigrations)

describe('a session that a completion made', () => {
  const expiryOf = async (id: string) => {
    const { body } = await call<{ expires_at: string | null; updated_at: string }>('GET', `/api/sessions/${id}`)
    return body.expires_at === null
      ? null
      : Math.round((Date.parse(body.expires_at) - Date.parse(body.updated_at)) / dayMs)
  }

  it('expires after a day, with files after a week', async () => {
    const id = alike({ one: writing('a.txt', 'one') })
    const plain = await clientOf(id).say('hello')
    const working = await clientOf(id).say('one')
    expect([await expiryOf(plain.session), await expiryOf(working.session)]).toEqual([1, 7])
    const listed = await call<{ data: { id: string; expires_at: string | null }[] }>('GET', '/api/sessions')
    expect(listed.body.data.find((one) => one.id === plain.session)?.expires_at).toEqual(expect.any(String))
    await until(async () =>
      inObject(plain.session, async (_o, { storage }) => ((await storage.getAlarm()) ?? 0) > Date.now() + dayMs / 2),
    )
    await expire(plain.session, 1)
    await expire(working.session, 1)
    expect((await call('GET', `/api/sessions/${plain.session}`)).status).toBe(404)
    expect((await call('GET', `/api/sessions/${working.session}`)).status).toBe(200)
  })

  it('stays once anything continues it: words, a header, the API, a new title', async () => {
    const id = alike({})
    const client = clientOf(id)
    const words = (await client.say('by words')).session
    await client.say('more')
    const header = (await clientOf(id).say('by header')).session
    await clientOf(id).post([user('more')], {}, { 'x-talaria-session-id': header })
    const api = (await clientOf(id).say('by the API')).session
    await call('POST', `/api/sessions/${api}/chat`, { body: { input: 'more' } })
    const title = (await clientOf(id).say('by a title')).session
    await call('PATCH', `/api/sessions/${title}`, { body: { title: 'Mine' } })
    for (const session of [words, header, api, title]) expect(await expiryOf(session)).toBeNull()
    expect(await expiryOf((await newSession()).id)).toBeNull()
  })
})
