/** Tests push messages: the encryption by the example of RFC 8291, and when they are sent to whom. */

import { createLocalJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import { concatBytes } from '#durable/tenant/push/encrypt-push.ts'
import { encryptPush } from '#durable/tenant/push/encrypt-push.ts'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from '../client.ts'

/** RFC 8291, section 5 and appendix A. */
const example = {
  text: 'When I grow up, I want to be a watermelon',
  ours: {
    public: 'BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8',
    private: 'yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw',
  },
  theirs: {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
  salt: 'DGv6ra1nlYgDCS1FRnbzlw',
  body: 'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
}
const curve = { name: 'ECDH', namedCurve: 'P-256' }
const bits = (privateKey: CryptoKey, theirs: CryptoKey) =>
  crypto.subtle.deriveBits(
    { name: 'ECDH', public: theirs } as unknown as SubtleCryptoDeriveKeyAlgorithm,
    privateKey,
    256,
  )

async function importPair({ public: point, private: d }: typeof example.ours): Promise<CryptoKeyPair> {
  const raw = decodeBase64Url(point)
  const [x, y] = [encodeBase64Url(raw.slice(1, 33)), encodeBase64Url(raw.slice(33))]
  const privateKey = await crypto.subtle.importKey('jwk', { kty: 'EC', crv: 'P-256', d, x, y }, curve, true, [
    'deriveBits',
  ])
  return { privateKey, publicKey: await crypto.subtle.importKey('raw', raw, curve, true, []) }
}

/** A browser, as far as push needs one. */
async function createBrowser(endpoint: string) {
  const pair = (await crypto.subtle.generateKey(curve, true, ['deriveBits'])) as CryptoKeyPair
  const point = new Uint8Array((await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer)
  const auth = crypto.getRandomValues(new Uint8Array(16))
  const decrypt = async (body: Uint8Array): Promise<Record<string, unknown>> => {
    const [salt, sender, sealed] = [body.slice(0, 16), body.slice(21, 86), body.slice(86)]
    const shared = await bits(pair.privateKey, await crypto.subtle.importKey('raw', sender, curve, false, []))
    const text = (value: string) => new TextEncoder().encode(value)
    const derive = async (from: BufferSource, by: { salt: BufferSource; info: BufferSource; length: number }) => {
      const key = await crypto.subtle.importKey('raw', from, 'HKDF', false, ['deriveBits'])
      return crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt: by.salt, info: by.info }, key, by.length)
    }
    const info = concatBytes(text('WebPush: info\0'), point, sender)
    const secret = await derive(shared, { salt: auth, info, length: 256 })
    const raw = await derive(secret, { salt, info: text('Content-Encoding: aes128gcm\0'), length: 128 })
    const iv = await derive(secret, { salt, info: text('Content-Encoding: nonce\0'), length: 96 })
    const key = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt'])
    const plain = new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed))
    expect(plain.at(-1)).toBe(2)
    return JSON.parse(new TextDecoder().decode(plain.slice(0, -1))) as Record<string, unknown>
  }
  return { subscription: { endpoint, keys: { p256dh: encodeBase64Url(point), auth: encodeBase64Url(auth) } }, decrypt }
}

type Pushed = { readonly url: string; readonly headers: Headers; readonly body: Uint8Array }
const pushed: Pushed[] = []
const isGone = new Set<string>()
const outside = globalThis.fetch
beforeAll(async () => {
  await applyMigrations()
  globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const sent = new Request(input, init)
    if (new URL(sent.url).host !== 'push.example.com') return outside(input, init)
    if (isGone.has(sent.url)) return new Response(null, { status: 410 })
    pushed.push({ url: sent.url, headers: sent.headers, body: new Uint8Array(await sent.arrayBuffer()) })
    return new Response(null, { status: 201 })
  }
})
afterAll(() => void (globalThis.fetch = outside))

let count = 0
const newEndpoint = () => `https://push.example.com/send/${++count}`
const to = (endpoint: string) => pushed.filter(({ url }) => url === endpoint)
async function subscribe(key: string) {
  const browser = await createBrowser(newEndpoint())
  await call('GET', '/api/push', { key })
  expect((await call('POST', '/api/push', { key, body: browser.subscription })).status).toBe(204)
  return { ...browser, endpoint: browser.subscription.endpoint }
}
const chat = (key: string, id: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })

it('encrypts as the example of RFC 8291', async () => {
  const random = { pair: await importPair(example.ours), salt: decodeBase64Url(example.salt) }
  expect(encodeBase64Url(await encryptPush(example.text, example.theirs, random))).toBe(example.body)
})

