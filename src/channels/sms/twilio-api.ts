/** States how Twilio's API is called, how it signs, and what its failures mean. */

import type { ChannelConnection } from '../channel.ts'
import { defineApi, type OutcomeRule } from '../kit/api.ts'
import { hmac } from '../kit/proof.ts'

export const authorizationOf = ({ secrets }: ChannelConnection): string =>
  `Basic ${btoa(`${secrets['account_sid'] ?? ''}:${secrets['auth_token'] ?? ''}`)}`

/** Messages to these numbers are refused: unsubscribed, invalid, or not reachable from this account. */
const unreachable = [20_003, 21_211, 21_214, 21_408, 21_610, 21_612, 21_614, 30_003, 30_004, 30_005, 30_006]

export const twilioOutcomes: readonly OutcomeRule[] = [
  { codes: [21_605, 21_617], is: 'too_long' },
  { codes: [63_016], is: 'window', detail: 'more than 24 hours since the person last wrote' },
  { codes: unreachable, is: 'forbidden' },
]

export const callTwilio = defineApi({
  prefix: ({ secrets }) => `2010-04-01/Accounts/${encodeURIComponent(secrets['account_sid'] ?? '')}`,
  headers: (connection) => ({ authorization: authorizationOf(connection) }),
  readFailure: ({ code, message }) => ({
    ...(typeof code === 'number' && { code }),
    ...(typeof message === 'string' && { message }),
  }),
  outcomes: twilioOutcomes,
})

/** Twilio signs the address as it was registered, and then each field in the order of the names. */
export const isSignedByTwilio = hmac({
  hash: 'SHA-1',
  secret: 'auth_token',
  header: 'x-twilio-signature',
  encoding: 'base64',
  signed: ({ body, url }, { webhookUrl }) => {
    const form = new URLSearchParams(new TextDecoder().decode(body))
    const names = [...new Set(form.keys())].toSorted()
    // Fields with several values count each value once, in order.
    const fields = names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value))
    return new TextEncoder().encode(webhookUrl + url.search + fields.join(''))
  },
})
