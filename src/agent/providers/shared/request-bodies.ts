/**
 * Sends large request bodies so that an isolate holds few of them: they are rendered one after another, and their bytes
 * are let go when they are sent, not when the provider answers, which takes a long prompt seconds.
 */

import type { CallOptions } from '#agent/core/dialect.ts'

const largeBytes = 128 * 1024
const pieceBytes = 128 * 1024
/** Of all sessions of an isolate. Above it, further bodies wait until others are sent. */
const maxSendingBytes = 8 * 1024 * 1024
const pollMs = 10
/** A host that does not read delays others by a second, once. */
const maxPolls = 100

let sendingBytes = 0
/** Of these, what nobody waits for any more. */
let stuckBytes = 0
const hasRoom = () => sendingBytes - stuckBytes < maxSendingBytes

type SentBody = Uint8Array | ReadableStream<Uint8Array>

/** Those of all sessions of the isolate. */
export const requestBodies = {
  /** Bytes of large bodies that are in memory. */
  get sendingBytes(): number {
    return sendingBytes
  },
  send<T>(render: () => Uint8Array, send: (body: SentBody) => Promise<T>, sleep: CallOptions['sleep']): Promise<T> {
    // Most calls find room, and nothing is awaited.
    return hasRoom() ? sendRendered(render, send) : waitForRoom(sleep).then(() => sendRendered(render, send))
  },
}

async function waitForRoom(sleep: CallOptions['sleep']): Promise<void> {
  for (let polls = 0; polls < maxPolls && !hasRoom(); polls++) await sleep(pollMs)
  if (!hasRoom()) stuckBytes = sendingBytes
}

/** No async function: the variables of one would hold the bytes until the answer. */
function sendRendered<T>(render: () => Uint8Array, send: (body: SentBody) => Promise<T>): Promise<T> {
  const bytes = render()
  // Node, where dialects are tested, has no stream of a known length.
  if (bytes.length < largeBytes || typeof FixedLengthStream === 'undefined') return send(bytes)
  const { readable, writable } = new FixedLengthStream(bytes.length)
  const release = countUntilReleased(bytes.length)
  // The reason why a body is not read is the failure of the call.
  writeInPieces(bytes, writable.getWriter())
    .catch(() => undefined)
    .finally(release)
  return send(readable).finally(release)
}

function countUntilReleased(byteCount: number): () => void {
  let held = byteCount
  sendingBytes += held
  return () => {
    sendingBytes -= held
    held = 0
    stuckBytes = Math.min(stuckBytes, sendingBytes)
  }
}

async function writeInPieces(bytes: Uint8Array, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) await writer.write(bytes.subarray(at, at + pieceBytes))
  await writer.close()
}
