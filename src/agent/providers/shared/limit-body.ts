/**
 * Truncates response bodies that are read as a whole: errors and JSON. Event streams have their own limit
 * (reply-size-limit.ts).
 */

const maxBodyBytes = 8_000_000

export function limitBody(response: Response): Response {
  const { ok, headers } = response
  // Before the rest is read: each property of a response is a call into the runtime.
  if (ok && !headers.get('content-type')?.includes('json')) return response
  const { body, status, statusText } = response
  if (!body) return response
  return new Response(body.pipeThrough(createTruncation()), { headers, status, statusText })
}

function createTruncation(): TransformStream<Uint8Array, Uint8Array> {
  let remaining = maxBodyBytes
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (bytes.length > 0 && remaining > 0) controller.enqueue(bytes.subarray(0, remaining))
      remaining -= bytes.length
      if (remaining <= 0) controller.terminate()
    },
  })
}
