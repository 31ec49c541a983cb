/** Names the webhook of a channel at Twilio, as the address for incoming messages of its number. */

import type { ChannelConnection, Registration } from '../channel.ts'
import { callTwilio } from './twilio-api.ts'

type TwilioNumber = { readonly sid?: string; readonly sms_url?: string }

/**
 * Services (`MG…`) and short codes have other APIs, a number may belong to another account, and Twilio takes https alone. Then a person enters the
 * address, which is no failure of the channel.
 */
const byHand = (url: string): Registration => ({
  ok: true,
  detail: `Enter the address at Twilio, as the webhook for incoming messages (HTTP POST): ${url}`,
})

export async function registerNumber(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url } = connection
  const number = url.startsWith('https://') ? await findNumber(connection) : undefined
  if (number?.sid === undefined) return byHand(url)
  // An address that somebody else entered stays.
  if (!isOn && number.sms_url !== url) return { ok: true, detail: 'Twilio has another address.' }
  const changed = await callTwilio(connection, 'POST', `/IncomingPhoneNumbers/${encodeURIComponent(number.sid)}.json`, {
    SmsUrl: isOn ? url : '',
    SmsMethod: 'POST',
  })
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  return { ok: true, detail: isOn ? 'Twilio sends the messages of the number here.' : 'Twilio forgot the address.' }
}

async function findNumber(connection: ChannelConnection): Promise<TwilioNumber | undefined> {
  const from = connection.secrets['from'] ?? ''
  if (!from.startsWith('+')) return undefined
  const query = new URLSearchParams({ PhoneNumber: from })
  const found = await callTwilio(connection, 'GET', `/IncomingPhoneNumbers.json?${query.toString()}`)
  if (found.kind === 'failed') return undefined
  const { incoming_phone_numbers: numbers } = found.result as {
    readonly incoming_phone_numbers?: readonly TwilioNumber[]
  }
  return numbers?.[0]
}
