/**
 * Tests that everything people send arrives, on all platforms: addresses behind words, forwards with their origin, quotes,
 * replies across chats, content without text, and notes for what cannot be read.
 */

import { describe, expect, it } from 'vitest'
import type { Channel, ChannelConnection, InboundEvent } from '#channels/channel.ts'
import { listPlatforms } from '#channels/channels.ts'
import { dingtalk } from '#channels/dingtalk/dingtalk.ts'
import { parseGatewayRequest } from '#channels/discord/parse-message.ts'
import { parseEvent as parseFeishu } from '#channels/feishu/parse-event.ts'
import { parseEvent as parseGoogle } from '#channels/google-chat/parse-event.ts'
import { parseEvents as parseLine } from '#channels/line/parse-events.ts'
import { parseRoomEvent } from '#channels/matrix/parse-event.ts'
import { parseHook } from '#channels/mattermost/parse-hook.ts'
import { parseMessaging } from '#channels/meta/parse-messaging.ts'
import { nextcloudTalk } from '#channels/nextcloud-talk/nextcloud-talk.ts'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { rocketchat } from '#channels/rocketchat/rocketchat.ts'
import { findOwnWords } from '#channels/text/describe-forward.ts'
import { renderQuote } from '#channels/text/render-quote.ts'
import { signal } from '#channels/signal/signal.ts'
import { parseCallback } from '#channels/slack/parse-event.ts'
import { twilioWhatsapp } from '#channels/sms/twilio-whatsapp.ts'
import { sms } from '#channels/sms/sms.ts'
import { rcs } from '#channels/sms/rcs.ts'
import { parseActivity } from '#channels/teams/parse-activity.ts'
import { parseUpdate } from '#channels/telegram/parse-update.ts'
import { webex } from '#channels/webex/webex.ts'
import { parseWebhook } from '#channels/whatsapp/parse-webhook.ts'
import { qq } from '#channels/qq/qq.ts'
import { twitch } from '#channels/twitch/twitch.ts'
import { wecom } from '#channels/wecom/wecom.ts'
import { zalo } from '#channels/zalo/zalo.ts'
import { zulip } from '#channels/zulip/zulip.ts'
import { toHex } from '#durable/platform/hash.ts'
import { createDingtalkApi, signDingtalk } from '../support/dingtalk-api.ts'
import { fetchForeign } from '../support/fetch-foreign.ts'
import { createRocketApi, createTalkApi, createZulipApi, rocketRoom } from '../support/hook-apis.ts'
import { createSignalApi } from '../support/signal-api.ts'
import { createTwilioApi, signTwilioForm } from '../support/twilio-api.ts'
import { createWebexApi, signWebex, webexRoom } from '../support/webex-api.ts'
import { createQqApi, qqHeaders } from '../support/qq-api.ts'
import { createTwitchApi, signTwitch, twitchChannel } from '../support/twitch-api.ts'
import { createWecomApi, sealWecom, signWecom } from '../support/wecom-api.ts'
import { createZaloApi } from '../support/zalo-api.ts'

type Parsed = InboundEvent | undefined
type Deliver = (content: object) => Parsed | Promise<Parsed>
/** `quote`: text and name of who wrote it. */
type Expected = { readonly text?: string; readonly quote?: object; readonly media?: number; readonly silent?: true }
type Row = readonly [name: string, content: object, expected: Expected]

const at = 1_800_000_000_000
const unreadable = '[a message of a kind that cannot be read here]'

type Way = {
  readonly secrets: Readonly<Record<string, string>>
  readonly apiBase?: string
  readonly sign?: (body: Uint8Array, url: string) => Promise<HeadersInit>
  readonly path?: string
}

/** Sends a signed request to a channel whose parser has no name of its own. */
function deliverTo(
  channel: Channel,
  encode: (content: object) => string,
  { secrets, apiBase, sign, path = '' }: Way,
): Deliver {
  const webhookUrl = `https://talaria.test/webhooks/${channel.platform}/ch_1`
  const base = apiBase ?? `https://${channel.platform}.test`
  const connection: ChannelConnection = { apiBase: base, secrets, webhookUrl, fetchForeign }
  return async (content) => {
    const body = new TextEncoder().encode(encode(content))
    const headers = new Headers(await sign?.(body, webhookUrl))
    const request = { method: 'POST', url: new URL(webhookUrl + path), headers, body, receivedAt: at }
    return (await channel.receive(request, connection)).events[0]
  }
}

const anna = { id: 11, is_bot: false, first_name: 'Anna' }
const news = { type: 'channel', date: 1, chat: { id: -1, type: 'channel', title: 'News' }, message_id: 5 }

