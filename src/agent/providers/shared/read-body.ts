/** Bodies of answers, piece by piece. */

import type { ParseError } from 'eventsource-parser'
import { type CallOptions, Dropped, type Reply } from '../../model/dialect.ts'
import { isAbort } from './abort-error.ts'

/** What whoever reads an answer is given. */
export type Listening = Pick<CallOptions, 'hear' | 'pulse' | 'sleep'>

/** An answer, as far as it has come. */
type Gathering = {
  /** Nothing of it comes any more. */
  readonly isClosed: boolean
  /** It can be taken as it is. */
  readonly isComplete: boolean
  readonly inCall: boolean
  readonly reply: () => Reply
}

type Reading = {
  readonly feed: (bytes: Uint8Array) => void
  /** Errors of which the provider itself has told. */
  readonly told: abstract new (...given: never[]) => Error
  readonly sleep: CallOptions['sleep']
}

/** Reads a body to the end of its answer. Throws what was told, what cancelled it, or that it dropped. */
export async function readReply(
  body: ReadableStream<Uint8Array> | null,
  gathered: Gathering,
  { feed, told, sleep }: Reading,
): Promise<Reply> {
  if (!body) throw new Dropped('The provider sent no body.')
  const take = (bytes: Uint8Array) => {
    feed(bytes)
    return gathered.isClosed
  }
  try {
    await readPieces(body, take, sleep)
  } catch (error) {
    if (error instanceof told) throw error
    // What breaks behind the end of an answer, or is given up there, breaks nothing of it.
    if (gathered.isComplete) return gathered.reply()
    if (isAbort(error)) throw error
    throw new Dropped(error instanceof Error ? error.message : 'The connection broke.', gathered.inCall, error)
  }
  return gathered.reply()
}

/** Characters that are kept of one answer, and parts of it. No session could store more. */
const mostKept = 4_000_000
const mostParts = 1_000

/** What is left for an answer that is coming in. Whoever keeps something of it takes it from here first. */
export class Room {
  #characters = mostKept
  #parts = mostParts

  take(text: string): void {
    this.#characters -= text.length
    if (this.#characters < 0) throw new Error(`The answer has more than ${mostKept} characters.`)
  }

  takeTexts(said: object): void {
    for (const value of Object.values(said)) if (typeof value === 'string') this.take(value)
  }

  takePart(): void {
    if (--this.#parts < 0) throw new Error(`The answer has more than ${mostParts} parts.`)
  }
}

/** For the parser of events: one that never ends is not waited for. */
export const boundedEvents = {
  maxBufferSize: 4 * mostKept,
  onError: (error: ParseError) => {
    if (error.type === 'max-buffer-size-exceeded') throw error
  },
}

export function asText(feed: (text: string) => void): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder()
  return (bytes) => feed(decoder.decode(bytes, { stream: true }))
}

/**
 * Reads until `take` says that the answer has ended, or the body has. What `take` throws ends the reading, and lets
 * the sender go.
 */
export async function readPieces(
  body: ReadableStream<Uint8Array>,
  take: (bytes: Uint8Array) => boolean,
  sleep: CallOptions['sleep'],
): Promise<void> {
  // Not `for await`, whose promises cost a sixth of all that a piece costs.
  const reader = body.getReader()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      if (take(piece.value)) return leave(reader, sleep)
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

const leaveMs = 1_000

/** Some servers never close. Those that do get the time for it: a connection that was not cancelled is used again. */
function leave(reader: ReadableStreamDefaultReader<Uint8Array>, sleep: CallOptions['sleep']): void {
  const closing = reader.read().then(({ done }) => done)
  Promise.race([closing, sleep(leaveMs).then(() => false)])
    .then((isClosed) => (isClosed ? undefined : reader.cancel()))
    .catch(() => undefined)
}
