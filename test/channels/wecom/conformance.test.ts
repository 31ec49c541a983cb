import { describe, expect, it } from 'vitest'
import type { Channel, ChannelConnection } from '#channels/channel.ts'
import { wecom } from '#channels/wecom/wecom.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createWecomApi, sealWecom, signWecom, wecomError, wecomFile, wecomGroup } from '../../support/wecom-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const at = 1_800_000_000_000
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => wecomError(45_009, 'api freq out of limit', { headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => wecomError(1, 'x'),
  'too-long': () => wecomError(40_058, 'content size exceed limit'),
  format: () => wecomError(1, 'x'),
  window: () => wecomError(40_001, 'invalid credential: response_code'),
}

function createConnection() {
  const { api, secrets, code, file } = createWecomApi()
  const webhookUrl = 'https://talaria.test/webhooks/wecom/ch_1'
  const connection: ChannelConnection = { apiBase: 'https://wecom.test', secrets, webhookUrl, fetchForeign }
  const replyHandle = { token: code, expiresAt: at + 1_000_000, maxUses: 1 }
  return { api, connection, code, file, replyHandle }
}

const bodyOf = (more: object = {}) =>
  JSON.stringify({
    msgid: 'm1',
    aibotid: 'AIB1',
    chattype: 'single',
    from: { userid: 'anna' },
    response_url: 'https://evil.test/cgi-bin/aibot/response?response_code=bot-code',
    msgtype: 'text',
    text: { content: 'hi' },
    ...more,
  })
const ofGroup = { chattype: 'group', chatid: wecomGroup }
/** A key that no longer is one cannot encrypt. */
const isKey = (key: string) => /^[A-Za-z0-9]{43}$/.test(key)

async function requestOf(body: string | Uint8Array, by: ChannelConnection, receiver?: string) {
  const { token = '', encoding_aes_key: key = '' } = by.secrets
  const encrypt = isKey(key) ? await sealWecom(body, key, receiver) : 'AAAA'
  const url = await signWecom(new URL(by.webhookUrl), encrypt, { token, at })
  const sent = new TextEncoder().encode(JSON.stringify({ encrypt }))
  return { method: 'POST', url, headers: new Headers(), body: sent, receivedAt: at }
}

const echo = await sealWecom('1616140317555161061', createConnection().connection.secrets['encoding_aes_key'] ?? '')
const unused = [createConnection()]
const { token: firstToken = '' } = unused[0]?.connection.secrets ?? {}
const check = await signWecom(new URL('https://talaria.test/webhooks/wecom/ch_1'), echo, { token: firstToken, at })
check.searchParams.set('echostr', echo)

testChannel(() => {
  // The first one answers the check of the address.
  const { api, connection, file, replyHandle } = unused.pop() ?? createConnection()
  const other = createConnection().connection
  const channel: Channel = {
    ...wecom,
    send: (by, message, id) => wecom.send(by, { replyHandle, ...message }, id),
  }
  return {
    channel,
    connection,
    other: { ...other, webhookUrl: connection.webhookUrl },
    maxEventsPerRequest: 1,
    signs: { body: false, time: true },
    chats: { direct: { chat: 'anna' }, group: { chat: wecomGroup } },
    person: { id: 'anna', name: 'anna' },
    cannotTestSecrets: true,
    sendsWithoutSecrets: true,
    unknownFailures: ['format', 'forbidden'],
    media: {
      known: { kind: 'document', reference: file },
      bytes: wecomFile,
      unknown: { kind: 'document', reference: 'https://wecom.test/files/none' },
    },
    targets: { known: { chat: 'anna' }, unknown: { chat: 'a b' } },
    samples: [
      {
        name: 'a mention in a group, which can be answered once',
        body: bodyOf({ ...ofGroup, text: { content: '@Talaria what is new?' } }),
        event: {
          text: 'what is new?',
          address: { chat: wecomGroup },
          isGroup: true,
          mentions: ['bot'],
          replyHandle: { token: 'bot-code', expiresAt: at + 59 * 60_000, maxUses: 1 },
        },
      },
      {
        name: 'words and a picture',
        body: bodyOf({
          msgtype: 'mixed',
          mixed: {
            msg_item: [
              { msgtype: 'text', text: { content: 'look' } },
              { msgtype: 'image', image: { url: 'https://wecom.test/files/1' } },
            ],
          },
        }),
        event: { text: 'look', media: [{ kind: 'image', reference: 'https://wecom.test/files/1' }] },
      },
      {
        name: 'what was said',
        body: bodyOf({ msgtype: 'voice', voice: { content: 'said' } }),
        event: { text: 'said', media: [] },
      },
      {
        name: 'a file',
        body: bodyOf({ msgtype: 'file', file: { url: 'https://wecom.test/files/1', filename: 'a.txt' } }),
        event: { media: [{ kind: 'document', reference: 'https://wecom.test/files/1', name: 'a.txt' }] },
      },
      {
        name: 'a file without an address',
        body: bodyOf({ msgtype: 'file', file: {} }),
        event: { text: '[file]' },
      },
      {
        name: 'a reply',
        body: bodyOf({ quote: { msgtype: 'text', text: { content: 'old' } } }),
        event: { text: 'hi', quote: { messageId: 'quoted', text: 'old', media: [] } },
      },
      {
        name: 'an unknown kind',
        body: bodyOf({ msgtype: 'new' }),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [
      { name: 'somebody who opens the chat', body: bodyOf({ msgtype: 'event', event: { eventtype: 'enter_chat' } }) },
      { name: 'a question for the rest of an answer', body: bodyOf({ msgtype: 'stream', stream: { id: 's' } }) },
    ],
    encodeMessages: ([message]) =>
      bodyOf({ msgid: message?.id, text: { content: message?.text }, ...(message?.isGroup && ofGroup) }),
    prove: (request, by) => requestOf(request.body, by),
    handshakes: [
      {
        name: 'the check of the address',
        request: { method: 'GET', url: check, headers: new Headers(), body: new Uint8Array(), receivedAt: at },
        answer: '1616140317555161061',
      },
    ],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

describe('wecom: encryption', () => {
  it('reads messages of every length, which are padded to 32 bytes', async () => {
    const { connection } = createConnection()
    for (let length = 1; length <= 40; length++) {
      const content = 'ä'.repeat(length)
      const { events } = await wecom.receive(await requestOf(bodyOf({ text: { content } }), connection), connection)
      expect(events).toEqual([expect.objectContaining({ text: content })])
    }
  })

  it('refuses a message for another receiver, and one that is changed', async () => {
    const { connection } = createConnection()
    const { response } = await wecom.receive(await requestOf(bodyOf(), connection, 'ww-another-corp'), connection)
    const request = await requestOf(bodyOf(), connection)
    const body = new TextEncoder().encode(new TextDecoder().decode(request.body).replace(/.(?="\})/, '#'))
    const changed = await wecom.receive({ ...request, body }, connection)
    expect([response?.status, changed.response?.status]).toEqual([401, 401])
  })
})

it('answers a message once, at the address of WeCom only', async () => {
  const { api, connection, replyHandle } = createConnection()
  api.isPatient = false
  const message = { address: { chat: 'anna' }, chunk: { text: 'hi', spans: [] } }
  expect((await wecom.send(connection, { ...message, replyHandle }, 'k1')).kind).toBe('sent')
  expect((await wecom.send(connection, { ...message, replyHandle }, 'k2')).kind).toBe('window')
  expect((await wecom.send(connection, message, 'k3')).kind).toBe('window')
  expect(api.texts).toEqual(['hi'])
})
