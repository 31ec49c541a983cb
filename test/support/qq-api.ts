/** Stands in for the API of QQ's bots. Each app has messages of its own. */

import { concatBytes } from '#channels/hmac.ts'
import { toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const qqPerson = 'E4F4AEA33253A2797FB897C50B81D7ED'
export const qqGroup = 'C9F778FE6ADF9D1D1DBE395BF744A33A'
export const qqFile = new TextEncoder().encode('a picture of QQ')

/** The same for all apps. */
export const qqSecret = 'DG5g3B4j9X2KOErG'

class QqAccount extends FakeAccount {
  token = ''
  readonly answers = new Set<string>()
}

const apps = new Map<string, QqAccount>()

export function createQqApi() {
  const app_id = `10000${apps.size}`
  const api = new QqAccount()
  apps.set(app_id, api)
  return { api, secrets: { app_id, app_secret: qqSecret } }
}

/** RFC 8410. */
const keyHead = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32]

export async function signQq(secret: string, content: string, body = new Uint8Array()): Promise<string> {
  let seed = secret
  while (seed.length < 32) seed = seed.repeat(2)
  const pkcs8 = Uint8Array.from([...keyHead, ...new TextEncoder().encode(seed.slice(0, 32))])
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign'])
  return toHex(new Uint8Array(await crypto.subtle.sign('Ed25519', key, Uint8Array.from(concatBytes(content, body)))))
}

export async function qqHeaders(
  body: Uint8Array,
  { app_id = '', app_secret = '' }: Readonly<Record<string, string>>,
  at: number,
) {
  const time = String(Math.floor(at / 1_000))
  const signature = app_secret && (await signQq(app_secret, time, Uint8Array.from(body)))
  return { 'x-bot-appid': app_id, 'x-signature-timestamp': time, 'x-signature-ed25519': signature }
}

export const qqError = (status: number, code: number, message: string, headers = {}) =>
  Response.json({ code, message }, { status, headers })

serveHost('qq.test', (call) => {
  if (call.path === '/app/getAppAccessToken') return grant(call)
  if (call.path.startsWith('/files/'))
    return call.path === '/files/1' ? new Response(qqFile) : new Response(null, { status: 404 })
  const authorization = call.headers.get('authorization')
  const api = [...apps.values()].find(({ token }) => token !== '' && authorization === `QQBot ${token}`)
  if (!api) return qqError(401, 11_244, 'token not exist or expire')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function grant({ body: { appId, clientSecret } }: ApiCall): Response {
  const api = apps.get(String(appId))
  if (!api || clientSecret !== qqSecret) return Response.json({ code: 100_016, message: 'invalid appid or secret' })
  api.token = `token-of-${String(appId)}`
  return Response.json({ access_token: api.token, expires_in: '7200' })
}

function answer(api: QqAccount, { method, path, body }: ApiCall): Response {
  if (path === '/users/@me') return Response.json({ id: '1', username: 'Talaria' })
  if (method === 'DELETE') {
    const isDeleted = api.messages.delete(path.split('/').at(-1) ?? '')
    return isDeleted ? Response.json({}) : qqError(400, 306_003, 'the message was not found')
  }
  const text = String(body['content'])
  if (text.length > 2_000) return qqError(400, 40_054_007, 'the message is too long')
  if (!body['msg_id']) return qqError(400, 40_034_128, 'there is nothing to answer')
  return api.send(() => {
    const name = `${String(body['msg_id'])} ${String(body['msg_seq'])}`
    if (api.answers.has(name)) return qqError(400, 40_054_005, '消息被去重，请检查请求msgseq')
    api.answers.add(name)
    return Response.json({ id: api.add(text), timestamp: 1 })
  })
}
