import { expect, it } from 'vitest'
import { sha256, sha256Base64, sha256Hex, toHex } from '#durable/platform/hash.ts'

const ofAbc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

it('hashes text and bytes alike', async () => {
  const bytes = new TextEncoder().encode('abc')
  for (const data of ['abc', bytes, Uint8Array.from(bytes).buffer]) expect(await sha256Hex(data)).toBe(ofAbc)
  expect(toHex(await sha256('abc'))).toBe(ofAbc)
  expect(await sha256Base64('abc')).toBe('ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=')
})

it('cuts the digits to a number of bytes', async () => {
  expect(await sha256Hex('abc', 4)).toBe('ba7816bf')
})

it('hashes only the bytes of a view', async () => {
  expect(await sha256Hex(new TextEncoder().encode('-abc-').subarray(1, 4))).toBe(ofAbc)
})

it('writes two digits for each byte', () => {
  expect(toHex(Uint8Array.of(0, 9, 10, 255))).toBe('00090aff')
})
