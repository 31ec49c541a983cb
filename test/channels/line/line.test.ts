import { describe, expect, it } from 'vitest'
import { line } from '#channels/line/line.ts'
import { createLineApi, lineGroup, linePerson } from '../../support/line-api.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'

function createChat() {
  const { api, token } = createLineApi()
  const connection = {
    apiBase: 'https://line.test',
    secrets: { channel_access_token: token, channel_secret: 's' },
    webhookUrl: 'https://talaria.test/webhooks/line/ch_1',
    fetchForeign,
  }
  const send = (text: string, key: string, replyToken?: string, chat = linePerson) =>
    line.send(
      connection,
      {
        address: { chat },
        chunk: { text, spans: [] },
        ...(replyToken && { replyHandle: { token: replyToken, expiresAt: Number.MAX_SAFE_INTEGER } }),
      },
      key,
    )
  return { api, connection, send }
}

describe('answers', () => {
  it('takes the reply token once, and pushes what follows', async () => {
    const { api, send } = createChat()
    for (const key of ['k1', 'k2']) expect((await send(key, key, 'reply-1')).kind).toBe('sent')
    expect([api.texts, api.calls.map(({ path }) => path.split('/').at(-1))]).toEqual([
      ['k1', 'k2'],
      ['reply', 'reply', 'push'],
    ])
  })

  it('does not push what a lost reply may have delivered', async () => {
    const { api, send } = createChat()
    api.overrideNext('lost')
    expect((await send('once', 'k1', 'reply-1')).kind).toBe('ambiguous')
    expect(api.texts).toEqual(['once'])
    expect(line.capabilities.idempotencyKeys).toBe('without-reply-handle')
  })

  it('marks a repetition only where the token was used', async () => {
    const { api, connection } = createChat()
    const chunk = { text: 'once', spans: [] }
    const repeat = (token: string) =>
      line.send(
        connection,
        {
          address: { chat: linePerson },
          chunk,
          repeated: { text: `again: ${token}`, spans: [] },
          replyHandle: { token, expiresAt: Number.MAX_SAFE_INTEGER },
        },
        `key of ${token}`,
      )
    for (const token of ['reply-1', 'reply-1', 'reply-2']) expect((await repeat(token)).kind).toBe('sent')
    expect(api.texts).toEqual(['once', 'again: reply-1', 'once'])
  })

  it('says that a plan is used up, and tries no more', async () => {
    const { api, send } = createChat()
    api.overrideNext(() => Response.json({ message: 'You have reached your monthly limit.' }, { status: 429 }))
    expect(await send('x', 'k1')).toEqual({ kind: 'fatal', detail: expect.stringContaining('monthly limit') })
  })

  it('shows buttons as quick replies', async () => {
    const { api, connection } = createChat()
    const chunk = { text: 'May I?', spans: [], buttons: [[{ label: 'Yes', data: 'ask:1:0' }]] }
    await line.send(connection, { address: { chat: lineGroup }, chunk }, 'k1')
    const action = { type: 'postback', label: 'Yes', data: 'ask:1:0', displayText: 'Yes' }
    expect(api.calls[0]?.body['messages']).toEqual([
      { type: 'text', text: 'May I?', quickReply: { items: [{ type: 'action', action }] } },
    ])
  })
})

describe('set-up', () => {
  it('names the address, and takes it back unless somebody entered another one', async () => {
    const { api, connection } = createChat()
    expect((await line.register?.(connection, true))?.ok).toBe(true)
    expect(api.endpoint).toBe(connection.webhookUrl)
    await line.register?.(connection, false)
    expect(api.endpoint).toBe('')
    api.endpoint = 'https://other.test/'
    await line.register?.(connection, false)
    expect(api.endpoint).toBe('https://other.test/')
  })

  it('asks for the switch that only a person can turn on', async () => {
    const { api, connection } = createChat()
    api.isActive = false
    expect(await line.register?.(connection, true)).toEqual({
      ok: false,
      detail: expect.stringContaining('Use webhook'),
    })
  })
})

it('reads a video again that LINE still prepares', async () => {
  const { connection } = createChat()
  const fetched = await line.fetchMedia?.(connection, { kind: 'video', reference: 'video-1' }, 100)
  expect(fetched).toMatchObject({ kind: 'failed', canRetry: true })
})
