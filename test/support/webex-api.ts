/** Stands in for Webex's API. Each bot token has messages of its own. */

import { computeHmac } from '#channels/hmac.ts'
import { sha256Hex, toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const webexRoom = 'Y2lzY29zcGFyazovL3Jvb20x'
export const webexFile = new TextEncoder().encode('a file of Webex')

class WebexAccount extends FakeAccount {
  /** What people have written and pressed, by id. */
  readonly written = new Map<string, object>()
  readonly hooks = new Map<string, object>()
}

const bots = new Map<string, WebexAccount>()

export function createWebexApi() {
  const token = `webex-token-${bots.size + 1}`
  const api = new WebexAccount()
  bots.set(token, api)
  return { api, secrets: { bot_token: token } }
}

export async function signWebex(body: Uint8Array, { webhookUrl, token }: { webhookUrl: string; token: string }) {
  const secret = await sha256Hex(`webex ${webhookUrl} ${token}`)
  return { 'x-spark-signature': toHex(await computeHmac('SHA-1', secret, body)) }
}

export const webexError = (status: number, message: string, headers = {}) =>
  Response.json({ message, errors: [{ description: message }], trackingId: 'T' }, { status, headers })

serveHost('webex.test', (call) => {
  const api = bots.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return webexError(401, 'The request requires a valid access token set in the Authorization request header.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: WebexAccount, { method, path, body }: ApiCall): Response {
  const rest = path.replace('/v1/', '')
  switch (`${method} ${rest}`) {
    case 'GET people/me':
      return Response.json({ id: 'BOT', displayName: 'Talaria', emails: ['talaria@webex.bot'] })
    case `GET rooms/${webexRoom}`:
      return Response.json({ id: webexRoom, type: 'direct' })
    case 'GET contents/1':
      return new Response(webexFile)
    case 'GET webhooks':
      return Response.json({ items: [...api.hooks].map(([id, hook]) => ({ id, ...hook })) })
    case 'POST webhooks':
      api.hooks.set(`h${api.hooks.size + 1}`, body)
      return Response.json({ id: 'h' })
    case 'POST messages':
      return create(api, body)
    default:
      return answerOne(api, { method, rest, body })
  }
}

function create(api: WebexAccount, body: ApiCall['body']): Response {
  if (body['roomId'] !== webexRoom) return webexError(404, 'Could not find a room with provided ID.')
  const file = body['files']
  if (file instanceof File) return Response.json({ id: api.addFile(file) })
  const text = String(body['markdown'])
  if (new TextEncoder().encode(text).length > 7_439)
    return webexError(400, 'Message length limited to 7439 characters.')
  return api.send(() => Response.json({ id: api.add(text) }))
}

type OneCall = { readonly method: string; readonly rest: string; readonly body: ApiCall['body'] }

function answerOne(api: WebexAccount, { method, rest, body }: OneCall): Response {
  const [, kind = '', id = ''] = /^(messages|attachment\/actions|webhooks)\/(.+)$/.exec(rest) ?? []
  const known = kind === 'webhooks' ? api.hooks : api.messages
  if (method === 'GET') {
    const found = api.written.get(id)
    return found ? Response.json(found) : webexError(404, 'Could not find it.')
  }
  if (!known.has(id)) return webexError(404, 'Could not find it.')
  if (method === 'DELETE') {
    known.delete(id)
    return new Response(null, { status: 204 })
  }
  return api.send(() => Response.json({ id: api.add(String(body['markdown']), id) }))
}
