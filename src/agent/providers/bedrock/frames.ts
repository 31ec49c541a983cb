/**
 * Decodes AWS event streams: binary frames of headers and a payload, each with its length and two checksums. Chunks may
 * end in the middle of a frame. A frame with a wrong checksum is an error.
 */

import { crc32 } from '#agent/core/crc32.ts'

export type BedrockFrame = { readonly headers: Readonly<Record<string, string>>; readonly payload: Uint8Array }

/** The total length, the header length, and the checksum of both. */
const preludeBytes = 12
const checksumBytes = 4
/** The limit of AWS for one frame. */
const maxFrameBytes = 24 * 1024 * 1024

/** Creates the decoder of one stream. Each call takes a chunk and yields the frames that it completes. */
export function createFrameDecoder(): (bytes: Uint8Array) => Generator<BedrockFrame> {
  let chunks: Uint8Array[] = []
  let [bufferedBytes, requiredBytes] = [0, 0]
  return function* (bytes) {
    chunks.push(bytes)
    bufferedBytes += bytes.length
    // A long frame has many chunks. Joining them on every chunk would copy the frame each time.
    if (bufferedBytes < requiredBytes) return
    const all = chunks.length > 1 ? concatBytes(chunks, bufferedBytes) : bytes
    let at = 0
    for (let length; (length = readFrameLength(all, at)) !== undefined; at += length) {
      if (all.length - at < length) break
      yield decodeFrame(all.subarray(at, at + length))
    }
    chunks = [all.slice(at)]
    bufferedBytes = all.length - at
    requiredBytes = readFrameLength(all, at) ?? preludeBytes
  }
}

/** Returns undefined when the prelude is incomplete. */
function readFrameLength(bytes: Uint8Array, at: number): number | undefined {
  if (bytes.length - at < preludeBytes) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset + at)
  const length = view.getUint32(0)
  if (crc32(bytes.subarray(at, at + 8)) !== view.getUint32(8))
    throw new Error('The prelude of a frame has a wrong checksum.')
  if (length < preludeBytes + checksumBytes || length > maxFrameBytes) throw new Error('A frame has an invalid length.')
  return length
}

function decodeFrame(bytes: Uint8Array): BedrockFrame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = bytes.length - checksumBytes
  if (crc32(bytes.subarray(0, end)) !== view.getUint32(end)) throw new Error('A frame has a wrong checksum.')
  const body = preludeBytes + view.getUint32(4)
  if (body > end) throw new Error('The headers of a frame are longer than the frame.')
  return { headers: decodeHeaders(bytes.subarray(preludeBytes, body)), payload: bytes.subarray(body, end) }
}

const decoder = new TextDecoder()

/** The size of a header value by its type. Other types begin with their length. */
const valueSizes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const stringType = 7

/** Returns only string headers. We need no others. */
function decodeHeaders(bytes: Uint8Array): Record<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const headers: Record<string, string> = {}
  for (let at = 0; at < bytes.length;) {
    const nameEnd = at + 1 + view.getUint8(at)
    const name = decoder.decode(bytes.subarray(at + 1, nameEnd))
    const type = view.getUint8(nameEnd)
    const fixedSize = valueSizes[type]
    const from = nameEnd + 1 + (fixedSize === undefined ? 2 : 0)
    at = from + (fixedSize ?? view.getUint16(nameEnd + 1))
    if (type === stringType) headers[name] = decoder.decode(bytes.subarray(from, at))
  }
  return headers
}

function concatBytes(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
