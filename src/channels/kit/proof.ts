/** Checks that a request comes from its platform. A platform states its proof as a literal. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { toHex } from '#durable/platform/hash.ts'
import { type ChannelConnection, type InboundRequest, type Received, refused } from '../channel.ts'
import { computeHmac } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'

/** False for a missing, wrong or outdated proof, and where the connection lacks the secret. */
export type Proof = (request: InboundRequest, connection: ChannelConnection) => boolean | Promise<boolean>

type Signed = (request: InboundRequest, connection: ChannelConnection) => Uint8Array

type HmacProof = {
  readonly hash: 'SHA-1' | 'SHA-256'
  /** The name of the secret that signs. */
  readonly secret: string
  readonly header: string
  readonly encoding: 'hex' | 'base64'
  /** Stands in front of the signature. */
  readonly prefix?: string
  /** Absent: the raw body. */
  readonly signed?: Signed
  /** The header with the time of the signature, in seconds since 1970. */
  readonly timeHeader?: string
}

const windowMs = 300_000

function isFresh({ headers, receivedAt }: InboundRequest, timeHeader: string): boolean {
  const time = headers.get(timeHeader) ?? ''
  return /^\d{1,12}$/.test(time) && Math.abs(receivedAt - Number(time) * 1_000) <= windowMs
}

export function hmac({ hash, secret, header, encoding, prefix = '', signed, timeHeader }: HmacProof): Proof {
  const encode = encoding === 'hex' ? toHex : encodeBase64Bytes
  return async (request, connection) => {
    const key = connection.secrets[secret]
    if (!key || (timeHeader !== undefined && !isFresh(request, timeHeader))) return false
    const expected = await computeHmac(hash, key, signed?.(request, connection) ?? request.body)
    return isSameSecret(request.headers.get(header), prefix + encode(expected))
  }
}

type TokenProof = {
  /** The name of the secret that the request repeats. */
  readonly secret: string
  readonly from: (request: InboundRequest) => string | null | undefined
}

export const token =
  ({ secret, from }: TokenProof): Proof =>
  (request, { secrets }) =>
    isSameSecret(from(request), secrets[secret])

type Ed25519Proof = {
  /** The name of the secret that is the public key, in hexadecimal digits. */
  readonly publicKey: string
  readonly header: string
  /** Undefined: a part of what is signed is missing. */
  readonly signed: (request: InboundRequest) => Uint8Array | undefined
}

export const ed25519 =
  ({ publicKey, header, signed }: Ed25519Proof): Proof =>
  async (request, { secrets }) => {
    const signature = bytesOfHex(request.headers.get(header), 64)
    const key = bytesOfHex(secrets[publicKey], 32)
    const content = signed(request)
    if (!signature || !key || !content) return false
    try {
      const imported = await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify'])
      return await crypto.subtle.verify('Ed25519', imported, signature, Uint8Array.from(content))
    } catch {
      return false // the key is no point of the curve
    }
  }

function bytesOfHex(text: string | null | undefined, length: number): Uint8Array<ArrayBuffer> | undefined {
  if (!text || text.length !== length * 2 || !/^[0-9a-fA-F]{1,200}$/.test(text)) return undefined
  return Uint8Array.from({ length }, (_, n) => Number.parseInt(text.slice(n * 2, n * 2 + 2), 16))
}

/** Reads a request only after its proof. */
export const verified =
  (proof: Proof, read: (request: InboundRequest, connection: ChannelConnection) => Received | Promise<Received>) =>
  async (request: InboundRequest, connection: ChannelConnection): Promise<Received> =>
    (await proof(request, connection)) ? read(request, connection) : refused()
