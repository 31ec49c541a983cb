import nacl from 'tweetnacl'
import { discord } from '#channels/discord/discord.ts'
import { concatBytes } from '#channels/hmac.ts'
import { createDiscordApi, discordError, discordFile } from '../../support/discord-api.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'
import { toHex } from '#durable/platform/hash.ts'

const webhookUrl = 'https://talaria.test/webhooks/discord/ch_1'
const receivedAt = 1_800_000_000_000
const [own, others] = [nacl.sign.keyPair(), nacl.sign.keyPair()]
const secretKeys = new Map([own, others].map((pair) => [toHex(pair.publicKey), pair.secretKey]))
const tooLong = { errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } } }
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => Response.json({ message: 'You are being rate limited.', retry_after: 2, global: false }, { status: 429 }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => discordError(403, 50_001, 'Missing Access'),
  'too-long': () => discordError(400, 50_035, 'Invalid Form Body', tooLong),
  format: () => discordError(400, 0, 'unknown'),
  window: () => discordError(400, 0, 'unknown'),
}

const user = { id: '5', username: 'bob', global_name: 'Bob' }
const command = {
  type: 2,
  id: '77',
  application_id: '999',
  token: 'itok',
  channel_id: '55',
  guild_id: '66',
  channel: { id: '55', type: 0 },
  member: { user },
  data: { id: '1', name: 'talaria', type: 1, options: [{ name: 'text', type: 3, value: '/status' }] },
}
const samples = [
  {
    name: 'a command',
    body: JSON.stringify(command),
    event: {
      kind: 'command',
      key: 'interaction:77',
      text: '/status',
      address: { chat: '55' },
      isGroup: true,
      sender: { id: '5', name: 'Bob' },
      replyHandle: { token: 'itok', expiresAt: receivedAt + 870_000, isAwaited: true },
    },
  },
  {
    name: 'a command in a thread, with another option',
    body: JSON.stringify({
      ...command,
      channel_id: '77',
      channel: { id: '77', type: 11, parent_id: '55' },
      data: { name: 'ask', options: [{ name: 'q', type: 3, value: 'what?' }] },
    }),
    event: { text: 'what?', address: { chat: '55', thread: '77' } },
  },
  {
    name: 'a command of a group of commands, whose option has no value of its own',
    body: JSON.stringify({
      ...command,
      data: { name: 'talaria', options: [{ name: 'status', type: 1, options: [] }] },
    }),
    event: { kind: 'command', text: '/help' },
  },
]

const noMessages = JSON.stringify({ ...command, type: 2 })

testChannel(() => {
  const api = createDiscordApi()
  const connectionOf = (pair: nacl.SignKeyPair) => ({
    apiBase: 'https://discord.test/api/v10',
    secrets: { bot_token: api.token, public_key: toHex(pair.publicKey), application_id: '999' },
    webhookUrl,
    fetchForeign,
  })
  const sign = async (body: Uint8Array, { secrets }: { secrets: Readonly<Record<string, string>> }, at: number) => {
    const time = String(Math.floor(at / 1_000))
    const key = secretKeys.get(secrets['public_key'] ?? '') ?? own.secretKey
    const signature = toHex(nacl.sign.detached(concatBytes(time, body), key))
    return { 'x-signature-timestamp': time, 'x-signature-ed25519': signature }
  }
  const ping = new TextEncoder().encode('{"type":1}')
  const pong = nacl.sign.detached(concatBytes('1', ping), own.secretKey)
  const headers = new Headers({ 'x-signature-timestamp': '1', 'x-signature-ed25519': toHex(pong) })
  return {
    channel: discord,
    connection: connectionOf(own),
    other: connectionOf(others),
    maxEventsPerRequest: 1,
    signs: { body: true, time: false },
    unknownFailures: ['format', 'window'],
    messagesByGateway: true,
    media: {
      known: { kind: 'document', reference: 'https://cdn.discord.test/known' },
      bytes: discordFile,
      unknown: { kind: 'document', reference: 'https://cdn.discord.test/unknown' },
    },
    targets: { known: { chat: '11' }, unknown: { chat: '404' } },
    samples,
    encodeMessages: () => noMessages,
    encodePress: ({ id, data }) =>
      JSON.stringify({
        type: 3,
        id: '78',
        application_id: '999',
        token: id,
        channel_id: '11',
        message: { id: 'm9' },
        user: { id: '11', username: 'Anna' },
        data: { component_type: 2, custom_id: data },
      }),
    sign,
    handshakes: [
      {
        name: 'the ping',
        answer: '{"type":1}',
        request: { method: 'POST', url: new URL(webhookUrl), headers, body: ping, receivedAt },
      },
    ],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () => api.calls.map(({ body }) => body),
    },
  }
})
