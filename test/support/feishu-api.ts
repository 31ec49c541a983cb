/** Stands in for the open platform of Feishu. Each app has messages of its own. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { concatBytes } from '#channels/hmac.ts'
import { sha256, toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const feishuChat = 'oc_direct'
export const feishuFile = new TextEncoder().encode('a file of Feishu')

class FeishuAccount extends FakeAccount {
  token = ''
  issued = 0
  readonly keys = new Map<string, string>()
}

const apps = new Map<string, FeishuAccount>()

export function createFeishuApi() {
  const id = `cli_${apps.size + 1}`
  const api = new FeishuAccount()
  apps.set(id, api)
  const secrets = { app_id: id, app_secret: `secret-${id}`, verification_token: `v-${id}`, encrypt_key: `e-${id}` }
  return { api, secrets }
}

/** Encrypts a body as Feishu does. */
export async function encryptFeishu(text: string, key: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(16))
  const imported = await crypto.subtle.importKey('raw', await sha256(key), 'AES-CBC', false, ['encrypt'])
  const data = await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, imported, new TextEncoder().encode(text))
  return JSON.stringify({ encrypt: encodeBase64Bytes(Uint8Array.from([...iv, ...new Uint8Array(data)])) })
}

export async function signFeishu(body: Uint8Array, key: string, at: number) {
  const time = String(Math.floor(at / 1_000))
  return {
    'x-lark-request-timestamp': time,
    'x-lark-request-nonce': 'n1',
    'x-lark-signature': toHex(await sha256(concatBytes(`${time}n1${key}`, body))),
  }
}

export const feishuError = (code: number, msg: string, status = 400) => Response.json({ code, msg }, { status })

serveHost('feishu.test', (call) => {
  const path = call.path.replace('/open-apis/', '')
  if (path === 'auth/v3/tenant_access_token/internal') return issue(call)
  const token = call.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  const api = [...apps.values()].find((one) => one.token && one.token === token)
  if (!api) return feishuError(99_991_663, 'Invalid access token for authorization.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call, path)
})

function issue({ body }: ApiCall): Response {
  const id = String(body['app_id'])
  const api = apps.get(id)
  if (!api || body['app_secret'] !== `secret-${id}`) return feishuError(10_014, 'app secret invalid', 200)
  api.token = `t-${id}-${++api.issued}`
  return Response.json({ code: 0, msg: 'ok', tenant_access_token: api.token, expire: 7_200 })
}

function answer(api: FeishuAccount, call: ApiCall, path: string): Response {
  const done = (data: object = {}) => Response.json({ code: 0, msg: 'success', data })
  if (path === 'bot/v3/info') return Response.json({ code: 0, bot: { open_id: 'ou_bot', app_name: 'Talaria' } })
  if (path === `im/v1/chats/${feishuChat}`) return done({ chat_mode: 'p2p' })
  if (path === 'im/v1/messages/om_1/resources/k1') return new Response(feishuFile)
  if (path === 'im/v1/images' || path === 'im/v1/files') {
    const file = call.body['file'] ?? call.body['image']
    api.addFile(file as File)
    return done({ file_key: 'f1', image_key: 'i1' })
  }
  if (call.method === 'DELETE')
    return api.messages.delete(path.split('/').at(-1) ?? '')
      ? done()
      : feishuError(231_003, 'The message is not found.')
  if (call.method === 'PATCH') return edit(api, path.split('/').at(-1) ?? '', call.body)
  if (path === 'im/v1/messages' || /^im\/v1\/messages\/\w+\/reply$/.test(path)) return create(api, call)
  return feishuError(230_002, 'not found')
}

const textOf = (content: unknown): string => {
  const card = JSON.parse(String(content)) as { readonly elements?: readonly { readonly content: string }[] }
  return card.elements?.[0]?.content ?? ''
}

function create(api: FeishuAccount, { body, path }: ApiCall): Response {
  if (!path.endsWith('/reply') && body['receive_id'] !== feishuChat)
    return feishuError(230_002, 'The bot is out of the chat.')
  const key = String(body['uuid'])
  const known = api.keys.get(key)
  if (known !== undefined) return Response.json({ code: 0, data: { message_id: known } })
  if (String(body['content']).length > 30_000)
    return feishuError(230_025, 'The length of the message content exceeds its limit.')
  return api.send(() => {
    const id = `om_${api.messages.size + 100}`
    if (body['msg_type'] === 'interactive') api.add(textOf(body['content']), id)
    api.keys.set(key, id)
    return Response.json({ code: 0, data: { message_id: id } })
  })
}

function edit(api: FeishuAccount, id: string, { content }: ApiCall['body']): Response {
  if (!api.messages.has(id)) return feishuError(231_003, 'The message is not found.')
  return api.send(() => {
    api.add(textOf(content), id)
    return Response.json({ code: 0, data: {} })
  })
}
