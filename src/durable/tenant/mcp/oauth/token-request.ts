/** Asks a token endpoint for tokens: with a code of a sign-in, or with a refresh token. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { readOAuthError, readTokens, type Tokens } from '#agent/mcp/oauth.ts'
import type { ClientAuthentication } from '#agent/mcp/oauth.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export type TokenRequest = {
  readonly tokenEndpoint: string
  readonly clientId: string
  readonly authentication: ClientAuthentication
  /** Opened. */
  readonly secret?: string | undefined
  readonly parameters: Readonly<Record<string, string>>
  readonly isTrusted: boolean
}

/** `refused`: the server has decided, and asking again is useless. `failed`: it could not be asked. */
export type TokenAnswer =
  | { readonly kind: 'tokens'; readonly tokens: Tokens }
  | { readonly kind: 'refused' | 'failed'; readonly reason: string; readonly error?: string | undefined }

const timeoutMs = 15_000
const maxBytes = 256 * 1024

export async function requestTokens(guardedFetch: GuardedFetch, request: TokenRequest): Promise<TokenAnswer> {
  const { tokenEndpoint, isTrusted } = request
  const { body, headers } = renderRequest(request)
  try {
    const { response } = await guardedFetch({
      url: tokenEndpoint,
      method: 'POST',
      headers,
      body,
      timeoutMs,
      maxBytes,
      ports: 'service',
      isTrusted,
    })
    return readAnswer(response.status, parseJson(await response.text()))
  } catch (error) {
    const isBlocked = error instanceof Error && error.name === 'BlockedAddress'
    return isBlocked
      ? { kind: 'refused', reason: 'Its token endpoint has an address that may not be called.' }
      : { kind: 'failed', reason: 'The authorization server cannot be reached.' }
  }
}

function renderRequest({ clientId, authentication, secret = '', parameters }: TokenRequest) {
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  const body = new URLSearchParams(parameters)
  if (authentication === 'client_secret_basic') {
    const pair = [clientId, secret].map((part) => new URLSearchParams({ '': part }).toString().slice(1)).join(':')
    headers['authorization'] = `Basic ${encodeBase64Bytes(new TextEncoder().encode(pair))}`
  } else {
    body.set('client_id', clientId)
    if (authentication === 'client_secret_post') body.set('client_secret', secret)
  }
  return { headers, body: body.toString() }
}

function readAnswer(status: number, answer: unknown): TokenAnswer {
  const tokens = status === 200 ? readTokens(answer) : undefined
  if (tokens) return { kind: 'tokens', tokens }
  const error = readOAuthError(answer)
  if (status >= 500 || status === 429)
    return { kind: 'failed', reason: `The authorization server answered with status ${status}.` }
  if (status >= 300 && status < 400)
    return { kind: 'refused', reason: 'The token endpoint redirects, which is not followed.' }
  const reason = error === undefined ? `It answered with status ${status} and no token.` : `It answered "${error}".`
  return { kind: 'refused', reason: `The authorization server gave no token. ${reason}`, error }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // A page of HTML.
  }
}
