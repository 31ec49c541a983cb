/** What is made bit by bit, as a stream of bytes: only those pass between objects. Whoever leaves it ends its making. */
export function bytesOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
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

/** The same of texts, none of them empty. */
export const bytesOfTexts = (texts: AsyncIterable<string>): ReadableStream<Uint8Array> => bytesOf(encoded(texts))

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield encoder.encode(text)
}
