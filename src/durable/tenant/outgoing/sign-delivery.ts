/** Sends one signed request of an outgoing webhook (Standard Webhooks). The signature covers id, time and body. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { toHex } from '#durable/platform/hash.ts'
import { fromBase64 } from '#durable/platform/master-key.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import type { DeliveryAttempt } from './outgoing-row.ts'

export type SignedRequest = {
  readonly url: string
  readonly id: string
  readonly type: string
  readonly body: string
  /** The newest first. Each signs. */
  readonly secrets: readonly string[]
  readonly isHermes: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}

export const secretPrefix = 'whsec_'
const timeoutMs = 15_000
const maxAnswerBytes = 64 * 1024
const maxErrorChars = 300

/** The bytes that sign. Undefined: the secret has another form. */
export const keyOf = (secret: string): Uint8Array | undefined => {
  const bytes = secret.startsWith(secretPrefix) ? fromBase64(secret.slice(secretPrefix.length)) : undefined
  return bytes && bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined
}

export const newSecret = (): string => secretPrefix + encodeBase64Bytes(crypto.getRandomValues(new Uint8Array(32)))

async function sign(key: Uint8Array, text: string): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', Uint8Array.from(key), algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)))
}

async function createHeaders({ id, type, body, secrets, isHermes, now }: SignedRequest) {
  const timestamp = String(Math.floor(now / 1_000))
  const keys = secrets.flatMap((secret) => keyOf(secret) ?? [])
  const signatures = await Promise.all(keys.map((key) => sign(key, `${id}.${timestamp}.${body}`)))
  const hermes =
    isHermes && secrets[0] !== undefined
      ? {
          'x-hermes-event': type,
          'x-hermes-signature-256': `sha256=${toHex(await sign(new TextEncoder().encode(secrets[0]), body))}`,
        }
      : {}
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((bytes) => `v1,${encodeBase64Bytes(bytes)}`).join(' '),
    ...hermes,
  }
}

/** Never rejects. Redirects are failures: a receiver names its final address. */
export async function sendSigned(guardedFetch: GuardedFetch, request: SignedRequest): Promise<DeliveryAttempt> {
  const { url, body, now: at } = request
  try {
    const headers = await createHeaders(request)
    const sent = { url, method: 'POST', headers, body, timeoutMs, maxBytes: maxAnswerBytes, ports: 'service' as const }
    const { response } = await guardedFetch(sent)
    await response.body?.cancel()
    const { status } = response
    const isDelivered = status >= 200 && status < 300
    return { at, status, error: isDelivered ? null : `The receiver answered with status ${status}.` }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { at, status: null, error: reason.slice(0, maxErrorChars) }
  }
}
