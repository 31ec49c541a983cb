/** Connect's streams over HTTP: each message is a byte of flags, four bytes of length, and JSON. */

const END = 2
const MAX = 16 * 1024 * 1024

export function encodeEnvelope(message: object): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(message))
  const bytes = new Uint8Array(5 + json.length)
  new DataView(bytes.buffer).setUint32(1, json.length)
  bytes.set(json, 5)
  return bytes
}

export type Envelope = { readonly isEnd: boolean; readonly message: unknown }

/** Until the stream says that it has ended. One that stops before that throws. */
export async function* decodeEnvelopes(stream: ReadableStream<Uint8Array>): AsyncGenerator<Envelope> {
  let held: Uint8Array = new Uint8Array()
  for await (const chunk of stream) {
    const joined = new Uint8Array(held.length + chunk.length)
    joined.set(held)
    joined.set(chunk, held.length)
    held = joined
    for (let size = sizeOf(held); size !== undefined && held.length >= 5 + size; size = sizeOf(held)) {
      const message: unknown = JSON.parse(new TextDecoder().decode(held.subarray(5, 5 + size)) || '{}')
      const isEnd = ((held[0] ?? 0) & END) !== 0
      held = held.slice(5 + size)
      yield { isEnd, message }
      if (isEnd) return
    }
  }
  throw new Error('The stream broke off.')
}

function sizeOf(held: Uint8Array): number | undefined {
  if (held.length < 5) return undefined
  const size = new DataView(held.buffer, held.byteOffset, held.byteLength).getUint32(1)
  if (size > MAX) throw new Error('A message of the stream is too long.')
  return size
}
