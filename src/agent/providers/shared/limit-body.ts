/**
 * Truncates response bodies that are read as a whole: errors and JSON. Event streams have their own limit
 * (reply-size-limit.ts).
 */

const maxBodyBytes = 8_000_000

export function limitBody(response: Response): Response {
  const { ok, body, headers, status, statusText } = response
  const isReadWhole = !ok || headers.get('content-type')?.includes('json')
  if (!body || !isReadWhole) return response
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
