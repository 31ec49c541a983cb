import { describe, expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { computeHmac } from '#channels/hmac.ts'
import { matrix } from '#channels/matrix/matrix.ts'
import { toHex } from '#durable/platform/hash.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import {
  createMatrixApi,
  matrixError,
  matrixFile,
  matrixGroup,
  matrixPerson,
  matrixRoom,
} from '../../support/matrix-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/matrix/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => matrixError(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: 2_000 }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => matrixError(403, 'M_FORBIDDEN'),
  'too-long': () => matrixError(413, 'M_TOO_LARGE'),
  format: () => matrixError(400, 'M_BAD_JSON'),
  window: () => matrixError(400, 'M_UNKNOWN'),
}

const pushkeyOf = async (token: string) =>
  `ch_1.${toHex(await computeHmac('SHA-256', token, new TextEncoder().encode(`pusher ${webhookUrl}`)))}`

function createConnection() {
  const { api, token } = createMatrixApi()
  const connection: ChannelConnection = {
    apiBase: 'https://matrix.test',
    secrets: { access_token: token },
    webhookUrl,
    fetchForeign,
  }
  return { api, connection }
}

const notification = (fields: object) =>
  JSON.stringify({ notification: { ...fields, devices: [{ app_id: 'talaria' }] } })

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: matrix,
    connection,
    other: { ...connection, secrets: { access_token: 'other' } },
    maxEventsPerRequest: 1,
    messagesByGateway: true,
    signs: { body: false, time: false },
    chats: { direct: { chat: matrixRoom }, group: { chat: matrixGroup } },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'mxc://matrix.test/file1' },
      bytes: matrixFile,
      unknown: { kind: 'document', reference: 'mxc://matrix.test/file2' },
    },
    targets: { known: { chat: matrixRoom }, unknown: { chat: '!other:matrix.test' } },
    encodeMessages: () => notification({ event_id: '$1', room_id: matrixRoom }),
    ignored: [{ name: 'a count', body: notification({ counts: { unread: 1 } }) }],
    prove: async (request, { secrets }) => {
      const text = new TextDecoder().decode(request.body)
      if (!text.includes('"app_id":"talaria"')) return undefined
      const pushkey = await pushkeyOf(secrets['access_token'] || 'x')
      const body = text.replace('"app_id":"talaria"', `"app_id":"talaria","pushkey":"${pushkey}"`)
      return { ...request, body: new TextEncoder().encode(body) }
    },
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () =>
        api.callsTo(/\/send\//).map(({ body }) => (body['body'] === body['filename'] ? {} : { caption: body['body'] })),
    },
  }
})

