/** Tests that sealed files open with their key and name alone, and that changes are found. */

import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { Failure } from '../../../cli/exits.mjs'
import { seal, unseal } from '../../../cli/backup/seal.mjs'

const key = Buffer.alloc(32, 1)

async function sealed(bytes: Buffer, name = 'session:a'): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of seal([bytes.subarray(0, 10), bytes.subarray(10)], key, name)) parts.push(part)
  return Buffer.concat(parts)
}

it.each([0, 1, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20])('opens what was sealed: %d bytes', async (size) => {
  const bytes = randomBytes(size)
  const file = await sealed(bytes)
  expect(unseal(file, key, 'session:a').equals(bytes)).toBe(true)
  expect(size < 64 || !file.includes(bytes.subarray(0, 64))).toBe(true)
})

it('says that without a stack trace', () => {
  expect(() => unseal(Buffer.alloc(20), key, 'session:a')).toThrow(Failure)
})

it('refuses another key, another name, a changed byte and a cut', async () => {
  const file = await sealed(randomBytes(2 ** 20 + 5))
  const changed = Buffer.from(file)
  changed[100] = (changed[100] ?? 0) ^ 1
  expect(() => unseal(file, Buffer.alloc(32, 2), 'session:a')).toThrow(/passphrase is another/)
  expect(() => unseal(file, key, 'session:b')).toThrow(/was changed/)
  expect(() => unseal(changed, key, 'session:a')).toThrow(/was changed/)
  expect(() => unseal(file.subarray(0, -3), key, 'session:a')).toThrow(/cut off/)
  // Cut between two pieces.
  const firstPiece = 7 + 4 + file.readUInt32BE(7)
  expect(() => unseal(file.subarray(0, firstPiece), key, 'session:a')).toThrow(/was changed/)
})
