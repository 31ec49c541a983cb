/** Stands in for WeCom: encrypts what its AI bots send, and takes one answer for each code. */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { toHex } from '#durable/platform/hash.ts'
import { FakeAccount, serveHost } from './json-api.ts'

export const wecomGroup = 'wrAAAAAAAAAAAAAAAAAAAAAAAAAA'
export const wecomFile = new TextEncoder().encode('a file of WeCom')
const wecomFileAddress = 'https://wecom.test/files/1'
/** The same for all bots: their tokens tell them apart. */
const encodingKey = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFA'

class WecomAccount extends FakeAccount {
  readonly used = new Set<string>()
  /** Codes are taken more than once, where a test is not about them. */
  isPatient = true
}

const bots = new Map<string, WecomAccount>()

export function createWecomApi() {
  const name = `bot${bots.size}`
  const api = new WecomAccount()
  bots.set(name, api)
  const secrets = { token: `token${name}`, encoding_aes_key: encodingKey }
  return { api, code: `${name}-code`, file: wecomFileAddress, secrets }
}

/** PKCS #7 in blocks of 32 bytes. WebCrypto adds a block of its own, which is cut off. */
async function encryptWecom(content: Uint8Array, encoded: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = decodeBase64Bytes(`${encoded}=`)
  const key = await crypto.subtle.importKey('raw', bytes, 'AES-CBC', false, ['encrypt'])
  const padding = 32 - (content.length % 32)
  const padded = Uint8Array.from([...content, ...new Uint8Array(padding).fill(padding)])
  const encrypted = await crypto.subtle.encrypt({ name: 'AES-CBC', iv: bytes.slice(0, 16) }, key, padded)
  return new Uint8Array(encrypted).slice(0, padded.length)
}

export async function sealWecom(message: string | Uint8Array, encoded: string, receiver = ''): Promise<string> {
  const content = typeof message === 'string' ? new TextEncoder().encode(message) : message
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, content.length)
  const random = crypto.getRandomValues(new Uint8Array(16))
  const plain = Uint8Array.from([...random, ...length, ...content, ...new TextEncoder().encode(receiver)])
  return encodeBase64Bytes(await encryptWecom(plain, encoded))
}

type Signing = { readonly token: string; readonly at: number }

export async function signWecom(url: URL, encrypted: string, { token, at }: Signing): Promise<URL> {
  const signed = new URL(url)
  const [timestamp, nonce] = [String(Math.floor(at / 1_000)), 'nonce1']
  const parts = new TextEncoder().encode([token, timestamp, nonce, encrypted].toSorted().join(''))
  const msg_signature = toHex(new Uint8Array(await crypto.subtle.digest('SHA-1', parts)))
  for (const [name, value] of Object.entries({ msg_signature, timestamp, nonce })) signed.searchParams.set(name, value)
  return signed
}

export const wecomError = (errcode: number, errmsg: string, init = {}) => Response.json({ errcode, errmsg }, init)

serveHost('wecom.test', async (call) => {
  if (call.path === '/files/1') return new Response(await encryptWecom(wecomFile, encodingKey))
  const code = call.query.get('response_code') ?? ''
  const api = bots.get(code.split('-')[0] ?? '')
  if (call.path !== '/cgi-bin/aibot/response' || !api) return new Response(null, { status: 404 })
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  const text = (call.body['markdown'] as { readonly content: string }).content
  if (new TextEncoder().encode(text).length > 20_480) return wecomError(40_058, 'content size exceed limit')
  return api.send(() => {
    if (api.used.has(code) && !api.isPatient) return wecomError(40_001, 'invalid credential: response_code')
    api.used.add(code)
    return Response.json({ errcode: 0, errmsg: 'ok', id: api.add(text) })
  })
})
