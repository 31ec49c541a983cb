import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPlatforms } from '#channels/channels.ts'
import { forgetConnection, loadConnection } from '#durable/tenant/channels/connection.ts'
import { isWebhook } from '#worker/routing/first-app.ts'
import { compileRoute } from '#worker/routing/known-route.ts'
import { webhookRoutes } from '#worker/routes/webhooks.ts'
import { formpost } from '../../channels/formpost/formpost.ts'
import { FormpostApi, formOf, signedHeaders } from '../../channels/formpost/formpost-api.ts'
import { inObject } from '../../durable/support/object.ts'
import {
  bert,
  postUpdate,
  createMessage,
  createChat,
  secret,
  getLastRun,
  getSessionId,
  listOutboxStates,
  receiveMessage,
  createUpdate,
} from '../../support/chat.ts'
import { model, type Reply, says, type Script, until } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newTenant, request } from '../client.ts'
import { listLines } from '../listen.ts'

beforeAll(applyMigrations)

const tablesOf = async (session: string) =>
  inObject(session, (_object, { storage }) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table'")
      .toArray()
      .map(({ name }) => String(name))
      .filter((name) => !name.startsWith('_')),
  )

describe('/webhooks', () => {
  it.each([
    ['no signature', {}],
    ['an empty signature', { 'x-telegram-bot-api-secret-token': '' }],
    ['a wrong signature', { 'x-telegram-bot-api-secret-token': `${secret}x` }],
    ['a signature that is too short', { 'x-telegram-bot-api-secret-token': secret.slice(1) }],
    ['a signature in capitals', { 'x-telegram-bot-api-secret-token': secret.toUpperCase() }],
    ['the signature twice', { 'x-telegram-bot-api-secret-token': `${secret}, ${secret}` }],
    ['the signature in another header', { 'x-hub-signature-256': secret }],
  ])('answers 401 without a body and stores nothing: %s', async (_name, headers) => {
    const chat = await createChat([says('never')])
    const answer = await request('POST', `/webhooks/telegram/${chat.channel}`, {
      key: null,
      headers: headers as Record<string, string>,
      body: createUpdate({ message: createMessage('hi') }),
    })
    expect([answer.status, await answer.text()]).toEqual([401, ''])
    expect(await tablesOf(await getSessionId(chat))).toEqual([])
    expect(chat.scripted.requests).toEqual([])
  })

  it('refuses the secret of another channel', async () => {
    const [one, other] = [await createChat([]), await newTenant()]
    const otherSecret = 'the-secret-of-another-channel-of-us'
    const made = await call<{ id: string }>('POST', '/api/channels', {
      key: other.key,
      body: { platform: 'telegram', secrets: { bot_token: '4711:abcdefghijklmnop', webhook_secret: otherSecret } },
    })
    expect((await postUpdate({ channel: made.body.id }, createUpdate({ message: createMessage('hi') }))).status).toBe(
      401,
    )
    expect((await postUpdate(one, createUpdate({}), { 'x-telegram-bot-api-secret-token': otherSecret })).status).toBe(
      401,
    )
  })

  it.each(['ch_unknown', 'ch_', '..%2f', 'a'.repeat(300), "x'--"])(
    'answers 404 for an unknown connection: %s',
    async (id) => {
      expect((await postUpdate({ channel: id }, createUpdate({}))).status).toBe(404)
    },
  )

  it('answers 404 for another platform', async () => {
    const { channel } = await createChat([])
    const path = `/webhooks/slack/${channel}`
    const headers = { 'x-telegram-bot-api-secret-token': secret }
    expect((await request('POST', path, { key: null, headers, body: {} })).status).toBe(404)
  })

  it('accepts 1 MB and no more', async () => {
    const chat = await createChat([])
    const sized = (bytes: number) => {
      const update = JSON.stringify(createUpdate({ filler: '' }))
      return update.replace('"filler":""', `"filler":"${'x'.repeat(bytes - update.length)}"`)
    }
    expect((await postUpdate(chat, sized(1024 * 1024))).status).toBe(200)
    expect((await postUpdate(chat, sized(1024 * 1024 + 1))).status).toBe(413)
    const chunk = new Uint8Array(64 * 1024)
    let left = 20
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- ? controller.enqueue(chunk) : controller.close()),
    })
    expect((await postUpdate(chat, endless)).status).toBe(413)
  })

  it.each([
    ['cut-off JSON', '{"update_id":'],
    ['invalid UTF-8', new Uint8Array([0xff, 0xfe, 0x00])],
    ['an empty body', ''],
    ['an unknown kind', { update_id: 1, poll: {} }],
    ['an edited message', { update_id: 2, edited_message: createMessage('hi') }],
    ['a message of another bot', { update_id: 3, message: createMessage('hi', { from: { ...bert, is_bot: true } }) }],
    ['a prototype', '{"update_id":4,"__proto__":{"message":{"text":"hi"}}}'],
  ])('answers 200 to verified content that it ignores: %s', async (_name, body) => {
    const chat = await createChat([says('never')])
    expect((await postUpdate(chat, body)).status).toBe(200)
    expect(await tablesOf(await getSessionId(chat))).toEqual([])
    expect(chat.scripted.requests).toEqual([])
  })

  it('ignores a group that no setting allows', async () => {
    const chat = await createChat([says('never')], { allow_chats: ['-5'] })
    await receiveMessage(chat, 'hi', { chat: { id: -6, type: 'group' } })
    expect([chat.scripted.requests, chat.api.calls]).toEqual([[], []])
  })

  it('answers 200 and ignores events while the channel is paused or the tenant suspended', async () => {
    const { id: tenantId, key } = await newTenant()
    const chat = await createChat([says('never')], {}, key)
    await call('POST', `/api/channels/${chat.channel}/pause`, { key })
    await receiveMessage(chat, 'hi')
    await call('POST', `/api/channels/${chat.channel}/resume`, { key })
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { status: 'suspended' } })
    await receiveMessage(chat, 'hi')
    expect(chat.scripted.requests).toEqual([])
  })
})

