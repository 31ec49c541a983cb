/** Computes one-time codes (RFC 6238) from a secret in base32 or an `otpauth:` address. */

import { BrowserProblem } from './element.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const hashes: Readonly<Record<string, string>> = { SHA1: 'SHA-1', SHA256: 'SHA-256', SHA512: 'SHA-512' }

type TotpKey = { readonly bytes: Uint8Array; readonly digits: number; readonly period: number; readonly hash: string }

/** Undefined for a text that is no such secret. */
export function parseTotp(text: string): TotpKey | undefined {
  const url = /^otpauth:\/\/totp\//i.test(text) ? URL.parse(text) : null
  const field = (name: string, preset: string) => url?.searchParams.get(name) ?? preset
  const bytes = decodeBase32(url ? field('secret', '') : text)
  const [digits, period] = [Number(field('digits', '6')), Number(field('period', '30'))]
  const hash = hashes[field('algorithm', 'SHA1').toUpperCase().replace('-', '')]
  if (!bytes || hash === undefined || ![6, 7, 8].includes(digits) || !(period >= 5 && period <= 300)) return undefined
  return { bytes, digits, period, hash }
}

function decodeBase32(text: string): Uint8Array | undefined {
  const letters = text.toUpperCase().replace(/[\s=-]/g, '')
  if (!/^[A-Z2-7]{8,256}$/.test(letters)) return undefined
  const bits = [...letters].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}

export async function createTotp(secret: string, now: number): Promise<string> {
  const key = parseTotp(secret)
  if (!key)
    throw new BrowserProblem('The one-time secret of this entry cannot be read. The person has to store it again.')
  const counter = new DataView(new ArrayBuffer(8))
  counter.setBigUint64(0, BigInt(Math.floor(now / 1_000 / key.period)))
  const { subtle } = crypto
  const signer = await subtle.importKey('raw', key.bytes, { name: 'HMAC', hash: key.hash }, false, ['sign'])
  const mac = new DataView(await subtle.sign('HMAC', signer, counter.buffer))
  const offset = mac.getUint8(mac.byteLength - 1) & 15
  const code = (mac.getUint32(offset) & 0x7fffffff) % 10 ** key.digits
  return String(code).padStart(key.digits, '0')
}