const telegram: Deliver = (content) =>
  parseUpdate({
    update_id: 1,
    message: { message_id: 7, date: 1, chat: { id: 11, type: 'private' }, from: anna, ...content },
  })

const slack: Deliver = (content) =>
  parseCallback({
    type: 'event_callback',
    team_id: 'T',
    event: { type: 'message', channel: 'D1', channel_type: 'im', user: 'U1', ts: '1.2', ...content },
    authorizations: [{ user_id: 'UBOT' }],
  })

const discordAuthor = { id: '11', username: 'anna' }
const discord: Deliver = (content) =>
  parseGatewayRequest(
    new TextEncoder().encode(
      JSON.stringify({
        type: 'MESSAGE_CREATE',
        bots: ['99'],
        data: { id: '1', channel_id: '2', author: discordAuthor, ...content },
      }),
    ),
  )[0]

const whatsapp: Deliver = (content) =>
  parseWebhook(
    {
      object: 'whatsapp_business_account',
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                metadata: { phone_number_id: 'N' },
                messages: [{ id: 'wamid.1', from: '15550002222', timestamp: '1', ...content }],
              },
            },
          ],
        },
      ],
    },
    'N',
  )[0]

const line: Deliver = (content) =>
  parseLine(
    {
      destination: 'UBOT',
      events: [
        {
          type: 'message',
          webhookEventId: 'e',
          source: { type: 'user', userId: 'U1' },
          message: { id: '5', ...content },
        },
      ],
    },
    at,
  )[0]

const meta =
  (object: 'page' | 'instagram'): Deliver =>
  (content) =>
    parseMessaging(
      { object, entry: [{ id: 'P', messaging: [{ sender: { id: '11' }, message: { mid: 'm', ...content } }] }] },
      object,
    )[0]?.events[0]

const teams: Deliver = (content) =>
  parseActivity(
    {
      type: 'message',
      id: '1',
      serviceUrl: 'https://smba.trafficmanager.net/emea/',
      conversation: { id: 'a:1', conversationType: 'personal' },
      from: { id: '29:x', aadObjectId: 'anna', name: 'Anna' },
      recipient: { id: '28:bot' },
      ...content,
    },
    at,
  )
const html = (content: string) => ({ attachments: [{ contentType: 'text/html', content }] })

const googleChat: Deliver = (content) =>
  parseGoogle({
    type: 'MESSAGE',
    eventTime: '2026-11-27T10:00:00Z',
    user: { name: 'users/1', displayName: 'Anna', type: 'HUMAN' },
    space: { name: 'spaces/A', spaceType: 'DIRECT_MESSAGE' },
    message: { name: 'spaces/A/messages/1', ...content },
  })

const feishu: Deliver = ({ content, ...message }: { readonly content?: object }) =>
  parseFeishu({
    header: { event_type: 'im.message.receive_v1', event_id: 'e' },
    event: {
      sender: { sender_id: { open_id: 'ou_1' }, sender_type: 'user' },
      message: {
        message_id: 'om_1',
        chat_id: 'oc_1',
        chat_type: 'p2p',
        content: JSON.stringify(content ?? {}),
        ...message,
      },
    },
  })

const matrixRoom = { chat: '!r:a.test', isGroup: false, names: new Map([['@bo:a.test', 'Bo']]), own: '@bot:a.test' }
const matrix: Deliver = ({ related, ...event }: { readonly related?: object }) =>
  parseRoomEvent({ type: 'm.room.message', event_id: '$1', sender: '@anna:a.test', ...event }, matrixRoom, related)

const mattermost: Deliver = (content) =>
  parseHook(
    { token: 't', post_id: 'p', channel_id: 'c', channel_name: 'town', user_id: 'u', user_name: 'anna', ...content },
    'bot',
  )

const talkSecret = createTalkApi().secret
const nextcloud = deliverTo(
  nextcloudTalk,
  ({ message = '', parameters = {}, ...more }: { readonly message?: string; readonly parameters?: object }) =>
    JSON.stringify({
      type: 'Create',
      actor: { type: 'Person', id: 'users/anna', name: 'Anna' },
      object: { type: 'Note', id: '9', name: 'message', content: JSON.stringify({ message, parameters }), ...more },
      target: { type: 'Collection', id: 'n3xtc10ud', name: 'Room' },
    }),
  {
    secrets: { secret: talkSecret },
    apiBase: 'https://nextcloud.test',
    sign: async (body) => ({
      'x-nextcloud-talk-random': 'r'.repeat(64),
      'x-nextcloud-talk-backend': 'https://nextcloud.test/',
      'x-nextcloud-talk-signature': toHex(await computeHmac('SHA-256', talkSecret, concatBytes('r'.repeat(64), body))),
    }),
  },
)

