/** Reads a body piece by piece. What `take` throws ends the reading, and lets the sender go. */
export async function readPieces(body: ReadableStream<Uint8Array>, take: (bytes: Uint8Array) => void): Promise<void> {
  // Not `for await`, whose promises cost a sixth of all that a piece costs.
  const reader = body.getReader()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) take(piece.value)
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}
