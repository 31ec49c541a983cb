/**
 * Stands in for Discord: the REST API, and inside workerd the gateway. Each bot token has an account of its own. Two
 * sends with one nonce store one message.
 */

import { type ApiCall, FakeAccount, performAsked, serveHost } from './json-api.ts'
import { watchFileEnd } from './file-end.ts'

type GatewayFrame = { readonly op: number; readonly d?: unknown; readonly s?: number; readonly t?: string }

/** One socket that a bot opened. */
export type GatewayLink = {
  readonly address: URL
  readonly received: GatewayFrame[]
  readonly send: (frame: GatewayFrame) => void
  readonly close: (code: number) => void
  closedWith: number | undefined
}

export class DiscordApi extends FakeAccount {
  readonly token: string
  readonly links: GatewayLink[] = []
  readonly nonces = new Map<string, string>()
  /** Answers of interactions, by token. */
  readonly originals = new Map<string, { id: string; content: string; flags: number }>()
  /** Answers of `GET /gateway/bot` instead of the usual one. */
  gatewayFailure: (() => Response) | undefined
  /** Answers of the next requests for a channel instead of the usual ones. */
  readonly channelFailures: (() => Response)[] = []
  /** Calls of this path get no answer while it is set. */
  heldPath: string | undefined

  constructor(token: string) {
    super()
    this.token = token
  }
}

const accounts = new Map<string, DiscordApi>()

export function createDiscordApi(): DiscordApi {
  const api = new DiscordApi(`bot-token-${accounts.size + 1}`)
  accounts.set(api.token, api)
  return api
}

export const discordError = (status: number, code: number, message: string, more: object = {}) =>
  Response.json({ code, message, ...more }, { status })
export const discordFile = new TextEncoder().encode('a file of Discord')

serveHost('cdn.discord.test', ({ path }) =>
  path === '/known' ? new Response(discordFile) : new Response(null, { status: 404 }),
)
serveHost('gateway.discord.test', (call) => openLink(call))
serveHost('resume.discord.test', (call) => openLink(call))

/** Accepts the connection and never answers. */
serveHost('silent.discord.test', async ({ signal }) => {
  const isOver = watchFileEnd()
  while (!signal.aborted && !isOver()) await scheduler.wait(5)
  throw new TypeError('The request was aborted.')
})

serveHost('discord.test', async (call) => {
  const path = call.path.replace('/api/v10/', '')
  const [, token] = /^webhooks\/999\/([^/]+)/.exec(path) ?? []
  const api =
    token === undefined ? accounts.get(tokenOf(call)) : [...accounts.values()].find((one) => one.originals.has(token))
  if (token !== undefined) return answerWebhook(api, call, token, path)
  if (!api) return discordError(401, 0, '401: Unauthorized')
  api.calls.push(call)
  while (api.heldPath === path) await scheduler.wait(2)
  return answer(api, call, path)
})

const tokenOf = ({ headers }: ApiCall) => headers.get('authorization')?.replace('Bot ', '') ?? ''

function answerWebhook(api: DiscordApi | undefined, call: ApiCall, token: string, path: string): Response {
  if (token === 'p1') return Response.json({ id: '1' })
  const original = api?.originals.get(token)
  if (!api || !original) return discordError(404, 10_015, 'Unknown Webhook')
  api.calls.push(call)
  if (call.method === 'POST') return Response.json({ id: api.add(String(call.body['content'])) })
  if (call.method === 'GET') return Response.json(original)
  if (call.method === 'DELETE') {
    api.originals.delete(token)
    return new Response(null, { status: 204 })
  }
  if (!path.endsWith('@original')) return edit(api, path.split('/').at(-1) ?? '', String(call.body['content']))
  return api.send(() => {
    Object.assign(original, { content: call.body['content'], flags: 4 })
    return Response.json({ ...original, id: api.add(original.content, original.id) })
  })
}

function answer(api: DiscordApi, { method, body }: ApiCall, path: string): Response {
  if (path === 'users/@me') return Response.json({ id: '999', username: 'talaria' })
  if (path === 'gateway/bot')
    return (
      api.gatewayFailure?.() ??
      Response.json({ url: 'wss://gateway.discord.test', session_start_limit: { remaining: 9 } })
    )
  if (path === 'guilds/66/members/999') return Response.json({ roles: ['3000'] })
  const [, channel, rest] = /^channels\/(\d+)(?:\/(.+))?$/.exec(path) ?? []
  if (channel === undefined) return Response.json({ id: '1' })
  if (rest === undefined) {
    const failure = api.channelFailures.shift()
    if (failure) return failure()
    if (channel === '404') return discordError(404, 10_003, 'Unknown Channel')
    return Response.json({
      id: channel,
      ...(channel === '77' ? { type: 11, parent_id: '55' } : { type: channel === '11' ? 1 : 0 }),
    })
  }
  if (rest === 'typing') return new Response(null, { status: 204 })
  if (method === 'DELETE' && rest.startsWith('messages/'))
    return api.messages.delete(rest.replace('messages/', ''))
      ? new Response(null, { status: 204 })
      : discordError(404, 10_008, 'Unknown Message')
  if (method === 'PATCH') return api.send(() => edit(api, rest.replace('messages/', ''), String(body['content'])))
  return api.send(() => store(api, body))
}

function store(api: DiscordApi, fields: ApiCall['body']): Response {
  const file = fields['files[0]']
  const body =
    typeof fields['payload_json'] === 'string' ? (JSON.parse(fields['payload_json']) as typeof fields) : fields
  const nonce = String(body['nonce'])
  if (nonce.length > 25) return discordError(400, 50_035, 'Invalid Form Body')
  const existing = body['enforce_nonce'] === true ? api.nonces.get(nonce) : undefined
  const id = existing ?? (file instanceof File ? api.addFile(file) : api.add(String(body['content'])))
  api.nonces.set(nonce, id)
  return Response.json({ id })
}

function edit(api: DiscordApi, id: string, content: string): Response {
  if (!api.messages.has(id)) return discordError(404, 10_008, 'Unknown Message')
  return Response.json({ id: api.add(content, id) })
}

/** The bot shows by its first frame whose link this is. */
function openLink(call: ApiCall): Response {
  const [client, server] = Object.values(new WebSocketPair())
  if (!client || !server) throw new Error('no sockets')
  const received: GatewayFrame[] = []
  /** Frames and ends that the test wants to be sent. The socket belongs to another request, which sends them. */
  const asked: (() => void)[] = []
  const link: GatewayLink = {
    address: new URL(`https://${call.headers.get('host') ?? 'gateway'}${call.path}?${call.query}`),
    received,
    send: (frame) => void asked.push(() => server.send(JSON.stringify(frame))),
    close: (code) => void asked.push(() => server.close(code, 'closed by a test')),
    closedWith: undefined,
  }
  server.addEventListener('message', ({ data }) => {
    const frame = JSON.parse(String(data)) as GatewayFrame
    received.push(frame)
    if (frame.op === 1) server.send(JSON.stringify({ op: 11 }))
    if (frame.op === 2 || frame.op === 6) accounts.get((frame.d as { token: string }).token)?.links.push(link)
  })
  server.addEventListener('close', ({ code }) => {
    link.closedWith = code
  })
  server.accept()
  void performAsked(server, asked)
  link.send({ op: 10, d: { heartbeat_interval: 41_250 } })
  return new Response(null, { status: 101, webSocket: client })
}
