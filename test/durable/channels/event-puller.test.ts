/** Tests the channels whose platform only rings: what arrives is fetched once, and nothing is lost when that fails. */

import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { createMatrixApi, matrixError, matrixGroup, matrixPerson, matrixRoom } from '../../support/matrix-api.ts'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'

beforeAll(applyMigrations)

const url = 'https://matrix.test'

async function createMatrixChannel(replies: readonly Reply[], settings: object = {}) {
  const { id: tenant, key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const { api, token } = createMatrixApi()
  const made = await call<{ id: string; registration: object }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'matrix',
      secrets: { access_token: token },
      settings: { url, allow_users: [matrixPerson], ...settings },
    },
  })
  expect([made.status, made.body.registration]).toEqual([201, { ok: true, detail: 'The homeserver rings here.' }])
  const pushkey = String(api.pusher?.['pushkey'])
  const push = async (pushed = pushkey, more: object = {}) => {
    const notification = {
      event_id: '$1',
      room_id: matrixRoom,
      devices: [{ app_id: 'talaria', pushkey: pushed }],
      ...more,
    }
    const answer = await request('POST', '/_matrix/push/v1/notify', { key: null, body: { notification } })
    return [answer.status, await answer.json()]
  }
  const object = () => env.CONNECTION!.getByName(`t/${tenant}/c/${made.body.id}`)
  return { api, key, scripted, push, pushkey, object, id: made.body.id, path: `/api/channels/${made.body.id}` }
}

