/** An answer whose bytes come in pieces of this size. */
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

/** For what pauses between two looks. */
export const skipSleep = (): Promise<void> => Promise.resolve()
