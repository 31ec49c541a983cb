/** Tests Slack's Socket Mode: a server without a public address keeps a socket, and loses and doubles no event. */

import { env, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { readFrame } from '#channels/slack/socket-mode.ts'
import { getSessionId } from '../../support/chat.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createSlackApi, slackError } from '../../support/slack-api.ts'
import { applyMigrations, call, newTenant } from '../../worker/client.ts'
import { acceptEventsAgain, objectOf, refuseEvents } from '../support/object.ts'

beforeAll(applyMigrations)

type Answer = { readonly id: string; readonly settings: { readonly delivery: string } }

async function createBot(replies: readonly Reply[], more: object = {}, slack = createSlackApi()) {
  const { id: tenantId, key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const { api, token, appToken } = slack
  const secrets = { bot_token: token, app_token: appToken }
  const settings = { allow_users: ['*'], allow_chats: ['*'], delivery: 'socket', ...more }
  const made = await call<Answer>('POST', '/api/channels', { key, body: { platform: 'slack', secrets, settings } })
  expect([made.status, made.body.settings.delivery]).toEqual([201, 'socket'])
  const channel = made.body.id
  const object = () => env.CONNECTION!.getByName(`t/${tenantId}/c/${channel}`)
  // Files share the isolate: nothing is received when the test is over.
  onTestFinished(() => object().stop())
  const link = async (n = 0) => {
    await until(() => api.links.length > n)
    return api.links[n]!
  }
  return { api, key, tenantId, scripted, channel, object, link, appToken, path: `/api/channels/${channel}` }
}

const message = (id: string, text: string) => {
  const event = { type: 'message', user: 'U1', channel: 'D1', channel_type: 'im', text, ts: `1.${id}` }
  const payload = { type: 'event_callback', team_id: 'T1', event, authorizations: [{ user_id: 'UBOT' }] }
  return { envelope_id: `e${id}`, type: 'events_api', accepts_response_payload: false, payload }
}
const command = (id: string, text: string, user = 'U1') => {
  const payload = { command: '/talaria', channel_id: 'D1', user_id: user, trigger_id: `t${id}`, text }
  return { envelope_id: `e${id}`, type: 'slash_commands', accepts_response_payload: true, payload }
}

describe('a channel with a socket', () => {
  it('answers what people write, and acknowledges it once it is stored', async () => {
    const { api, link, scripted } = await createBot([says('One.'), says('Two.')])
    const socket = await link()
    socket.send(message('1', 'first'))
    await until(() => api.texts.includes('One.'))
    socket.send(message('1', 'first'))
    socket.send(message('2', 'second'))
    await until(() => api.texts.includes('Two.'))
    await until(() => socket.received.length === 3)
    expect(socket.received.map(({ envelope_id: id }) => id)).toEqual(['e1', 'e1', 'e2'])
    expect(scripted.requests).toHaveLength(2)
  })

  it('takes commands and presses', async () => {
    const { api, link } = await createBot([])
    const socket = await link()
    socket.send(command('1', '/status'))
    await until(() => api.texts.some((text) => text.includes('Status')))
    const press = {
      type: 'block_actions',
      trigger_id: 't9',
      user: { id: 'U1' },
      channel: { id: 'D1' },
      message: { ts: '1.1' },
      actions: [{ value: 'unknown' }],
    }
    socket.send({ envelope_id: 'e2', type: 'interactive', accepts_response_payload: false, payload: press })
    await until(() => socket.received.length === 2)
    expect(socket.received[1]).toEqual({ envelope_id: 'e2' })
  })

  it('tells the person that their command is ignored', async () => {
    const { link } = await createBot([], { allow_users: ['U2'], allow_chats: [] })
    const socket = await link()
    socket.send({ ...command('1', 'hello', 'U1'), payload: { ...command('1', 'hello').payload, channel_id: 'C7' } })
    await until(() => socket.received.length === 1)
    expect(socket.received[0]).toMatchObject({ payload: { response_type: 'ephemeral' } })
  })

  itInTurn('opens the next socket before the old one closes', async () => {
    const { api, link } = await createBot([says('One.'), says('Two.')])
    const first = await link()
    first.send({ type: 'disconnect', reason: 'refresh_requested' })
    const second = await link(1)
    await until(() => first.isClosed)
    second.send(message('1', 'first'))
    await until(() => api.texts.includes('One.'))
    expect(api.links).toHaveLength(2)
  })

  itInTurn('opens one successor, however often it is asked to', async () => {
    const { api, link } = await createBot([says('One.')])
    const first = await link()
    for (let n = 0; n < 5; n++) first.send({ type: 'disconnect', reason: 'warning' })
    const second = await link(1)
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(api.links).toHaveLength(2)
    second.send(message('1', 'first'))
    await until(() => api.texts.includes('One.'))
  })

  itInTurn('does not spin when each socket is closed at once', async () => {
    const { api, link } = await createBot([])
    await link()
    const end = Date.now() + 3_000
    for (let n = 0; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 5)))
      if (api.links.length > n) api.links[n++]?.send({ type: 'disconnect', reason: 'refresh_requested' })
    expect(api.links.length).toBeGreaterThan(1)
    expect(api.links.length).toBeLessThanOrEqual(5)
  })

  it('opens another socket when one breaks, and after its object was killed', async () => {
    const { api, link, object } = await createBot([says('One.'), says('Two.')])
    ;(await link()).close()
    const second = await link(1)
    second.send(message('1', 'first'))
    await until(() => api.texts.includes('One.'))
    await runInDurableObject(object(), (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    await runInDurableObject(object(), (_object, { storage }) => storage.setAlarm(Date.now()))
    const third = await link(2)
    third.send(message('2', 'second'))
    await until(() => api.texts.includes('Two.'))
    expect(api.texts).toEqual(['One.', 'Two.'])
  })

  itInTurn('leaves an event without acknowledgement that cannot be stored', async () => {
    const { api, link, channel, tenantId } = await createBot([says('One.')])
    const session = objectOf(await getSessionId({ channel }, 'D1'), tenantId)
    await refuseEvents(session)
    const socket = await link()
    socket.send(message('1', 'first'))
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    expect(socket.received).toEqual([])
    await acceptEventsAgain(session)
    socket.send(message('1', 'first'))
    await until(() => api.texts.includes('One.'))
    await until(() => socket.received.length > 0)
    expect(socket.received).toEqual([{ envelope_id: 'e1' }])
  })

  it('stops with the reason at a token that Slack refuses, and starts with a new one', async () => {
    const slack = createSlackApi()
    slack.api.socketFailure = () => slackError('invalid_auth')
    const { object, key, path, link, appToken } = await createBot([], {}, slack)
    await until(async () => (await object().getStatus()).status === 'stopped')
    expect((await object().getStatus()).detail).toContain('invalid_auth')
    expect((await call('PATCH', path, { key, body: { secrets: { app_token: appToken } } })).status).toBe(200)
    await link()
    await until(async () => (await object().getStatus()).isOpen)
    const tested = await call<{ detail: string }>('POST', `${path}/test`, { key })
    expect(tested.body.detail).toContain('The socket: connected.')
  })

  it('closes when the channel is deleted, or gets a webhook', async () => {
    const { key, path, link } = await createBot([])
    const socket = await link()
    const missing = await call('PATCH', path, { key, body: { settings: { delivery: 'webhook' } } })
    expect(missing).toMatchObject({ status: 400, body: { error: { param: 'secrets.signing_secret' } } })
    const body = { settings: { delivery: 'webhook' }, secrets: { signing_secret: 's' } }
    expect((await call<Answer>('PATCH', path, { key, body })).body.settings.delivery).toBe('webhook')
    await until(() => socket.isClosed)
    expect((await call('DELETE', path, { key })).status).toBe(204)
  })
})

it.each([
  ['no JSON', '{', { kind: 'ignored' }],
  ['another shape', '[]', { kind: 'ignored' }],
  ['a greeting', '{"type":"hello"}', { kind: 'ready' }],
  ['a warning', '{"type":"disconnect","reason":"warning"}', { kind: 'closing' }],
  ['a switch', '{"type":"disconnect","reason":"link_disabled"}', { kind: 'ended', detail: expect.any(String) }],
  ['an unknown kind', '{"type":"new","envelope_id":"e1"}', { kind: 'events', events: [] }],
  ['an empty payload', '{"type":"slash_commands","envelope_id":"e1","payload":null}', { kind: 'events', events: [] }],
  ['an event without data', '{"type":"events_api","envelope_id":"e1"}', { kind: 'events', events: [] }],
])('the frame is read: %s', (_name, text, frame) => expect(readFrame(text, 0, {})).toMatchObject(frame))

it.each([
  ['the token of the app', { bot_token: 'xoxb-1' }, 'secrets.app_token'],
  ['the token of the bot', { app_token: 'xapp-1' }, 'secrets.bot_token'],
])('a socket needs %s', async (_name, secrets, param) => {
  const { key } = await newTenant()
  const body = { platform: 'slack', secrets, settings: { delivery: 'socket' } }
  const answer = await call<{ error: { param: string } }>('POST', '/api/channels', { key, body })
  expect([answer.status, answer.body.error.param]).toEqual([400, param])
})
