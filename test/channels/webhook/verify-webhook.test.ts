import { sign as signGithub } from '@octokit/webhooks-methods'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import type { InboundRequest } from '#channels/channel.ts'
import type { SignatureKind } from '#channels/webhook/definition.ts'
import { verifyWebhook } from '#channels/webhook/verify-webhook.ts'

const receivedAt = 1_800_000_000_000
const seconds = receivedAt / 1_000
const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))
const requestOf = (body: string, headers: Record<string, string>): InboundRequest => ({
  method: 'POST',
  url: new URL('https://talaria.test/webhooks/webhook/wh_1'),
  headers: new Headers(headers),
  body: bytesOf(body),
  receivedAt,
})

async function hmacOf(secret: string, text: string): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytesOf(secret), algorithm, false, ['sign'])
  const signed = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytesOf(text)))
  return [...signed].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Signs as the sender does: by its own library, or by the documented formula where there is none. */
const signers: Readonly<
  Record<SignatureKind, (secret: string, body: string, at?: number) => Promise<Record<string, string>>>
> = {
  github: async (secret, body) => ({
    'x-hub-signature-256': await signGithub(secret, body),
    'x-github-delivery': 'd1',
    'x-github-event': 'push',
  }),
  gitlab: async (secret) => ({ 'x-gitlab-token': secret, 'x-gitlab-event-uuid': 'd1', 'x-gitlab-event': 'Push Hook' }),
  standard: async (secret, body, at = seconds) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at),
    'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at * 1_000), body),
  }),
  talaria: async (secret, body, at = seconds) => ({
    'x-webhook-timestamp': String(at),
    'x-webhook-signature-v2': await hmacOf(secret, `${at}.${body}`),
  }),
}
const kinds = Object.keys(signers) as readonly SignatureKind[]
const signedKinds = kinds.filter((kind) => kind !== 'gitlab')

/** Header values carry visible ASCII. */
const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 48 })
  .map((bytes) => `whsec_${btoa(String.fromCharCode(...bytes))}`)
const bodies = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 })

describe('verifyWebhook', () => {
  it.each(kinds)('accepts what the sender signs, and nothing that differs: %s', async (kind) => {
    const check = async (secret: string, body: string, other: string): Promise<void> => {
      const headers = await signers[kind](secret, body)
      expect(await verifyWebhook(kind, requestOf(body, headers), secret)).toMatchObject({
        delivery: expect.any(String),
      })
      expect(await verifyWebhook(kind, requestOf(body, headers), `whsec_${btoa(other)}`)).toBeUndefined()
      expect(await verifyWebhook(kind, requestOf(body, {}), secret)).toBeUndefined()
      // GitLab signs nothing: its secret is the proof.
      const changed = await verifyWebhook(kind, requestOf(`${body} `, headers), secret)
      expect(changed !== undefined).toBe(kind === 'gitlab')
    }
    const other = fc.constant('another secret of 24 bytes')
    await fc.assert(fc.asyncProperty(secrets, bodies, other, check), { numRuns: 750 })
  })

  it.each(signedKinds)('refuses a signature of which any character differs: %s', async (kind) => {
    const secret = `whsec_${btoa('a secret of twenty-four b')}`
    const headers = await signers[kind](secret, '{}')
    const [name = ''] = Object.keys(headers).filter((header) => header.includes('signature'))
    const value = headers[name] ?? ''
    for (let at = 0; at < value.length; at++) {
      const wrong = value.slice(0, at) + (value[at] === 'a' ? 'b' : 'a') + value.slice(at + 1)
      expect(await verifyWebhook(kind, requestOf('{}', { ...headers, [name]: wrong }), secret)).toBeUndefined()
    }
    for (const wrong of ['', value.slice(1), `${value}0`, value.toUpperCase()])
      expect(await verifyWebhook(kind, requestOf('{}', { ...headers, [name]: wrong }), secret)).toBeUndefined()
  })

  it.each(['standard', 'talaria'] as const)('refuses times more than five minutes away: %s', async (kind) => {
    const secret = `whsec_${btoa('a secret of twenty-four b')}`
    const isAccepted = async (at: number) =>
      (await verifyWebhook(kind, requestOf('{}', await signers[kind](secret, '{}', at)), secret)) !== undefined
    expect(await Promise.all([-301, -300, 0, 300, 301].map((by) => isAccepted(seconds + by)))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ])
  })

  it.each(['', 'abc', '1e9', '-1', ' 1800000000', '1800000000.5', '9'.repeat(400)])(
    'refuses a time in another notation: "%s"',
    async (timestamp) => {
      const signature = await hmacOf('secret', `${timestamp}.{}`)
      const headers = { 'x-webhook-timestamp': timestamp, 'x-webhook-signature-v2': signature }
      expect(await verifyWebhook('talaria', requestOf('{}', headers), 'secret')).toBeUndefined()
    },
  )

  it('accepts one of several standard signatures, as during the change of a key', async () => {
    const secret = `whsec_${btoa('a secret of twenty-four b')}`
    const headers = await signers.standard(secret, '{}')
    const list = `v1,${btoa('x'.repeat(32))} v2,unknown ${headers['webhook-signature']}`
    const request = requestOf('{}', { ...headers, 'webhook-signature': list })
    expect(await verifyWebhook('standard', request, secret)).toEqual({ delivery: 'msg_1' })
  })

  it('refuses everything without a secret, and a standard secret that is no base64', async () => {
    for (const kind of kinds) {
      const headers = { ...(await signers[kind]('whsec_AAAA', '{}')), 'x-gitlab-token': '' }
      expect(await verifyWebhook(kind, requestOf('{}', headers), '')).toBeUndefined()
    }
    const headers = await signers.standard('whsec_AAAA', '{}')
    expect(await verifyWebhook('standard', requestOf('{}', headers), 'no base64 at all!')).toBeUndefined()
  })

  it('names a delivery by its signature where the sender signs no name', async () => {
    const { 'x-hub-signature-256': signature, ...unsigned } = await signers.github('secret', '{}')
    const headers = { ...unsigned, 'x-hub-signature-256': signature ?? '', 'x-request-id': 'r1' }
    const verified = await verifyWebhook('github', requestOf('{}', headers), 'secret')
    expect(verified).toEqual({ delivery: signature, event: 'push' })
    const own = await signers.talaria('secret', '{}')
    const request = requestOf('{}', { ...own, 'x-webhook-id': 'd1' })
    const proof = own['x-webhook-signature-v2']
    expect(await verifyWebhook('talaria', request, 'secret')).toEqual({ delivery: 'd1', proof })
  })

  it.each([
    [{ 'idempotency-key': 'k1', 'x-gitlab-event-uuid': 'u1', 'x-request-id': 'r1' }, 'k1'],
    [{ 'x-gitlab-event-uuid': 'u1', 'x-request-id': 'r1' }, 'u1'],
    [{ 'x-request-id': 'r1' }, 'r1'],
  ])('names a delivery of GitLab by %j', async (headers, delivery) => {
    const request = requestOf('{}', { 'x-gitlab-token': 'secret', ...headers })
    expect(await verifyWebhook('gitlab', request, 'secret')).toEqual({ delivery })
  })

  it('does not fall back to a body signature without a time', async () => {
    const signature = await hmacOf('secret', '{}')
    const headers = { 'x-webhook-signature': signature, 'x-webhook-signature-v2': signature }
    expect(await verifyWebhook('talaria', requestOf('{}', headers), 'secret')).toBeUndefined()
  })
})
