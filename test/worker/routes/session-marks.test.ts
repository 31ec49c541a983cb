/** Tests what people do with lists: pin, archive, leave out, delete many; and keys and usage of one's own. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type List = { readonly data: readonly { readonly id: string; readonly pinned: boolean; readonly archived: boolean }[] }

describe('a list of sessions', () => {
  it('has pinned and archived ones where they are asked for, and leaves out a source', async () => {
    const { key } = await newTenant()
    const [one, two, three] = [await newSession({}, key), await newSession({}, key), await newSession({}, key)]
    const ids = async (query = '') =>
      (await call<List>('GET', `/api/sessions?${query}`, { key })).body.data.map(({ id }) => id).toSorted()
    const mark = (id: string, body: object) => call<List['data'][0]>('PATCH', `/api/sessions/${id}`, { key, body })
    expect((await mark(one.id, { pinned: true })).body).toMatchObject({ pinned: true, archived: false })
    await mark(two.id, { archived: true })
    expect(await ids()).toEqual([one.id, three.id].toSorted())
    expect(await ids('archived=all')).toEqual([one.id, two.id, three.id].toSorted())
    expect(await ids('archived=true')).toEqual([two.id])
    expect(await ids('pinned=true')).toEqual([one.id])
    expect(await ids('source=!api')).toEqual([])
    expect((await ids('source=!cron')).length).toBe(2)
    await mark(two.id, { archived: false })
    expect((await ids()).length).toBe(3)
  })

  it('loses many at once, and says which were not there', async () => {
    const [{ key }, other] = [await newTenant(), await newTenant()]
    const [one, two] = [await newSession({}, key), await newSession({}, key)]
    const foreign = await newSession({}, other.key)
    const body = { ids: [one.id, two.id, two.id, foreign.id, 'ses_none', '../x'] }
    const answer = await call<{ deleted: string[]; missing: string[] }>('POST', '/api/sessions/delete', { key, body })
    expect(answer.body.deleted.toSorted()).toEqual([one.id, two.id].toSorted())
    expect(answer.body.missing.toSorted()).toEqual([foreign.id, 'ses_none', '../x'].toSorted())
    expect((await call('GET', `/api/sessions/${foreign.id}`, { key: other.key })).status).toBe(200)
    const reader = await newKey(other.id, ['read'])
    expect((await call('POST', '/api/sessions/delete', { key: reader, body })).status).toBe(403)
  })
})

describe('usage', () => {
  type Report = { tz: string; group: string; data: { key: string; day?: string; model?: string; turns: number }[] }

  it('has two groups, the days of a zone, and one session', async () => {
    const { key } = await newTenant()
    const [first, second] = [model(() => says('a')).id, model(() => says('b')).id]
    const sessions = [await newSession({ model: first }, key), await newSession({ model: second }, key)]
    for (const { id } of sessions) await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    const report = async (query: string) => (await call<Report>('GET', `/api/usage?${query}`, { key })).body
    const both = await until(async () => {
      const found = await report('group=day,model&tz=Pacific/Kiritimati')
      return found.data.length === 2 ? found : undefined
    })
    const today = new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10)
    expect([both.tz, both.group]).toEqual(['Pacific/Kiritimati', 'day,model'])
    expect(both.data.map((line) => [line.key, line.day, line.model, line.turns])).toEqual(
      [first, second].toSorted().map((name) => [`${today} ${name}`, today, name, 1]),
    )
    const one = await report(`group=model&session_id=${sessions[0]?.id}`)
    expect(one.data.map((line) => line.key)).toEqual([first])
    expect((await call<ErrorBody>('GET', '/api/usage?tz=Nowhere', { key })).body.error.param).toBe('tz')
  })
})

describe('keys of the own tenant', () => {
  type Key = { id: string; key: string; scopes: string[]; expires_at: string | null; role: string | null }
  const create = (key: string, body: object) => call<Key & ErrorBody>('POST', '/api/keys', { key, body })

  it('have no more rights and no longer life than the key that makes them', async () => {
    const { id, key } = await newTenant(['read', 'write', 'chat'])
    const made = await create(key, { name: 'phone', scopes: ['read'] })
    expect([made.status, made.body.scopes]).toEqual([201, ['read']])
    expect((await call('GET', '/api/sessions', { key: made.body.key })).status).toBe(200)
    expect((await create(made.body.key, { scopes: ['read'] })).status).toBe(403)
    expect((await create(key, { scopes: ['approve'] })).body.error).toMatchObject({ code: 'policy', param: 'scopes' })
    expect((await create(key, {})).body.scopes.toSorted()).toEqual(['chat', 'read', 'write'])
    const ends = new Date(Date.now() + 3_600_000).toISOString()
    const short = await newKey(id, ['write'], { expires_at: ends })
    expect((await create(short, {})).body.expires_at).toBe(ends)
    const later = new Date(Date.now() + 7_200_000).toISOString()
    expect((await create(short, { expires_at: later })).body.error.param).toBe('expires_at')
  })

  it('are listed and revoked within the tenant alone', async () => {
    const [ours, theirs] = [await newTenant(['read', 'write']), await newTenant(['read', 'write'])]
    const made = (await create(ours.key, { scopes: ['read'] })).body
    const list = async (key: string) => (await call<{ data: Key[] }>('GET', '/api/keys', { key })).body.data
    expect((await list(ours.key)).map(({ id }) => id)).toContain(made.id)
    expect((await list(theirs.key)).map(({ id }) => id)).not.toContain(made.id)
    expect((await list(ours.key)).every((one) => one.key === undefined)).toBe(true)
    expect((await request('DELETE', `/api/keys/${made.id}`, { key: theirs.key })).status).toBe(404)
    const strong = await newKey(ours.id, ['read', 'approve'])
    const strongId = strong.split('_')[1]
    expect((await request('DELETE', `/api/keys/${strongId}`, { key: ours.key })).status).toBe(403)
    expect((await request('DELETE', `/api/keys/${made.id}`, { key: ours.key })).status).toBe(204)
    expect((await request('DELETE', `/api/keys/${made.id}`, { key: ours.key })).status).toBe(404)
    expect((await call('GET', '/api/sessions', { key: made.key })).status).toBe(401)
  })
})
