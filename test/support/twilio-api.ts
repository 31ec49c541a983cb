/** Stands in for Twilio's API. Each account SID has messages of its own. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

const accounts = new Map<string, FakeAccount>()
export const twilioFile = new TextEncoder().encode('a file of Twilio')

export function createTwilioApi() {
  const sid = `AC${accounts.size + 1}`
  const api = new FakeAccount()
  accounts.set(sid, api)
  return { api, sid, token: `token-of-${sid}` }
}

export const twilioError = (status: number, code: number, message: string) =>
  Response.json({ code, message, status }, { status })

serveHost('twilio.test', (call) => {
  const [sid = '', token = ''] = atob(call.headers.get('authorization')?.replace('Basic ', '') ?? '').split(':')
  const api = accounts.get(sid)
  if (api?.isDown) throw new TypeError('Network connection lost.')
  if (!api || token !== `token-of-${sid}`) return twilioError(401, 20_003, 'Authenticate')
  api.calls.push(call)
  if (call.path === '/media/known') return new Response(twilioFile)
  if (call.path === '/media/unknown') return new Response(null, { status: 404 })
  if (call.path.includes('/IncomingPhoneNumbers')) return answerNumber(call)
  if (call.path.endsWith('/Calls.json')) return placeCall(api, call)
  if (!call.path.endsWith('/Messages.json')) return Response.json({ sid, friendly_name: 'Talaria' })
  const { To: to, From: from, MessagingServiceSid: service, Body: body } = call.body
  if (!to || !(from ?? service) || !body) return twilioError(400, 21_604, 'A parameter is missing')
  return api.send(() => Response.json({ sid: api.add(String(body)) }, { status: 201 }))
})

/** Numbers that end in 0 are refused. */
function placeCall(api: FakeAccount, { path, body: { To: to, From: from, Url: url } }: ApiCall): Response {
  if (!to || !from || !String(url).startsWith('https://')) return twilioError(400, 21_205, 'Url is not a valid URL')
  if (String(to).endsWith('0')) return twilioError(400, 21_211, 'The phone number is not valid.')
  const n = api.callsTo(/Calls\.json/).length
  const placed = { sid: `CAplaced-${/AC\d+/.exec(path)?.[0]}-${n}`, status: 'queued' }
  return api.send(() => Response.json(placed, { status: 201 }))
}

const numberSid = 'PN00000000000000000000000000000001'
let smsUrl = ''
let voiceUrl = ''

/** Finds the one number of an account, and changes where its messages go. */
function answerNumber({ path, query, method, body }: ApiCall): Response {
  if (method === 'GET') {
    const isOwn = query.get('PhoneNumber') === '+15550001111'
    return Response.json({
      incoming_phone_numbers: isOwn ? [{ sid: numberSid, sms_url: smsUrl, voice_url: voiceUrl }] : [],
    })
  }
  const { VoiceUrl: voice, VoiceMethod: calledBy } = body
  if (typeof voice === 'string' && calledBy === 'POST') {
    voiceUrl = voice
    return Response.json({ sid: numberSid, voice_url: voice })
  }
  const { SmsUrl: url, SmsMethod: by } = body
  if (!path.endsWith(`/${numberSid}.json`) || typeof url !== 'string' || by !== 'POST')
    return twilioError(400, 20_001, 'Invalid parameter')
  smsUrl = url
  return Response.json({ sid: numberSid, sms_url: smsUrl })
}

/** Signs a form as Twilio does: the address, and each field with its values in order. */
export async function signTwilioForm(webhookUrl: string, body: Uint8Array, authToken: string) {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const names = [...new Set(form.keys())].toSorted()
  const values = names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value))
  const signed = new TextEncoder().encode(webhookUrl + values.join(''))
  return { 'x-twilio-signature': encodeBase64Bytes(await computeHmac('SHA-1', authToken, signed)) }
}