const zulipBot = createZulipApi()
const zulipDirect = deliverTo(
  zulip,
  (content) =>
    JSON.stringify({
      token: zulipBot.secrets.token,
      trigger: 'direct_message',
      bot_full_name: 'Talaria',
      message: { id: 5, type: 'private', sender_id: 11, sender_full_name: 'Anna', display_recipient: [], ...content },
    }),
  { secrets: zulipBot.secrets },
)
const zulipQuote = (text: string) =>
  `@_**Bo|12** [said](https://zulip.test/#narrow/near/3):\n\`\`\`quote\n${text}\n\`\`\``

const rocketBot = createRocketApi()
/** `written`: the message as its server has it. */
const rocket: Deliver = ({ written, ...content }: { readonly written?: object }) => {
  if (written) rocketBot.api.written.set('m1', written)
  else rocketBot.api.written.delete('m1')
  return deliverTo(
    rocketchat,
    (fields) =>
      JSON.stringify({
        token: rocketBot.secrets.token,
        channel_id: rocketRoom,
        message_id: 'm1',
        user_id: '11',
        user_name: 'Anna',
        text: '',
        ...fields,
      }),
    { secrets: rocketBot.secrets },
  )(content)
}

const signalBot = createSignalApi()
const signalDirect = deliverTo(
  signal,
  (content) =>
    JSON.stringify({
      envelope: {
        sourceNumber: '+15550002222',
        sourceName: 'Anna',
        timestamp: 5,
        dataMessage: { timestamp: 5, ...content },
      },
    }),
  { secrets: signalBot.secrets, path: `/${signalBot.secrets.webhook_secret}` },
)

const dingtalkBot = createDingtalkApi()
const dingtalkDirect = deliverTo(
  dingtalk,
  (content) =>
    JSON.stringify({ msgId: 'm', senderStaffId: 'anna', senderNick: 'Anna', conversationType: '1', ...content }),
  { secrets: dingtalkBot.secrets, sign: () => signDingtalk(dingtalkBot.secrets.app_secret, at) },
)

const webexBot = createWebexApi()
const webexDirect: Deliver = (content) => {
  webexBot.api.written.set('m', { id: 'm', roomId: webexRoom, roomType: 'direct', personId: 'ANNA', ...content })
  return deliverTo(webex, () => JSON.stringify({ resource: 'messages', data: { id: 'm', personId: 'ANNA' } }), {
    secrets: webexBot.secrets,
    sign: (body, webhookUrl) => signWebex(body, { webhookUrl, token: webexBot.secrets.bot_token }),
  })({})
}

const qqBot = createQqApi()
const qqDirect = deliverTo(
  qq,
  (content) =>
    JSON.stringify({ op: 0, t: 'C2C_MESSAGE_CREATE', d: { id: 'm', author: { user_openid: 'anna' }, ...content } }),
  { secrets: qqBot.secrets, sign: (body) => qqHeaders(body, qqBot.secrets, at) },
)

const wecomBot = createWecomApi()
const wecomDirect: Deliver = async (content) => {
  const { token, encoding_aes_key } = wecomBot.secrets
  const message = { msgid: 'm', chattype: 'single', from: { userid: 'anna' }, ...content }
  const encrypt = await sealWecom(JSON.stringify(message), encoding_aes_key)
  const { search: path } = await signWecom(new URL('https://talaria.test'), encrypt, { token, at })
  return deliverTo(wecom, () => JSON.stringify({ encrypt }), { secrets: wecomBot.secrets, path })({})
}

const twitchBot = createTwitchApi()
const twitchChat = deliverTo(
  twitch,
  (content) =>
    JSON.stringify({
      subscription: { type: 'channel.chat.message' },
      event: { broadcaster_user_id: twitchChannel, chatter_user_id: '7', message_id: 'm', ...content },
    }),
  { secrets: twitchBot.secrets, sign: (body) => signTwitch(body, twitchBot.secrets.webhook_secret, at) },
)

const zaloBot = createZaloApi()
const zaloDirect = deliverTo(
  zalo,
  ({ event = 'message.text.received', ...content }: { readonly event?: string }) =>
    JSON.stringify({
      event_name: event,
      message: { message_id: 'm', chat: { id: 'c11', chat_type: 'PRIVATE' }, from: { id: '11' }, ...content },
    }),
  {
    secrets: { ...zaloBot.secrets, webhook_secret: 'zalo-secret' },
    sign: async () => ({ 'x-bot-api-secret-token': 'zalo-secret' }),
  },
)

const twilio = createTwilioApi()
const twilioOf = (channel: Channel, prefix: string) =>
  deliverTo(
    channel,
    (content) =>
      new URLSearchParams({
        MessageSid: 'SM1',
        From: `${prefix}+15550002222`,
        ...(content as Record<string, string>),
      }).toString(),
    {
      secrets: { account_sid: twilio.sid, auth_token: twilio.token, from: '+15550001111' },
      sign: (body, url) => signTwilioForm(url, body, twilio.token),
    },
  )
