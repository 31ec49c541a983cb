import { describe, expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { computeHmac } from '#channels/hmac.ts'
import { mattermost } from '#channels/mattermost/mattermost.ts'
import { toHex } from '#durable/platform/hash.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createMattermostApi, mattermostDirect, mattermostError, mattermostFile } from '../../support/mattermost-api.ts'
import { proveByToken } from '../../support/prove-by-token.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/mattermost/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => new Response('{"message":"limit exceeded"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () =>
    mattermostError(403, 'api.context.permissions.app_error', 'You do not have the appropriate permissions.'),
  'too-long': () => mattermostError(400, 'x', 'Post Message property is longer than the maximum permitted length.'),
  format: () => mattermostError(400, 'x', 'x'),
  window: () => mattermostError(400, 'x', 'x'),
}

function createConnection() {
  const { api, secrets } = createMattermostApi()
  const connection: ChannelConnection = { apiBase: 'https://mattermost.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const direct = `${'a'.repeat(26)}__${'b'.repeat(26)}`
const postOf = (fields: object) =>
  JSON.stringify({
    team_id: 'team1',
    channel_id: mattermostDirect,
    channel_name: direct,
    user_id: '11',
    user_name: 'Anna',
    post_id: 'p1',
    text: 'hi',
    ...fields,
  })

const proofOf = async ({ secrets }: ChannelConnection, chat: string, data: string) =>
  toHex(
    await computeHmac(
      'SHA-256',
      secrets['bot_token'] ?? '',
      new TextEncoder().encode(JSON.stringify([webhookUrl, chat, data])),
    ),
  )

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: mattermost,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, webhook_token: 'other', bot_token: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: mattermostDirect }, group: { chat: 'townsquare0000000000000001' } },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'file1' },
      bytes: mattermostFile,
      unknown: { kind: 'document', reference: 'file2' },
    },
    targets: { known: { chat: mattermostDirect }, unknown: { chat: 'unknownchannel000000000001' } },
    samples: [
      {
        name: 'a trigger word in a channel, with a file',
        body: postOf({
          channel_name: 'town-square',
          text: 'Talaria: what is new?',
          trigger_word: 'talaria',
          file_ids: 'f1',
        }),
        event: {
          text: 'what is new?',
          isGroup: true,
          mentions: [api.own],
          media: [{ kind: 'document', reference: 'f1' }],
        },
      },
    ],
    ignored: [{ name: 'its own post', body: postOf({ user_id: api.own }) }],
    encodeMessages: ([message]) =>
      postOf({
        post_id: message?.id,
        text: message?.text,
        channel_id: message?.chat,
        ...(message?.isGroup && { channel_name: 'town-square' }),
      }),
    encodePress: ({ id, data }) =>
      JSON.stringify({
        channel_id: mattermostDirect,
        user_id: '11',
        user_name: 'Anna',
        post_id: id,
        context: { data },
      }),
    prove: async (request, by) => {
      const text = new TextDecoder().decode(request.body)
      const data = /"context":\{"data":"([^"]+)"\}/.exec(text)?.[1]
      if (data === undefined)
        return proveByToken(request, { ...by, secrets: { token: by.secrets['webhook_token'] ?? '' } })
      const proof = await proofOf(by, mattermostDirect, data)
      const body = text.replace('"context":{', `"context":{"proof":"${proof}",`)
      return { ...request, body: new TextEncoder().encode(body) }
    },
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts.map((one) => one.replaceAll('\\', '')),
      files: () => api.files,
      calls: () =>
        api.callsTo('/posts').map(({ body }) => (body['message'] === '' ? {} : { caption: body['message'] })),
    },
  }
})

describe('mattermost: the command and the buttons', () => {
  async function receive(connection: ChannelConnection, body: string) {
    const bytes = new TextEncoder().encode(body)
    const request = { method: 'POST', url: new URL(webhookUrl), headers: new Headers(), body: bytes, receivedAt: 0 }
    return mattermost.receive(request, connection)
  }

  it('has the command in each team, whose token proves it, and removes it', async () => {
    const { api, connection } = createConnection()
    expect(await mattermost.register!(connection, true)).toMatchObject({ ok: true })
    expect(await mattermost.register!(connection, true)).toMatchObject({ ok: true })
    expect(api.commands).toEqual([
      expect.objectContaining({ trigger: 'talaria', url: webhookUrl, method: 'P', team_id: 'team1' }),
    ])
    const command = (token: string) =>
      new URLSearchParams({
        token,
        team_id: 'team1',
        channel_id: mattermostDirect,
        channel_name: 'town-square',
        user_id: '11',
        user_name: 'Anna',
        command: '/talaria',
        text: '/status',
        trigger_id: 't1',
      }).toString()
    const { events, response } = await receive(connection, command(`command-${api.own}`))
    expect(events).toEqual([expect.objectContaining({ kind: 'command', text: '/status', isGroup: true, key: 't1' })])
    expect(await response?.json()).toEqual({})
    expect((await receive(connection, command('command-other'))).response?.status).toBe(401)
    expect(await mattermost.register!(connection, false)).toMatchObject({ ok: true })
    expect(api.commands).toEqual([])
  })

  it('a button is good for its choice and its channel alone, and its answer replaces the post', async () => {
    const { api, connection } = createConnection()
    const buttons = [[{ label: 'Yes', data: 'ask:1:0' }]]
    await mattermost.send(
      connection,
      { address: { chat: mattermostDirect }, chunk: { text: 'Go?', spans: [], buttons } },
      'k',
    )
    const sent = JSON.stringify(api.callsTo('/posts').at(-1)?.body)
    const proof = /"proof":"(\w+)"/.exec(sent)?.[1]
    expect(sent).toContain('"type":"button"')
    const press = (context: object, chat = mattermostDirect) =>
      receive(connection, JSON.stringify({ channel_id: chat, user_id: '11', post_id: 'p1', context }))
    const { events, settle } = await press({ data: 'ask:1:0', proof })
    expect(events).toEqual([expect.objectContaining({ kind: 'press', data: 'ask:1:0' })])
    expect(await settle?.({ toast: 'Done', ends: 'Allowed.' }).json()).toEqual({
      update: { message: 'Allowed.', props: { attachments: [] } },
    })
    expect(await settle?.({ toast: 'Expired' }).json()).toEqual({ ephemeral_text: 'Expired' })
    for (const wrong of [
      press({ data: 'ask:1:1', proof }),
      press({ data: 'ask:1:0', proof }, 'other'),
      press({ data: 'ask:1:0' }),
    ])
      expect((await wrong).response?.status).toBe(401)
  })
})
