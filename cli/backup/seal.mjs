/**
 * Seals files with a passphrase: scrypt makes the key, AES-256-GCM seals pieces of 1 MiB. The nonce of a piece has its
 * number and whether it is the last, and every piece is bound to the name of its file: pieces cannot be moved, left out
 * or cut off unnoticed.
 */

import { createCipheriv, createDecipheriv, createHmac, randomBytes, scryptSync } from 'node:crypto'
import { Failure } from '../exits.mjs'

const pieceBytes = 2 ** 20
const tagBytes = 16
const prefixBytes = 7
/** 128 MiB of memory for each guess. */
const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 }
const minWork = 2 ** 14 * 8 * 5

export const newSalt = () => randomBytes(16).toString('base64')

/**
 * The key of a tenant's backup. Archives of version 1 have one cost and no tenant in their key. The server seals with
 * less memory and as much work. The cost comes from a file that anybody may have written.
 */
export function deriveKey(passphrase, { version, salt, cost: given, tenant }) {
  const { N, r, p } = version === 1 ? cost : given
  const isAllowed =
    [N, r, p].every(Number.isSafeInteger) && 128 * N * r <= cost.maxmem && N * r * p >= minWork && p <= 64
  if (!isAllowed) throw new Failure('The cost of the key is not one that a backup has.')
  const key = scryptSync(passphrase, Buffer.from(salt, 'base64'), 32, { N, r, p, maxmem: cost.maxmem })
  return version === 1 ? key : createHmac('sha256', key).update(`tenant ${tenant.id}`).digest()
}
export const authenticate = (key, text) => createHmac('sha256', key).update(text).digest('base64')

function nonceOf(prefix, number, isLast) {
  const nonce = Buffer.alloc(12)
  prefix.copy(nonce)
  nonce.writeUInt32BE(number, prefixBytes)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Yields the sealed file. */
export async function* seal(parts, key, name) {
  const prefix = randomBytes(prefixBytes)
  yield prefix
  const sealPiece = (piece, number, isLast) => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(prefix, number, isLast))
    cipher.setAAD(Buffer.from(name))
    const sealed = Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()])
    const length = Buffer.alloc(4)
    length.writeUInt32BE(sealed.length)
    return Buffer.concat([length, sealed])
  }
  let [open, number] = [Buffer.alloc(0), 0]
  for await (const part of parts) {
    open = Buffer.concat([open, part])
    for (; open.length > pieceBytes; open = open.subarray(pieceBytes))
      yield sealPiece(open.subarray(0, pieceBytes), number++, false)
  }
  yield sealPiece(open, number, true)
}

/** Returns what was sealed. Throws when the file, its name or the key is another one. */
export function unseal(sealed, key, name) {
  const prefix = sealed.subarray(0, prefixBytes)
  const pieces = []
  for (let at = prefixBytes; ;) {
    const end = at + 4 + (at + 4 <= sealed.length ? sealed.readUInt32BE(at) : 0)
    if (end > sealed.length || end < at + 4 + tagBytes) throw new Failure(`${name} is cut off.`)
    const isLast = end === sealed.length
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(prefix, pieces.length, isLast))
    decipher.setAAD(Buffer.from(name))
    decipher.setAuthTag(sealed.subarray(end - tagBytes, end))
    try {
      pieces.push(Buffer.concat([decipher.update(sealed.subarray(at + 4, end - tagBytes)), decipher.final()]))
    } catch (error) {
      throw new Failure(`${name} was changed, or the passphrase is another one.`, { cause: error })
    }
    if (isLast) return Buffer.concat(pieces)
    at = end
  }
}
