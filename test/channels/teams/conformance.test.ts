import { describe, expect, it } from 'vitest'
import type { ChannelConnection, InboundRequest } from '#channels/channel.ts'
import { teams } from '#channels/teams/teams.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import {
  createTeamsApi,
  signTeamsToken,
  teamsChannel,
  teamsChat,
  teamsError,
  teamsFile,
  teamsService,
  teamsTenant,
} from '../../support/teams-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/teams/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => new Response('{"error":{"code":"Throttled"}}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 504 }),
  lost: 'lost',
  forbidden: () => teamsError(403, 'BotNotInConversationRoster'),
  'too-long': () => teamsError(413, 'MessageSizeTooBig'),
  format: () => teamsError(400, 'BadSyntax'),
  window: () => teamsError(400, 'BadArgument'),
}

function createConnection() {
  const { api, secrets } = createTeamsApi()
  const connection: ChannelConnection = {
    apiBase: 'https://smba.trafficmanager.net/teams',
    loginBase: 'https://teamslogin.test',
    secrets,
    webhookUrl,
    fetchForeign,
  }
  return { api, connection }
}

const bot = { id: '28:app', name: 'Talaria' }
const person = { id: 'aad-anna', name: 'Anna' }
const direct = { id: teamsChat, conversationType: 'personal', tenantId: teamsTenant }
const channel = { id: `${teamsChannel};messageid=17`, conversationType: 'channel', tenantId: teamsTenant }
const activityOf = (fields: object) =>
  JSON.stringify({
    type: 'message',
    id: '1',
    serviceUrl: teamsService,
    channelId: 'msteams',
    from: { id: '29:anna', name: 'Anna', aadObjectId: 'aad-anna' },
    recipient: bot,
    conversation: direct,
    ...fields,
  })
const mention = (text: string, one = bot) => ({ type: 'mention', text, mentioned: one })
const html = (content: string) => ({ contentType: 'text/html', content })

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: teams,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, app_id: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: teamsChat }, group: { chat: teamsChannel } },
    person,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'image', reference: 'https://smba.trafficmanager.net/emea/v3/attachments/1' },
      bytes: teamsFile,
      unknown: { kind: 'image', reference: 'https://smba.trafficmanager.net/emea/v3/attachments/2' },
    },
    targets: { known: { chat: teamsChat }, unknown: { chat: 'a:unknown' } },
    samples: [
      {
        name: 'a mention in a channel, in its thread',
        body: activityOf({
          conversation: channel,
          text: '<at>Talaria</at> ask <at>Bob</at> &amp; go\n',
          entities: [mention('<at>Talaria</at>'), mention('<at>Bob</at>', { id: '29:bob', name: 'Bob' })],
        }),
        event: {
          text: 'ask @Bob & go',
          isGroup: true,
          mentions: ['28:app', '29:bob'],
          address: { chat: teamsChannel, thread: '17' },
        },
      },
      {
        name: 'an address behind a word',
        body: activityOf({ text: 'see here', attachments: [html('<p>see <a href="https://x.test/">here</a></p>')] }),
        event: { text: 'see here (https://x.test/)' },
      },
      {
        name: 'an answer to a message',
        body: activityOf({
          text: 'why?',
          attachments: [
            html(
              '<blockquote itemscope itemtype="http://schema.skype.com/Reply" itemid="16"><strong itemprop="mri" itemid="29:b">Bob</strong><p itemprop="preview">the <b>plan</b></p></blockquote><p>why?</p>',
            ),
          ],
        }),
        event: { text: 'why?', quote: { messageId: '16', text: 'the plan' } },
      },
      {
        name: 'a file, a picture, and a card of another app',
        body: activityOf({
          attachments: [
            {
              contentType: 'application/vnd.microsoft.teams.file.download.info',
              name: 'a.pdf',
              content: { downloadUrl: 'https://files.example.com/a', fileType: 'pdf' },
            },
            { contentType: 'image/png', contentUrl: `${teamsService}v3/attachments/1` },
            { contentType: 'application/vnd.microsoft.card.hero', content: { title: 'Build failed' } },
          ],
        }),
        event: {
          text: '[a card: Build failed]',
          media: [
            { kind: 'document', reference: 'https://files.example.com/a', name: 'a.pdf' },
            { kind: 'image', reference: `${teamsService}v3/attachments/1`, mime: 'image/png' },
          ],
        },
      },
      {
        name: 'an edit',
        body: activityOf({
          type: 'messageUpdate',
          timestamp: 't',
          text: 'new',
          channelData: { eventType: 'editMessage' },
        }),
        event: { kind: 'edit', messageId: '1', text: 'new', key: '1:t' },
      },
      {
        name: 'an installation',
        body: activityOf({ type: 'installationUpdate', action: 'add' }),
        event: { kind: 'lifecycle', change: 'added' },
      },
      {
        name: 'its end',
        body: activityOf({ type: 'installationUpdate', action: 'remove' }),
        event: { kind: 'lifecycle', change: 'removed' },
      },
      {
        name: 'a message of another bot',
        body: activityOf({ from: { id: '28:other', name: 'Bot' }, text: 'hi' }),
        event: { sender: { id: '28:other', name: 'Bot', isBot: true } },
      },
      {
        name: 'a message of an unknown kind',
        body: activityOf({}),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [
      { name: 'its own message', body: activityOf({ from: bot, text: 'hi' }) },
      {
        name: 'a message of another organisation',
        body: activityOf({ text: 'hi', channelData: { tenant: { id: 'x' } } }),
      },
      { name: 'a reaction', body: activityOf({ type: 'messageReaction' }) },
      { name: 'a typing indicator', body: activityOf({ type: 'typing' }) },
      { name: 'an unknown invocation', body: activityOf({ type: 'invoke', name: 'composeExtension/query' }) },
      {
        name: 'a deletion',
        body: activityOf({ type: 'messageUpdate', channelData: { eventType: 'undeleteMessage' } }),
      },
    ],
    encodeMessages: ([message]) =>
      activityOf({
        id: message?.id,
        text: message?.text.replaceAll('&', '&amp;'),
        conversation: message?.isGroup ? channel : direct,
      }),
    encodePress: ({ id, data }) =>
      activityOf({
        type: 'invoke',
        id,
        name: 'adaptiveCard/action',
        replyToId: '9',
        value: { action: { type: 'Action.Execute', verb: 'choose', data: { data } } },
      }),
    sign: async (_body, { secrets }, at) => ({
      authorization: `Bearer ${await signTeamsToken({ audience: secrets['app_id'] ?? '', at: at / 1_000 })}`,
    }),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts.map((one) => one.replaceAll('\\', '')),
    },
  }
})

