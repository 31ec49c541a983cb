/**
 * AWS event streams: binary frames of headers and a payload, each with its length and two checksums. Frames
 * may be cut anywhere between two pieces of bytes; one whose checksum is wrong ends the reading.
 */

export type Frame = { readonly headers: Readonly<Record<string, string>>; readonly payload: Uint8Array }

/** Two lengths and their checksum. */
const preludeLength = 12
const checksumLength = 4
/** What AWS itself allows for one frame. */
const longest = 24 * 1024 * 1024

/** What is made reads one stream: the frames that are complete with the bytes it is given. */
export function frameReader(): (bytes: Uint8Array) => Generator<Frame> {
  let pieces: Uint8Array[] = []
  let [waiting, needed] = [0, 0]
  return function* (bytes) {
    pieces.push(bytes)
    waiting += bytes.length
    // A long frame comes in many pieces: joined with each of them, it would be copied as often.
    if (waiting < needed) return
    const all = pieces.length > 1 ? joined(pieces, waiting) : bytes
    let at = 0
    for (let length; (length = lengthOf(all, at)) !== undefined; at += length) {
      if (all.length - at < length) break
      yield frameOf(all.subarray(at, at + length))
    }
    pieces = [all.slice(at)]
    waiting = all.length - at
    needed = lengthOf(all, at) ?? preludeLength
  }
}

/** Of the frame that begins here; undefined when that cannot be said yet. */
function lengthOf(bytes: Uint8Array, at: number): number | undefined {
  if (bytes.length - at < preludeLength) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + at)
  const length = view.getUint32(0)
  if (crc32(bytes.subarray(at, at + 8)) !== view.getUint32(8)) throw new Error('A frame begins with a wrong checksum.')
  if (length < preludeLength + checksumLength || length > longest) throw new Error('A frame has no possible length.')
  return length
}

function frameOf(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = bytes.length - checksumLength
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end)) throw new Error('A frame has a wrong checksum.')
  const body = preludeLength + view.getUint32(4)
  if (body > end) throw new Error('The headers of a frame are longer than the frame.')
  return { headers: headersOf(bytes.subarray(preludeLength, body)), payload: bytes.subarray(body, end) }
}

const decoder = new TextDecoder()

/** Bytes of a value by its type; those that are not here say their length themselves. */
const widths: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const stringType = 7

/** Values that are no strings are passed over: nothing that is read here is any. */
function headersOf(bytes: Uint8Array): Record<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const headers: Record<string, string> = {}
  for (let at = 0; at < bytes.length;) {
    const nameEnd = at + 1 + view.getUint8(at)
    const name = decoder.decode(bytes.subarray(at + 1, nameEnd))
    const type = view.getUint8(nameEnd)
    const fixed = widths[type]
    const from = nameEnd + 1 + (fixed === undefined ? 2 : 0)
    at = from + (fixed ?? view.getUint16(nameEnd + 1))
    if (type === stringType) headers[name] = decoder.decode(bytes.subarray(from, at))
  }
  return headers
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** The checksum of Ethernet and zip. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}
