/** Tests failures between platforms and sessions that no other file covers (docs/design/acceptance.md lists all). */

import nacl from 'tweetnacl'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { createChat, getSessionId, receiveMessage, settleDeliveries } from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { createDiscordApi } from '../../support/discord-api.ts'
import { fails, Gate, hangs, listTexts, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createSlackApi, slackError } from '../../support/slack-api.ts'
import { applyMigrations, call, newTenant, request } from '../client.ts'
import { toHex } from '#durable/platform/hash.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const bytesOf = (text: string) => new TextEncoder().encode(text)

async function createChannel(platform: string, secrets: object, replies: readonly Reply[], settings: object = {}) {
  const { key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const { body } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: { platform, secrets, settings: { allow_users: ['*'], allow_chats: ['*'], ...settings } },
  })
  const post = (text: string, headers: Record<string, string>) =>
    request('POST', `/webhooks/${platform}/${body.id}`, { key: null, body: bytesOf(text), headers })
  return { scripted, post, key, id: body.id }
}

async function createSlackChat(replies: readonly Reply[]) {
  const { api, token } = createSlackApi()
  const chat = await createChannel('slack', { bot_token: token, signing_secret: 's' }, replies)
  const send = async (ts: string, headers: Record<string, string> = {}) => {
    const event = { type: 'message', user: 'U1', text: 'hi', ts, channel: 'D1', channel_type: 'im' }
    const authorizations = [{ user_id: 'UBOT' }]
    const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event, authorizations })
    const time = String(Math.floor(Date.now() / 1_000))
    const signature = toHex(await computeHmac('SHA-256', 's', concatBytes(`v0:${time}:`, bytesOf(body))))
    const signed = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }
    return chat.post(body, { ...signed, ...headers })
  }
  return { ...chat, api, send }
}

describe('Slack', () => {
  it('is answered for an event that comes as a repetition first, and not again for the next ones', async () => {
    const { api, scripted, send } = await createSlackChat([says('Hello.'), says('Next.')])
    const repeated = (n: number) => ({ 'x-slack-retry-num': String(n), 'x-slack-retry-reason': 'http_error' })
    expect((await send('1.1', repeated(1))).status).toBe(200)
    await until(() => api.texts.length === 1)
    expect((await send('1.1', repeated(2))).status).toBe(200)
    expect((await send('1.1')).status).toBe(200)
    expect((await send('1.2')).status).toBe(200)
    await until(() => api.texts.length === 2)
    expect([api.texts, scripted.requests.length]).toEqual([['Hello.', 'Next.'], 2])
  })

  it('gets smaller parts of a text that it refuses with status 200', async () => {
    const text = Array.from({ length: 200 }, (_, n) => `word${n}`).join(' ')
    const { api, send } = await createSlackChat([says(text)])
    api.overrideNext(() => slackError('msg_too_long'))
    await send('1.1')
    await until(() => api.texts.join().includes('word199'))
    expect(api.texts.join(' ').split(/\s+/)).toEqual(text.split(' '))
    expect(api.texts.length).toBeGreaterThan(1)
    expect(api.callsTo('chat.postMessage')).toHaveLength(api.texts.length + 1)
  })
})

describe('typing', () => {
  it.each<[string, Reply, string]>([
    ['a silent answer', says('NO_REPLY'), 'decided not to answer'],
    ['an error', fails(400, 'this is no model'), 'this is no model'],
  ])('ends with %s', async (_what, reply, shown) => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const chat = await createChat([reply])
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText(shown)
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.callsOf('sendChatAction').length).toBeGreaterThan(0)
    // No timer is left that could show it again: the next one would be due after 80 % of five seconds.
    expect(clock.pending()).not.toContain(4_000)
  })
})