/** A chat on Formpost, whose tenant answers with a script. */
async function newFormpostChat(script: Script | readonly Reply[], settings: object = {}) {
  const scripted = model(script)
  await call('PATCH', '/api/settings', { body: { model: { default: scripted.id } } })
  const api = new FormpostApi()
  const { body } = await call<{ id: string; webhook_url: string }>('POST', '/api/channels', {
    body: { platform: 'formpost', secrets: api.secrets, settings: { allow_users: ['*'], ...settings } },
  })
  const path = `/webhooks/formpost/${body.id}`
  const post = async (form: string, headers?: Record<string, string>) => {
    const bytes = new TextEncoder().encode(form)
    const signed = await signedHeaders(api.secrets.signing_secret, bytes, Date.now())
    return request('POST', path, { key: null, body: bytes, headers: { ...signed, ...headers } })
  }
  return { api, scripted, path, post, channel: body.id }
}

const eventOf = (id: string, fields: Readonly<Record<string, string>> = {}) => ({
  id,
  chat: 'c1',
  from: 'p1',
  name: 'Anna',
  message: `m-${id}`,
  text: `text ${id}`,
  ...fields,
})

describe('/webhooks with a platform unlike Telegram', () => {
  beforeAll(() => addPlatforms({ formpost: async () => formpost }))
  afterAll(() => addPlatforms())

  it('answers a GET challenge, and refuses one without the token', async () => {
    const { api, path } = await newFormpostChat([])
    const get = (token: string) => request('GET', `${path}?verify_token=${token}&challenge=abc%20123`, { key: null })
    const answer = await get(api.secrets.verify_token)
    expect([answer.status, await answer.text()]).toEqual([200, 'abc 123'])
    const refusal = await get('wrong')
    expect([refusal.status, await refusal.text()]).toEqual([403, ''])
  })

  it('answers a ping at once, also while the channel is paused', async () => {
    const { post, channel } = await newFormpostChat([])
    await call('POST', `/api/channels/${channel}/pause`)
    const answer = await post('type=ping')
    expect([answer.status, await answer.json()]).toEqual([200, { type: 'pong' }])
  })

  it('accepts every event of a request once, and sends the response of the platform', async () => {
    const { api, scripted, post, channel } = await newFormpostChat(
      ({ messages }) => says(`re: ${String(messages.at(-1)?.content)}`),
      { busy_mode: 'queue' },
    )
    const form = formOf(eventOf('1'), eventOf('2', { chat: 'c2', from: 'p2' }), eventOf('3'))
    const answers = await Promise.all([post(form), post(form), post(form)])
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([200, '<Response/>'])
    await until(() => api.texts.length === 3)
    expect(api.texts.toSorted()).toEqual(['re: text 1', 're: text 2', 're: text 3'])
    expect(scripted.requests).toHaveLength(3)
    expect(await listLines(await getSessionId({ channel }, 'c1'))).toContain('user: text 3')
    expect(await listLines(await getSessionId({ channel }, 'c2'))).toEqual(['user: text 2', 'assistant: re: text 2'])
  })

  it.each([
    ['a signature over another body', { 'x-formpost-signature': '0'.repeat(64) }],
    ['an outdated time', { 'x-formpost-timestamp': '1700000000' }],
  ])('answers 401 and stores nothing: %s', async (_name, headers) => {
    const { scripted, post, channel } = await newFormpostChat([])
    expect((await post(formOf(eventOf('1')), headers)).status).toBe(401)
    expect(await tablesOf(await getSessionId({ channel }, 'c1'))).toEqual([])
    expect(scripted.requests).toEqual([])
  })

  it('answers 5xx when one event cannot be stored, and counts the others once', async () => {
    const { api, scripted, post, channel } = await newFormpostChat([says('one'), says('two')], { busy_mode: 'queue' })
    const session = await getSessionId({ channel }, 'c2')
    await inObject(session, (_object, { storage }) => void storage.sql.exec('CREATE TABLE heard (other INTEGER)'))
    const form = formOf(eventOf('1'), eventOf('2', { chat: 'c2' }))
    expect((await post(form)).status).toBeGreaterThanOrEqual(500)
    await api.waitFor('one')
    await inObject(session, (_object, { storage }) => void storage.sql.exec('DROP TABLE heard'))
    await inObject(session, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    expect((await post(form)).status).toBe(200)
    await api.waitFor('two')
    expect(scripted.requests).toHaveLength(2)
  })

  it('sends an interrupted message again with the same key, so that it stands there once', async () => {
    const { api, post } = await newFormpostChat([says('Hello.')])
    api.failNext('lost')
    await post(formOf(eventOf('1')))
    await until(() => api.requests.length === 2)
    expect(api.texts).toEqual(['Hello.'])
    expect(new Set(api.requests.map(({ key }) => key)).size).toBe(1)
  })

  it('shows in the run that the reply window is closed, at once or as the platform reports later', async () => {
    const { api, post, channel } = await newFormpostChat([says('One.'), says('Two.')], { busy_mode: 'queue' })
    const session = await getSessionId({ channel }, 'c1')
    const errorOfLast = async () => (await getLastRun(session))['delivery_error']
    api.failNext({ status: 470 })
    await post(formOf(eventOf('1')))
    await until(async () => (await errorOfLast()) === 'window: HTTP 470')
    await post(formOf(eventOf('2')))
    await api.waitFor('Two.')
    await until(async () => (await listOutboxStates(session)).at(-1) === 'sent')
    await post(formOf({ ...eventOf('3'), message: 'm1', failed: 'outside of 24 hours' }))
    await until(async () => (await errorOfLast()) === 'window: outside of 24 hours')
    expect(api.texts).toEqual(['Two.'])
  })

  it('gives each message a key of its own, also after the session was deleted and begun anew', async () => {
    const { api, post, channel } = await newFormpostChat([says('one'), says('two')])
    await post(formOf(eventOf('1')))
    await api.waitFor('one')
    const session = await getSessionId({ channel }, 'c1')
    await until(async () => (await call('DELETE', `/api/sessions/${session}`)).status < 300)
    await until(async () => (await post(formOf(eventOf('2')))).status === 200)
    await api.waitFor('two')
    expect(new Set(api.requests.map((sent) => sent.key)).size).toBe(2)
  })
})

describe('the application of webhooks', () => {
  it.each(['/webhooks/slack/ch_1', '/webhooks/slack', '/webhooks/slack/ch_1/x', '/webhooks', '/api/webhooks/wh_1'])(
    'serves what a webhook route matches: %s',
    (path) => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const known = webhookRoutes.map(compileRoute).some((one) => one.method === method && one.pattern.test(path))
        expect(isWebhook(new Request(`https://talaria.test${path}`, { method }), path)).toBe(known)
      }
    },
  )
})