const twilioRows: readonly Row[] = [
  ['an unknown kind', { MessageType: 'order' }, { text: unreadable }],
  [
    'a file without text',
    { NumMedia: '1', MediaUrl0: 'https://a.test/1', MediaContentType0: 'text/vcard' },
    { media: 1 },
  ],
  ['a location', { Latitude: '1', Longitude: '2', Label: 'Cafe' }, { text: '[location: Cafe, 1, 2]' }],
]

const metaRows: readonly Row[] = [
  ['an unknown kind', { attachments: [{ type: 'new', payload: {} }] }, { text: unreadable }],
  ['an unsupported message', { is_unsupported: true }, { text: unreadable }],
  [
    'a shared link',
    { attachments: [{ type: 'fallback', title: 'T', url: 'https://a.test' }] },
    { text: '[link: T, https://a.test]' },
  ],
  [
    'a product',
    {
      attachments: [
        {
          type: 'template',
          payload: { product: { elements: [{ title: 'Tea', subtitle: '3 EUR', retailer_id: 't1' }] } },
        },
      ],
    },
    { text: '[product: Tea, 3 EUR, t1]' },
  ],
  [
    'an answer to a story',
    { text: 'wow', reply_to: { story: { url: 'https://s.test' } } },
    { text: 'wow\n[about the story: https://s.test]' },
  ],
]

