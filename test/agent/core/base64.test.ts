import { expect, it } from 'vitest'
import { decodeBase64Bytes, decodeBase64Url, encodeBase64Bytes, encodeBase64Url } from '#agent/core/base64.ts'

const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256)

it('reads what it wrote, also more bytes than a call may have arguments', () => {
  expect(decodeBase64Bytes(encodeBase64Bytes(bytes))).toEqual(bytes)
  expect(encodeBase64Bytes(bytes)).toBe(Buffer.from(bytes).toString('base64'))
})

it('writes base64url without padding', () => {
  for (const length of [0, 1, 2, 3, 62, 63, 64]) {
    const part = bytes.subarray(0, length)
    expect(encodeBase64Url(part)).toBe(Buffer.from(part).toString('base64url'))
    expect(decodeBase64Url(encodeBase64Url(part))).toEqual(part)
  }
  expect(encodeBase64Url(Uint8Array.of(251, 255))).toBe('-_8')
})

it('reads the standard alphabet too, and no other characters', () => {
  expect(decodeBase64Url('+/8=')).toEqual(Uint8Array.of(251, 255))
  expect(() => decodeBase64Url('a b!')).toThrow(/char/i)
})
