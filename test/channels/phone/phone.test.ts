import nacl from 'tweetnacl'
import { describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import type { ChannelConnection } from '#channels/channel.ts'
import { phone, telnyxPhone } from '#channels/phone/phone.ts'
import { cutAfter, parseFrame, renderToken } from '#channels/phone/relay-frames.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { type ApiCall, serveHost } from '../../support/json-api.ts'

describe('frames', () => {
  it.each([
    [
      { type: 'setup', callSid: 'CA1', from: '+1' },
      { kind: 'setup', callSid: 'CA1', person: '+1' },
    ],
    [
      { type: 'prompt', voicePrompt: ' hi ', last: true },
      { kind: 'prompt', text: 'hi' },
    ],
    [{ type: 'prompt', voicePrompt: 'h', last: false }, { kind: 'ignored' }],
    [{ type: 'prompt', voicePrompt: '', last: true }, { kind: 'ignored' }],
    [
      { type: 'dtmf', digit: '1' },
      { kind: 'digit', digit: '1' },
    ],
    [{ type: 'dtmf', digit: 'x' }, { kind: 'ignored' }],
    [
      { type: 'interrupt', utteranceUntilInterrupt: 'One' },
      { kind: 'interrupt', heard: 'One' },
    ],
    [{ type: 'error', description: 'x' }, { kind: 'ignored' }],
    ['no frame', { kind: 'ignored' }],
  ])('parses %j', (frame, expected) => {
    expect(parseFrame(JSON.stringify(frame))).toEqual(expected)
  })

  it('speaks no marks', () => {
    expect(JSON.parse(renderToken('**bold** `x`', false))).toEqual({ type: 'text', token: 'bold x', last: false })
  })

  it.each([
    ['One two three. Four.', 'One two three', 'One two three.'],
    ['Das **Wetter** ist schön. Morgen nicht.', 'das wetter ist schön', 'Das **Wetter** ist schön.'],
    ['First part. Second part.', 'Second', 'First part. Second'],
    ['Anything', '', ''],
    ['Anything', 'else', 'Anything'],
  ])('cuts %j after %j', (answer, heard, expected) => {
    expect(cutAfter(answer, heard)).toBe(expected)
  })
})

const form = (fields: Readonly<Record<string, string>>) =>
  new TextEncoder().encode(new URLSearchParams(fields).toString())

it('Telnyx signs the call with its key, and the address of the socket is good for that call alone', async () => {
  const pair = nacl.sign.keyPair()
  const webhookUrl = 'https://talaria.test/webhooks/telnyx_phone/ch_1'
  const secrets = {
    api_key: 'KEY1',
    public_key: encodeBase64Bytes(pair.publicKey),
    from: '+15550001111',
    relay_secret: 's'.repeat(40),
  }
  const connection: ChannelConnection = { apiBase: 'https://telnyx.test', secrets, webhookUrl, fetchForeign }
  const receivedAt = 1_800_000_000_000
  const body = form({ CallSid: 'v3:call', From: '+15550002222' })
  const signed = new Uint8Array([...new TextEncoder().encode('1800000000|'), ...body])
  const headers = new Headers({
    'telnyx-timestamp': '1800000000',
    'telnyx-signature-ed25519': encodeBase64Bytes(nacl.sign.detached(signed, pair.secretKey)),
  })
  const request = { method: 'POST', url: new URL(webhookUrl), headers, body, receivedAt }
  const { response, events } = await telnyxPhone.receive(request, connection)
  expect(events).toEqual([expect.objectContaining({ kind: 'lifecycle', change: 'invited' })])
  const [, url = ''] = /url="([^"]+)"/.exec((await response?.text()) ?? '') ?? []
  expect(url).toMatch(/^wss:\/\/talaria\.test\/webhooks\/telnyx_phone\/ch_1\/relay\/[\w.-]+$/)
  const open = (address: string, more: object = {}) =>
    telnyxPhone.openRelay?.(
      { method: 'GET', url: new URL(address), headers: new Headers(), body: new Uint8Array(), receivedAt, ...more },
      connection,
    )
  expect(await open(url)).toEqual({ callSid: 'v3:call', from: '+15550002222', at: receivedAt })
  const other = url.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  expect([await open(other), await open(url, { receivedAt: receivedAt + 5 * 3_600_000 })]).toEqual([
    undefined,
    undefined,
  ])
  for (const wrong of [
    { receivedAt: receivedAt + 301_000 },
    { headers: new Headers() },
    { body: form({ CallSid: 'x' }) },
  ])
    expect((await telnyxPhone.receive({ ...request, ...wrong }, connection)).response?.status).toBe(401)
})

