/** States how Meta's Graph API is called, how Meta signs and checks an address, and what failures mean. */

import type { ChannelConnection, InboundRequest, Received } from '../channel.ts'
import { refused } from '../channel.ts'
import { isJsonObject } from '#agent/core/parse-json.ts'
import { defineApi, type OutcomeRule, type PlatformCall } from '../kit/api.ts'
import { hmac, token } from '../kit/proof.ts'

const graphVersion = 'v23.0'

/** The domains from which Meta serves files. */
export const mediaDomains = [
  'facebook.com',
  'fbsbx.com',
  'whatsapp.net',
  'fbcdn.net',
  'instagram.com',
  'cdninstagram.com',
]

const window = (platform: string): string =>
  `more than 24 hours since the person last wrote; ${platform} accepts nothing but ${platform === 'WhatsApp' ? 'templates' : 'answers'}`

/** Codes of Meta's error references. Those of WhatsApp have six digits; the others count for the whole Graph API. */
export const listGraphOutcomes = (platform: string): readonly OutcomeRule[] => [
  { codes: [131_047], is: 'window', detail: window(platform) },
  {
    codes: [10],
    words: /outside (?:of )?(?:the )?allowed window|2018278|2534022/i,
    is: 'window',
    detail: window(platform),
  },
  { codes: [4, 17, 32, 613, 80_007, 130_429, 131_056], is: 'busy' },
  { codes: [1, 2, 131_000, 131_016, 133_004], is: 'retry' },
  {
    codes: [
      0, 3, 10, 190, 200, 230, 368, 551, 130_472, 131_005, 131_021, 131_026, 131_030, 131_031, 131_042, 131_045,
      131_049, 131_050, 133_010,
    ],
    is: 'forbidden',
  },
  { words: /too long|length|at most \d{1,6} char/i, is: 'too_long' },
  { codes: 'any', is: 'fatal' },
]

/** `tokenName`: the name of the secret that opens the API. */
export const defineGraph = (tokenName: string, outcomes: readonly OutcomeRule[]): PlatformCall =>
  defineApi({
    prefix: () => `${graphVersion}/`,
    headers: ({ secrets }) => ({ authorization: `Bearer ${secrets[tokenName] ?? ''}` }),
    readFailure: ({ error }) => {
      const { code, message, error_subcode: subcode } = isJsonObject(error) ? error : {}
      return {
        ...(typeof code === 'number' && { code }),
        ...(typeof message === 'string' && { message }),
        details: String(subcode ?? ''),
      }
    },
    outcomes,
  })

export const isSignedByMeta = hmac({
  hash: 'SHA-256',
  secret: 'app_secret',
  header: 'x-hub-signature-256',
  encoding: 'hex',
  prefix: 'sha256=',
})

const knowsVerifyToken = token({
  secret: 'verify_token',
  from: ({ url }) => url.searchParams.get('hub.verify_token'),
})

/** Answers the question with which Meta checks an address. */
export async function answerChallenge(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  const get = (name: string) => request.url.searchParams.get(`hub.${name}`)
  if (!(await knowsVerifyToken(request, connection)) || get('mode') !== 'subscribe') return refused(403)
  // Never a page: the challenge is text of whoever knows the token.
  return { response: new Response(get('challenge') ?? '', { headers: { 'content-type': 'text/plain' } }), events: [] }
}