describe('teams: tokens and addresses', () => {
  const at = 1_800_000_000
  async function receive(options: Partial<Parameters<typeof signTeamsToken>[0]>, body: string) {
    const { api, connection } = createConnection()
    const audience = connection.secrets['app_id'] ?? ''
    const request: InboundRequest = {
      method: 'POST',
      url: new URL(webhookUrl),
      headers: new Headers({ authorization: `Bearer ${await signTeamsToken({ audience, at, ...options })}` }),
      body: new TextEncoder().encode(body),
      receivedAt: at * 1_000,
    }
    const { response, events, settle } = await teams.receive(request, connection)
    return { isRefused: response?.status === 401, events, settle, issued: api.issued }
  }

  const evil = 'https://evil.example.com/'
  it.each<[string, Partial<Parameters<typeof signTeamsToken>[0]>, object, boolean]>([
    ['right', {}, {}, false],
    ['of another issuer', { claims: { iss: evil } }, {}, true],
    ['with a key that nobody published', { isForged: true }, {}, true],
    ['with a key for another channel', { kid: 'web' }, {}, true],
    ['expired', { at: at - 4_000 }, {}, true],
    ['for another address than the activity names', {}, { serviceUrl: evil }, true],
    ['for a foreign address', { claims: { serviceurl: evil } }, { serviceUrl: evil }, true],
    [
      'for a name that only ends alike',
      { claims: { serviceurl: 'https://evilbotframework.com/' } },
      { serviceUrl: 'https://evilbotframework.com/' },
      true,
    ],
    [
      'for a government cloud',
      { claims: { serviceurl: 'https://a.botframework.us/' } },
      { serviceUrl: 'https://a.botframework.us/' },
      false,
    ],
  ])('a token %s', async (_name, options, fields, isRefused) => {
    const answer = await receive(options, activityOf({ text: 'hi', ...fields }))
    expect([answer.isRefused, answer.events.length, answer.issued]).toEqual([isRefused, isRefused ? 0 : 1, 0])
  })

  it('answers a press within the response: the card without buttons, or a short text', async () => {
    const press = activityOf({
      type: 'invoke',
      name: 'adaptiveCard/action',
      value: { action: { data: { data: 'ask:1:0' } } },
    })
    const { settle } = await receive({}, press)
    expect(await settle?.({ toast: 'Done', ends: 'Allowed.' }).json()).toMatchObject({
      statusCode: 200,
      type: 'application/vnd.microsoft.card.adaptive',
      value: { body: [{ text: 'Allowed.' }], actions: [] },
    })
    expect(await settle?.({ toast: 'Expired' }).json()).toMatchObject({ value: 'Expired' })
  })

  it('answers in the region and the thread of the message, and renews a refused token once', async () => {
    const { api, connection } = createConnection()
    const send = (text: string, more: object = {}) =>
      teams.send(
        connection,
        { address: { chat: teamsChannel, thread: '17' }, chunk: { text, spans: [] }, ...more },
        text,
      )
    const replyHandle = { token: teamsService, expiresAt: at * 2_000 }
    expect((await send('a', { replyHandle })).kind).toBe('sent')
    api.token = 'revoked'
    expect((await send('b')).kind).toBe('sent')
    expect(api.issued).toBe(2)
    expect(api.calls.map(({ path }) => decodeURIComponent(path))).toEqual([
      `/emea/v3/conversations/${teamsChannel};messageid=17/activities`,
      `/teams/v3/conversations/${teamsChannel};messageid=17/activities`,
    ])
  })
})
