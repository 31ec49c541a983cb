/** Calls Twilio's API and classifies its answers. */

import { type ApiAnswer, callApi, classifyStatus, type FailedOutcome, joinUrl } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'

const apiVersion = '2010-04-01'

export type TwilioResult =
  | { readonly kind: 'done'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failed'; readonly outcome: FailedOutcome }

export const authorizationOf = ({ secrets }: ChannelConnection): string =>
  `Basic ${btoa(`${secrets['account_sid'] ?? ''}:${secrets['auth_token'] ?? ''}`)}`

export async function callTwilio(
  connection: ChannelConnection,
  method: 'GET' | 'POST',
  path: string,
  form?: Readonly<Record<string, string>>,
): Promise<TwilioResult> {
  const { apiBase, secrets } = connection
  const account = `${apiVersion}/Accounts/${encodeURIComponent(secrets['account_sid'] ?? '')}`
  const answer = await callApi(joinUrl(apiBase, account + path), {
    method,
    headers: {
      authorization: authorizationOf(connection),
      ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(form && { body: new URLSearchParams(form).toString() }),
  })
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: answer }
  const { body } = answer
  if (answer.status >= 200 && answer.status < 300 && typeof body === 'object' && body !== null)
    return { kind: 'done', result: body as Record<string, unknown> }
  return { kind: 'failed', outcome: classifyFailure(answer) }
}

/** Numbers that get nothing from us: unsubscribed, invalid, or not reachable from this account. */
export const unreachable = new Set([
  20_003, 21_211, 21_214, 21_408, 21_610, 21_612, 21_614, 30_003, 30_004, 30_005, 30_006, 63_016,
])
const tooLong = new Set([21_605, 21_617])

function classifyFailure(answer: ApiAnswer): FailedOutcome {
  const { code, message } = (answer.body ?? {}) as { readonly code?: number; readonly message?: string }
  const byStatus = classifyStatus(answer, message ?? '')
  if (answer.status === 429 || answer.status >= 500 || code === undefined) return byStatus
  const { detail } = byStatus
  if (tooLong.has(code)) return { kind: 'too_long', detail }
  return unreachable.has(code) ? { kind: 'forbidden', detail } : byStatus
}
