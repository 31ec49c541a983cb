import type { ForeignRequest } from '#channels/channel.ts'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { slack } from '#channels/slack/slack.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createSlackApi, slackError, slackFile } from '../../support/slack-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'
import { toHex } from '#durable/platform/hash.ts'

const webhookUrl = 'https://talaria.test/webhooks/slack/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => new Response('{"ok":false,"error":"ratelimited"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => slackError('channel_not_found'),
  'too-long': () => slackError('msg_too_long'),
  format: () => slackError('invalid_blocks'),
  window: () => slackError('unknown'),
}

const eventOf = (event: object) =>
  JSON.stringify({
    type: 'event_callback',
    team_id: 'T1',
    api_app_id: 'A1',
    event_id: 'Ev1',
    event,
    authorizations: [{ team_id: 'T1', user_id: 'UBOT', is_bot: true }],
  })
const base = { type: 'message', user: 'U1', ts: '1766458026.240809', channel: 'C1', channel_type: 'channel' }
const mention = { ...base, text: '<@UBOT> hello <@U2> &amp; <https://x.test|x>' }
const mentioned = {
  kind: 'message',
  key: 'T1:C1:1766458026.240809',
  address: { chat: 'C1' },
  text: 'hello @U2 & x (https://x.test)',
  mentions: ['UBOT', 'U2'],
}
const slashCommand =
  'command=%2Ftalaria&text=%2Fstatus&team_id=T1&channel_id=C1&user_id=U1&user_name=anna&trigger_id=1.2.3&response_url=https%3A%2F%2Fhooks.slack.com%2Fx'
const file = {
  id: 'F1',
  name: 'a.png',
  mimetype: 'image/png',
  size: 3,
  url_private_download: 'https://files.slack.com/a',
}

const samples = [
  {
    name: 'a mention as app_mention',
    body: eventOf({ ...mention, type: 'app_mention', channel_type: undefined }),
    event: mentioned,
  },
  { name: 'the same mention as message', body: eventOf(mention), event: mentioned },
  {
    name: 'an answer in a thread',
    body: eventOf({ ...base, text: 'yes', thread_ts: '1766458000.1', parent_user_id: 'UBOT' }),
    event: {
      address: { chat: 'C1', thread: '1766458000.1' },
      quote: { messageId: '1766458000.1', sender: { id: 'UBOT', name: 'UBOT' } },
    },
  },
  {
    name: 'a command with the sign of Slack',
    body: eventOf({ ...base, text: '<@UBOT> !deny too loud', thread_ts: '1766458000.1' }),
    event: { kind: 'message', text: '/deny too loud' },
  },
  {
    name: 'an exclamation',
    body: eventOf({ ...base, text: '!important' }),
    event: { text: '!important' },
  },
  {
    name: 'an edit',
    body: eventOf({
      ...base,
      subtype: 'message_changed',
      message: { ...base, text: 'new', edited: { user: 'U1', ts: '1766458027.1' } },
      previous_message: { text: 'old' },
    }),
    event: { kind: 'edit', messageId: base.ts, text: 'new', key: 'T1:C1:1766458026.240809:1766458027.1' },
  },
  {
    name: 'a file',
    body: eventOf({ ...base, subtype: 'file_share', text: '', files: [file, { id: 'F2', subtype: 'slack_audio' }] }),
    event: {
      text: '',
      media: [
        { kind: 'image', reference: 'https://files.slack.com/a', name: 'a.png', mime: 'image/png', bytes: 3 },
        { kind: 'voice', reference: 'F2' },
      ],
    },
  },
  {
    name: 'a message of another bot',
    body: eventOf({
      ...base,
      user: undefined,
      subtype: 'bot_message',
      bot_id: 'B2',
      app_id: 'A2',
      username: 'Other',
      text: 'hi',
    }),
    event: { sender: { id: 'B2', name: 'Other', isBot: true } },
  },
  {
    name: 'its own arrival in a channel',
    body: eventOf({ type: 'member_joined_channel', user: 'UBOT', channel: 'C1', event_ts: '1.1' }),
    event: { kind: 'lifecycle', change: 'added', address: { chat: 'C1' } },
  },
  {
    name: 'a command',
    body: slashCommand,
    event: {
      kind: 'command',
      text: '/status',
      address: { chat: 'C1' },
      sender: { id: 'U1', name: 'anna' },
      key: 'command:1.2.3',
      replyHandle: { token: 'https://hooks.slack.com/x', expiresAt: 1_800_000_000_000 + 1_770_000 },
    },
  },
]

testChannel(() => {
  const { api, token } = createSlackApi()
  const connectionOf = (signing_secret: string) => ({
    apiBase: 'https://slack.test/api',
    secrets: { bot_token: token, signing_secret },
    webhookUrl,
    fetchForeign: (request: ForeignRequest) =>
      fetchForeign({ ...request, url: request.url.startsWith('p1') ? 'https://slack.test/response/p1' : request.url }),
  })
  const sign = async (body: Uint8Array, { secrets }: { secrets: Readonly<Record<string, string>> }, at: number) => {
    const time = String(Math.floor(at / 1_000))
    const signature = await computeHmac('SHA-256', secrets['signing_secret'] ?? '', concatBytes(`v0:${time}:`, body))
    return { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${toHex(signature)}` }
  }
  return {
    channel: slack,
    connection: connectionOf('signing-secret-1'),
    other: connectionOf('signing-secret-2'),
    maxEventsPerRequest: 1,
    signs: { body: true, time: true },
    chats: { direct: { chat: 'D11' }, group: { chat: 'C50' } },
    person: { id: 'U11', name: 'Anna' },
    unknownFailures: ['window'],
    media: {
      known: { kind: 'document', reference: 'https://slack.test/api/files/known' },
      bytes: slackFile,
      unknown: { kind: 'document', reference: 'https://slack.test/api/files/unknown' },
    },
    targets: { known: { chat: 'D11' }, unknown: { chat: 'C99' } },
    samples,
    encodeMessages: ([message]) =>
      eventOf({
        type: 'message',
        channel: message?.chat,
        channel_type: message?.isGroup ? 'channel' : 'im',
        user: message?.sender.id,
        user_profile: { display_name: message?.sender.name },
        ts: `${message?.id}.000100`,
        text: message?.text.replaceAll('&', '&amp;'),
      }),
    encodePress: ({ id, data }) =>
      new URLSearchParams({
        payload: JSON.stringify({
          type: 'block_actions',
          trigger_id: '5.6',
          response_url: id,
          user: { id: 'U11', name: 'Anna' },
          channel: { id: 'D11' },
          message: { ts: '140.1' },
          actions: [{ action_id: data, value: data }],
        }),
      }).toString(),
    sign,
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () => api.calls.map(({ body }) => body),
    },
  }
})
