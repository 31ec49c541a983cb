/** Encodes and decodes messages of Connect streams: a byte of flags, four bytes of length, and JSON. */

const endFlag = 2
const maxMessageBytes = 16 * 1024 * 1024

export function encodeEnvelope(message: object): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(message))
  const bytes = new Uint8Array(5 + json.length)
  new DataView(bytes.buffer).setUint32(1, json.length)
  bytes.set(json, 5)
  return bytes
}

export type Envelope = { readonly isEnd: boolean; readonly message: unknown }

/** Yields messages up to the one with the end flag. Throws when the stream stops before it. */
export async function* decodeEnvelopes(stream: ReadableStream<Uint8Array>): AsyncGenerator<Envelope> {
  let buffer: Uint8Array = new Uint8Array()
  for await (const chunk of stream) {
    const joined = new Uint8Array(buffer.length + chunk.length)
    joined.set(buffer)
    joined.set(chunk, buffer.length)
    buffer = joined
    for (let size = parseSize(buffer); size !== undefined && buffer.length >= 5 + size; size = parseSize(buffer)) {
      const message: unknown = JSON.parse(new TextDecoder().decode(buffer.subarray(5, 5 + size)) || '{}')
      const isEnd = ((buffer[0] ?? 0) & endFlag) !== 0
      buffer = buffer.slice(5 + size)
      yield { isEnd, message }
      if (isEnd) return
    }
  }
  throw new Error('The stream broke off.')
}

function parseSize(buffer: Uint8Array): number | undefined {
  if (buffer.length < 5) return undefined
  const size = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength).getUint32(1)
  if (size > maxMessageBytes) throw new Error('A message of the stream is too long.')
  return size
}
