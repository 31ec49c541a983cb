/** Reads streamed response bodies and decides whether the reply is complete. */

import { type CallOptions, StreamBroken, type DialectReply } from '#agent/core/dialect.ts'
import { isAbortError } from './abort-error.ts'

/** The call options that a response reader needs. */
export type BodyReadOptions = Pick<CallOptions, 'onDelta' | 'onActivity' | 'onServerSearch' | 'onArguments' | 'sleep'>

/** Collects a reply from the events of a stream. Every dialect has one. */
export type ReplyBuilder = {
  /** The provider sends nothing more of this reply. */
  readonly isClosed: boolean
  /** The provider has sent the reason for the end, so `build` succeeds. */
  readonly isComplete: boolean
  readonly hasToolCall: boolean
  /** Throws `StreamBroken` when the reply is incomplete. */
  readonly build: () => DialectReply
}

type StreamParser = {
  readonly feed: (bytes: Uint8Array) => void
  /** Called when the body ends. */
  readonly end?: () => void
  /** The class of the errors that the provider itself reports inside the stream. */
  readonly providerError: abstract new (...args: never[]) => Error
  readonly sleep: CallOptions['sleep']
}

/** Reads a body up to the end of the reply. Throws the provider's error, an `AbortError`, or `StreamBroken`. */
export async function readReply(
  body: ReadableStream<Uint8Array> | null,
  builder: ReplyBuilder,
  { feed, end, providerError, sleep }: StreamParser,
): Promise<DialectReply> {
  if (!body) throw new StreamBroken('The provider sent no body.')
  const onChunk = (bytes: Uint8Array) => {
    feed(bytes)
    return builder.isClosed
  }
  try {
    await readBody(body, onChunk, sleep)
    if (!builder.isComplete) end?.()
  } catch (error) {
    if (error instanceof providerError) throw error
    // A failure or an abort after the end of the reply does not affect the reply.
    if (builder.isComplete) return builder.build()
    if (isAbortError(error)) throw error
    throw new StreamBroken(
      error instanceof Error ? error.message : 'The connection was lost.',
      builder.hasToolCall,
      error,
    )
  }
  return builder.build()
}

/** Decode chunks of whole characters. The first chunk of a stream may begin with a byte order mark. */
const firstChunks = new TextDecoder()
const laterChunks = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true })

/**
 * Returns a function that decodes bytes and passes the text to `feed`. Most chunks end with an ASCII character. The first
 * that does not begins a decoder of its own, which costs more than all chunks of a short reply.
 */
export function decodeUtf8Into(feed: (text: string) => void): (bytes: Uint8Array) => void {
  let decoder: TextDecoder | undefined
  let isFirst = true
  return (bytes) => {
    if (!bytes.length) return
    if (!decoder && (bytes.at(-1) ?? 0) >= 0x80)
      decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: !isFirst })
    if (decoder) feed(decoder.decode(bytes, { stream: true }))
    else feed((isFirst ? firstChunks : laterChunks).decode(bytes))
    isFirst = false
  }
}

/**
 * Reads until `onChunk` returns true or the body ends. An error of `onChunk` cancels the body and is rethrown.
 */
export async function readBody(
  body: ReadableStream<Uint8Array>,
  onChunk: (bytes: Uint8Array) => boolean,
  sleep: CallOptions['sleep'],
): Promise<void> {
  // `for await` would add promises that cost a sixth of the time per chunk.
  const reader = body.getReader()
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      if (onChunk(chunk.value)) return releaseConnection(reader, sleep)
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

const closeTimeoutMs = 1_000

/**
 * Waits a moment for the server to close the body, because a connection that was not cancelled can be reused. Some
 * servers never close it.
 */
function releaseConnection(reader: ReadableStreamDefaultReader<Uint8Array>, sleep: CallOptions['sleep']): void {
  const ended = new AbortController()
  const cancel = () => reader.cancel().catch(() => undefined)
  reader
    .read()
    .then(({ done }) => (done ? undefined : cancel()))
    .catch(() => undefined)
    .finally(() => ended.abort())
  sleep(closeTimeoutMs, ended.signal).then(cancel, () => undefined)
}