describe('a Matrix room', () => {
  it('gets its answer, styled, and nothing twice', async () => {
    const { api, push, scripted } = await createMatrixChannel([says('**Hello** [docs](https://x.test/a)')])
    api.say('hi')
    for (let n = 0; n < 3; n++) expect(await push()).toEqual([200, { rejected: [] }])
    await until(() => api.texts.length > 0)
    await push()
    const [sent] = api.callsTo(/\/send\/m\.room\.message\//)
    expect(sent?.body).toMatchObject({
      msgtype: 'm.text',
      body: 'Hello docs (https://x.test/a)',
      formatted_body: expect.stringContaining('<strong>Hello</strong>'),
    })
    expect([api.texts.length, scripted.requests.length]).toEqual([1, 1])
  })

  it('many rings at once make few fetches, and a count without an event none', async () => {
    const { api, push } = await createMatrixChannel([says('one')])
    const before = api.syncs
    expect(await push(undefined, { event_id: undefined, counts: { unread: 1 } })).toEqual([200, { rejected: [] }])
    expect(api.syncs).toBe(before)
    api.say('hi')
    await Promise.all(Array.from({ length: 10 }, () => push()))
    await until(() => api.texts.length > 0)
    expect(api.syncs - before).toBeLessThanOrEqual(3)
  })

  it('unknown and wrong pushkeys are rejected, and nothing is asked', async () => {
    const { api, push, pushkey, path, key } = await createMatrixChannel([])
    const before = api.calls.length
    for (const wrong of ['ch_unknown.x', `${pushkey}0`, pushkey.slice(0, -1), 'x', '..'])
      expect(await push(wrong)).toEqual([200, { rejected: [wrong] }])
    expect(api.calls.length).toBe(before)
    expect((await call('DELETE', path, { key })).status).toBe(204)
    expect(await push()).toEqual([200, { rejected: [pushkey] }])
    await until(() => api.pusher === undefined)
  })

  it('a fetch that fails is repeated by the alarm, and loses nothing', async () => {
    const { api, push, object, path, key, scripted } = await createMatrixChannel([says('one')])
    api.say('hi')
    api.failures.push(
      () => new Response('<html>', { status: 502 }),
      () => matrixError(500, 'M_UNKNOWN'),
    )
    await push()
    await until(() => api.failures.length === 0, 10_000)
    const alarm = await runInDurableObject(object(), (_object, { storage }) => storage.getAlarm())
    expect(alarm === null || alarm - Date.now() <= 30_000).toBe(true)
    await until(() => api.texts.includes('one'), 15_000)
    expect(scripted.requests).toHaveLength(1)
    const tested = await call<{ ok: boolean; detail: string }>('POST', `${path}/test`, { key })
    expect(tested.body).toEqual({ ok: true, detail: expect.stringContaining('Messages are fetched: connected.') })
  })

  it('a crash between acceptance and the stored position answers nothing twice', async () => {
    const { api, push, object, scripted } = await createMatrixChannel([says('one'), says('two')])
    api.say('first')
    await push()
    await until(() => api.texts.includes('one'))
    await until(async () => (await runInDurableObject(object(), (_object, { storage }) => storage.getAlarm())) === null)
    await runInDurableObject(object(), async (_object, { storage }) => {
      const stored = storage.kv.get<{ readonly cursor: string }>('pull')
      storage.kv.put('pull', { ...stored, cursor: JSON.stringify({ since: '0', at: 0 }) })
    })
    await runInDurableObject(object(), (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    api.say('second')
    await push()
    await until(() => api.texts.includes('two'))
    expect([api.texts, scripted.requests.length]).toEqual([['one', 'two'], 2])
  })

  it('has no alarm while nobody writes', async () => {
    const { api, push, object } = await createMatrixChannel([says('one')])
    const alarm = () => runInDurableObject(object(), (_object, { storage }) => storage.getAlarm())
    expect(await alarm()).toBeNull()
    api.say('hi')
    await push()
    await until(() => api.texts.length > 0)
    await until(async () => (await alarm()) === null)
    expect(await runDurableObjectAlarm(object())).toBe(false)
  })

  it('the bot joins rooms of allowed people alone', async () => {
    const { api, push } = await createMatrixChannel([])
    api.invites.push(
      { room: '!a:matrix.test', sender: matrixPerson },
      { room: '!b:matrix.test', sender: '@x:matrix.test' },
    )
    await push()
    await until(() => api.joined.length > 0)
    expect(api.joined).toEqual(['!a:matrix.test'])
  })

  it('a group is answered when it mentions the bot, and a number decides', async () => {
    const run = calls({ name: 'terminal', input: { command: 'echo x' } })
    const { api, push, key, scripted } = await createMatrixChannel([run, says('Done.')], { allow_chats: [matrixGroup] })
    const rules = [{ do: 'ask', tool: 'terminal', match: '*' }]
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual', rules } } })
    api.say('lunch?', {}, matrixGroup)
    api.say('go', { 'm.mentions': { user_ids: [api.own] } }, matrixGroup)
    await push()
    await until(() => api.texts.some((text) => text.includes('1. ')))
    expect(JSON.stringify(scripted.requests[0]?.messages)).toContain('lunch?')
    api.say('1', {}, matrixGroup)
    await push()
    await until(() => api.texts.includes('Done.'))
    expect(JSON.stringify(scripted.requests[1]?.messages)).toContain('exit_code')
  })
})

describe('the address of a self-hosted server', () => {
  it.each([
    ['missing', undefined, 'invalid_request'],
    ['private', 'https://10.0.0.1', 'blocked_url'],
    ['that of the machine', 'https://127.0.0.1:8008', 'blocked_url'],
    ['of the metadata service', 'https://169.254.169.254', 'blocked_url'],
    ['without https', 'http://example.com', 'invalid_request'],
    ['with a user', 'https://a:b@example.com', 'invalid_request'],
    ['with a query', 'https://example.com/?a=1', 'invalid_request'],
  ])('is refused: %s', async (_name, wrong, code) => {
    const { key } = await newTenant()
    const body = {
      platform: 'matrix',
      secrets: { access_token: 't' },
      settings: wrong === undefined ? {} : { url: wrong },
    }
    const answer = await call<{ error: { code: string; param: string } }>('POST', '/api/channels', { key, body })
    expect([answer.status, answer.body.error]).toMatchObject([400, { code, param: 'settings.url' }])
  })

  it('needs the secrets anew when it changes, and belongs to self-hosted platforms alone', async () => {
    const { key, path } = await createMatrixChannel([])
    const change = (body: object) => call<{ error: { param: string } }>('PATCH', path, { key, body })
    const other = await change({ settings: { url: 'https://other.example.com' } })
    expect([other.status, other.body.error.param]).toEqual([400, 'secrets.access_token'])
    expect((await change({ settings: { url: `${url}/below/` } })).status).toBe(200)
    const blocked = await change({ settings: { url: 'https://192.168.0.1' }, secrets: { access_token: 'x' } } as object)
    expect([blocked.status, blocked.body.error.param]).toEqual([400, 'settings.url'])
    const sms = { platform: 'line', secrets: { channel_access_token: 'x', channel_secret: 'y' }, settings: { url } }
    expect((await call('POST', '/api/channels', { key, body: sms })).status).toBe(400)
  })
})
