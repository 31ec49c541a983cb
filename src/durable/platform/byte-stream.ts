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