describe('push', () => {
  it('tells the end of a run with ids and title, signed by the key that GET names', async () => {
    const { key } = await newTenant()
    const { body: named } = await call<{ public_key: string }>('GET', '/api/push', { key })
    expect((await call('GET', '/api/push', { key })).body).toEqual(named)
    const { endpoint, decrypt } = await subscribe(key)
    const { id } = await newSession({ title: 'Build', model: model([says('a secret')]).id }, key)
    await chat(key, id)
    await until(() => to(endpoint).length)
    const [{ headers, body }] = to(endpoint) as [Pushed]
    expect(await decrypt(body)).toEqual({
      kind: 'completed',
      session_id: id,
      run_id: expect.any(String) as string,
      title: 'Build',
    })
    expect([headers.get('content-encoding'), headers.get('ttl')]).toEqual(['aes128gcm', '86400'])
    const [, token = '', k = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(headers.get('authorization') ?? '') ?? []
    expect(k).toBe(named.public_key)
    const raw = decodeBase64Url(k)
    const jwk = { kty: 'EC', crv: 'P-256', x: encodeBase64Url(raw.slice(1, 33)), y: encodeBase64Url(raw.slice(33)) }
    const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [jwk] }), {
      audience: 'https://push.example.com',
    })
    expect(payload.sub).toBe('https://talaria.test')
  })

  it('tells of an approval and a question, not while a socket of the key is open, and not of another key', async () => {
    const { id: tenantId, key } = await newTenant()
    const other = await newKey(tenantId, ['read', 'chat', 'approve'])
    const { webSocket } = await request('GET', '/api/events', { key, headers: { upgrade: 'websocket' } })
    webSocket?.accept()
    const [watched, away] = [await subscribe(key), await subscribe(other)]
    const asks = calls({ name: 'clarify', input: { question: 'Which?', choices: ['a', 'b'] } })
    const danger = calls({ name: 'terminal', input: { command: 'rm -rf build' } })
    for (const [kind, reply] of [
      ['approval', danger],
      ['question', asks],
    ] as const) {
      const { id } = await newSession({ model: model([reply, says('done')]).id }, key)
      await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go', wait: false } })
      await until(() => to(away.endpoint).length === (kind === 'approval' ? 1 : 2))
      const message = await away.decrypt(to(away.endpoint).at(-1)?.body ?? new Uint8Array())
      expect(message).toMatchObject({ kind, session_id: id, id: expect.any(String) as string })
      expect(JSON.stringify(message)).not.toMatch(/rm -rf|Which/)
    }
    expect(to(watched.endpoint)).toEqual([])
    webSocket?.close(1000)
  })

  it('forgets a browser that the service does not know, one of a revoked key, and one that asks for it', async () => {
    const { id: tenantId, key } = await newTenant()
    const { body: made } = await call<{ id: string; key: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: tenantId, scopes: ['read'] },
    })
    const [gone, revoked, ended, stays] = [
      await subscribe(key),
      await subscribe(made.key),
      await subscribe(key),
      await subscribe(key),
    ]
    isGone.add(gone.endpoint)
    await call('DELETE', `/api/admin/keys/${made.id}`)
    const end = (as: string) => call('DELETE', '/api/push', { key: as, body: { endpoint: ended.endpoint } })
    expect((await end(key)).status).toBe(204)
    const run = async () => {
      const before = to(stays.endpoint).length
      const { id } = await newSession({ model: model([says('x')]).id }, key)
      await chat(key, id)
      await until(() => to(stays.endpoint).length > before)
    }
    await run()
    isGone.delete(gone.endpoint)
    await run()
    expect([gone, revoked, ended].flatMap(({ endpoint }) => to(endpoint))).toEqual([])
  })

  it('keeps those of everybody else when one key subscribes more than there may be', async () => {
    const { id: tenantId, key } = await newTenant()
    const reader = await newKey(tenantId, ['read'])
    const [first, own] = [await subscribe(reader), await subscribe(key)]
    const { keys } = first.subscription
    for (let more = 0; more < 60; more++)
      await call('POST', '/api/push', { key: reader, body: { endpoint: newEndpoint(), keys } })
    const { id } = await newSession({ model: model([says('x')]).id }, key)
    await chat(key, id)
    await expect.poll(() => to(own.endpoint).length).toBeGreaterThan(0)
  })

  it('refuses private addresses, plain http and keys that are none', async () => {
    const { key } = await newTenant()
    const { keys } = (await createBrowser('')).subscription
    const answer = async (endpoint: string, given = keys) => {
      const { status, body } = await call<ErrorBody>('POST', '/api/push', { key, body: { endpoint, keys: given } })
      return [status, body.error.code, body.error.param]
    }
    expect(await answer('https://10.0.0.1/x')).toEqual([400, 'blocked_url', 'endpoint'])
    expect(await answer('https://localhost/x')).toEqual([400, 'blocked_url', 'endpoint'])
    expect(await answer('http://push.example.com/x')).toEqual([400, 'invalid_request', 'endpoint'])
    expect(await answer(newEndpoint(), { ...keys, auth: 'AAAA' })).toEqual([400, 'invalid_request', 'keys'])
  })
})
