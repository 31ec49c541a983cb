/** Bodies that are read as a whole, errors above all, as far as they are read. Streams have bounds of their own. */

const most = 8_000_000

export function bounded(response: Response): Response {
  const { ok, body, headers, status, statusText } = response
  const isWhole = !ok || headers.get('content-type')?.includes('json')
  if (!body || !isWhole) return response
  return new Response(body.pipeThrough(cut()), { headers, status, statusText })
}

function cut(): TransformStream<Uint8Array, Uint8Array> {
  let left = most
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      if (bytes.length > 0 && left > 0) controller.enqueue(bytes.subarray(0, left))
      left -= bytes.length
      if (left <= 0) controller.terminate()
    },
  })
}
