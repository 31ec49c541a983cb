/** Stands in for the API of Twitch. Each app has messages and subscriptions of its own. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const twitchChannel = '12826'
export const twitchBot = '141981764'

class TwitchAccount extends FakeAccount {
  token = ''
  readonly subscriptions = new Map<string, object>()
}

const apps = new Map<string, TwitchAccount>()

export function createTwitchApi() {
  const client_id = `client${apps.size}`
  const api = new TwitchAccount()
  apps.set(client_id, api)
  const webhook_secret = `webhook-secret-${apps.size}`
  const secrets = { client_id, client_secret: `secretof${client_id}`, bot_id: twitchBot, channel_id: twitchChannel }
  return { api, secrets: { ...secrets, webhook_secret } }
}

export async function signTwitch(body: Uint8Array, secret: string, at: number) {
  const [id, time] = ['e1', new Date(at).toISOString()]
  const head = new TextEncoder().encode(id + time)
  const signature = await computeHmac('SHA-256', secret || 'x', new Uint8Array([...head, ...body]))
  return {
    'twitch-eventsub-message-id': id,
    'twitch-eventsub-message-timestamp': time,
    'twitch-eventsub-message-signature': `sha256=${Buffer.from(encodeBase64Bytes(signature), 'base64').toString('hex')}`,
  }
}

export const twitchError = (status: number, error: string, message: string, headers = {}) =>
  Response.json({ error, status, message }, { status, headers })

serveHost('twitch.test', (call) => {
  if (call.path === '/oauth2/token') return grant(call)
  const api = apps.get(call.headers.get('client-id') ?? '')
  if (!api || call.headers.get('authorization') !== `Bearer ${api.token}` || !api.token)
    return twitchError(401, 'Unauthorized', 'Invalid OAuth token')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function grant({ body: { client_id: id, client_secret: secret } }: ApiCall): Response {
  const api = apps.get(String(id))
  if (!api || secret !== `secretof${String(id)}`)
    return Response.json({ status: 403, message: 'invalid client secret' }, { status: 403 })
  api.token = `token-of-${String(id)}`
  return Response.json({ access_token: api.token, expires_in: 5_011_271, token_type: 'bearer' })
}

function answer(api: TwitchAccount, { method, path, query, body }: ApiCall): Response {
  if (path === '/helix/users')
    return Response.json({ data: [{ id: query.get('id'), login: 'talaria', display_name: 'Talaria' }] })
  if (path === '/helix/eventsub/subscriptions') {
    if (method === 'GET') return Response.json({ data: [...api.subscriptions].map(([id, one]) => ({ id, ...one })) })
    if (method === 'DELETE') {
      api.subscriptions.delete(query.get('id') ?? '')
      return new Response(null, { status: 204 })
    }
    api.subscriptions.set(`s${api.subscriptions.size + 1}`, body)
    return Response.json({ data: [{ status: 'webhook_callback_verification_pending' }] }, { status: 202 })
  }
  const text = String(body['message'])
  if (text.length > 500) return twitchError(400, 'Bad Request', 'The message is too long, 500 characters at most')
  return api.send(() => Response.json({ data: [{ message_id: api.add(text), is_sent: true }] }))
}