describe('the connection of a webhook', () => {
  const many = Array.from({ length: 50 })
  /** Long after the creation of the channel has cached the connection. */
  const start = Date.now() + 100_000

  async function createCountedLoads() {
    const { channel } = await createChat([])
    let queries = 0
    const DB = new Proxy(bindings.DB, {
      get: (target, name) => {
        if (name === 'prepare') queries++
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const load = (ms: number) => loadConnection({ ...bindings, DB }, channel, start + ms)
    return { channel, load, countQueries: () => queries }
  }

  it('is loaded again by one of many requests, while the others use the cached one', async () => {
    const { load, countQueries } = await createCountedLoads()
    await load(0)
    const first = countQueries()
    expect(first).toBeGreaterThan(0)
    await Promise.all(many.map(() => load(4_999)))
    expect(countQueries()).toBe(first)
    await Promise.all(many.map(() => load(5_000)))
    expect(countQueries()).toBe(2 * first)
    await Promise.all(many.map(() => load(9_999)))
    expect(countQueries()).toBe(2 * first)
  })

  it('is not cached when it was changed during the load', async () => {
    const { channel, load, countQueries } = await createCountedLoads()
    const loading = load(0)
    const first = countQueries()
    forgetConnection(channel)
    await loading
    await load(1)
    expect(countQueries()).toBe(2 * first)
    await load(2)
    expect(countQueries()).toBe(2 * first)
  })
})
