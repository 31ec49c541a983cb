/**
 * Verifies requests to generic webhooks by the signature of their sender: GitHub, GitLab, Standard Webhooks, and our own
 * (`talaria`). Signatures cover the raw bytes; GitLab sends its secret instead of one.
 */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { InboundRequest } from '../channel.ts'
import { computeHmac, concatBytes } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import type { SignatureKind } from './definition.ts'
import { toHex } from '#durable/platform/hash.ts'

/**
 * `delivery`: the same for every attempt to deliver one event; undefined when the sender does not name one. `proof`: the
 * signature, where it does not cover the name of the delivery. A copied request may then carry another name.
 */
export type VerifiedWebhook = { readonly delivery?: string; readonly event?: string; readonly proof?: string }

type Verify = (request: InboundRequest, secret: string) => Promise<VerifiedWebhook | undefined>

const timeWindowMs = 300_000
const maxIdChars = 200
/** Longer lists of signatures are nobody's. */
const maxSignatures = 10

/** Undefined for a request that is not proven. It gives no reason. */
export const verifyWebhook = (
  kind: SignatureKind,
  request: InboundRequest,
  secret: string,
): Promise<VerifiedWebhook | undefined> => (secret ? verifiers[kind](request, secret) : Promise.resolve(undefined))

const verifiers: Readonly<Record<SignatureKind, Verify>> = {
  github: async ({ headers, body }, secret) => {
    const expected = `sha256=${toHex(await computeHmac('SHA-256', secret, body))}`
    if (!isSameSecret(headers.get('x-hub-signature-256'), expected)) return undefined
    // The signature covers neither a time nor `X-GitHub-Delivery`: a copied request could carry a new one.
    return { ...named(headers, undefined, 'x-github-event'), delivery: expected }
  },
  gitlab: async ({ headers }, secret) =>
    isSameSecret(headers.get('x-gitlab-token'), secret)
      ? // Events that one event causes share its UUID. A retry keeps the key of its delivery.
        named(headers, headers.has('idempotency-key') ? 'idempotency-key' : 'x-gitlab-event-uuid', 'x-gitlab-event')
      : undefined,
  standard: verifyStandard,
  talaria: verifyOwn,
}

function named(headers: Headers, idHeader: string | undefined, eventHeader: string): VerifiedWebhook {
  const id = idHeader === undefined ? null : headers.get(idHeader) || headers.get('x-request-id')
  const [delivery, event] = [id, headers.get(eventHeader)]
  return { ...(delivery && { delivery: delivery.slice(0, maxIdChars) }), ...(event && { event }) }
}

/** Whether seconds of Unix time lie around the arrival. Other notations are refused. */
const isFresh = (timestamp: string, receivedAt: number): boolean =>
  /^\d{1,12}$/.test(timestamp) && Math.abs(receivedAt - Number(timestamp) * 1_000) <= timeWindowMs

/** https://github.com/standard-webhooks: a list of signatures, for keys that are being replaced. */
async function verifyStandard(
  { headers, body, receivedAt }: InboundRequest,
  secret: string,
): Promise<VerifiedWebhook | undefined> {
  const headerOf = (name: string) => headers.get(`webhook-${name}`) ?? headers.get(`svix-${name}`) ?? ''
  const [id, timestamp, signatures] = [headerOf('id'), headerOf('timestamp'), headerOf('signature')]
  const key = decodeKey(secret)
  if (!id || id.length > maxIdChars || !key || !isFresh(timestamp, receivedAt)) return undefined
  const signed = await computeHmac('SHA-256', key, concatBytes(`${id}.${timestamp}.`, body))
  const expected = `v1,${encodeBase64Bytes(signed)}`
  for (const candidate of signatures.split(' ').slice(0, maxSignatures))
    if (isSameSecret(candidate, expected)) return { delivery: id }
  return undefined
}

/** Undefined for a secret that is no base64. */
export function decodeKey(secret: string): Uint8Array | undefined {
  const encoded = secret.replace(/^whsec_/, '')
  if (!/^[A-Za-z0-9+/]{1,600}={0,2}$/.test(encoded)) return undefined
  try {
    return decodeBase64Bytes(encoded)
  } catch {
    return undefined
  }
}

/** Without an id of the sender the signature names the delivery. It covers the time: a repeat of the request is the same one. */
async function verifyOwn(
  { headers, body, receivedAt }: InboundRequest,
  secret: string,
): Promise<VerifiedWebhook | undefined> {
  const timestamp = headers.get('x-webhook-timestamp') ?? ''
  if (!isFresh(timestamp, receivedAt)) return undefined
  const expected = toHex(await computeHmac('SHA-256', secret, concatBytes(`${timestamp}.`, body)))
  if (!isSameSecret(headers.get('x-webhook-signature-v2'), expected)) return undefined
  return { delivery: expected, proof: expected, ...named(headers, 'x-webhook-id', 'x-webhook-event') }
}
