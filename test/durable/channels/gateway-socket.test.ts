import { env, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { afterClose, newGatewayState, readFrame, socketAddress } from '#channels/discord/gateway-protocol.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { createDiscordApi, type DiscordApi, discordError, type GatewayLink } from '../../support/discord-api.ts'
import { model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

async function createBot(replies: readonly Reply[], api = createDiscordApi()) {
  const { id: tenantId, key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const { body, status } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'discord',
      secrets: { bot_token: api.token, public_key: 'ab'.repeat(32), application_id: '999' },
      settings: { allow_users: ['*'], allow_chats: ['*'] },
    },
  })
  expect(status).toBe(201)
  const findObject = () => env.CONNECTION!.getByName(`t/${tenantId}/c/${body.id}`)
  /** The object that keeps its socket. */
  const findKeeper = () => env.CONNECTION!.getByName(`t/${tenantId}/b/0`)
  return { api, scripted, key, tenantId, channel: body.id, object: findObject(), findKeeper }
}

const linkOf = async (api: DiscordApi, n = 0): Promise<GatewayLink> => {
  await until(() => api.links.length > n)
  return api.links[n]!
}

const ready = { session_id: 's1', resume_gateway_url: 'wss://resume.discord.test', user: { id: '999' } }
const messageOf = (id: string, content: string, more: object = {}) => ({
  id,
  channel_id: '11',
  author: { id: '5', username: 'bob' },
  content,
  ...more,
})