const platforms: Readonly<Record<string, readonly [Deliver, readonly Row[]]>> = {
  telegram: [
    telegram,
    [
      [
        'an address behind words',
        {
          caption: 'read it',
          photo: [{ file_id: 'p' }],
          caption_entities: [{ type: 'text_link', offset: 5, length: 2, url: 'https://a.test' }],
        },
        { text: 'read it (https://a.test)', media: 1 },
      ],
      ['a forward', { text: 'hi', forward_origin: news }, { text: '[Forwarded from News:]\nhi' }],
      [
        'a forward without text',
        { location: { latitude: 1, longitude: 2 }, forward_origin: news },
        { text: '[Forwarded from News:]\n[location: 1, 2]' },
      ],
      [
        'a reply to a message of another chat',
        {
          text: 'and this?',
          external_reply: { origin: news, photo: [{ file_id: 'p' }] },
          quote: { text: 'words', position: 0 },
        },
        {
          text: 'and this?',
          quote: { sender: { id: '', name: 'News' }, text: 'words', isOfOtherChat: true, media: [expect.anything()] },
        },
      ],
      [
        'a reply to a hidden message of another chat',
        { text: 'so?', external_reply: { origin: { type: 'hidden_user', date: 1, sender_user_name: 'Bo' } } },
        { quote: { sender: { name: 'Bo' }, text: '[a message of another chat]' } },
      ],
      [
        'a reply to a poll',
        {
          text: 'b',
          reply_to_message: { message_id: 3, from: anna, poll: { question: 'Q', options: [{ text: 'a' }] } },
        },
        { quote: { text: '[poll: Q, a]' } },
      ],
      [
        'a reply to a sticker',
        { text: '?', reply_to_message: { message_id: 3, sticker: { emoji: '😀' } } },
        { quote: { text: '[sticker 😀]' } },
      ],
      ['a reply to a story', { text: 'nice', reply_to_story: { id: 1, chat: {} } }, { quote: { text: '[a story]' } }],
      [
        'a venue',
        { venue: { location: { latitude: 1, longitude: 2 }, title: 'Cafe', address: 'Way 1' } },
        { text: '[location: Cafe, Way 1, 1, 2]' },
      ],
      [
        'a checklist',
        { checklist: { title: 'Buy', tasks: [{ id: 1, text: 'tea' }] } },
        { text: '[checklist: Buy, tea]' },
      ],
      ['a story', { story: { id: 1, chat: {} } }, { text: '[a story, which cannot be read here]' }],
      ['an unknown kind', { paid_media: { star_count: 1 } }, { text: '[a paid media, which cannot be read here]' }],
      ['a service message', { pinned_message: {} }, { silent: true }],
    ],
  ],
  slack: [
    slack,
    [
      ['an address behind words', { text: 'see <https://a.test|this>' }, { text: 'see this (https://a.test)' }],
      [
        'a shared message',
        { attachments: [{ is_share: true, author_name: 'Bo', text: 'old' }] },
        { text: '[Forwarded from Bo:]\nold' },
      ],
      ['an alert', { blocks: [{ type: 'header', text: { type: 'plain_text', text: 'Down' } }] }, { text: 'Down' }],
      ['an unknown kind', { blocks: [{ type: 'new' }] }, { text: unreadable }],
      ['a divider', { blocks: [{ type: 'divider' }] }, { silent: true }],
    ],
  ],
  discord: [
    discord,
    [
      [
        'a forward',
        { content: 'look', message_snapshots: [{ message: { content: 'old' } }] },
        { text: 'look\n[Forwarded:]\nold' },
      ],
      [
        'a reply to a sticker',
        { content: '?', referenced_message: { id: '3', author: discordAuthor, sticker_items: [{ name: 'Wave' }] } },
        { quote: { text: '[sticker: Wave]' } },
      ],
      [
        'a reply to an alert',
        { content: '?', referenced_message: { id: '3', embeds: [{ title: 'Down', description: 'db' }] } },
        { quote: { text: 'Down\ndb' } },
      ],
      [
        'a mention alone that answers',
        {
          content: '<@99>',
          mentions: [{ id: '99', username: 'bot' }],
          referenced_message: { id: '3', content: 'old' },
        },
        { text: '', quote: { text: 'old' } },
      ],
      [
        'a poll',
        { poll: { question: { text: 'Q' }, answers: [{ poll_media: { text: 'a' } }] } },
        { text: '[poll: Q, a]' },
      ],
      ['a mention alone', { content: '<@99>', mentions: [{ id: '99', username: 'bot' }] }, { silent: true }],
      ['an unknown kind', { components: [{ type: 99 }], content: '' }, { text: unreadable }],
    ],
  ],
  whatsapp: [
    whatsapp,
    [
      ['a forward', { type: 'text', text: { body: 'hi' }, context: { forwarded: true } }, { text: '[Forwarded:]\nhi' }],
      [
        'a contact',
        { type: 'contacts', contacts: [{ name: { formatted_name: 'Bo' }, phones: [{ phone: '+1' }] }] },
        { text: '[contact: Bo, +1]' },
      ],
      [
        'an order',
        { type: 'order', order: { product_items: [{ product_retailer_id: 'tea', quantity: 2 }] } },
        { text: '[order: 2 × tea]' },
      ],
      ['an unknown kind', { type: 'poll', poll: {} }, { text: unreadable }],
      ['a reaction', { type: 'reaction', reaction: { emoji: '👍' } }, { silent: true }],
    ],
  ],
  line: [
    line,
    [
      ['a quote', { type: 'text', text: 'so?', quotedMessageId: '4' }, { text: 'so?', quote: { messageId: '4' } }],
      [
        'a location',
        { type: 'location', title: 'Cafe', latitude: 1, longitude: 2 },
        { text: '[location: Cafe, 1, 2]' },
      ],
      ['a sticker', { type: 'sticker', keywords: ['happy'] }, { text: '[sticker: happy]' }],
      ['an unknown kind', { type: 'new' }, { text: unreadable }],
    ],
  ],
  messenger: [meta('page'), metaRows],
  instagram: [meta('instagram'), metaRows],
  teams: [
    teams,
    [
      [
        'an address behind words',
        { text: 'read this', ...html('<p>read <a href="https://a.test">this</a></p>') },
        { text: 'read this (https://a.test)' },
      ],
      [
        'a forward with a comment',
        {
          text: 'see this\r\n\r\nold words',
          ...html(
            '<p>see this</p><blockquote itemtype="http://schema.skype.com/Forward"><p>old <a href="https://a.test">words</a></p></blockquote>',
          ),
        },
        { text: 'see this\n[Forwarded:]\nold words (https://a.test)' },
      ],
      [
        'a forward alone',
        { text: '', ...html('<blockquote itemtype="http://schema.skype.com/Forward"><p>old</p></blockquote>') },
        { text: '[Forwarded:]\nold' },
      ],
      [
        'a quote',
        {
          text: 'so?',
          ...html(
            '<blockquote itemscope itemtype="http://schema.skype.com/Reply" itemid="17"><p itemprop="preview">old</p></blockquote><p>so?</p>',
          ),
        },
        { text: 'so?', quote: { messageId: '17', text: 'old' } },
      ],
      [
        'a card',
        { attachments: [{ contentType: 'application/vnd.microsoft.card.hero', content: { title: 'T' } }] },
        { text: '[a card: T]' },
      ],
      ['an unknown kind', { ...html('<new></new>') }, { text: unreadable }],
    ],
  ],
  google_chat: [
    googleChat,
    [
      [
        'an address behind words',
        { text: 'see this', formattedText: 'see <https://a.test|this>' },
        { text: 'see this (https://a.test)' },
      ],
      [
        'a forward',
        {
          text: 'look',
          quotedMessageMetadata: {
            name: 'spaces/B/messages/2',
            quoteType: 'FORWARD',
            forwardedMetadata: { spaceDisplayName: 'News' },
            quotedMessageSnapshot: {
              sender: 'Bo',
              text: 'old',
              attachments: [{ attachmentDataRef: { resourceName: 'r' } }],
            },
          },
        },
        { text: 'look\n[Forwarded from Bo in News:]\nold', media: 1 },
      ],
      [
        'a quote',
        {
          text: 'so?',
          quotedMessageMetadata: {
            name: 'spaces/A/messages/2',
            quoteType: 'REPLY',
            quotedMessageSnapshot: { sender: 'Bo', text: 'old' },
          },
        },
        { quote: { sender: { id: '', name: 'Bo' }, text: 'old' } },
      ],
      ['a GIF', { attachedGifs: [{ uri: 'https://g.test/1' }] }, { text: '[GIF: https://g.test/1]' }],
      ['an unknown kind', { text: '' }, { text: unreadable }],
    ],
  ],
  feishu: [
    feishu,
    [
      [
        'an address behind words',
        {
          message_type: 'post',
          content: {
            content: [
              [
                { tag: 'a', text: 'this', href: 'https://a.test' },
                { tag: 'emotion', emoji_type: 'SMILE' },
              ],
            ],
          },
        },
        { text: 'this (https://a.test):SMILE:' },
      ],
      [
        'forwarded messages',
        { message_type: 'merge_forward' },
        { text: '[forwarded messages, which cannot be read here]' },
      ],
      ['a poll', { message_type: 'vote', content: { topic: 'Q', options: ['a', 'b'] } }, { text: '[poll: Q, a, b]' }],
      [
        'a task',
        { message_type: 'todo', content: { summary: { content: [[{ tag: 'text', text: 'tea' }]] } } },
        { text: '[task: tea]' },
      ],
      [
        'an event of a calendar',
        { message_type: 'share_calendar_event', content: { summary: 'Lunch' } },
        { text: '[calendar event: Lunch]' },
      ],
      [
        'a card',
        { message_type: 'interactive', content: { title: 'T', elements: [[{ tag: 'text', text: 'words' }]] } },
        { text: '[a card: T, words]' },
      ],
      ['a contact', { message_type: 'share_user', content: { user_id: 'ou_2' } }, { text: '[a shared contact: ou_2]' }],
      ['an unknown kind', { message_type: 'new' }, { text: unreadable }],
    ],
  ],
  matrix: [
    matrix,
    [
      [
        'an address behind words',
        { content: { msgtype: 'm.text', body: 'see this', formatted_body: 'see <a href="https://a.test">this</a>' } },
        { text: 'see this (https://a.test)' },
      ],
      [
        'a quote of a file',
        {
          content: { msgtype: 'm.text', body: 'so?', 'm.relates_to': { 'm.in_reply_to': { event_id: '$0' } } },
          related: { event_id: '$0', sender: '@bo:a.test', content: { msgtype: 'm.image', body: 'a.png' } },
        },
        { quote: { text: 'a.png' } },
      ],
      [
        'a poll',
        {
          type: 'm.poll.start',
          content: { 'm.poll': { question: { 'm.text': [{ body: 'Q' }] }, answers: [{ 'm.text': [{ body: 'a' }] }] } },
        },
        { text: '[poll: Q, a]' },
      ],
      [
        'a location',
        { content: { msgtype: 'm.location', body: 'Cafe', geo_uri: 'geo:1,2' } },
        { text: '[location: Cafe, geo:1,2]' },
      ],
      ['an unknown kind', { content: { msgtype: 'm.new' } }, { text: unreadable }],
      ['a notice', { content: { msgtype: 'm.notice', body: 'x' } }, { silent: true }],
    ],
  ],
  mattermost: [
    mattermost,
    [
      ['a file without text', { text: '', file_ids: 'f1,f2' }, { text: '', media: 2 }],
      ['an unknown kind', { text: '' }, { text: unreadable }],
    ],
  ],
  nextcloud_talk: [
    nextcloud,
    [
      [
        'a location',
        { message: '{object}', parameters: { object: { type: 'geo-location', name: 'Cafe', id: 'geo:1,2' } } },
        { text: '[location: Cafe, geo:1,2]' },
      ],
      [
        'a file',
        { message: '{file}', parameters: { file: { type: 'file', name: 'a.txt', link: 'https://n.test/f/1' } } },
        { text: '[a file: a.txt, https://n.test/f/1]' },
      ],
      [
        'a poll',
        { message: '{object}', parameters: { object: { type: 'talk-poll', name: 'Q' } } },
        { text: '[talk-poll: Q]' },
      ],
      ['an unknown kind', { message: '' }, { text: unreadable }],
    ],
  ],
  zulip: [
    zulipDirect,
    [
      ['a quote', { content: `${zulipQuote('old')}\nso?` }, { text: 'so?', quote: { text: 'old' } }],
      ['a later quote', { content: 'so?\n```quote\nold\n```' }, { text: 'so?\n> old' }],
      [
        'a forward',
        { content: zulipQuote('old [a.txt](/user_uploads/2/ab/a.txt)') },
        { text: '[Forwarded from Bo:]\nold', media: 1 },
      ],
      ['an address behind words', { content: '[this](https://a.test)' }, { text: '[this](https://a.test)' }],
      ['a poll', { content: '/poll Q\na' }, { text: '/poll Q\na' }],
    ],
  ],
  rocketchat: [
    rocket,
    [
      [
        'a quote',
        {
          text: '[ ](https://rocketchat.test/direct/x?msg=m0) so?',
          written: {
            attachments: [{ message_link: 'https://rocketchat.test/direct/x?msg=m0', author_name: 'Bo', text: 'old' }],
          },
        },
        { text: 'so?', quote: { messageId: 'm0', sender: { name: 'Bo' }, text: 'old' } },
      ],
      [
        'a forward',
        {
          text: '[ ](https://rocketchat.test/channel/y?msg=m0)',
          written: {
            attachments: [{ message_link: 'https://rocketchat.test/channel/y?msg=m0', author_name: 'Bo', text: 'old' }],
          },
        },
        { text: '[Forwarded from Bo:]\nold' },
      ],
      [
        'a file with a text',
        {
          text: 'read it',
          written: {
            files: [
              { _id: 'f', name: 'a.png', type: 'image/png' },
              { _id: 't', name: 'thumb-a.png', type: 'image/png' },
            ],
          },
        },
        { text: 'read it', media: 1 },
      ],
      ['a location', { written: { location: { type: 'Point', coordinates: [2, 1] } } }, { text: '[location: 1, 2]' }],
      ['an alert', { written: { attachments: [{ title: 'Down', text: 'db' }] } }, { text: 'Down\ndb' }],
      ['an unknown kind', { written: {} }, { text: unreadable }],
      ['a message that the bot may not read', { text: 'hi' }, { text: 'hi' }],
    ],
  ],
  signal: [
    signalDirect,
    [
      [
        'a quote of a file',
        { message: 'so?', quote: { id: 4, authorNumber: '+1', attachments: [{ filename: 'a.png' }] } },
        { quote: { text: '[a file: a.png]' } },
      ],
      [
        'a contact',
        { contacts: [{ name: { display: 'Bo' }, phone: [{ value: '+1' }], email: [{ value: 'b@a.test' }] }] },
        { text: '[contact: Bo, +1, b@a.test]' },
      ],
      ['a poll', { pollCreate: { question: 'Q', options: ['a', 'b'] } }, { text: '[poll: Q, a, b]' }],
      ['a sticker', { sticker: { emoji: '😀' } }, { text: '[sticker: 😀]' }],
      ['an unknown kind', { giftBadge: {} }, { text: unreadable }],
      ['a deleted message', { remoteDelete: { timestamp: 4 } }, { silent: true }],
      ['a new timer', { isExpirationUpdate: true, expiresInSeconds: 60 }, { silent: true }],
      ['a vote', { pollVote: {} }, { silent: true }],
    ],
  ],
  dingtalk: [
    dingtalkDirect,
    [
      [
        'a quote',
        {
          msgtype: 'text',
          text: {
            content: 'so?',
            isReplyMsg: true,
            repliedMsg: { msgId: 'm0', msgType: 'text', senderId: 's', content: { text: 'old' } },
          },
        },
        { text: 'so?', quote: { messageId: 'm0', text: 'old' } },
      ],
      [
        'a quote of a picture',
        { msgtype: 'text', text: { content: 'so?', repliedMsg: { msgId: 'm0', msgType: 'picture', content: {} } } },
        { quote: { text: '[picture]' } },
      ],
      [
        'forwarded messages',
        {
          msgtype: 'chatRecord',
          content: { chatRecord: JSON.stringify([{ senderNick: 'Bo', msgType: 'text', content: 'old' }]) },
        },
        { text: '[Forwarded:]\nBo: old' },
      ],
      ['a voice message without words', { msgtype: 'audio', content: { downloadCode: 'd' } }, { media: 1 }],
      ['an unknown kind', { msgtype: 'new' }, { text: unreadable }],
    ],
  ],
  webex: [
    webexDirect,
    [
      [
        'an address behind words',
        { text: 'see this', html: '<p>see <a href="https://a.test">this</a></p>' },
        { text: 'see this (https://a.test)' },
      ],
      ['an unknown kind', { attachments: [{}] }, { text: unreadable }],
    ],
  ],
  qq: [
    qqDirect,
    [
      ['a picture', { content: '', attachments: [{ content_type: 'image/png', url: 'a.test/1' }] }, { media: 1 }],
      ['an unknown kind', { content: '' }, { text: unreadable }],
    ],
  ],
  wecom: [
    wecomDirect,
    [
      [
        'a quote',
        { msgtype: 'text', text: { content: 'so?' }, quote: { msgtype: 'text', text: { content: 'old' } } },
        { text: 'so?', quote: { messageId: 'quoted', text: 'old' } },
      ],
      ['what was said', { msgtype: 'voice', voice: { content: 'hi' } }, { text: 'hi' }],
      ['a file without an address', { msgtype: 'file', file: {} }, { text: '[file]' }],
      ['an event', { msgtype: 'event', event: {} }, { silent: true }],
      ['an unknown kind', { msgtype: 'new' }, { text: unreadable }],
    ],
  ],
  twitch: [
    twitchChat,
    [
      [
        'a reply',
        {
          message: { text: 'so?' },
          reply: { parent_message_id: 'm0', parent_user_id: '8', parent_message_body: 'old' },
        },
        { text: 'so?', quote: { messageId: 'm0', text: 'old' } },
      ],
    ],
  ],
  zalo: [
    zaloDirect,
    [
      ['a sticker', { event: 'message.sticker.received' }, { text: '[sticker]' }],
      ['an unknown kind', { event: 'message.new.received' }, { text: unreadable }],
    ],
  ],
  twilio_whatsapp: [
    twilioOf(twilioWhatsapp, 'whatsapp:'),
    [...twilioRows, ['a forward', { Body: 'hi', Forwarded: 'true' }, { text: '[Forwarded:]\nhi' }]],
  ],
  rcs: [twilioOf(rcs, 'rcs:'), twilioRows],
  sms: [twilioOf(sms, ''), twilioRows],
}

