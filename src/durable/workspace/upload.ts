/** A stream of unknown length goes to R2 in parts, one of them in memory at a time. */

/** Parts have the same size, except for the last one. */
const partBytes = 8 * 1024 * 1024

/** Returns how many bytes it was. */
export async function uploadInParts(blobs: R2Bucket, key: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const part = new Uint8Array(partBytes)
  let [held, sum] = [0, 0]
  let parts: R2MultipartUpload | undefined
  const done: R2UploadedPart[] = []
  const send = async () => {
    parts ??= await blobs.createMultipartUpload(key)
    done.push(await parts.uploadPart(done.length + 1, part.slice(0, held)))
    held = 0
  }
  const take = async (chunk: Uint8Array): Promise<void> => {
    const piece = chunk.subarray(0, partBytes - held)
    part.set(piece, held)
    held += piece.byteLength
    if (held === partBytes) await send()
    if (piece.byteLength < chunk.byteLength) await take(chunk.subarray(piece.byteLength))
  }
  try {
    for await (const chunk of chunks) {
      sum += chunk.byteLength
      await take(chunk)
    }
    if (!parts) await blobs.put(key, part.slice(0, held))
    else {
      if (held) await send()
      await parts.complete(done)
    }
    return sum
  } catch (error) {
    await parts?.abort()
    throw error
  }
}