describe('the gateway of Discord', () => {
  it('identifies with the intents for messages, and answers what people write', async () => {
    const { api, scripted } = await createBot([says('Hello Bob.'), says('In the thread.')])
    const link = await linkOf(api)
    const { op, d } = link.received[0] as { op: number; d: Record<string, unknown> }
    expect([op, d['token'], d['intents']]).toEqual([2, api.token, 37_376])
    expect(link.address.search).toBe('?v=10&encoding=json')
    link.send({ op: 0, s: 1, t: 'READY', d: ready })
    link.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: messageOf('m1', 'hi') })
    // The bot's own message, and one that does not mention it.
    link.send({
      op: 0,
      s: 3,
      t: 'MESSAGE_CREATE',
      d: { ...messageOf('m2', 'x'), author: { id: '999', username: 't' } },
    })
    await until(() => api.texts.includes('Hello Bob.'))
    link.send({
      op: 0,
      s: 4,
      t: 'MESSAGE_CREATE',
      d: messageOf('m3', '<@999> and here', {
        channel_id: '77',
        guild_id: '66',
        mentions: [{ id: '999', username: 't' }],
      }),
    })
    await until(() => api.texts.includes('In the thread.'))
    expect(scripted.requests).toHaveLength(2)
    expect(api.callsTo('/channels/77/messages')).toHaveLength(1)
  })

  it('asks again for a message whose channel cannot be read at the moment', async () => {
    const { api, scripted, object } = await createBot([says('In the thread.')])
    const link = await linkOf(api)
    link.send({ op: 0, s: 1, t: 'READY', d: ready })
    api.channelFailures.push(() => discordError(429, 0, 'You are being rate limited.', { retry_after: 0.1 }))
    const mentions = [{ id: '999', username: 't' }]
    const inThread = messageOf('m1', '<@999> hi', { channel_id: '77', guild_id: '66', mentions })
    const dispatch = { op: 0, s: 2, t: 'MESSAGE_CREATE', d: inThread }
    link.send(dispatch)
    await until(() => link.closedWith !== undefined)
    expect(scripted.requests).toHaveLength(0)
    await until(async () => {
      await object.getStatus()
      return api.links.length > 1
    })
    const next = await linkOf(api, 1)
    await until(() => next.received.some(({ op }) => op === 6))
    expect(next.received.find(({ op }) => op === 6)?.d).toMatchObject({ seq: 1 })
    next.send(dispatch)
    await until(() => api.texts.includes('In the thread.'))
    expect(api.callsTo('/channels/77/messages')).toHaveLength(1)
  })

  it('takes a mention of a role of the bot as one of the bot, and no other role', async () => {
    const { api, scripted } = await createBot([says('Here.')])
    const link = await linkOf(api)
    link.send({ op: 0, s: 1, t: 'READY', d: ready })
    const inServer = (id: string, role: string) =>
      messageOf(id, `<@&${role}> hi`, { channel_id: '12', guild_id: '66', mention_roles: [role] })
    link.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: inServer('m1', '4000') })
    link.send({ op: 0, s: 3, t: 'MESSAGE_CREATE', d: inServer('m2', '3000') })
    await until(() => api.texts.includes('Here.'))
    expect(scripted.requests).toHaveLength(1)
    expect(String(scripted.requests[0]?.messages.at(-1)?.content)).toMatch(/<@&4000> hi\n\nhi$/)
    expect(api.callsTo('guilds/66/members/999')).toHaveLength(1)
  })

  it('resumes behind the last accepted message, and counts none twice', async () => {
    const { api, scripted } = await createBot([says('one'), says('two')])
    const first = await linkOf(api)
    first.send({ op: 0, s: 1, t: 'READY', d: ready })
    first.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: messageOf('m1', 'a') })
    await until(() => api.texts.includes('one'))
    first.close(4_000)
    const second = await linkOf(api, 1)
    expect(second.received[0]).toEqual({ op: 6, d: { token: api.token, session_id: 's1', seq: 2 } })
    // Discord replays more than was lost.
    second.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: messageOf('m1', 'a') })
    second.send({ op: 0, s: 3, t: 'MESSAGE_CREATE', d: messageOf('m4', 'b') })
    second.send({ op: 0, s: 4, t: 'RESUMED', d: {} })
    await until(() => api.texts.includes('two'))
    expect([scripted.requests.length, api.texts]).toEqual([2, ['one', 'two']])
  })

  it('resumes after the object was evicted', async () => {
    const { api, object, findKeeper } = await createBot([])
    const first = await linkOf(api)
    first.send({ op: 0, s: 7, t: 'READY', d: ready })
    await until(async () => (await object.getStatus()).detail === 'connected')
    await runInDurableObject(findKeeper(), (_instance, state) => state.abort('evicted by a test')).catch(
      () => undefined,
    )
    await runInDurableObject(findKeeper(), (instance) => instance.alarm())
    const second = await linkOf(api, 1)
    expect(second.received[0]).toMatchObject({ op: 6, d: { seq: 7 } })
  })

  itInTurn('begins a new session when Discord has forgotten the old one, and at once when Discord asks', async () => {
    const { api } = await createBot([])
    const first = await linkOf(api)
    first.send({ op: 0, s: 1, t: 'READY', d: ready })
    first.send({ op: 7, d: null })
    const second = await linkOf(api, 1)
    expect(second.received[0]).toMatchObject({ op: 6 })
    expect(first.closedWith).toBe(4_000)
    second.close(4_009)
    const third = await linkOf(api, 2)
    expect(third.received[0]).toMatchObject({ op: 2 })
  })

  it('gives up a token that Discord does not accept, until the channel gets another one', async () => {
    const { api, object, key, channel } = await createBot([])
    const link = await linkOf(api)
    link.close(4_004)
    await until(async () => (await object.getStatus()).status === 'stopped')
    expect((await object.getStatus()).detail).toContain('token')
    const other = createDiscordApi()
    await call('PATCH', `/api/channels/${channel}`, { key, body: { secrets: { bot_token: other.token } } })
    await linkOf(other)
  })

  itInTurn('tries again when the API is busy', async () => {
    const api = createDiscordApi()
    api.gatewayFailure = () => discordError(503, 0, 'busy')
    const { findKeeper } = await createBot([], api)
    await until(() => api.callsTo('gateway/bot').length > 0)
    api.gatewayFailure = undefined
    // The failure may not be stored yet when the first alarm fires.
    await until(async () => {
      await runInDurableObject(findKeeper(), (instance) => instance.alarm())
      return api.links.length > 0
    })
    expect((await linkOf(api)).received[0]).toMatchObject({ op: 2 })
  })

  it('closes the socket of a channel that is paused or removed', async () => {
    const { api, object, key, channel } = await createBot([])
    const first = await linkOf(api)
    await call('POST', `/api/channels/${channel}/pause`, { key })
    await until(() => first.closedWith !== undefined)
    await call('POST', `/api/channels/${channel}/resume`, { key })
    const second = await linkOf(api, 1)
    await call('DELETE', `/api/channels/${channel}`, { key })
    await until(() => second.closedWith !== undefined)
    expect(await object.getStatus()).toMatchObject({ status: 'stopped', isOpen: false })
  })
})

