/** Tests that a server without a public address asks Telegram for messages, and loses and doubles none. */

import { env, runInDurableObject, SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { createMessage, getSessionId } from '../../support/chat.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createTelegramApi } from '../../support/telegram-api.ts'
import { adminKey, applyMigrations, call, newTenant } from '../../worker/client.ts'
import { acceptEventsAgain, objectOf, refuseEvents } from '../support/object.ts'

beforeAll(applyMigrations)

type ChannelAnswer = {
  readonly id: string
  readonly settings: { readonly delivery: string }
  readonly registration?: { readonly ok: boolean; readonly detail: string }
}

async function createBot(replies: readonly Reply[]) {
  const { id: tenantId, key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const api = createTelegramApi()
  const settings = { allow_users: ['*'], delivery: 'polling' }
  const body = { platform: 'telegram', secrets: { bot_token: api.token }, settings }
  const made = await call<ChannelAnswer>('POST', '/api/channels', { key, body })
  expect(made.status).toBe(201)
  const channel = made.body.id
  let updates = 500
  const receive = (text: string) =>
    void api.updates.push({ update_id: ++updates, message: createMessage(text, { message_id: updates }) })
  const object = () => env.CONNECTION!.getByName(`t/${tenantId}/c/${channel}`)
  // Files share the isolate: nobody asks on when the test is over.
  onTestFinished(() => object().stop())
  return { api, key, tenantId, scripted, channel, made: made.body, receive, object, path: `/api/channels/${channel}` }
}

describe('a channel that asks for messages', () => {
  it('answers what people write, and confirms it', async () => {
    const { api, key, made, receive, scripted, channel } = await createBot([says('One.'), says('Two.')])
    expect(made).toMatchObject({ settings: { delivery: 'polling' }, registration: { ok: true } })
    expect(made.registration?.detail).toContain('asked for messages')
    expect(api.registrations.map(({ method }) => method)).toEqual(['deleteWebhook'])
    receive('first')
    await api.waitForText('One.')
    receive('second')
    await api.waitForText('Two.')
    await until(() => api.updates.length === 0)
    expect(api.callsOf('getUpdates').at(-1)?.body).toMatchObject({ offset: 503, timeout: expect.any(Number) })
    expect(scripted.requests).toHaveLength(2)
    const messages = `/api/sessions/${await getSessionId({ channel })}/messages`
    expect((await call<{ data: object[] }>('GET', messages, { key })).body.data).toHaveLength(4)
  })

  it('asks on after its object was evicted, and answers nothing twice', async () => {
    const { api, receive, scripted, object } = await createBot([says('One.'), says('Two.')])
    receive('first')
    await api.waitForText('One.')
    await until(() => api.updates.length === 0)
    const [confirmed] = api.callsOf('getUpdates').slice(-1)
    // The last confirmation is lost: the message comes again.
    await runInDurableObject(object(), async (_object, { storage }) => {
      const stored = storage.kv.get<object>('poll')
      storage.kv.put('poll', { ...stored, cursor: '1' })
    })
    await runInDurableObject(object(), (_object, state) => state.abort('evicted by a test')).catch(() => undefined)
    api.updates.push({ update_id: 501, message: createMessage('first', { message_id: 501 }) })
    await until(
      async () =>
        (
          await object()
            .getStatus()
            .catch(() => undefined)
        )?.status === 'running',
    )
    await runInDurableObject(object(), (_object, { storage }) => storage.setAlarm(Date.now()))
    receive('second')
    await api.waitForText('Two.')
    await until(() => api.updates.length === 0)
    expect(confirmed?.body).toMatchObject({ offset: 502 })
    expect(scripted.requests).toHaveLength(2)
    expect(api.sentTexts).toEqual(['One.', 'Two.'])
  })

  it('asks again for a message that could not be accepted', async () => {
    const { api, receive, channel, tenantId } = await createBot([says('One.')])
    const session = objectOf(await getSessionId({ channel }), tenantId)
    await refuseEvents(session)
    receive('first')
    await until(() => api.callsOf('getUpdates').length > 2)
    expect(api.updates).toHaveLength(1)
    await acceptEventsAgain(session)
    await api.waitForText('One.')
    await until(() => api.updates.length === 0)
  })

  itInTurn('waits between questions that are answered at once, and with nothing', async () => {
    const { api } = await createBot([])
    await until(() => api.callsOf('getUpdates').length > 0)
    api.answersAtOnce = true
    const asked = api.callsOf('getUpdates').length
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    const more = api.callsOf('getUpdates').length - asked
    expect(more).toBeGreaterThan(0)
    expect(more).toBeLessThanOrEqual(4)
  })

  itInTurn('takes a webhook back that somebody has set', async () => {
    const { api, receive } = await createBot([says('One.')])
    api.webhook = { url: 'https://other.example.com/' }
    receive('first')
    await api.waitForText('One.')
    expect(api.registrations.map(({ method }) => method)).toEqual(['deleteWebhook', 'deleteWebhook'])
  })

  it('stops with the reason at a token that Telegram refuses, and starts with a new one', async () => {
    const { api, receive, object, key, path } = await createBot([says('One.')])
    api.overrideNext('getUpdates', { status: 401, description: 'Unauthorized' })
    await until(async () => (await object().getStatus()).status === 'stopped')
    expect((await object().getStatus()).detail).toContain('401')
    const after = await call<{ detail: string }>('POST', `${path}/test`, { key })
    expect(after.body.detail).toMatch(/started again after ".*401/)
    receive('first')
    const changed = await call('PATCH', path, { key, body: { secrets: { bot_token: api.token } } })
    expect(changed.status).toBe(200)
    await api.waitForText('One.')
    const tested = await call<{ ok: boolean; detail: string }>('POST', `${path}/test`, { key })
    expect(tested.body).toMatchObject({ ok: true, detail: expect.stringContaining('asked for: connected') })
  })

  itInTurn('hears /pause off while it is paused, and nothing else', async () => {
    const { api, receive, key, path } = await createBot([says('One.')])
    await call('PATCH', path, { key, body: { settings: { admins: ['11'] } } })
    await call('POST', `${path}/pause`, { key })
    receive('nobody hears this')
    await until(() => api.updates.length === 0)
    receive('/pause off')
    await api.waitForText('answers again')
    receive('again')
    await api.waitForText('One.')
    expect(api.sentTexts).toHaveLength(2)
  })

  it('is called instead when its setting changes, and asked no more', async () => {
    const { api, key, path, object } = await createBot([])
    await until(() => api.callsOf('getUpdates').length > 0)
    const changed = await call<ChannelAnswer>('PATCH', path, { key, body: { settings: { delivery: 'webhook' } } })
    expect(changed.body).toMatchObject({ settings: { delivery: 'webhook' }, registration: { ok: true } })
    expect(api.webhook.url).toContain('/webhooks/telegram/ch_')
    expect((await object().getStatus()).status).toBe('stopped')
    const asked = api.callsOf('getUpdates').length
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(api.callsOf('getUpdates').length).toBeLessThanOrEqual(asked + 1)
  })

  it('is asked no more when it was deleted', async () => {
    const { api, key, path, object } = await createBot([])
    await until(() => api.callsOf('getUpdates').length > 0)
    expect((await call('DELETE', path, { key })).status).toBe(204)
    expect((await object().getStatus()).status).toBe('stopped')
    const asked = api.callsOf('getUpdates').length
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(api.callsOf('getUpdates').length).toBeLessThanOrEqual(asked + 1)
  })
})

it.each([
  ['a platform without such a call', 'https://talaria.test', { platform: 'slack' }],
  ['a server with a public address', 'https://agent.example.com', { platform: 'telegram' }],
])('polling is refused for %s', async (_name, origin, { platform }) => {
  const secrets = platform === 'slack' ? { bot_token: 'xoxb-1', signing_secret: 'x' } : { bot_token: '1:a' }
  const body = JSON.stringify({ platform, secrets, settings: { delivery: 'polling' } })
  const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
  const answer = await SELF.fetch(`${origin}/api/channels`, { method: 'POST', headers, body })
  expect([answer.status, ((await answer.json()) as { error: { param: string } }).error.param]).toEqual([
    400,
    'settings.delivery',
  ])
})