describe('matrix: what happened in the rooms', () => {
  async function pullAfter(add: (api: ReturnType<typeof createConnection>['api']) => void) {
    const { api, connection } = createConnection()
    const first = await matrix.pull!(connection, undefined)
    expect(first).toMatchObject({ kind: 'pulled', events: [] })
    add(api)
    const next = await matrix.pull!(connection, first.kind === 'pulled' ? first.cursor : '')
    return { api, connection, next, events: next.kind === 'pulled' ? next.events : [] }
  }

  it.each<[string, object, object]>([
    ['a text', { content: { msgtype: 'm.text', body: 'hi' } }, { kind: 'message', text: 'hi', isGroup: false }],
    [
      'a mention',
      { content: { msgtype: 'm.text', body: 'hi', 'm.mentions': { user_ids: ['@bot:matrix.test'] } } },
      { mentions: ['@bot:matrix.test'] },
    ],
    [
      'an older mention',
      { content: { msgtype: 'm.text', body: 'x', formatted_body: '<a href="https://matrix.to/#/@b:m.test">b</a>' } },
      { mentions: ['@b:m.test'], text: 'x' },
    ],
    [
      'an address behind a word',
      {
        content: {
          msgtype: 'm.text',
          body: 'see here',
          formatted_body: 'see <a href="https://x.test/?a=1&amp;b=2">here</a>',
        },
      },
      { text: 'see here (https://x.test/?a=1&b=2)' },
    ],
    [
      'a message of a thread',
      {
        content: {
          msgtype: 'm.text',
          body: 'hi',
          'm.relates_to': {
            rel_type: 'm.thread',
            event_id: '$0',
            is_falling_back: true,
            'm.in_reply_to': { event_id: '$0' },
          },
        },
      },
      { address: { chat: matrixRoom, thread: '$0' } },
    ],
    [
      'a picture with a caption',
      {
        content: {
          msgtype: 'm.image',
          body: 'look',
          filename: 'a.png',
          url: 'mxc://matrix.test/a',
          info: { mimetype: 'image/png', size: 3 },
        },
      },
      {
        text: 'look',
        media: [{ kind: 'image', reference: 'mxc://matrix.test/a', name: 'a.png', mime: 'image/png', bytes: 3 }],
      },
    ],
    [
      'a voice message',
      { content: { msgtype: 'm.audio', body: 'v.ogg', url: 'mxc://m/v', 'org.matrix.msc3245.voice': {} } },
      { text: '', media: [{ kind: 'voice', reference: 'mxc://m/v', name: 'v.ogg' }] },
    ],
    [
      'a place',
      { content: { msgtype: 'm.location', body: 'Office', geo_uri: 'geo:1,2' } },
      { text: '[location: Office, geo:1,2]' },
    ],
    ['a sticker', { type: 'm.sticker', content: { body: 'wave' } }, { text: '[sticker: wave]' }],
    [
      'a poll',
      {
        type: 'm.poll.start',
        content: {
          'm.poll': { question: { 'm.text': [{ body: 'When?' }] }, answers: [{ 'm.text': [{ body: 'Now' }] }] },
        },
      },
      { text: '[poll: When?, Now]' },
    ],
    [
      'an unknown kind',
      { content: { msgtype: 'm.hologram' } },
      { text: '[a message of a kind that cannot be read here]' },
    ],
  ])('contains %s', async (_name, fields, expected) => {
    const { events } = await pullAfter((api) => api.receive(fields))
    expect(events).toEqual([expect.objectContaining(expected)])
    expect(events[0]).toMatchObject({ sender: { id: matrixPerson, name: 'Anna' }, key: '$e1' })
  })

  it.each<[string, object]>([
    ['a notice of another bot', { content: { msgtype: 'm.notice', body: 'x' } }],
    ['a change of a name', { type: 'm.room.name', content: { name: 'x' } }],
    ['a message from before the connection', { origin_server_ts: 1, content: { msgtype: 'm.text', body: 'old' } }],
    [
      'a reaction that chooses nothing',
      { type: 'm.reaction', content: { 'm.relates_to': { rel_type: 'm.annotation', event_id: '$9', key: '👍' } } },
    ],
  ])('leaves out %s', async (_name, fields) => {
    expect((await pullAfter((api) => api.receive(fields))).events).toEqual([])
  })

  it('leaves out own messages', async () => {
    const { events } = await pullAfter((api) =>
      api.receive({ sender: api.own, content: { msgtype: 'm.text', body: 'x' } }),
    )
    expect(events).toEqual([])
  })

  it('an edit counts for its author alone', async () => {
    const edit = (sender: string) => ({
      sender,
      content: {
        msgtype: 'm.text',
        body: '* new',
        'm.new_content': { msgtype: 'm.text', body: 'new' },
        'm.relates_to': { rel_type: 'm.replace', event_id: '$e1' },
      },
    })
    const { events } = await pullAfter((api) => {
      api.say('old')
      api.receive(edit('@mallory:matrix.test'))
      api.receive(edit(matrixPerson))
    })
    expect(events.map(({ kind, key }) => [kind, key])).toEqual([
      ['message', '$e1'],
      ['edit', '$e3'],
    ])
    expect(events[1]).toMatchObject({ messageId: '$e1', text: 'new' })
  })

  it('an answer has what it answers, without the repetition of older clients', async () => {
    const { events } = await pullAfter((api) => {
      api.receive({ sender: '@bob:matrix.test', content: { msgtype: 'm.text', body: 'the plan' } }, matrixGroup)
      api.say(
        '> <@bob:matrix.test> the plan\n\nwhy?',
        { 'm.relates_to': { 'm.in_reply_to': { event_id: '$e1' } } },
        matrixGroup,
      )
    })
    expect(events[1]).toMatchObject({
      isGroup: true,
      text: 'why?',
      quote: { messageId: '$e1', text: 'the plan', sender: { id: '@bob:matrix.test' } },
    })
  })

  it('a reaction with a number below a question of the bot is this number', async () => {
    const { events } = await pullAfter((api) => {
      api.receive({ sender: api.own, content: { msgtype: 'm.text', body: 'Which?\n1. a\n2. b' } })
      for (const key of ['2️⃣', '3️⃣'])
        api.receive({
          type: 'm.reaction',
          content: { 'm.relates_to': { rel_type: 'm.annotation', event_id: '$e1', key } },
        })
    })
    expect(events).toEqual([expect.objectContaining({ kind: 'message', text: '2' })])
  })

  it('fills the gap of a timeline that is cut off', async () => {
    const { events } = await pullAfter((api) => {
      api.maxTimeline = 3
      for (let n = 1; n <= 120; n++) api.say(`m${n}`)
    })
    expect(events.map((one) => 'text' in one && one.text)).toEqual(Array.from({ length: 120 }, (_, n) => `m${n + 1}`))
  })

  it('says once in an encrypted room that it cannot read there', async () => {
    const { api, connection, next } = await pullAfter((one) => {
      one.receive({ type: 'm.room.encrypted', content: { ciphertext: 'x' } })
    })
    api.receive({ type: 'm.room.encrypted', content: { ciphertext: 'y' } })
    await matrix.pull!(connection, next.kind === 'pulled' ? next.cursor : '')
    expect(api.texts).toEqual([expect.stringContaining('encrypted')])
  })

  it('reports invitations', async () => {
    const { events } = await pullAfter((api) => api.invites.push({ room: '!new:matrix.test', sender: matrixPerson }))
    expect(events).toEqual([
      expect.objectContaining({ kind: 'lifecycle', change: 'invited', address: { chat: '!new:matrix.test' } }),
    ])
  })

  it.each<[string, () => Response, object]>([
    ['a refused token', () => matrixError(401, 'M_UNKNOWN_TOKEN'), { isFinal: true }],
    ['a busy homeserver', () => matrixError(429, 'M_LIMIT_EXCEEDED', { retry_after_ms: 3_000 }), { waitMs: 3_000 }],
    ['a broken proxy', () => new Response('<html>', { status: 502 }), { detail: 'HTTP 502' }],
  ])('fails with %s', async (_name, failure, expected) => {
    const { next } = await pullAfter((api) => api.failures.push(failure))
    expect(next).toMatchObject({ kind: 'failed', ...expected })
  })

  it('registers a pusher with the key of the connection, and takes it back', async () => {
    const { api, connection } = createConnection()
    expect(await matrix.register!(connection, true)).toMatchObject({ ok: true })
    expect(api.pusher).toMatchObject({
      kind: 'http',
      app_id: 'talaria',
      append: true,
      pushkey: await pushkeyOf(connection.secrets['access_token'] ?? ''),
      data: { url: 'https://talaria.test/_matrix/push/v1/notify', format: 'event_id_only' },
    })
    expect(await matrix.register!(connection, false)).toMatchObject({ ok: true })
    expect(api.pusher).toBeUndefined()
  })
})
