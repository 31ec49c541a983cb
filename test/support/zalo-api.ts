/** Stands in for the API of Zalo's bots. Each token has messages of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const zaloPerson = 'a1b2c3d4'
export const zaloPhoto = new TextEncoder().encode('a photo of Zalo')

class ZaloAccount extends FakeAccount {
  hook = ''
}

const bots = new Map<string, ZaloAccount>()

export function createZaloApi() {
  const token = `12345${bots.size}:zalo`
  const api = new ZaloAccount()
  bots.set(token, api)
  return { api, secrets: { bot_token: token, webhook_secret: `webhook-secret-${bots.size}` } }
}

/** Zalo reports failures with status 200. */
export const zaloError = (code: number, description: string, headers = {}) =>
  Response.json({ ok: false, error_code: code, description }, { headers })

serveHost('zalo.test', (call) => {
  if (call.path === '/photo/1') return new Response(zaloPhoto)
  const [, token = '', method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(call.path) ?? []
  const api = bots.get(token)
  if (!api) return call.path.startsWith('/photo') ? new Response(null, { status: 404 }) : zaloError(401, 'Unauthorized')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, method, call)
})

function answer(api: ZaloAccount, method: string, { body }: ApiCall): Response {
  const done = (result: unknown = true) => Response.json({ ok: true, result })
  switch (method) {
    case 'getMe':
      return done({ id: '1', account_name: 'bot.Talaria' })
    case 'setWebhook':
      api.hook = String(body['url'])
      return done()
    case 'deleteWebhook':
      api.hook = ''
      return done()
    case 'sendChatAction':
      return done()
    default: {
      const text = String(body['text'])
      if (text.length > 2_000) return zaloError(400, 'text is too long')
      return api.send(() => done({ message_id: api.add(text) }))
    }
  }
}
