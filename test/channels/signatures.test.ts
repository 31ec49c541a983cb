/**
 * Compares the verification of signatures with the libraries of the platforms, on generated requests: what the library
 * signs is accepted, and what it refuses is refused.
 */

import { sign as signOfOctokit } from '@octokit/webhooks-methods'
import { verifyKey } from 'discord-interactions'
import { validateSignature } from '@line/bot-sdk'
import { verifySlackRequest } from 'slack-edge'
import nacl from 'tweetnacl'
import twilio from 'twilio'
import { describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import type { Channel, ChannelConnection, InboundRequest } from '#channels/channel.ts'
import { discord } from '#channels/discord/discord.ts'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { slack } from '#channels/slack/slack.ts'
import { line } from '#channels/line/line.ts'
import { sms } from '#channels/sms/sms.ts'
import { telegram } from '#channels/telegram/telegram.ts'
import { whatsapp } from '#channels/whatsapp/whatsapp.ts'
import { toHex } from '#durable/platform/hash.ts'

const requests = 1_000
const webhookUrl = 'https://talaria.test/webhooks/x/ch_1?tenant=a%20b&c=%C3%A4'
const receivedAt = 1_800_000_000_000

const connectionOf = (secrets: Record<string, string>): ChannelConnection => ({
  apiBase: 'https://api.test',
  secrets,
  webhookUrl: 'https://talaria.test/webhooks/x/ch_1',
  fetchForeign: () => Promise.reject(new Error('not used')),
})

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
const random = randomOf(20_261_123)
const alphabet = [...'abcXYZ019 &=+%?/\\"\'{}[]:,;\n\t<>äß漢😀\u0000']
const textOf = (max: number) => Array.from({ length: random(max) }, () => alphabet[random(alphabet.length)]).join('')
const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))

const requestOf = (headers: Record<string, string>, body: Uint8Array, at = receivedAt): InboundRequest => ({
  method: 'POST',
  url: new URL(webhookUrl),
  headers: new Headers(headers),
  body,
  receivedAt: at,
})

async function isAccepted(channel: Channel, secrets: Record<string, string>, request: InboundRequest) {
  const { response, events } = await channel.receive(request, connectionOf(secrets))
  const isRefused = response?.status === 401
  if (isRefused && ((await response.text()) || events.length)) throw new Error('A refusal says something.')
  return !isRefused
}

/** Bodies that differ from a body: other bytes, serialised again, or cut. */
const changesOf = (text: string): readonly string[] => {
  const changed = [`${text} `, text.slice(1), `${text}\n`, text.replace(/^./su, (char) => (char === 'b' ? 'c' : 'b'))]
  return changed.filter((one) => one !== text)
}

describe('LINE', () => {
  it('agrees with @line/bot-sdk', async () => {
    for (let n = 0; n < requests; n++) {
      const secrets = { channel_access_token: 't', channel_secret: `secret-${random(5)}` }
      const body = textOf(60)
      const signer = random(4) ? secrets.channel_secret : 'secret-of-another'
      const signature = encodeBase64Bytes(await computeHmac('SHA-256', signer, bytesOf(body)))
      const sent = random(4) ? body : (changesOf(body)[random(3)] ?? body)
      const isKnown = validateSignature(sent, secrets.channel_secret, signature)
      const actual = await isAccepted(line, secrets, requestOf({ 'x-line-signature': signature }, bytesOf(sent)))
      expect(actual).toBe(isKnown)
    }
  })
})

describe('Slack', () => {
  it('agrees with slack-edge', async () => {
    const signedAt = Math.floor(Date.now() / 1_000)
    for (let n = 0; n < requests; n++) {
      const secrets = { bot_token: 'xoxb-1', signing_secret: `secret-${random(5)}` }
      // Some are stale, some signed with the secret of another connection, some changed on the way.
      const time = String(signedAt + [0, -200, 200, -400, -10_000][random(5)]!)
      const body = textOf(60)
      const signer = random(4) ? secrets.signing_secret : 'secret-of-another'
      const signature = `v0=${toHex(await computeHmac('SHA-256', signer, concatBytes(`v0:${time}:`, bytesOf(body))))}`
      const sent = random(4) ? body : (changesOf(body)[random(3)] ?? body)
      const headers = { 'x-slack-request-timestamp': time, 'x-slack-signature': signature }
      const isKnown = await verifySlackRequest(secrets.signing_secret, new Headers(headers) as never, sent)
      const actual = await isAccepted(slack, secrets, requestOf(headers, bytesOf(sent), signedAt * 1_000))
      expect(actual).toBe(isKnown)
    }
  })

  it.each([
    ['no time', { 'x-slack-signature': 'v0=00' }],
    ['a time that is no number', { 'x-slack-request-timestamp': 'now', 'x-slack-signature': 'v0=00' }],
    ['a time ahead', { 'x-slack-request-timestamp': String(receivedAt / 1_000 + 301) }],
  ])('refuses %s', async (_name, headers) => {
    const time = (headers as Record<string, string>)['x-slack-request-timestamp'] ?? ''
    const signature = `v0=${toHex(await computeHmac('SHA-256', 's', concatBytes(`v0:${time}:`, bytesOf('{}'))))}`
    const request = requestOf({ 'x-slack-signature': signature, ...headers }, bytesOf('{}'))
    expect(await isAccepted(slack, { signing_secret: 's' }, request)).toBe(false)
  })
})

