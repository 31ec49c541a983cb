import { describe, expect, it } from 'vitest'
import type { Channel, ChannelConnection, InboundRequest } from '#channels/channel.ts'
import { qq } from '#channels/qq/qq.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createQqApi, qqError, qqFile, qqGroup, qqHeaders, qqPerson, qqSecret } from '../../support/qq-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => qqError(429, 22_009, 'msg limit exceed', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => qqError(400, 40_054_004, 'no friend'),
  'too-long': () => qqError(400, 40_054_007, 'too long'),
  format: () => qqError(400, 1, 'x'),
  window: () => qqError(400, 40_034_128, 'x'),
}

const webhookUrl = 'https://talaria.test/webhooks/qq/ch_1'

function createConnection() {
  const { api, secrets } = createQqApi()
  const connection: ChannelConnection = { apiBase: 'https://qq.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

/** The signature in the documentation of QQ. */
const documented =
  '87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d01bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706'
const replyHandle = { token: 'm1', expiresAt: 1_900_000_000_000, maxUses: 5 }
/** A bot can only answer. */
const answering: Channel = {
  ...qq,
  send: (connection, message, key) => qq.send(connection, { replyHandle, ...message }, key),
}

const bodyOf = (d: object, t = 'C2C_MESSAGE_CREATE') =>
  JSON.stringify({ id: 'event', op: 0, t, d: { id: 'm1', author: { user_openid: qqPerson }, content: ' hi', ...d } })
const ofGroup = { author: { member_openid: qqPerson }, group_openid: qqGroup }

function requestOf(body: string, headers: Record<string, string>, receivedAt = 1_800_000_000_000): InboundRequest {
  const url = new URL(webhookUrl)
  return { method: 'POST', url, headers: new Headers(headers), body: new TextEncoder().encode(body), receivedAt }
}

testChannel(() => {
  const { api, connection } = createConnection()
  const app = connection.secrets['app_id'] ?? ''
  const check = JSON.stringify({ d: { plain_token: 'Arq0D5A61EgUu4OxUvOp', event_ts: '1725442341' }, op: 13 })
  return {
    channel: answering,
    connection,
    other: { ...connection, secrets: { app_id: '999', app_secret: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: true },
    chats: { direct: { chat: qqPerson }, group: { chat: `group.${qqGroup}` } },
    person: { id: qqPerson, name: qqPerson },
    unknownFailures: ['format'],
    media: {
      known: { kind: 'image', reference: 'https://qq.test/files/1' },
      bytes: qqFile,
      unknown: { kind: 'image', reference: 'https://qq.test/files/2' },
    },
    targets: { known: { chat: qqPerson }, unknown: { chat: 'a b' } },
    samples: [
      {
        name: 'a mention in a group, which can be answered for some minutes',
        body: bodyOf(ofGroup, 'GROUP_AT_MESSAGE_CREATE'),
        event: {
          text: 'hi',
          address: { chat: `group.${qqGroup}` },
          isGroup: true,
          mentions: [app],
          replyHandle: { token: 'm1', expiresAt: 1_800_000_270_000, maxUses: 5 },
        },
      },
      {
        name: 'a picture, whose address may lack its scheme',
        body: bodyOf({
          content: '',
          attachments: [{ content_type: 'image/png', filename: 'a.png', url: 'qq.test/files/1' }],
        }),
        event: {
          text: '',
          media: [{ kind: 'image', reference: 'https://qq.test/files/1', name: 'a.png', mime: 'image/png' }],
        },
      },
      {
        name: 'a voice message',
        body: bodyOf({ content: '', attachments: [{ content_type: 'voice', url: 'https://qq.test/files/1' }] }),
        event: { media: [{ kind: 'voice', reference: 'https://qq.test/files/1' }] },
      },
      {
        name: 'a message of another bot',
        body: bodyOf({ author: { user_openid: qqPerson, bot: true, username: 'Bo' } }),
        event: { sender: { id: qqPerson, name: 'Bo', isBot: true } },
      },
      {
        name: 'a message that cannot be read',
        body: bodyOf({ content: '' }),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [{ name: 'a new friend', body: bodyOf({}, 'FRIEND_ADD') }],
    encodeMessages: ([message]) =>
      bodyOf(
        { id: message?.id, content: message?.text, ...(message?.isGroup && ofGroup) },
        message?.isGroup ? 'GROUP_AT_MESSAGE_CREATE' : undefined,
      ),
    sign: (body, { secrets }, at) => qqHeaders(body, secrets, at),
    handshakes: [
      {
        name: 'the check of the address',
        request: requestOf(check, { 'x-bot-appid': app }),
        answer: JSON.stringify({ plain_token: 'Arq0D5A61EgUu4OxUvOp', signature: documented }),
      },
    ],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

describe('qq: the key that also signs events', () => {
  const secrets = { app_id: '11111111', app_secret: qqSecret }
  const connection = { apiBase: 'https://qq.test', secrets, webhookUrl, fetchForeign }
  const check = (plain_token: unknown, event_ts: unknown) =>
    qq.receive(
      requestOf(JSON.stringify({ op: 13, d: { plain_token, event_ts } }), { 'x-bot-appid': '11111111' }),
      connection,
    )

  it('answers the check of the address as the documentation of QQ shows it', async () => {
    const { response } = await check('Arq0D5A61EgUu4OxUvOp', '1725442341')
    expect(await response?.json()).toMatchObject({
      signature: documented,
    })
  })

  it.each([
    ['an event as token', bodyOf({}), '1800000000'],
    ['an event behind the time', 'x', `1800000000${bodyOf({})}`],
    ['an event in both', '"op":0}', '1800000000{'],
    ['nothing', undefined, undefined],
  ])('signs nothing that could be an event: %s', async (_name, token, time) => {
    const { response } = await check(token, time)
    expect([response?.status, await response?.text()]).toEqual([401, ''])
  })
})

it('answers one message several times, each answer once, and none without a message', async () => {
  const { api, connection } = createConnection()
  const address = { chat: `group.${qqGroup}` }
  const answer = (text: string, key: string, more: object = { replyHandle }) =>
    qq.send(connection, { address, chunk: { text, spans: [] }, ...more }, key)
  expect((await answer('one', 'k1')).kind).toBe('sent')
  expect((await answer('one', 'k1')).kind).toBe('sent')
  expect((await answer('two', 'k2')).kind).toBe('sent')
  expect((await answer('three', 'k3', {})).kind).toBe('window')
  expect([api.texts, api.calls.at(-1)?.path]).toEqual([['one', 'two'], `/v2/groups/${qqGroup}/messages`])
})