describe('a file that the platform cannot give', () => {
  it('leaves the text, after three attempts', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const chat = await createChat([says('Without it.')])
    const broken = { status: 500, description: 'Internal Server Error' }
    chat.api.overrideNext('getFile', broken, broken, broken)
    const sent = receiveMessage(chat, '', { text: undefined, caption: 'sum this up', document: { file_id: 'f' } })
    for (const pauseMs of [1_000, 4_000]) {
      await until(() => clock.pending().includes(pauseMs))
      clock.pass(pauseMs)
    }
    await sent
    await chat.api.waitForText('Without it.')
    expect(chat.api.callsOf('getFile')).toHaveLength(3)
    expect(JSON.stringify(chat.scripted.requests[0]?.messages)).toContain('sum this up')
    expect(chat.api.messageTexts.some((text) => text.includes('I could not read the document'))).toBe(true)
  })
})

describe('the result of a job', () => {
  it('arrives once while the chat has an active turn, which goes on', async () => {
    const gate = new Gate()
    const { key } = await newTenant()
    const chat = await createChat(
      (asked) => (listTexts(asked).at(-1)?.includes('report now') ? says('The report.') : hangs(gate)),
      {},
      key,
    )
    await receiveMessage(chat, 'long work')
    await gate.waitUntilReached()
    const job = { name: 'r', prompt: 'report now', schedule: 'every 9h', deliver: 'telegram:11' }
    const { body } = await call<{ id: string }>('POST', '/api/jobs', { key, body: job })
    await call('POST', `/api/jobs/${body.id}/run`, { key, body: {} })
    await until(() => chat.scripted.requests.length === 2)
    gate.open()
    await chat.api.waitForText('released')
    await chat.api.waitForText('The report.')
    const times = (text: string) => chat.api.sentTexts.filter((one) => one.includes(text)).length
    expect([times('released'), times('The report.'), chat.scripted.requests.length]).toEqual([1, 1, 2])
  })
})

describe('Discord', () => {
  it.each([
    [0, 204, ''],
    [1, 200, '{"type":1}'],
  ])('gets its ping of type %i answered, and none that is not signed', async (type, status, expected) => {
    const api = createDiscordApi()
    const pair = nacl.sign.keyPair()
    const secrets = { bot_token: api.token, public_key: toHex(pair.publicKey), application_id: '999' }
    const { post } = await createChannel('discord', secrets, [])
    const body = JSON.stringify({ type })
    const signature = toHex(nacl.sign.detached(concatBytes('1', bytesOf(body)), pair.secretKey))
    const answer = await post(body, { 'x-signature-timestamp': '1', 'x-signature-ed25519': signature })
    expect([answer.status, await answer.text()]).toEqual([status, expected])
    expect((await post(body, { 'x-signature-timestamp': '2', 'x-signature-ed25519': signature })).status).toBe(401)
  })

  it('gets a message in the channel when the token of the command has expired', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const gate = new Gate()
    const api = createDiscordApi()
    const pair = nacl.sign.keyPair()
    const secrets = { bot_token: api.token, public_key: toHex(pair.publicKey), application_id: '999' }
    const { post } = await createChannel('discord', secrets, [says('Late.', gate)], { working_note_minutes: 0 })
    const token = `itok-${api.token}`
    api.originals.set(token, { id: '501', content: '', flags: 128 })
    const data = { name: 'talaria', options: [{ name: 'text', type: 3, value: 'hi' }] }
    const body = JSON.stringify({ type: 2, id: '77', token, channel_id: '11', user: { id: '5', username: 'b' }, data })
    const signature = toHex(nacl.sign.detached(concatBytes('1', bytesOf(body)), pair.secretKey))
    await post(body, { 'x-signature-timestamp': '1', 'x-signature-ed25519': signature })
    await gate.waitUntilReached()
    clock.pass(15 * 60_000)
    gate.open()
    await until(() => api.texts.length > 0)
    expect(api.texts).toEqual(['Late.'])
    expect(api.originals.get(token)?.content).toBe('')
    expect(api.callsTo('channels/11/messages')).toHaveLength(1)
  })
})