it('a call says what the settings say, as text of the document', async () => {
  const speech = { greeting: 'Hi "you" & <all>', language: 'de-DE' }
  const webhookUrl = 'https://talaria.test/webhooks/phone/ch_1'
  const secrets = { account_sid: 'AC1', auth_token: 't', from: '+15550001111' }
  const connection = { apiBase: 'https://twilio.test', secrets, webhookUrl, fetchForeign, speech }
  const request = { method: 'POST', url: new URL(webhookUrl), headers: new Headers(), body: form({}), receivedAt: 0 }
  expect((await phone.receive(request, connection)).response?.status).toBe(401)
  const { signTwilioForm } = await import('../../support/twilio-api.ts')
  const body = form({ CallSid: 'CA1', From: '+15550002222' })
  const headers = new Headers(await signTwilioForm(webhookUrl, body, 't'))
  const { response, ignoredResponse } = await phone.receive({ ...request, body, headers }, connection)
  const text = (await response?.text()) ?? ''
  expect(text).toContain('welcomeGreeting="Hi &#34;you&#34; &#38; &#60;all&#62;" language="de-DE" interruptible="any"')
  expect(await ignoredResponse?.text()).toContain('<Reject/>')
  const answerTo = async (SessionStatus: string) => {
    const ended = form({ CallSid: 'CA1', From: '+15550002222', SessionStatus })
    const signed = new Headers(await signTwilioForm(webhookUrl, ended, 't'))
    return (await phone.receive({ ...request, body: ended, headers: signed }, connection)).response?.text()
  }
  expect(text).toContain(`<Connect action="${webhookUrl}">`)
  expect(await answerTo('failed')).toMatch(/relay\/(?!.*welcomeGreeting)/)
  expect(await answerTo('completed')).toContain('<Hangup/>')
})

describe('calls through Telnyx', () => {
  const secrets = { api_key: 'KEY1', from: '+15550001111', application_id: '17', public_key: 'x', relay_secret: 'y' }
  const webhookUrl = 'https://talaria.test/webhooks/telnyx_phone/ch_1'
  const connection = { apiBase: 'https://telnyxcalls.test', secrets, webhookUrl, fetchForeign }
  const calls: ApiCall[] = []
  let answer: () => Response = () => Response.json({ call_sid: 'v3:1', status: 'queued' })
  serveHost('telnyxcalls.test', (call) => {
    calls.push(call)
    return answer()
  })

  it('ring with the application, and ask the webhook what to say', async () => {
    expect(await telnyxPhone.placeCall?.(connection, '+15550002222')).toEqual({ callSid: 'v3:1' })
    const { method, path, headers, body } = calls[0] ?? {}
    expect([method, path, headers?.get('authorization')]).toEqual(['POST', '/v2/texml/calls/17', 'Bearer KEY1'])
    expect(body).toMatchObject({ To: '+15550002222', From: '+15550001111', Url: webhookUrl })
  })

  it.each([
    ['an answer without an id', () => Response.json({ status: 'queued' }), {}],
    ['an answer that is lost', (): Response => raise(new TypeError('Network connection lost.')), {}],
    [
      'a refusal',
      () => Response.json({ errors: [{ code: '10015', title: 'Invalid destination' }] }, { status: 422 }),
      { refused: expect.stringContaining('Invalid destination') },
    ],
  ])('tell %s apart', async (_name, next, expected) => {
    answer = next
    expect(await telnyxPhone.placeCall?.(connection, '+15550002222')).toEqual(expected)
  })

  it('need the id of the application', async () => {
    const { application_id: _id, ...without } = secrets
    const before = calls.length
    const placed = await telnyxPhone.placeCall?.({ ...connection, secrets: without }, '+15550002222')
    expect([placed, calls.length]).toEqual([{ refused: expect.stringContaining('application_id') }, before])
  })
})

function raise(error: Error): never {
  throw error
}
