/** Keeps the tokens with which an app calls its platform. An isolate asks for a new one at 80 % of its lifetime. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { type ApiAnswer, classifyStatus, type FailedOutcome, type NoAnswer } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'
import { type PlatformCall, repeatable } from './api.ts'
import { pickText } from './pick.ts'

export type TokenAnswer =
  | { readonly kind: 'granted'; readonly token: string; readonly lifetimeSeconds: number }
  | { readonly kind: 'failed'; readonly outcome: FailedOutcome }

type TokenFields = { readonly token?: string; readonly lifetime?: string; readonly error?: string }

/** Reads the answer to a request for a token. The fields are those of OAuth unless others are named. */
export function readTokenAnswer(
  answer: ApiAnswer | NoAnswer,
  { token: field = 'access_token', lifetime = 'expires_in', error = 'error' }: TokenFields = {},
): TokenAnswer {
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: repeatable(answer) }
  const token = pickText(answer.body, field)
  if (answer.status >= 200 && answer.status < 300 && token !== undefined)
    return { kind: 'granted', token, lifetimeSeconds: Number(pickText(answer.body, lifetime)) || 3_600 }
  const outcome = classifyStatus(answer, pickText(answer.body, error))
  return { kind: 'failed', outcome: outcome.kind === 'fatal' ? { ...outcome, kind: 'forbidden' } : outcome }
}

type TokenSource = {
  /** The name of the secret that opens it. Absent: all secrets count. */
  readonly secret?: string
  readonly request: (connection: ChannelConnection) => Promise<TokenAnswer>
}

type CachedToken = { readonly token: string; readonly renewAt: number }

export type GetAppToken = (
  connection: ChannelConnection,
  refused?: string,
) => Promise<{ readonly token: string } | { readonly outcome: FailedOutcome }>

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` })

/** Probes a platform that has no harmless request: whether the app still gets a token. */
export const probeToken =
  (getToken: GetAppToken) =>
  async (connection: ChannelConnection): Promise<SendOutcome> => {
    const found = await getToken(connection)
    return 'outcome' in found ? found.outcome : { kind: 'sent' }
  }

/** Calls an API with the token of the app. A refused token is renewed once. `refusals`: codes for it besides status 401. */
export const withAppToken =
  (
    getToken: GetAppToken,
    call: PlatformCall,
    refusals: readonly (string | number)[] = [],
    headersOf = bearer,
  ): PlatformCall =>
  async (connection, request) => {
    const first = await getToken(connection)
    if ('outcome' in first) return { kind: 'failed', outcome: first.outcome }
    const callWith = (token: string) =>
      call(connection, { ...request, headers: { ...request.headers, ...headersOf(token) } })
    const answer = await callWith(first.token)
    const isRefused = answer.kind === 'failed' && (answer.status === 401 || refusals.includes(answer.code ?? ''))
    if (!isRefused) return answer
    const next = await getToken(connection, first.token)
    return 'outcome' in next ? { kind: 'failed', outcome: next.outcome } : callWith(next.token)
  }

/** `refused`: a token that the platform did not accept. */
export function defineAppToken({ secret, request }: TokenSource): GetAppToken {
  const cache = new BoundedMap<string, CachedToken>(500)
  return async (connection, refused) => {
    const key = await sha256Hex(
      `${connection.apiBase} ${secret === undefined ? JSON.stringify(connection.secrets) : (connection.secrets[secret] ?? '')}`,
    )
    const cached = cache.get(key)
    if (cached && cached.token !== refused && Date.now() < cached.renewAt) return { token: cached.token }
    const answer = await request(connection)
    if (answer.kind === 'failed') return { outcome: answer.outcome }
    cache.set(key, { token: answer.token, renewAt: Date.now() + answer.lifetimeSeconds * 800 })
    return { token: answer.token }
  }
}
