/** Streams generated chunks as bytes: only byte streams pass between objects. Cancelling the stream ends the generator. */
export function byteStream(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const { value, done } = await chunks.next()
      if (!done) return controller.enqueue(value)
      controller.close()
      controller.byobRequest?.respond(0)
    },
    async cancel() {
      await chunks.return(undefined)
    },
  })
}

const encoder = new TextEncoder()

/** Streams texts as UTF-8. No text may be empty. */
export const textStream = (texts: AsyncIterable<string>): ReadableStream<Uint8Array> => byteStream(encode(texts))

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield encoder.encode(text)
}

/** Splits a stream of UTF-8 at its line ends. Empty lines are left out. */
export async function* readLines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let open: string[] = []
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    const [first = '', ...others] = text.split('\n')
    open.push(first)
    for (const next of others) {
      const line = open.join('')
      if (line) yield line
      open = [next]
    }
  }
  const last = open.join('')
  if (last) yield last
}

/**
 * Yields the data of each event of a stream of ours, which writes it on one line of server-sent events. An event that breaks
 * off is left out.
 */
export async function* readEventData(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let open = ''
  const texts = bytes.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
  for await (const text of texts) {
    const frames = (open + text).split('\n\n')
    open = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) yield data
    }
  }
}
