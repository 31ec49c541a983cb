import { expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { linear } from '#channels/linear/linear.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createLinearApi, linearError, linearSession, signLinear } from '../../support/linear-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => linearError(400, 'RATELIMITED', 'Rate limit exceeded', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => linearError(400, 'FORBIDDEN', 'You do not have access'),
  'too-long': () => linearError(400, 'INPUT_ERROR', 'body must be shorter than or equal to 100000 characters'),
  format: () => linearError(400, 'INPUT_ERROR', 'x'),
  window: () => linearError(400, 'INPUT_ERROR', 'x'),
}

function createConnection() {
  const { api, secrets } = createLinearApi()
  const webhookUrl = 'https://talaria.test/webhooks/linear/ch_1'
  const connection: ChannelConnection = { apiBase: 'https://linear.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const anna = { id: 'u-anna', name: 'Anna', email: 'anna@x.test' }
const agentSession = {
  id: linearSession,
  creator: anna,
  issue: {
    identifier: 'ENG-12',
    title: 'It breaks',
    url: 'https://linear.app/x',
    description: 'D',
    team: { key: 'ENG' },
  },
}
const bodyOf = (more: object) => JSON.stringify({ type: 'AgentSessionEvent', appUserId: 'app1', agentSession, ...more })
const prompted = (id: string, body: string, more: object = {}) =>
  bodyOf({ action: 'prompted', agentActivity: { id, content: { type: 'prompt', body }, user: anna, ...more } })

testChannel(() => {
  const { api, connection } = createConnection()
  const address = { chat: 'ENG', thread: linearSession }
  return {
    channel: linear,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, webhook_secret: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: true },
    chats: { direct: address, group: address },
    isAlwaysGroup: true,
    person: { id: 'u-anna', name: 'Anna' },
    unknownFailures: ['format', 'window'],
    targets: { known: address, unknown: { chat: 'ENG', thread: linearSession.replace('1', '2') } },
    samples: [
      {
        name: 'a delegation, with what Linear says about the issue',
        body: bodyOf({ action: 'created', promptContext: '<issue>…</issue>' }),
        event: {
          key: `s:${linearSession}`,
          address,
          isGroup: true,
          text: '[ENG-12 is delegated to you.]',
          mentions: ['app1'],
          background: [{ text: '<issue>…</issue>', isOfChat: true }],
        },
      },
      {
        name: 'a mention',
        body: bodyOf({ action: 'created', agentSession: { ...agentSession, comment: { body: '@Talaria why?' } } }),
        event: {
          text: '@Talaria why?',
          background: [{ text: 'ENG-12\nIt breaks\nhttps://linear.app/x\nD', isOfChat: true }],
        },
      },
      {
        name: 'a stop',
        body: prompted('a9', '', { signal: 'stop' }),
        event: { kind: 'command', text: '/stop', key: 'a:a9' },
      },
      {
        name: 'a session that an automation began',
        body: bodyOf({ action: 'created', agentSession: { ...agentSession, creator: null } }),
        event: { sender: { id: 'automation', name: 'Automation', isBot: true } },
      },
    ],
    ignored: [
      { name: 'its own activity', body: prompted('a1', 'x', { content: { type: 'response', body: 'x' } }) },
      { name: 'another kind of event', body: bodyOf({ action: 'created', type: 'Issue' }) },
    ],
    encodeMessages: ([message]) => prompted(message?.id ?? '', message?.text ?? ''),
    prove: async (request, by) => {
      const text = new TextDecoder().decode(request.body)
      if (!/^\{".*\}$/s.test(text)) return undefined
      const { body, headers } = await signLinear(text, by.secrets['webhook_secret'] ?? '', request.receivedAt)
      return { ...request, body, headers: new Headers(headers) }
    },
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

it('shows a sign of life that vanishes, keeps an answer once, and uses a token that was given', async () => {
  const { api, connection } = createConnection()
  const address = { chat: 'ENG', thread: linearSession }
  await linear.showTyping?.(connection, address)
  const first = await linear.send(connection, { address, chunk: { text: 'done', spans: [] } }, 'k')
  expect(await linear.send(connection, { address, chunk: { text: 'done', spans: [] } }, 'k')).toEqual(first)
  expect([api.texts, api.issued]).toEqual([['done'], 1])
  const [thought, response] = api.calls.map(({ body }) => (body['variables'] as { input: object }).input)
  expect(thought).toMatchObject({ ephemeral: true, content: { type: 'thought' } })
  expect(response).toMatchObject({
    content: { type: 'response', body: 'done' },
    id: expect.stringMatching(/^[\da-f-]{14}4/),
  })
  const given = { ...connection, secrets: { access_token: api.token, webhook_secret: 'x' } }
  expect(await linear.getAccount(given)).toEqual({ id: 'app1', name: 'Talaria' })
})
