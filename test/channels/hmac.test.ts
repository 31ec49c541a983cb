import { expect, it } from 'vitest'
import { computeHmac } from '#channels/hmac.ts'

const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))

async function signOnce(hash: string, secret: string, data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', bytesOf(secret), { name: 'HMAC', hash }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, data))
}

it('keeps the keys of equal secrets with different hashes apart, however often they are used', async () => {
  const data = bytesOf('signed')
  for (const secret of ['s', 'SHA-1 s', 's', 'ß'])
    for (const hash of ['SHA-1', 'SHA-256', 'SHA-1'] as const) {
      const expected = await signOnce(hash, secret, data)
      expect(await computeHmac(hash, secret, data)).toEqual(expected)
      expect(await computeHmac(hash, bytesOf(secret), data)).toEqual(expected)
    }
})