describe.each(Object.entries(platforms))('%s', (_platform, [deliver, rows]) => {
  it.each(rows)('delivers %s', async (_name, content, expected) => {
    expect(shown(await deliver(content), expected)).toMatchObject(expected)
  })
})

/** Beside what others may have written. Of all other rows nothing was typed. */
const typedBeside: Readonly<Record<string, string>> = {
  'telegram, a reply to a message of another chat': 'and this?',
  'telegram, a reply to a hidden message of another chat': 'so?',
  'telegram, a reply to a poll': 'b',
  'telegram, a reply to a sticker': '?',
  'telegram, a reply to a story': 'nice',
  'discord, a forward': 'look',
  'discord, a reply to a sticker': '?',
  'discord, a reply to an alert': '?',
  'messenger, an answer to a story': 'wow',
  'instagram, an answer to a story': 'wow',
  'teams, a forward with a comment': 'see this',
  'google_chat, a forward': 'look',
  'zulip, a later quote': 'so?',
}
/** A message of a person that has nothing of others. Of alerts the sender is a program. */
const isTypedAlone =
  /, (?:an address behind words|a file with a text|a message that the bot may not read|what was said|an alert)$|^(?:line, a quote|twitch, a reply|zulip, a poll)$/

it('finds what people have typed beside what they pass on', async () => {
  for (const [platform, [deliver, rows]] of Object.entries(platforms))
    for (const [name, content] of rows) {
      const event = await deliver(content)
      const row = `${platform}, ${name}`
      // A note without details has nothing of others.
      if (event?.kind !== 'message' || isTypedAlone.test(row) || /^(?:\[[^:]*\])?$/.test(event.text)) continue
      const own = findOwnWords(event.quote ? renderQuote(event.quote, event.text) : event.text)
      expect([row, own]).toEqual([row, typedBeside[row] ?? (/, a quote/.test(row) ? 'so?' : '')])
    }
})

/** The event in the form of what is expected of it. */
function shown(event: Parsed, { quote }: Expected): object {
  if (event?.kind !== 'message') return { silent: event === undefined }
  const known = Object.keys(quote ?? {}).map((field) => [field, event.quote?.[field as 'text']])
  return { text: event.text, media: event.media.length, quote: quote && Object.fromEntries(known) }
}

it('knows every platform on which people send more than text, and an unknown kind on each', () => {
  // Mail has tests of its own. Calls, work trackers and Twitch have text alone, and Zulip sends all as Markdown.
  const others = ['email', 'phone', 'telnyx_phone', 'github', 'linear']
  expect([...Object.keys(platforms), ...others].toSorted()).toEqual(listPlatforms().toSorted())
  const without = Object.entries(platforms).filter(([, [, rows]]) => rows.every(([name]) => name !== 'an unknown kind'))
  expect(without.map(([name]) => name)).toEqual(['zulip', 'twitch'])
})
