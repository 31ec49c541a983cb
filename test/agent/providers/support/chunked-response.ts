/** Creates a response whose body arrives in chunks of `size` bytes. */
export const chunkedResponse = (bytes: Uint8Array, size: number, type: string): Response =>
  new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
        controller.close()
      },
    }),
    { headers: { 'content-type': type } },
  )

/** A `sleep` that does not wait. */
export const skipSleep = (): Promise<void> => Promise.resolve()
