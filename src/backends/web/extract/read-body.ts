/** Reads the body of a response up to a limit that depends on what its first bytes are. */

import { type ContentKind, detectContent } from './detect-content.ts'

export type WebContent = {
  readonly kind: ContentKind
  readonly bytes: Uint8Array<ArrayBuffer>
  /** More followed, and was not read. */
  readonly isCut: boolean
}

const maxBytes = 10 * 1024 * 1024
const maxHtmlBytes = 2 * 1024 * 1024
const sniffedBytes = 1_024

export async function readBody(response: Response, url: string): Promise<WebContent> {
  const contentType = response.headers.get('content-type') ?? ''
  const name = URL.parse(url)?.pathname ?? ''
  const parts: Uint8Array[] = []
  let [size, limit] = [0, maxBytes]
  const body = (response.body ?? new Response('').body) as ReadableStream<Uint8Array>
  const reader = body.getReader()
  while (size <= limit) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    const wasKnown = size >= sniffedBytes
    size += value.byteLength
    if (!wasKnown && size >= sniffedBytes) limit = limitOf(detectContent(join(parts, sniffedBytes), contentType, name))
  }
  // Without this, the rest would be sent until the time is over.
  if (size > limit) await reader.cancel().catch(() => undefined)
  const bytes = join(parts, Math.min(size, limit))
  return { kind: detectContent(bytes, contentType, name), bytes, isCut: size > limit }
}

const limitOf = (kind: ContentKind): number => (kind === 'html' ? maxHtmlBytes : maxBytes)

function join(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    if (at >= size) break
    joined.set(part.subarray(0, size - at), at)
    at += part.byteLength
  }
  return joined
}
