import { describe, expect, it } from 'vitest'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { slack } from '#channels/slack/slack.ts'
import { createSlackApi, slackError } from '../../support/slack-api.ts'
import { toHex } from '#durable/platform/hash.ts'

const receivedAt = 1_800_000_000_000

function createConnection() {
  const { api, token } = createSlackApi()
  const secrets = { bot_token: token, signing_secret: 's' }
  const fetchForeign = () => Promise.reject(new Error('not used'))
  return {
    api,
    connection: { apiBase: 'https://slack.test/api/', secrets, webhookUrl: 'https://t.test/', fetchForeign },
  }
}

async function receive(text: string) {
  const body = new TextEncoder().encode(text)
  const time = String(receivedAt / 1_000)
  const signature = toHex(await computeHmac('SHA-256', 's', concatBytes(`v0:${time}:`, body)))
  const headers = new Headers({ 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` })
  const url = new URL('https://t.test/')
  return slack.receive({ method: 'POST', url, headers, body, receivedAt }, createConnection().connection)
}

describe('slack', () => {
  it('answers the challenge that checks the address', async () => {
    const { response, events } = await receive('{"token":"x","challenge":"abc","type":"url_verification"}')
    expect([response?.status, await response?.text(), events]).toEqual([200, 'abc', []])
  })

  it.each([
    ['its own message', { user: 'UBOT', text: 'hi' }],
    ['its own message by the app', { user: 'U9', bot_id: 'B1', app_id: 'A1', text: 'hi' }],
    [
      'a preview that Slack added',
      { subtype: 'message_changed', message: { user: 'U1', ts: '1.1', text: 'a' }, previous_message: { text: 'a' } },
    ],
    ['a deletion', { subtype: 'message_deleted', deleted_ts: '1.1' }],
    ['a change of the topic', { subtype: 'channel_topic', user: 'U1', text: 'set' }],
    ['a mention without words', { user: 'U1', text: '<@UBOT>' }],
  ])('ignores %s', async (_name, fields) => {
    const event = { type: 'message', channel: 'C1', channel_type: 'channel', ts: '1.1', ...fields }
    const authorizations = [{ user_id: 'UBOT' }]
    const body = { type: 'event_callback', team_id: 'T1', api_app_id: 'A1', event, authorizations }
    expect((await receive(JSON.stringify(body))).events).toEqual([])
  })

  it('writes mrkdwn into the thread, without previews', async () => {
    const { api, connection } = createConnection()
    const [chunk] = slack.render('**hi** <a>', 'markdown')
    const message = { address: { chat: 'C1', thread: '1.1' }, chunk: chunk!, replyToMessageId: '2.2' }
    await slack.send(connection, message, 'k')
    expect(api.calls.map(({ body }) => body)).toEqual([
      { channel: 'C1', text: '*hi* &lt;a&gt;', thread_ts: '1.1', unfurl_links: false, unfurl_media: false },
    ])
  })

  it.each([
    ['a text', 200, { kind: 'sent' }],
    ['a text, after the address has expired', 404, { kind: 'fatal' }],
  ])(
    'answers a command in a channel without the bot by the address that came with it: %s',
    async (_name, status, sent) => {
      const { api, connection } = createConnection()
      const posted: unknown[] = []
      const fetchForeign = async ({ url, body }: { readonly url: string; readonly body?: unknown }) => {
        posted.push([url, JSON.parse(String(body))])
        return new Response(null, { status })
      }
      const replyHandle = { token: 'https://hooks.slack.com/x', expiresAt: receivedAt }
      const [chunk] = slack.render('**hi**', 'markdown')
      const message = { address: { chat: 'C1' }, chunk: chunk!, replyHandle }
      api.overrideNext(() => slackError('not_in_channel'))
      expect(await slack.send({ ...connection, fetchForeign }, message, 'k')).toMatchObject(sent)
      expect(posted).toEqual([
        [replyHandle.token, { replace_original: false, response_type: 'in_channel', text: '*hi*' }],
      ])
      posted.length = 0
      expect(await slack.send({ ...connection, fetchForeign }, message, 'k')).toMatchObject({ kind: 'sent' })
      expect(posted).toEqual([])
    },
  )

  it('refuses an ignored command only to the person who wrote it', async () => {
    const { ignoredResponse } = await receive('command=%2Ftalaria&text=hi&channel_id=C1&user_id=U1&trigger_id=1')
    expect(await ignoredResponse?.json()).toMatchObject({ response_type: 'ephemeral' })
  })

  it('shows buttons, and removes them with an edit', async () => {
    const { api, connection } = createConnection()
    const buttons = [[{ label: 'Allow', data: 'ask:1:0' }], [{ label: 'Deny', data: 'ask:1:1' }]]
    const chunk = { text: 'a word '.repeat(530), spans: [], buttons }
    const sent = await slack.send(connection, { address: { chat: 'D1' }, chunk }, 'k')
    const editedMessageId = sent.kind === 'sent' ? sent.id! : ''
    await slack.send(
      connection,
      { address: { chat: 'D1' }, chunk: { text: 'Allowed', spans: [] }, editedMessageId },
      'k',
    )
    const [asked, edited] = api.calls.map(({ body }) => body['blocks'] as { type: string }[])
    expect(asked?.map(({ type }) => type)).toEqual(['section', 'section', 'actions', 'actions'])
    expect(asked?.[2]).toMatchObject({ elements: [{ type: 'button', value: 'ask:1:0', text: { text: 'Allow' } }] })
    expect(edited).toEqual([])
  })

  it('sends to the chat when the thread is gone', async () => {
    const { api, connection } = createConnection()
    api.overrideNext(() => slackError('thread_not_found'))
    const message = { address: { chat: 'C1', thread: '1.1' }, chunk: { text: 'hi', spans: [] } }
    expect((await slack.send(connection, message, 'k')).kind).toBe('sent')
    expect(api.calls.map(({ body }) => body['thread_ts'])).toEqual(['1.1', undefined])
  })

  it('gives its token to addresses of Slack only', async () => {
    const { connection } = createConnection()
    const seen: (string | undefined)[] = []
    const fetchForeign = (request: { headers?: Readonly<Record<string, string>> }) => {
      seen.push(request.headers?.['authorization'])
      return Promise.resolve(new Response('x'))
    }
    for (const reference of [
      'https://files.slack.com/a',
      'https://files.slack.com.evil.test/a',
      'http://files.slack.com/a',
    ])
      await slack.fetchMedia?.({ ...connection, fetchForeign }, { kind: 'image', reference }, 10)
    expect(seen).toEqual([`Bearer ${connection.secrets.bot_token}`, undefined, undefined])
  })
})