describe('work of the gateway that waits while its object is stopped or started', () => {
  const inServer = messageOf('m1', '<@999> hi', {
    channel_id: '77',
    guild_id: '66',
    mentions: [{ id: '999', username: 't' }],
  })

  it('does not undo a stop while a message is accepted', async () => {
    const { api, object, scripted } = await createBot([says('Hello.')])
    const link = await linkOf(api)
    link.send({ op: 0, s: 1, t: 'READY', d: ready })
    api.heldPath = 'channels/77'
    link.send({ op: 0, s: 2, t: 'MESSAGE_CREATE', d: inServer })
    await until(() => api.callsTo('/channels/77').length)
    await object.stop()
    api.heldPath = undefined
    await until(() => scripted.requests.length)
    expect(await object.getStatus()).toMatchObject({ status: 'stopped', isOpen: false })
  })

  it('does not stop a socket that was started again with another token', async () => {
    const api = createDiscordApi()
    api.heldPath = 'gateway/bot'
    const refusal = () => {
      api.gatewayFailure = undefined
      return discordError(401, 0, '401: Unauthorized')
    }
    api.gatewayFailure = refusal
    const { object, channel, tenantId } = await createBot([], api)
    await until(() => api.callsTo('gateway/bot').length)
    await object.start({ id: channel, tenantId })
    api.heldPath = undefined
    await linkOf(api)
    expect(await object.getStatus()).toMatchObject({ status: 'running', isOpen: true })
    expect(api.links).toHaveLength(1)
  })

  it('opens no socket after a stop', async () => {
    const api = createDiscordApi()
    api.heldPath = 'gateway/bot'
    const { object } = await createBot([], api)
    await until(() => api.callsTo('gateway/bot').length)
    await object.stop()
    api.heldPath = undefined
    await runInDurableObject(object, () => scheduler.wait(50))
    expect([await object.getStatus(), api.links]).toEqual([expect.objectContaining({ isOpen: false }), []])
  })

  itInTurn('gives up an upgrade that is not answered, and tries again', async () => {
    const api = createDiscordApi()
    api.gatewayFailure = () => {
      api.gatewayFailure = undefined
      return Response.json({ url: 'wss://silent.discord.test' })
    }
    const schedule = (ms: number, work: () => void) => {
      const timer = setTimeout(work, ms === 10_000 ? 1 : ms)
      return () => clearTimeout(timer)
    }
    replaceClock({ now: () => Date.now(), wait: (ms, options) => scheduler.wait(ms, options), schedule })
    onTestFinished(() => replaceClock())
    await createBot([], api)
    await linkOf(api)
    expect(api.callsTo('gateway/bot')).toHaveLength(2)
  })
})

describe('the protocol of the gateway', () => {
  it.each([
    ['no JSON', '{'],
    ['another shape', '[]'],
    ['an unknown operation', '{"op":99}'],
    ['a hello without an interval', '{"op":10,"d":{}}'],
  ])('ignores %s', (_name, text) => expect(readFrame(text, newGatewayState)).toEqual({ kind: 'ignore' }))

  it.each([
    ['an acknowledgement', '{"op":11}', 'heartbeat-acknowledged'],
    ['an acknowledgement with empty data', '{"op":11,"d":null}', 'heartbeat-acknowledged'],
    ['a request for a heartbeat', '{"op":1}', 'heartbeat-requested'],
    ['a request to reconnect', '{"op":7}', 'reconnect'],
    ['a lost session', '{"op":9}', 'reconnect'],
  ])('reads %s without data', (_name, text, kind) => expect(readFrame(text, newGatewayState).kind).toBe(kind))

  it('keeps a session that can be resumed', () => {
    const state = { seq: 3, session: { id: 's', resumeUrl: 'wss://x' }, userId: '1' }
    expect(readFrame('{"op":9,"d":true}', state)).toMatchObject({ state })
    expect(readFrame('{"op":9,"d":false}', state)).toMatchObject({ state: { seq: null, userId: '1' } })
    expect(afterClose(1_006, state)).toEqual({ kind: 'reconnect', state })
    expect(afterClose(4_014, state)).toEqual({ kind: 'stop', detail: expect.stringContaining('intent') })
  })

  it.each([
    ['wss://gateway.discord.gg', true, 'https://gateway.discord.gg/?v=10&encoding=json'],
    ['wss://gateway-us-east1-b.discord.gg/?v=9', true, 'https://gateway-us-east1-b.discord.gg/?v=10&encoding=json'],
    ['wss://discord.gg.evil.test', true, undefined],
    ['ws://gateway.discord.gg', true, undefined],
    ['ws://127.0.0.1:9/gw', false, 'http://127.0.0.1:9/gw?v=10&encoding=json'],
    ['https://gateway.discord.gg', false, undefined],
    ['nothing', false, undefined],
  ])('gives the token to Discord only: %s', (url, isOfficial, expected) =>
    expect(socketAddress(url, isOfficial)).toBe(expected),
  )
})