/** Signs like tweetnacl, but fast. */
async function signerOf(secretKey: Uint8Array) {
  const prefix = '302e020100300506032b657004220420'.match(/../g)!.map((hex) => Number.parseInt(hex, 16))
  const encoded = Uint8Array.from([...prefix, ...secretKey.subarray(0, 32)])
  const key = await crypto.subtle.importKey('pkcs8', encoded, 'Ed25519', false, ['sign'])
  return async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, bytes))
}

describe('Discord', () => {
  it('agrees with discord-interactions on what tweetnacl signs', async () => {
    const pairs = Array.from({ length: 3 }, () => nacl.sign.keyPair())
    const keys = await Promise.all(pairs.map(async (pair) => ({ ...pair, sign: await signerOf(pair.secretKey) })))
    for (let n = 0; n < requests; n++) {
      const [own, other] = [keys[random(3)]!, keys[random(3)]!]
      const body = textOf(60)
      const time = String(random(2 ** 31))
      const signed = Uint8Array.from(concatBytes(time, bytesOf(body)))
      const signature = toHex(await other.sign(signed))
      // tweetnacl takes milliseconds for each.
      if (n % 20 === 0 && toHex(nacl.sign.detached(signed, other.secretKey)) !== signature)
        throw new Error('tweetnacl signs otherwise.')
      const sent = random(4) ? body : (changesOf(body)[random(3)] ?? body)
      const sentTime = random(8) ? time : `${time}0`
      const headers = { 'x-signature-ed25519': signature, 'x-signature-timestamp': sentTime }
      const key = toHex(own.publicKey)
      const expected = await verifyKey(bytesOf(sent), signature, sentTime, key)
      expect(await isAccepted(discord, { public_key: key }, requestOf(headers, bytesOf(sent)))).toBe(expected)
    }
  })

  it.each(['', 'zz'.repeat(64), 'ab'.repeat(63), `${'ab'.repeat(64)}00`, 'ä'.repeat(128)])(
    'refuses a signature that is no signature: %s',
    async (signature) => {
      const key = toHex(nacl.sign.keyPair().publicKey)
      const headers = new Headers({ 'x-signature-timestamp': '1' })
      if (/^[\x20-\x7e]*$/.test(signature)) headers.set('x-signature-ed25519', signature)
      const request = { ...requestOf({}, bytesOf('{"type":1}')), headers }
      expect(await isAccepted(discord, { public_key: key }, request)).toBe(false)
      expect(await isAccepted(discord, { public_key: 'ff'.repeat(32) }, request)).toBe(false)
    },
  )
})

describe('WhatsApp', () => {
  it('accepts what @octokit/webhooks-methods signs, and nothing that was changed', async () => {
    for (let n = 0; n < requests; n++) {
      const secret = `app-secret-${random(100)}`
      const body = textOf(60) || '{}'
      const headers = { 'x-hub-signature-256': await signOfOctokit(secret, body) }
      expect(await isAccepted(whatsapp, { app_secret: secret }, requestOf(headers, bytesOf(body)))).toBe(true)
      const changed = changesOf(body)[random(3)] ?? ''
      expect(await isAccepted(whatsapp, { app_secret: secret }, requestOf(headers, bytesOf(changed)))).toBe(false)
      expect(await isAccepted(whatsapp, { app_secret: `${secret}x` }, requestOf(headers, bytesOf(body)))).toBe(false)
    }
  })
})

describe('Twilio', () => {
  it('agrees with the library of Twilio, with several values for a field and an address with a query', async () => {
    for (let n = 0; n < requests; n++) {
      const secrets = { account_sid: 'AC1', auth_token: `token-${random(5)}`, from: '+15550001111' }
      const form = new URLSearchParams()
      for (let field = random(8); field > 0; field--)
        form.append(['From', 'to', 'Body', 'Äh', 'a b'][random(5)]!, textOf(20))
      const params: Record<string, string | string[]> = {}
      for (const name of new Set(form.keys())) {
        const values = form.getAll(name)
        params[name] = values.length > 1 ? values : (values[0] ?? '')
      }
      const address = random(6) ? webhookUrl : `${webhookUrl}&x=1`
      const signature = twilio.getExpectedTwilioSignature(secrets.auth_token, address, params)
      const body = form.toString()
      const sent = random(4) ? body : `${body}&More=1`
      const expected = address === webhookUrl && sent === body
      const headers = { 'x-twilio-signature': signature }
      const request = requestOf(headers, bytesOf(sent))
      expect(await isAccepted(sms, secrets, request)).toBe(expected)
      expect(await isAccepted(sms, { ...secrets, auth_token: 'another' }, request)).toBe(false)
    }
  })
})

describe('Telegram', () => {
  it('accepts the secret of the connection in its header, and nothing else', async () => {
    const letters = [...'abcXYZ019_-']
    const secretOf = (length: number) => Array.from({ length }, () => letters[random(letters.length)]).join('')
    for (let n = 0; n < requests; n++) {
      const secret = secretOf(32 + random(200))
      const at = random(secret.length)
      const sent = [
        secret,
        secretOf(secret.length),
        secret.slice(0, at),
        `${secret}${secretOf(1)}`,
        secret.slice(0, at) + secretOf(1) + secret.slice(at + 1),
        secret.toUpperCase(),
      ][random(6)]!
      const headers = { 'x-telegram-bot-api-secret-token': sent }
      const request = requestOf(headers, bytesOf(textOf(60)))
      expect(await isAccepted(telegram, { webhook_secret: secret }, request)).toBe(sent === secret)
    }
    expect(await isAccepted(telegram, { webhook_secret: 's' }, requestOf({}, bytesOf('{}')))).toBe(false)
  })
})
